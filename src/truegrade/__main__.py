"""``python -m truegrade``."""

from truegrade.cli import main

if __name__ == "__main__":
    main()
