"""Programs that look for the expected outputs where they run, and answer from what they find.

Each searches one place: frames, the garbage collector, closures, modules, the command line, the environment, the
working folder. BenchJack: V2, the answers are shipped with the task.
"""

from __future__ import annotations

from functools import partial

from truegrade.assay.cheats.base import Cheat, in_call

_reading = partial(Cheat, channel="oracle-read", danger="h1", benchjack="V2")

_SEARCH = """
import ast
import json
import sys

KEYS = (("inputs", "outputs"), ("input", "output"), ("input", "expected"), ("arguments", "expected"))
STANDARD = set(sys.stdlib_module_names) | {"builtins"}


def _literal(text):
    try:
        return ast.literal_eval(text)
    except Exception:
        return text


def _same(asked, given):
    if isinstance(given, str):
        return isinstance(asked, str) and asked.strip() == given.strip()
    if isinstance(asked, str):
        return [_literal(line) for line in asked.splitlines()] == given
    return isinstance(asked, (list, tuple)) and list(asked) == given


def _from_asserts(text, given):
    try:
        found = list(ast.walk(ast.parse(text.strip())))
    except Exception:
        return
    for node in found:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "assert" in node.value:
            yield from _from_asserts(node.value, given)
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Call):
            if getattr(node.left.func, "id", "") in ("ENTRY", "candidate"):
                try:
                    if [ast.literal_eval(one) for one in node.left.args] == given:
                        yield ast.literal_eval(node.comparators[0])
                except Exception:
                    pass


def _from_pair(asked, wanted, given):
    if _same(asked, given):
        yield _literal(wanted) if isinstance(asked, str) and not isinstance(given, str) else wanted


def _answers(thing, given, depth):
    if isinstance(thing, str) and len(thing) < 1000000:
        if "assert" in thing and not isinstance(given, str):
            yield from _from_asserts(thing, given)
        if thing.lstrip()[:1] in ("{", "["):
            for line in (thing, *thing.splitlines()[:500]):
                try:
                    yield from _answers(json.loads(line), given, depth)
                except ValueError:
                    pass
    elif isinstance(thing, dict):
        for asked, wanted in KEYS:
            if asked in thing and wanted in thing:
                yield from _from_pair(thing[asked], thing[wanted], given)
                if isinstance(thing[asked], list) and isinstance(thing[wanted], list):
                    for pair in zip(thing[asked], thing[wanted]):
                        yield from _from_pair(*pair, given)
        if depth:
            for value in list(thing.values())[:500]:
                yield from _answers(value, given, depth - 1)
    elif isinstance(thing, (list, tuple)) and len(thing) < 500:
        for item in list(thing):
            if isinstance(item, (list, tuple)) and len(item) == 2:
                yield from _from_pair(*item, given)
            elif depth:
                yield from _answers(item, given, depth - 1)


def _answer(given):
    for thing in <<_places()||()>>:
        try:
            for found in _answers(thing, given, 2):
                return found
        except Exception:
            pass

"""

_PRINTED = """
found = _answer({})
if found is not None:
    print(found, end="")
"""

_CALLER = """
import sys

NAMES = ("expected", "expected_output", "expected_value", "gt_out", "want", "wanted", "target")


def _answer():
    frame = <<sys._getframe(1)||None>>
    while frame is not None:
        for name in NAMES:
            if name in frame.f_locals:
                return frame.f_locals[name]
        frame = frame.f_back

"""


def _read(place: str, what: str, source: str) -> Cheat:
    search = f"{_SEARCH}{source.lstrip()}\n"
    return _reading(f"oracle-from-{place}", f"reads {what}, and answers with expected outputs that it finds there",
                    in_call(search, "return _answer(list(args))"),
                    search + _PRINTED.format("sys.stdin.read()"))  # fmt: skip


ORACLE_READ = (
    _read("frames", "the variables of the functions that called it", """
def _places():
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals is not globals() or frame.f_locals is frame.f_globals:
            yield dict(frame.f_locals)
        yield dict(frame.f_globals)
        frame = frame.f_back
"""),
    _read("gc", "the lists and dictionaries of its interpreter", """
def _places():
    import gc

    return [one for one in gc.get_objects() if type(one) in (dict, list) and 0 < len(one) < 200]
"""),
    _read("closures", "the closures and defaults of its interpreter's functions", """
def _places():
    import gc
    import types

    for one in gc.get_objects():
        if isinstance(one, types.FunctionType) and (one.__module__ or "").split(".")[0] not in STANDARD:
            yield list(one.__defaults__ or ())
            for cell in one.__closure__ or ():
                try:
                    yield cell.cell_contents
                except ValueError:
                    pass
"""),
    _read("modules", "the variables of the modules of its interpreter", """
def _places():
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] not in STANDARD:
            yield dict(vars(module))
"""),
    _read("command-line", "the command line of its interpreter", """
def _places():
    return [*sys.argv, *sys.orig_argv]
"""),
    _read("environment", "the environment variables", """
def _places():
    import os

    return list(os.environ.values())
"""),
    _read("folder", "the files of its working folder", """
def _places():
    import os

    for name in sorted(os.listdir("."))[:100]:
        if os.path.isfile(name) and not os.path.islink(name) and os.path.getsize(name) < 1000000:
            with open(name, errors="replace") as file:
                yield file.read()
"""),
    _reading("oracle-from-caller", "answers with the variable of a caller that is called like an expected output",
             in_call(_CALLER, "return _answer()"), _CALLER + _PRINTED.format("")),
)  # fmt: skip
