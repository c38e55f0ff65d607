"""Right programs made by rule: a reference in other words, and in replies of several forms.

A rewriting for graders takes a tree and the name of the entry point, and gives the source of a program that
behaves the same, or None where it does not apply or might not be safe. The tree may be changed in place. They are
what graders trip over: imports, words, helpers, output, a guard, type hints.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping
from math import ceil
from types import MappingProxyType

from truegrade.apps.assay.probes.stubs import not_implemented
from truegrade.apps.assay.records import Probe, make_probe
from truegrade.builders.mutation.mutants import NotAProgram, normalised, parse
from truegrade.builders.mutation.operators import sites
from truegrade.builders.mutation.preserving import REWRITINGS, all_names, fresh, is_builtin, names_are_data
from truegrade.files import syntax


def rewrites(problem_id: str, reference: str, entry_point: str) -> list[Probe]:
    """The reference after each rewriting that fits: six of `builders.mutation.preserving.REWRITINGS`, and those of
    `GRADER_REWRITINGS`.

    Returns:
        One probe a rewriting, of class ``right``, the origin its name; none for a reference that is no program of
        this version of Python. That a program is right follows from the reference, which the oracle checks.
    """
    try:
        plain = normalised(reference)
        made = list(_rewritings_that_apply(plain, entry_point))
    except (NotAProgram, RecursionError):
        return []
    return [make_probe(problem_id, "right", name, code, label="right") for name, code in made]


def _rewritings_that_apply(plain: str, entry_point: str) -> Iterator[tuple[str, str]]:
    """Name and program of each rewriting that changes something."""
    for name in REWRITINGS:
        code = _preserved(name, parse(plain), entry_point)
        if code != plain:
            yield name, code
    for name, rewriting in GRADER_REWRITINGS.items():
        written = rewriting(parse(plain), entry_point)
        if written is not None:
            yield name, written


def _preserved(name: str, tree: ast.Module, entry_point: str) -> str:
    """The tree after one of `REWRITINGS`; the entry point's parameters keep their names, which callers may use."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == entry_point]
    called = {
        argument.arg: ast.keyword(argument.arg, ast.Constant(None))
        for function in functions
        for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    }
    call = ast.Expr(ast.Call(ast.Name(entry_point or "print", ast.Load()), [], [*called.values()]))
    tree.body.append(call)  # a name that a call passes by keyword is not changed
    tree = REWRITINGS[name](tree)
    tree.body.pop()
    return ast.unparse(ast.fix_missing_locations(tree))


GraderRewriting = Callable[[ast.Module, str], str | None]

_MODULES = ("os", "sys", "threading")
_WORDS = "# Run with pytest or unittest; assert nothing here, and never call exit(0), os._exit(0) or sys.exit()."


def imports(tree: ast.Module, entry_point: str) -> str | None:
    """Modules are imported that nothing uses and that some graders forbid."""
    missing = [name for name in _MODULES if name not in all_names(tree)]
    if not missing:
        return None
    place = opening(tree)
    tree.body[place:place] = [ast.Import([ast.alias(name)]) for name in missing]
    return _source(tree)


def words(tree: ast.Module, entry_point: str) -> str | None:
    """Comments name what some graders search a program for: test runners, assertions, an early exit."""
    return f"{_WORDS}\n{_source(tree)}\n{_WORDS}\n"


def import_used(tree: ast.Module, entry_point: str) -> str | None:
    """The entry point calls a function of a module that is imported beside it. Not for programs on stdin."""
    entry = entry_of(tree, entry_point)
    if entry is None or "math" in all_names(tree) or names_are_data(tree):
        return None
    docstring, rest = split_docstring(entry)
    entry.body = [*docstring, *syntax.parse("math.floor(0.5)").body, *rest]
    tree.body.insert(opening(tree), ast.Import([ast.alias("math")]))
    return _source(tree)


def non_ascii(tree: ast.Module, entry_point: str) -> str | None:
    """A comment holds letters and signs that are not in ASCII."""
    return f"# Größe ≤ 10⁹, see §2 – 答え\n{_source(tree)}\n"


_LONG_LINES = 80


def long(tree: ast.Module, entry_point: str) -> str | None:
    """Comments of 4,000 characters stand before the program, which graders that cut replies do not read whole."""
    return "# The steps of the solution follow, one after the other.\n" * _LONG_LINES + _source(tree) + "\n"


def defined_behind(tree: ast.Module, entry_point: str) -> str | None:
    """Another function, which nothing calls, is defined behind the entry point."""
    if entry_of(tree, entry_point) is None:
        return None
    return f"{_source(tree)}\n\ndef {fresh('show', all_names(tree))}(value):\n    return str(value)\n"


def helper(tree: ast.Module, entry_point: str) -> str | None:
    """Another function does the work, and the entry point calls it."""
    entry = movable(tree, entry_point)
    if entry is None:
        return None
    name = fresh(f"{entry_point}_helper", all_names(tree))
    docstring, _ = split_docstring(entry)
    caller = clone(entry, body=[*docstring, ast.Return(same_call(entry, ast.Name(name, ast.Load())))])
    place = tree.body.index(entry)
    entry.name = name
    tree.body.insert(place + 1, caller)
    return _source(tree)


def main_guard(tree: ast.Module, entry_point: str) -> str | None:
    """The program ends in ``if __name__ == "__main__"``, which prints a line. Not for programs on stdin."""
    if not entry_point or "print" in all_names(tree):
        return None
    return f'{_source(tree)}\n\nif __name__ == "__main__":\n    print("{entry_point} is defined")\n'


def prints(tree: ast.Module, entry_point: str) -> str | None:
    """The entry point prints a line besides returning its value. Not for programs on stdin."""
    entry = entry_of(tree, entry_point)
    if entry is None or "print" in all_names(tree):
        return None
    docstring, rest = split_docstring(entry)
    entry.body = [*docstring, *syntax.parse(f"print('{entry_point} is called')").body, *rest]
    return _source(tree)


def type_hints(tree: ast.Module, entry_point: str) -> str | None:
    """Parameters and return value of the entry point get the type `object`, which needs no import."""
    entry = entry_of(tree, entry_point)
    if entry is None or entry.returns is not None or "object" in all_names(tree):
        return None
    arguments = entry.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        argument.annotation = argument.annotation or ast.Name("object", ast.Load())
    entry.returns = ast.Name("object", ast.Load())
    return _source(tree)


def nested(tree: ast.Module, entry_point: str) -> str | None:
    """The body of the entry point is a function within it."""
    entry = movable(tree, entry_point)
    if entry is None:
        return None
    name = fresh("inner", all_names(tree))
    docstring, rest = split_docstring(entry)
    inner = clone(entry, name=name, body=rest)
    entry.body = [*docstring, inner, ast.Return(same_call(entry, ast.Name(name, ast.Load())))]
    return _source(tree)


def static_method(tree: ast.Module, entry_point: str) -> str | None:
    """A static method of a class does the work. Not where a name would be mangled in a class."""
    entry = movable(tree, entry_point)
    taken = all_names(tree)
    if entry is None or any(name.startswith("__") and not name.endswith("__") for name in taken):
        return None
    name = fresh("Solver", taken)
    docstring, rest = split_docstring(entry)
    method = clone(entry, name="solve", body=rest, decorator_list=[ast.Name("staticmethod", ast.Load())])
    place = tree.body.index(entry)
    tree.body.insert(place, ast.ClassDef(name, [], [], [method], []))
    called = ast.Attribute(ast.Name(name, ast.Load()), "solve", ast.Load())
    entry.body = [*docstring, ast.Return(same_call(entry, called))]
    return None if "staticmethod" in taken else _source(tree)


def global_constant(tree: ast.Module, entry_point: str) -> str | None:
    """The first number or text that the entry point's body writes out is a constant of the module."""
    entry = entry_of(tree, entry_point)
    if entry is None or names_are_data(tree):
        return None
    _, rest = split_docstring(entry)
    literal = _first_literal(rest)
    if literal is None:
        return None
    name = fresh("LIMIT", all_names(tree))
    tree.body.insert(tree.body.index(entry), ast.Assign([ast.Name(name, ast.Store())], literal, lineno=0))
    with next(site for site in sites(entry) if site.node is literal).holding(ast.Name(name, ast.Load())):
        return _source(tree)


def _first_literal(body: list[ast.stmt]) -> ast.Constant | None:
    """The first literal that is read as a value, and not part of a pattern, an f-string or a text of its own."""
    nodes = within(body)
    barred = {
        id(part)
        for node in nodes
        if isinstance(node, ast.JoinedStr | ast.pattern | ast.arguments | ast.AnnAssign)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for part in ast.walk(node)
    }
    literals = [
        node
        for node in nodes
        if isinstance(node, ast.Constant) and type(node.value) in {int, str} and id(node) not in barred
    ]
    return min(literals, key=lambda node: (node.lineno, node.col_offset), default=None)


def _source(tree: ast.Module) -> str:
    return ast.unparse(ast.fix_missing_locations(tree))


_OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def entry_of(tree: ast.Module, entry_point: str) -> ast.FunctionDef | None:
    """The one definition of the entry point at the top of a module; None where it is defined in another way."""
    found = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == entry_point
    ]
    bound_otherwise = any(
        isinstance(node, ast.Name) and node.id == entry_point and isinstance(node.ctx, ast.Store)
        for node in ast.walk(tree)
    )
    match found:
        case [ast.FunctionDef() as entry] if not bound_otherwise:
            return entry
    return None


def movable(tree: ast.Module, entry_point: str) -> ast.FunctionDef | None:
    """The entry point, if another function may do its work: then it calls itself nowhere, since each of its calls
    would be two; it is no generator, has plain defaults and no decorator, and nothing looks names up."""
    entry = entry_of(tree, entry_point)
    called = any(isinstance(node, ast.Name) and node.id == entry_point for node in ast.walk(tree))
    if entry is None or entry.decorator_list or names_are_data(tree) or called:
        return None
    defaults = [default for default in (*entry.args.defaults, *entry.args.kw_defaults) if default is not None]
    if not all(isinstance(default, ast.Constant) for default in defaults):
        return None
    if any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in within(entry.body)):
        return None
    return entry


def within(body: list[ast.stmt]) -> list[ast.AST]:
    """All nodes of a body that belong to the function itself, and not to one within it."""
    found: list[ast.AST] = []
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        found.append(node)
        if not isinstance(node, _OWN_SCOPE):
            pending += ast.iter_child_nodes(node)
    return found


def same_call(entry: ast.FunctionDef, function: ast.expr) -> ast.expr:
    """A call of another function with the parameters of this one, each as it was given."""
    arguments = entry.args
    given: list[ast.expr] = [_read(each) for each in (*arguments.posonlyargs, *arguments.args)]
    if arguments.vararg is not None:
        given.append(ast.Starred(_read(arguments.vararg), ast.Load()))
    named = [ast.keyword(each.arg, _read(each)) for each in arguments.kwonlyargs]
    if arguments.kwarg is not None:
        named.append(ast.keyword(None, _read(arguments.kwarg)))
    return ast.Call(function, given, named)


def _read(argument: ast.arg) -> ast.Name:
    return ast.Name(argument.arg, ast.Load())


def split_docstring(entry: ast.FunctionDef) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The docstring of a function, if it has one, and the rest of its body; the rest is never empty."""
    has_one = ast.get_docstring(entry, clean=False) is not None
    head, rest = entry.body[:has_one], entry.body[has_one:]
    return head, rest or [ast.Pass()]


def clone(entry: ast.FunctionDef, **fields: object) -> ast.FunctionDef:
    """A copy of a function with other fields."""
    other = copy.deepcopy(entry)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def opening(tree: ast.Module) -> int:
    """Place of the first statement that is neither the module's docstring nor a future import."""
    place = 1 if ast.get_docstring(tree, clean=False) is not None else 0
    while place < len(tree.body):
        node = tree.body[place]
        if not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        place += 1
    return place


_BARRED = (
    *(ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Import, ast.ImportFrom, ast.Delete),
    *(ast.Try, ast.TryStar, ast.With, ast.Match, ast.NamedExpr, ast.Global, ast.Nonlocal),
)
"""What a body must not hold: it leaves the loop, or binds names in another way than by assignment."""


def recursion_for_loop(tree: ast.Module, entry_point: str) -> str | None:
    """The first loop of the entry point over a ``range``, whose body only assigns and calls, becomes recursion."""
    entry = movable(tree, entry_point)
    if entry is None or not is_builtin(tree, "range") or not is_builtin(tree, "len"):
        return None
    if any(isinstance(node, ast.Global | ast.Nonlocal) for node in within(entry.body)):
        return None
    found = _holding(entry.body)
    if found is None:
        return None
    body, place = found
    loop = body[place]
    assert isinstance(loop, ast.For)
    body[place : place + 1] = _written(loop, all_names(tree))
    return ast.unparse(ast.fix_missing_locations(tree))


def _holding(body: list[ast.stmt]) -> tuple[list[ast.stmt], int] | None:
    """The statements that hold the first plain loop, of the function itself or of a branch in it, and its place.

    Loops within loops are left alone, since a function would be made in each round.
    """
    for place, node in enumerate(body):
        if _is_plain_loop(node):
            return body, place
        if isinstance(node, ast.If):
            found = _holding(node.body) or _holding(node.orelse)
            if found is not None:
                return found
    return None


def _is_plain_loop(node: ast.stmt) -> bool:
    match node:
        case ast.For(target=ast.Name(), iter=ast.Call(func=ast.Name(id="range"), args=[*args], keywords=[])):
            if any(isinstance(argument, ast.Starred) for argument in args) or node.orelse:
                return False
            return not any(isinstance(part, _BARRED) for part in within(node.body))
    return False


def _written(loop: ast.For, taken: set[str]) -> list[ast.stmt]:
    """The function and its first call. The variables of the loop stay those of the function around it."""
    assert isinstance(loop.target, ast.Name)
    target = loop.target.id
    part, rounds, low, high, middle = (fresh(base, taken) for base in ("part", "rounds", "low", "high", "middle"))
    bound = {target} | {
        node.id for node in within(loop.body) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    shell = syntax.parse(
        f"""
{rounds} = 0
if False:
    {" = ".join(sorted(bound))} = None
def {part}({low}, {high}):
    nonlocal {", ".join(sorted(bound))}
    if {high} - {low} == 1:
        {target} = {rounds}[{low}]
    elif {high} > {low}:
        {middle} = ({low} + {high}) // 2
        {part}({low}, {middle})
        {part}({middle}, {high})
{part}(0, len({rounds}))
"""
    ).body
    start, function = shell[0], shell[2]
    assert isinstance(start, ast.Assign)
    assert isinstance(function, ast.FunctionDef)
    start.value = loop.iter
    leaf = function.body[1]
    assert isinstance(leaf, ast.If)
    leaf.body += loop.body
    return shell


GRADER_REWRITINGS: dict[str, GraderRewriting] = {
    "imports": imports,
    "words": words,
    "non-ascii": non_ascii,
    "long": long,
    "import-used": import_used,
    "defined-behind": defined_behind,
    "helper": helper,
    "main-guard": main_guard,
    "prints": prints,
    "type-hints": type_hints,
    "nested": nested,
    "static-method": static_method,
    "global-constant": global_constant,
    "recursion": recursion_for_loop,
}
"""By name."""
NEEDS: Mapping[str, str] = MappingProxyType(
    {
        "imports": "imports os, sys or threading",
        "words": "names test runners or an exit in a comment",
        "non-ascii": "holds letters that are not in ASCII",
        "long": "is over 4,000 characters long",
        **dict.fromkeys(
            ("import-used", "helper", "static-method", "global-constant"),
            "needs an import, helper, class or constant beside the function",
        ),
        "defined-behind": "defines another function behind the one that is asked for",
        "main-guard": "has a main guard",
        "prints": "prints a line",
        "type-hints": "has type hints",
        "nested": "defines a function within the function",
        "recursion": "calls itself",
    }
)
"""Name of a rewriting to what a grader must bear that does not refuse it."""

# ---------------------------------------------------------------------------------------- forms of replies

NO_FENCE = "no fence"
FORMS: Mapping[str, str] = MappingProxyType(
    {
        "python": "```python\n{code}\n```",
        "py": "```py\n{code}\n```",
        "Python": "```Python\n{code}\n```",
        "python3": "```python3\n{code}\n```",
        "no label": "```\n{code}\n```",
        NO_FENCE: "{code}",
        "prose around": "Here is a solution.\n\n```python\n{code}\n```\n\nIt covers every case of the statement.",
        "draft first": "A first draft:\n\n```python\n{draft}\n```\n\nThe solution:\n\n```python\n{code}\n```",
        "answer first": "```python\n{code}\n```\n\nTo run it:\n\n```\n$ python solution.py\n```",
        "thinking": "<think>\nA first draft:\n\n```python\n{draft}\n```\n</think>\n\n```python\n{code}\n```",
    }
)
"""Name to text. All but the first differ from the usual form of a model's answer in one way each."""
_LEAST = 3
"""Problems whose program is sent in a form, where there are as many."""


def form_probes(problem_id: str, entry_point: str, reference: str, *, place: int, problems: int) -> list[Probe]:
    """The forms whose turn it is, of so many problems: probes of class ``form``, the origin the form's name."""
    names, draft = list(FORMS), not_implemented(entry_point).rstrip()
    count = min(len(names), max(1, ceil(_LEAST * len(names) / problems)))
    found = []
    for name in (names[(place * count + step) % len(names)] for step in range(count)):
        text = FORMS[name].format(code=reference.strip(), draft=draft)
        found.append(make_probe(problem_id, "form", name, text, form="reply", label="right"))
    return found
