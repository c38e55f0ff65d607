"""What the names in tests tell: whether they may execute what a program returned, or read what does not cross."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
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
_SETS = re.compile(r"(un)?set(?!default$|(diff|xor)1d$)[a-z_]\w*|(un)?register\w*|add_\w+|enable|disable|install")
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
_PROCESS = re.compile(
    rf"{_STATE.pattern}|redirect_std\w+|capsys|locals|vars|dir|builtins|setattr|delattr|sleep|shares_memory"
    r"|may_share_memory|flags|strides|_thread|futures|multiprocessing|asyncio|seed|filterwarnings|prec|open|exists"
    r"|isfile|isdir|listdir|i?glob|scandir|walk|(read|write)_(text|bytes)|tempfile|\w*Temporary\w*|mkd?temp"
    r"|mkdirs?|makedirs|getsize|pathlib|Path|excepthook|errstate|mock|patch\w*|monkeypatch|getsizeof"
    rf"|{'|'.join(NUMPY_FILES)}"
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
def reads_state(tests: str) -> bool:
    """Whether the tests of a function may read what the program leaves in its process and not in its values."""
    tree = tree_of(tests)
    nodes = list(ast.walk(tree))
    own = _bound_in(nodes)
    set_there = (one for one in nodes if isinstance(one, ast.Attribute) and not isinstance(one.ctx, ast.Load))
    of_others = (one.value.id for one in set_there if isinstance(one.value, ast.Name))
    if not state_named(tree, _PROCESS) <= own or not own.issuperset(of_others):
        return True
    imported = imported_names(nodes)
    held = imported_names(one for one in nodes if isinstance(one, ast.ImportFrom))
    return any(_root(one) in imported and _changes_settings(one, held) for one in nodes)


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
