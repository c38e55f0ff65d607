"""Entry script of the zygotes: ``python start.py ROLE FD SETTINGS``, where ROLE is ``child`` or ``judge``.

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
from binascii import a2b_base64
from importlib.machinery import SourceFileLoader
from os.path import abspath, dirname, join

_TALK = ("wire", "tables", "encode", "decode", "frames", "rlimits", "carried", "actions", "objects", "mirror")
_SERVE = ("seccomp", "confine", "footprint", "zygote")
_JUDGING = ("judging", "stand_ins", "judge")
MODULES = {"child": (*_TALK, *_SERVE, "endings", "child"), "judge": (*_TALK, *_SERVE, *_JUDGING)}


def load(role: str) -> dict[str, dict[str, object]]:
    """Run the modules of a role, in the order of their imports; their namespaces by name."""
    folder = dirname(abspath(__file__))  # noqa: PTH100, PTH120 - pathlib costs 4 ms here
    private = dict(vars(builtins))
    names = {name: f"truegrade.sandbox.{name}" for name in MODULES[role]}
    for name, full in names.items():
        module = type(sys)(full)
        path = join(folder, name + ".py")  # noqa: PTH118
        code = SourceFileLoader(full, path).get_code(full)
        assert code is not None, f"{path} has no code"
        module.__dict__.update(__builtins__=private, __file__=path)
        sys.modules[full] = module
        exec(code, module.__dict__)
    namespaces = {name: sys.modules[full].__dict__ for name, full in names.items()}
    for full in names.values():
        del sys.modules[full]
    return namespaces


def main() -> None:
    """Serve; then, in each process forked for a sample, play the role on its streams."""
    import marshal  # `json` costs 13 ms
    import site  # does nothing by itself, since -S was given

    for install in (site.setquit, site.setcopyright, site.sethelper):  # what it adds to the built-in names
        install()
    _, role, control, settings = sys.argv
    sys.argv[:] = [""]
    sys.dont_write_bytecode = False  # ours is compiled once; what the program imports is never written
    modules = load(role)
    sys.dont_write_bytecode = True
    given = marshal.loads(a2b_base64(settings))
    zygote = modules["zygote"]["ZygoteServer"](int(control), given)  # type: ignore[operator]
    if given["preamble"]:
        modules["child"]["PREPARED"].prepare(given["preamble"])  # type: ignore[attr-defined]
    zygote.serve(modules[role]["rehearse"])
    modules[role]["main"](modules["zygote"]["CONTROL"], zygote)  # type: ignore[operator]


if __name__ == "__main__":
    main()
