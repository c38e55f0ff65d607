"""Whether truegrade[serve] installs beside each trainer: ``python -m tools.beside_trainers UV [PACKAGE ...]``.

uv resolves the current release of each package of the index together with this checkout, and installs nothing.
Exit code 1 where no versions fit, which is said last.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("trl", "verifiers", "verl", "skyrl-gym", "nemo-gym")
"""Of the ten trainers, those whose current release is on the index; the others come from their repositories."""
PYTHON = {"nemo-gym": "3.13.14"}
"""What a package asks for at least, where that is above `USUAL`."""
USUAL = "3.12"


def resolved(uv: str, package: str) -> tuple[dict[str, str], str]:
    """Versions by name that fit together; none where there are none, with the reason."""
    asked = ["pip", "compile", "--quiet", "--no-header", "--python-version", PYTHON.get(package, USUAL), "-"]
    given = f"truegrade[serve] @ file://{ROOT}\n{package}\n"
    done = subprocess.run([uv, *asked], input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        return {}, " ".join(done.stderr.split())[:400]
    return dict(re.findall(r"^([\w.-]+)==(\S+)", done.stdout, re.MULTILINE)), ""


def main() -> None:
    """Resolve them one after another."""
    uv, *asked = sys.argv[1:]
    conflicts = []
    for package in asked or PACKAGES:
        versions, why = resolved(uv, package)
        if versions:
            print(f"{package} {versions[package]} with openai {versions['openai']}, msgspec {versions['msgspec']}")
        else:
            conflicts.append(f"{package}: {why}")
    print(*conflicts, sep="\n", end="\n" if conflicts else "")
    raise SystemExit(bool(conflicts))


if __name__ == "__main__":
    main()
