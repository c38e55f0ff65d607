"""Entry script of the spawned processes: ``python start.py ROLE FD...``, where ROLE is ``child`` or ``judge``.

It loads the few modules of this folder that the role needs, by path, and takes their names out again: a
program that imports `truegrade` gets the installed package, not these. Each gets a private copy of the
built-in names, taken before any program has run, so one that replaces `len` or sets `isinstance` to None
(the published harnesses' guards do such things) disturbs itself only.

Those modules import each other as ``from truegrade.sandbox.x import y``, which finds them without importing
the package round them.
"""

from __future__ import annotations

import builtins
import sys
from importlib.machinery import SourceFileLoader
from os import close, dup
from os.path import abspath, dirname, join

MODULES = {
    "child": ("statuses", "values", "wire", "encode", "decode", "frames", "rlimits", "child"),
    "judge": ("statuses", "values", "wire", "encode", "decode", "frames", "rlimits", "judging", "judge"),
}


def load(role: str) -> dict[str, object]:
    """Run the modules of a role, in the order of their imports; the namespace of the last."""
    folder = dirname(abspath(__file__))  # noqa: PTH100, PTH120 - pathlib costs 4 ms here
    private = dict(vars(builtins))
    names = [f"truegrade.sandbox.{name}" for name in MODULES[role]]
    for name in names:
        module = type(sys)(name)
        path = join(folder, name.rpartition(".")[2] + ".py")  # noqa: PTH118
        code = SourceFileLoader(name, path).get_code(name)
        assert code is not None, f"{path} has no code"
        module.__dict__.update(__builtins__=private, __file__=path)
        sys.modules[name] = module
        exec(code, module.__dict__)
    namespace = sys.modules[names[-1]].__dict__
    for name in names:
        del sys.modules[name]
    return namespace


def main() -> None:
    """Load the role and hand it its file descriptors, moved to the lowest free numbers."""
    _, role, *numbers = sys.argv
    sys.argv[:] = [""]
    sys.dont_write_bytecode = False  # ours is compiled once; what the program imports is never written
    run = load(role)["main"]
    sys.dont_write_bytecode = True
    fds = []
    for number in map(int, numbers):
        fds.append(dup(number))  # a number above RLIMIT_NOFILE would confuse programs that use select()
        close(number)
    run(*fds)  # type: ignore[operator]


if __name__ == "__main__":
    main()
