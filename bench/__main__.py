"""``python -m bench`` lists what can be measured, and ``python -m bench NAME`` measures it."""

from __future__ import annotations

import sys
from importlib import import_module

from bench import commands


def main() -> None:
    """List the commands, or run one."""
    known = commands()
    if sys.argv[1:] in ([], ["--help"], ["-h"]):
        for name, text in known.items():
            print(f"{name:22}{text.splitlines()[0]}")
        return
    name = sys.argv.pop(1)
    if name not in known:
        sys.exit(f"{name}: no such measurement; `python -m bench` lists them")
    sys.argv[0] = f"python -m bench {name}"
    sys.exit(import_module(f"bench.{name}").main())


if __name__ == "__main__":
    main()
