"""What the names in tests tell: whether they may execute what a program returned, or read what does not cross."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain

from truegrade.grading.programs import statements

_EXECUTES = re.compile(
    r"_?pickle|cPickle|\w*Pickler|\w+pickle|dill|joblib|shelve|marshal|allow_pickle|read_pickle|read_array"
    r"|importlib|imp|runpy|pkgutil|resolve_name|subprocess|ctypes|exec\w*|eval|compile|__import__|system|popen"
    r"|(posix_)?spawn\w*|read_hdf|HDFStore|yaml|full_load|unsafe_load|load_model|load_source|load_extension"
    r"|extractall|unpack_archive|timeit|c?[pP]rofile|pdb|bdb|trace|doctest|code|codeop|runsource|runcode"
    r"|FunctionType|CodeType|zipimport|site|addsitedir|dictConfig|tkinter|numexpr|sympify|parse_expr|lambdify"
    r"|jinja2|query|sys\.(?:path|modules)"
)
"""Names by which tests may run what the program wrote or returned."""
_STATE = re.compile(
    r"stdout|stderr|stdin|environb?|getenv|putenv|getcwdb?|cwd|chdir|umask|warnings|catch_warnings|assertWarns\w*"
    r"|assert(No)?Logs|logging|getLogger|caplog|capfd|recwarn|gc|getrefcount|weakref|tracemalloc|resource|psutil"
    r"|set(trace|profile)|[gs]etrecursionlimit|getswitchinterval|getsignal|locale|getlocale|getcontext"
    r"|localcontext"
    r"|getstate|get_state|get_fignums|fignum_exists|gcf|gca|rcParams|get_option|option_context|get_printoptions"
    r"|geterr|threading|active_count|process_time(_ns)?|thread_time(_ns)?|getrusage|atexit|inspect|globals|attrs"
    r"|expanduser|gettempdir|islink|is_symlink|symlink\w*|readlink|lstat|mkfifo|hardlink_to|samefile|chown"
    r"|st_(ino|nlink|uid|gid|atime\w*|ctime\w*)|get[ac]time"
)
"""Names by which tests read what a process, its libraries or the system keep to themselves."""
_SETS = re.compile(
    r"(un)?set(?!default$|(diff|xor)1d$)[a-z_]\w*|(un)?register\w*|add_\w+|enable|disable|install|field_size_limit"
)
"""Functions of packages that change what is in force."""
_CHANGES = frozenset(
    ("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "add", "update", "setdefault")
)
"""Methods that change what they are called of."""
NUMPY_FILES = frozenset(
    ("save", "savetxt", "savez", "savez_compressed", "tofile", "memmap", "loadtxt", "genfromtxt", "fromfile")
)
"""Functions of numpy that write files, or read them."""
_HARMLESS = frozenset({"__name__", "__class__", "__init__", "__members__"})
_FILES = (
    r"open|exists|is_?file|is_?dir|listdir|iterdir|r?i?glob|scandir|walk|(read|write)_(text|bytes)|tempfile|touch|unlink"
    r"|\w*Temporary\w*|mkd?temp|mkdirs?|makedirs|getsize|stat|resolve|home|FileIO|sqlite3|zipfile|configparser"
    r"|ElementTree|minidom|dbm|mimetypes|netrc|read_(csv|json|excel|parquet|html|xml|table|fwf|feather|orc|stata|sql\w*)"
    rf"|to_(csv|json|excel|parquet|html|xml|feather|orc|stata|sql|latex)|{'|'.join(NUMPY_FILES)}"
)
_PROCESS = re.compile(
    rf"{_STATE.pattern}|redirect_std\w+|capsys|locals|vars|dir|builtins|setattr|delattr|sleep|shares_memory"
    r"|may_share_memory|flags|strides|_thread|futures|multiprocessing|asyncio|filterwarnings|prec"
    rf"|excepthook|errstate|float16|mock|patch\w*|monkeypatch|getsizeof|traceback|{_FILES}"
)
"""The same of tests of functions, which have a process of their own in any case."""


def names_of(tree: ast.AST) -> Iterator[str]:
    """The names that a source spells, parts of a dotted one each."""
    return chain.from_iterable(map(_spelled, ast.walk(tree)))


def _spelled(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.alias):
        return node.name.split(".")
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")
    if isinstance(node, ast.arg | ast.keyword):  # a fixture; an option
        return [node.arg] if node.arg else []
    return []


def imported_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that imports bind."""
    return {
        (one.asname or one.name).partition(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for one in node.names
    }


def tree_of(tests: str) -> ast.Module:
    """Tests, parsed; raises SyntaxError where they are no Python."""
    return ast.Module(statements(tests), [])


def state_named(tree: ast.AST, names: re.Pattern[str] = _STATE) -> set[str]:
    """Names in a source by which it reads what does not cross, attributes of Python's own among them."""
    own = {
        one.attr
        for one in ast.walk(tree)
        if isinstance(one, ast.Attribute) and one.attr.startswith("__") and one.attr not in _HARMLESS
    }
    return own | {one for one in names_of(tree) if names.fullmatch(one)}


@lru_cache(256)
def reads_state(tests: str, entry_point: str) -> bool:
    """Whether the tests of a function may read what the program leaves in its process and not in its values."""
    tree = tree_of(tests)
    nodes = list(ast.walk(tree))
    own = _bound_in(nodes) | {"self", entry_point}
    set_there = [one for one in nodes if isinstance(one, ast.Attribute) and not isinstance(one.ctx, ast.Load)]
    imported = imported_names(nodes)
    names_index = any(one.attr in _OF_INDEXES and _root(one) != "self" for one in set_there)
    if names_index or not {*map(_root, set_there)} <= own | {""} - imported:
        return True
    if not state_named(tree, _PROCESS) - _builtins_by_another_name(nodes) <= own:
        return True
    from_modules = [one for one in nodes if isinstance(one, ast.ImportFrom)]
    held = imported_names(from_modules)
    texts = {one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    named = {one.name for each in from_modules for one in each.names}
    named |= set() if _LOOKS_UP.isdisjoint(names_of(tree)) else texts
    if any(map(_SETS.fullmatch, named)) or any(map(_PROCESS.fullmatch, named)):
        return True
    caught = {one.name for one in nodes if isinstance(one, ast.ExceptHandler) and one.name}
    known = own | caught | {one.arg for one in nodes if isinstance(one, ast.arg)}
    known -= {entry_point, "candidate"}
    changed = (_root(one) in imported and _changes_settings(one, held) for one in nodes)
    return any(changed) or any(_asks_what_does_not_cross(one, known, caught) for one in nodes)


def _builtins_by_another_name(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """The module of the built-in names, where tests read such names of it alone: as free of state as the names."""
    imports = [each for one in nodes if isinstance(one, ast.Import) for each in one.names]
    names = {each.asname or each.name for each in imports if each.name == "builtins"}
    uses = [one for one in nodes if isinstance(one, ast.Name) and one.id in names]
    reads = [
        one
        for one in nodes
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id in names
        if isinstance(one.ctx, ast.Load) and hasattr(builtins, one.attr)
    ]
    others = any(isinstance(one, ast.ImportFrom) and one.module == "builtins" for one in nodes)
    return frozenset({"builtins"}) if len(uses) == len(reads) and not others else frozenset()


_OF_INDEXES = frozenset({"name", "names", "freq"})
"""What of an index of pandas can be set, which other frames may share."""
_OF_ARRAYS = "base"
"""Attribute of an array of numpy that is another one on each side."""
_OF_EXCEPTIONS = frozenset({"name", "obj", "path"})
"""Attributes of Python's own exceptions that are none of their arguments."""


def _asks_what_does_not_cross(node: ast.AST, known: set[str], caught: set[str]) -> bool:
    """Whether it asks an exception for an attribute that is none of its arguments, an array what it is a part of,
    or the program what it is.

    Args:
        known: names of which none is the program's.
        caught: names of exceptions.
    """
    if isinstance(node, ast.Attribute) and node.attr == _OF_ARRAYS and _root(node) != "self":
        return True
    if isinstance(node, ast.Attribute) and node.attr in _OF_EXCEPTIONS:
        return _root(node) in caught
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
        return False
    asked = node.args[0]
    if node.func.id in ("hasattr", "getattr") and caught:
        return True
    is_program = isinstance(asked, ast.Name) and asked.id not in known
    return is_program and node.func.id in ("hasattr", "isinstance")


@lru_cache(256)
def seeds(tests: str) -> bool:
    """Whether tests say which numbers are drawn: to a program that draws some, that is what it runs under."""
    return "seed" in names_of(tree_of(tests))


def _root(node: ast.AST) -> str:
    """The name with which ``a.b[c].d`` or a call of it begins."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _changes_settings(node: ast.AST, held: set[str]) -> bool:
    """Whether what begins with an imported name changes what that holds: ``calendar.setfirstweekday(6)``,
    ``sys.argv.append("x")``, ``sys.argv[0] = "x"``; ``held`` are names that were in a module."""
    if isinstance(node, ast.Subscript):
        return not isinstance(node.ctx, ast.Load)
    function = node.func if isinstance(node, ast.Call) else None
    if not isinstance(function, ast.Attribute):
        return isinstance(function, ast.Name) and _SETS.fullmatch(function.id) is not None
    of_held = isinstance(function.value, ast.Attribute) or ast.unparse(function.value) in held
    return _SETS.fullmatch(function.attr) is not None or (of_held and function.attr in _CHANGES)


@lru_cache(256)
def may_execute(tests: str) -> bool:
    """Whether tests might run what the program wrote or returned: nothing of it may in the judge's process."""
    nodes = list(ast.walk(tree_of(tests)))
    attributes = [one for one in nodes if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)]
    dotted = [ast.unparse(one) for one in attributes]
    harmless = [one for one, name in zip(attributes, dotted, strict=True) if name == "re.compile"]
    names = {name for one in nodes if one not in harmless for name in _spelled(one)} - _bound_in(nodes)
    if not names.isdisjoint(_LOOKS_UP):
        names |= {one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    return any(map(_EXECUTES.fullmatch, (*names, *dotted)))


_LOOKS_UP = frozenset({"getattr", "attrgetter", "methodcaller", "__getattribute__", "globals", "vars", "__dict__"})
"""Names by which a text becomes a name."""


def _bound_in(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that are variables of a source, and bound by no import."""
    nodes = list(nodes)
    stored = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return stored - imported_names(nodes)
