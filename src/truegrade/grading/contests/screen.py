"""Whether a program is so plain that it cannot reach a grader in its own process.

An allow-list: of syntax, of modules, of what may be taken from them, of attributes and of special methods. What
passes it computes with plain values and with what it defines itself; it has no way to a frame, to a module's
insides, to a name chosen at run time, to a file descriptor, or to how its answers are compared. What does not pass
may still be honest. Only reading the text decides; nothing of it runs.

Three things carry the argument. A module may only stand in front of a dot, so that it is never stored, passed or
changed; what is taken from it must be one of the names below. An attribute must be a public one of a plain type,
one of the names below, or one that the program defines and no module of the preamble has. A name that the preamble
or the built-ins supply must be one of the names below.
"""

from __future__ import annotations

import array
import ast
import builtins
import collections
import datetime
import decimal
import fractions
import importlib
import io
import queue
import re
import threading
from functools import cache
from types import GeneratorType, ModuleType
from typing import Any, Final, TypeGuard

from truegrade.extraction.parsing import Fault, parse_module
from truegrade.grading.contests.driver import import_string

_NAMES: Final = frozenset(
    """
    ArithmeticError AssertionError AttributeError BaseException EOFError Ellipsis Exception FloatingPointError
    ImportError IndexError KeyError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError
    NotImplemented NotImplementedError OSError OverflowError RecursionError RuntimeError StopIteration SystemExit
    TimeoutError TypeError UnboundLocalError UnicodeDecodeError UnicodeError ValueError ZeroDivisionError abs all
    any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate exit filter float
    format frozenset hasattr hash hex id input int isinstance issubclass iter len list map max min next object
    oct ord pow print property dir quit range repr reversed round set slice sorted staticmethod str sum super tuple
    zip __name__
    ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable punctuation
    whitespace
    A ASCII DOTALL I IGNORECASE L LOCALE M MULTILINE Match Pattern S T U UNICODE VERBOSE X compile error escape
    findall finditer flags fullmatch match search split sub subn template
    MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo
    ChainMap Counter OrderedDict defaultdict deque namedtuple
    heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest _heapify_max _heappop_max
    _heapreplace_max _siftdown _siftup
    bisect bisect_left bisect_right insort insort_left insort_right
    copy deepcopy
    acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2 expm1
    fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma
    log log10 log1p log2 modf nan nextafter perm pi prod radians remainder sin sinh sqrt tan tanh tau trunc ulp
    Random betavariate choice choices expovariate gauss getrandbits normalvariate randbytes randint random
    randrange sample seed shuffle triangular uniform
    correlation covariance fmean geometric_mean harmonic_mean linear_regression mean median median_grouped
    median_high median_low mode multimode pstdev pvariance quantiles stdev variance
    accumulate chain combinations combinations_with_replacement compress count cycle dropwhile filterfalse groupby
    islice pairwise permutations product repeat starmap takewhile tee zip_longest
    cache cached_property cmp_to_key lru_cache partial reduce total_ordering
    add and_ concat contains countOf delitem eq floordiv ge getitem gt iadd iand index indexOf inv invert ior is_
    is_not isub itemgetter ixor le length_hint lshift lt mod mul ne neg not_ or_ pos rshift setitem sub truediv
    truth xor
    BytesIO StringIO
    argv base_prefix byteorder copyright exec_prefix executable float_info hexversion implementation prefix
     getrecursionlimit getsizeof intern maxsize maxunicode path platform
    set_int_max_str_digits setrecursionlimit stderr stdin stdout version version_info
    JSONDecodeError dump dumps load loads
    AbstractSet Any AnyStr Callable ClassVar Collection Container DefaultDict Deque Dict Final FrozenSet Generator
    Generic Hashable Iterable Iterator List Literal Mapping MutableMapping MutableSequence MutableSet NamedTuple
    NewType NoReturn Optional Protocol Reversible Self Sequence Set Sized SupportsInt Text Tuple Type TypeAlias
    TypeVar TypedDict Union cast final overload
    Thread stack_size Lock RLock Condition Event Semaphore
    Decimal ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP
    InvalidOperation getcontext localcontext
    Fraction Queue PriorityQueue LifoQueue SimpleQueue Empty Full dataclass field asdict astuple array ABC
    abstractmethod SortedDict SortedKeyList SortedList SortedSet phase polar rect
    perf_counter perf_counter_ns process_time process_time_ns monotonic monotonic_ns time_ns sleep
    annotations numbers
    """.split()  # noqa: SIM905 - a list of one a line would fill ten screens
)
"""What a program may use of built-ins, of the preamble and of `_IMPORTABLE`, as a name or after a module's dot."""
_PREAMBLE: Final = frozenset(re.findall(r"^import (\w+)", import_string, re.MULTILINE))
_NEVER_SHADOWED: Final = frozenset({"sys", "json", "io", "functools", "operator"})
"""Modules of the preamble through which a grader is reached; a variable may have the name of any other one."""
_IMPORTABLE: Final = _PREAMBLE | frozenset(
    """
    __future__ abc array cmath os collections.abc dataclasses decimal fractions numbers queue sortedcontainers
    threading time typing
    """.split()  # noqa: SIM905
)
_IN_ONE_FORM: Final = frozenset({"type", "open", "compile"})
"""Built-ins that stand only in a form that `_Reader` knows; `compile` in none, though `re` has one."""
_TYPES: Final = (
    *(
        array.array,
        bool,
        bytearray,
        bytes,
        complex,
        dict,
        float,
        frozenset,
        int,
        list,
        property,
        range,
        set,
        slice,
    ),
    *(str, tuple, GeneratorType, re.Match, re.Pattern, threading.Thread, threading.Event, queue.Queue),
    *(collections.Counter, collections.OrderedDict, collections.defaultdict, collections.deque, datetime.datetime),
    *(collections.ChainMap, datetime.timedelta, decimal.Decimal, fractions.Fraction, type(threading.Lock())),
    *(io.StringIO, io.BytesIO),
)
_OF_TYPES: Final = """
    from_iterable name value args buffer cache_clear cache_info setter getter deleter prec irange peekitem
    bisect_key _cache
    _replace _asdict _fields _make __getitem__ __setitem__ __contains__ __len__ __str__ __repr__ __lt__
    __name__
    """.split()  # noqa: SIM905
_METHODS: Final = frozenset(
    f"__{name}__"
    for name in (
        *("init", "lt", "gt", "le", "ge", "repr", "str", "len", "getitem", "setitem", "delitem", "contains"),
        *("iter", "next", "reversed", "call", "hash", "bool", "neg", "add", "radd", "iadd", "sub", "rsub", "isub"),
        *("mul", "rmul", "imul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"),
        *("abs", "post_init", "enter", "exit", "missing", "slots", "name"),
    )
)
"""Special methods that no grader calls, or only to be shown an answer; ``__eq__`` is shown the expected one."""
_EQUALITY: Final = frozenset({"__eq__", "__ne__"})
_SPECIAL: Final = re.compile(r"__\w*__")
_INWARD: Final = re.compile(r"(?:gi|cr|ag|f|tb|co)_\w+|format_map|get_field|vformat|__\w*__")
"""Attributes that lead to frames and code, or walk along others; a program cannot make them its own."""
_COLLECTS: Final = "getvalue"
"""The one method of a stream that a grader calls after the program, for what it printed."""
_SYNTAX: Final = frozenset(
    {
        *(
            ast.Module,
            ast.Return,
            ast.Delete,
            ast.Assign,
            ast.AugAssign,
            ast.AnnAssign,
            ast.For,
            ast.While,
            ast.If,
        ),
        *(ast.With, ast.Raise, ast.Try, ast.Assert, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.BoolOp),
        *(ast.NamedExpr, ast.BinOp, ast.UnaryOp, ast.Lambda, ast.IfExp, ast.Dict, ast.Set, ast.ListComp),
        *(
            ast.SetComp,
            ast.DictComp,
            ast.GeneratorExp,
            ast.Yield,
            ast.YieldFrom,
            ast.FormattedValue,
            ast.JoinedStr,
        ),
        *(ast.Constant, ast.Subscript, ast.Starred, ast.List, ast.Tuple, ast.Slice, ast.comprehension),
        *(ast.arguments, ast.keyword, ast.alias, ast.withitem, ast.Load, ast.Store, ast.Del),
        *(kind for group in (ast.boolop, ast.operator, ast.unaryop, ast.cmpop) for kind in group.__subclasses__()),
    }
)
"""What needs no look; `_READ` has the rest of what is allowed."""
_FIELD_WITH_PATH: Final = re.compile(r"\{[^{}:!]*[.\[]")
_WORD: Final = re.compile(r"\w+")


def plain(code: str, *, stdin: bool) -> bool:
    """Whether nothing in a program can reach a grader that compares its answers in the same process.

    Args:
        code: the program; one that does not parse, or is very long, is not plain.
        stdin: it answers by what it prints; objects of its own classes are then never compared.
    """
    return _read(code, _METHODS | _EQUALITY if stdin else _METHODS) is not None


def plain_without(code: str, mentioned: frozenset[str], given: frozenset[str]) -> bool:
    """Whether the program of a function is plain and, besides, keeps off some names.

    Args:
        code: the program.
        mentioned: names that it may not have at all, neither alone nor behind a dot.
        given: names to which it may not give a meaning of its own.
    """
    reader = _read(code, _METHODS)
    return reader is not None and mentioned.isdisjoint(reader.mentioned) and given.isdisjoint(reader.given)


def _read(code: str, methods: frozenset[str]) -> _Reader | None:
    tree = parse_module(code)
    if isinstance(tree, Fault):
        return None
    reader = _Reader(methods)
    return reader if all(map(reader.allows, ast.walk(tree))) and reader.agrees() else None


class _Reader:
    """Reads the nodes of one program in `ast.walk`'s order: what holds a node comes before it.

    Args:
        methods: special methods that it may define.
    """

    def __init__(self, methods: frozenset[str]) -> None:
        self._bound: set[str] = set()
        """Names and attributes that the program gives a value, its imports of whole modules left out."""
        self._loaded: set[str] = set()
        self._attributes: set[str] = set()
        self._modules: dict[str, str] = {}
        """Modules imported whole, by the names that they are given."""
        self._of_names: set[tuple[str, str]] = set()
        """(name, attribute) of what stands directly behind a name and a dot."""
        self._bare: set[str] = set()
        """Names that stand elsewhere than in front of a dot, or in front of one to be changed."""
        self._excused: set[int] = set()
        """The ``id`` of each name that stands in front of a dot or in the one form allowed of it."""
        self._methods = methods

    def allows(self, node: ast.AST) -> bool:
        """Take note of a node; False if no plain program has it."""
        kind = type(node)
        read = _READ.get(kind)
        return kind in _SYNTAX if read is None else bool(read(self, node))

    @property
    def given(self) -> set[str]:
        """Names and attributes to which the program gives a meaning of its own."""
        return self._bound | {name for name, module in self._modules.items() if name != module}

    @property
    def mentioned(self) -> set[str]:
        """Every name and attribute."""
        return self.given | self._loaded | self._attributes

    def agrees(self) -> bool:
        """Whether the names and attributes noted are all harmless, the whole program being known."""
        names = (self._bound | self._loaded | self._modules.keys()) - self._methods
        if any(map(_SPECIAL.fullmatch, names)):
            return False
        # A variable named like a module hides it, but only where it is bound: elsewhere the module is still there.
        hidden = _PREAMBLE & self._bound - _NEVER_SHADOWED
        modules = {name: name for name in _PREAMBLE - hidden} | self._modules
        unknown = (self._bound & supplied()) - _PREAMBLE | self._loaded - self._bound - modules.keys()
        if unknown - _NAMES or not self._bare.isdisjoint(modules):
            return False
        if any(name in modules and attribute not in _exports(modules[name]) for name, attribute in self._of_names):
            return False
        # Attributes that no plain type has must be the program's own, and no module's, which a name may turn out
        # to be.
        own = self._attributes - _offered()
        return own <= self._bound and own.isdisjoint(_in_modules()) and not any(map(_INWARD.fullmatch, own))

    def name(self, node: ast.Name) -> bool:
        """A name, read or bound."""
        excused = id(node) in self._excused
        if not excused:
            self._bare.add(node.id)
        if not isinstance(node.ctx, ast.Load):
            self._bound.add(node.id)
        elif node.id in _IN_ONE_FORM:
            return excused
        else:
            self._loaded.add(node.id)
        return True

    def attribute(self, node: ast.Attribute) -> bool:
        """What stands behind a dot."""
        changed = not isinstance(node.ctx, ast.Load)
        if changed:
            self._bound.add(node.attr)
        if isinstance(node.value, ast.Name):
            self._of_names.add((node.value.id, node.attr))
            if changed:
                self._bare.add(node.value.id)
            if node.value.id not in _IN_ONE_FORM:
                self._excused.add(id(node.value))
        if node.attr == "__name__":
            self._excuse_type(node.value)
        if node.attr == "__init__":  # elsewhere it can open an open stream anew, on any descriptor
            return _calls(node.value, "super")
        self._attributes.add(node.attr)
        if node.attr == "format":
            return _simple_format(node.value)
        return not (changed and node.attr == _COLLECTS)

    def compared(self, node: ast.Compare) -> bool:
        """``type(x) == int``."""
        for operand in (node.left, *node.comparators):
            self._excuse_type(operand)
        return True

    def _excuse_type(self, node: ast.expr) -> None:
        """Elsewhere it might give the type of a type, which makes classes of dictionaries."""
        if _calls(node, "type"):
            self._excused.add(id(node.func))

    def call(self, node: ast.Call) -> bool:
        """``open(0)``, and the fields that a namedtuple defines."""
        match node:
            case ast.Call(func=ast.Name("open"), args=[ast.Constant(0)], keywords=[]):
                self._excused.add(id(node.func))
            case ast.Call(func=ast.Name("namedtuple") | ast.Attribute(attr="namedtuple")):
                for part in ast.walk(node):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        # Fields are attributes that the program defines, though they stand in a text.
                        self._bound.update(_WORD.findall(part.value))
        return True

    def imported(self, node: ast.Import) -> bool:
        """``import math as m``."""
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            self._modules[name] = alias.name if alias.asname else name
        return all(alias.name in _IMPORTABLE for alias in node.names)

    def imported_from(self, node: ast.ImportFrom) -> bool:
        """``from math import gcd``; a star only of modules from which the preamble takes everything as well."""
        if node.level or node.module not in _IMPORTABLE:
            return False
        if node.names[0].name == "*":
            return node.module in _PREAMBLE or node.module == "typing"
        self._bound.update(alias.asname or alias.name for alias in node.names)
        return all(alias.name in _exports(node.module) for alias in node.names)

    def defined(self, node: ast.FunctionDef | ast.ClassDef) -> bool:
        """A function, or a class that names no metaclass."""
        self._bound.add(node.name)
        # A metaclass gives methods to the class itself, which may be the very answer that a grader compares.
        return not (isinstance(node, ast.ClassDef) and node.keywords)

    def argument(self, node: ast.arg) -> bool:
        """A parameter."""
        self._bound.add(node.arg)
        return True

    def handler(self, node: ast.ExceptHandler) -> bool:
        """``except Error as name``."""
        if node.name is not None:
            self._bound.add(node.name)
        return True

    def declared(self, node: ast.Global | ast.Nonlocal) -> bool:
        """``global name``."""
        self._bound.update(node.names)
        return True


def _calls(node: ast.expr, name: str) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _simple_format(template: ast.expr) -> bool:
    """Whether the fields of a template are known, and none of them walks along attributes."""
    return (
        isinstance(template, ast.Constant)
        and isinstance(template.value, str)
        and _FIELD_WITH_PATH.search(template.value) is None
    )


@cache
def supplied() -> frozenset[str]:
    """Every name that the preamble and the built-ins supply."""
    names: dict[str, Any] = dict(vars(builtins))
    imports = import_string.rpartition("sys.setrecursionlimit")[0]
    exec(compile(imports, "<preamble>", "exec", dont_inherit=True), names)
    return frozenset(names)


@cache
def _offered() -> frozenset[str]:
    """Every attribute that is harmless on whatever object."""
    public = {name for kind in _TYPES for name in dir(kind) if not name.startswith("_")}
    return (_NAMES | public | frozenset(_OF_TYPES)) - {name for name in public if _INWARD.fullmatch(name)}


@cache
def _in_modules() -> frozenset[str]:
    """Attributes of the modules whose names a variable may have: one may be the other where it is not bound."""
    modules = map(importlib.import_module, _PREAMBLE - _NEVER_SHADOWED)
    return frozenset(name for module in modules for name in dir(module)) - _offered()


@cache
def _exports(module: str) -> frozenset[str]:
    """What may be taken from a module: never another module."""
    try:
        names = vars(importlib.import_module(module))
    except ImportError:
        return frozenset()
    return frozenset(name for name in _NAMES & names.keys() if not isinstance(names[name], ModuleType))


_READ: Final[dict[type[ast.AST], Any]] = {
    ast.Name: _Reader.name,
    ast.Attribute: _Reader.attribute,
    ast.Compare: _Reader.compared,
    ast.Call: _Reader.call,
    ast.Import: _Reader.imported,
    ast.ImportFrom: _Reader.imported_from,
    ast.FunctionDef: _Reader.defined,
    ast.ClassDef: _Reader.defined,
    ast.arg: _Reader.argument,
    ast.ExceptHandler: _Reader.handler,
    ast.Global: _Reader.declared,
    ast.Nonlocal: _Reader.declared,
}
