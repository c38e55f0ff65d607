"""DSL-List, built anew: programs of a small language of list functions, with inputs and outputs."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice

import msgspec

from truegrade.builders.list_language import (
    GRAMMARS,
    PARAMETER,
    VARIABLES,
    Term,
    TermSampler,
    Type,
    Weights,
    default_weights,
    expression,
    source,
)
from truegrade.datasets.executions import ExecutionRow, RecordedCase, Returned, run_cases
from truegrade.datasets.identity import identity
from truegrade.errors import UnknownName, UserError
from truegrade.grading.executor import Executor
from truegrade.records import sha256_json

# ----------------------------------------------------------------------------------------------------------------
# DSL-List: programs drawn from a grammar of list functions, with inputs and what the jail says they return.
# The rules are those of akshsgaur/code-reasoning-repro@6c43fa8 src/datasets/dsl: one parameter, depth at most 4,
# lists of 3 to 5 integers from 0 to 5, three inputs a program, outputs not all equal. Beyond them, programs are
# never repeated (`truegrade.datasets.identity`), inputs of a program differ, and a program that gives back every
# input is refused. Each candidate draws from a generator of its own, so neither the number of workers nor the
# speed of the machine changes a byte.

# ---------------------- Which programs are not worth asking about: rules on the tree of the Python expression.
# The rules of akshsgaur/code-reasoning-repro@6c43fa8 src/datasets/dsl/neural_pcfg.py: every parameter is used; no
# ``len([])``; nothing mapped over, filtered or taken out of ``[]``; no equal sides of a comparison, operands of a
# boolean operator, branches of a conditional or summands; no integer literal left of a comparison; no negative
# literal but as an index. And some of ours: a lambda uses all its variables and is not the identity, a variable
# enters every condition, and nothing is subtracted from, divided by or compared by ``max`` and ``min`` with
# itself.


def degenerate(tree: ast.expr) -> str | None:
    """The first rule that an expression breaks, in a few words; None if it breaks none."""
    if PARAMETER not in _names(tree):
        return "the parameter is not used"
    return next((broken for node in ast.walk(tree) for broken in _broken(node)), None)


def _broken(node: ast.AST) -> Iterator[str]:
    yield from _equal_parts(node)
    match node:
        case ast.Compare(left=ast.Constant(value=value)) if type(value) is int:
            yield "an integer stands left of a comparison"
        case ast.IfExp(test=test) if not _names(test) & {PARAMETER, *VARIABLES}:
            yield "a condition is constant"
        case ast.Call(func=ast.Name(id="len" | "map" | "filter"), args=[*_, ast.List(elts=[])]):
            yield "a function of the empty list"
        case ast.Subscript(value=ast.List(elts=[])):
            yield "something is taken out of the empty list"
        case ast.Lambda(body=ast.Name()):
            yield "a lambda gives back a variable"
        case ast.Lambda(args=arguments, body=body) if {each.arg for each in arguments.args} - _names(body):
            yield "a lambda does not use its variable"
    yield from _negative_literals(node)


def _equal_parts(node: ast.AST) -> Iterator[str]:
    """Parts that ought to differ and do not; a number times itself is a square and may stay."""
    parts: list[ast.expr] = []
    match node:
        case ast.Compare(left=left, comparators=others):
            parts = [left, *others]
        case ast.BoolOp(values=values):
            parts = values
        case ast.IfExp(body=body, orelse=orelse):
            parts = [body, orelse]
        case ast.BinOp(op=operator, left=left, right=right) if not isinstance(operator, ast.Mult):
            parts = [left, right]
        case ast.Call(func=ast.Name(id="max" | "min"), args=arguments):
            parts = arguments
    if len({ast.dump(part) for part in parts}) < len(parts):
        yield f"equal parts of a {type(node).__name__}"


def _negative_literals(node: ast.AST) -> Iterator[str]:
    """A negative literal anywhere but directly as an index."""
    for field, child in ast.iter_fields(node):
        children = child if isinstance(child, list) else [child]
        negative = any(
            isinstance(each, ast.UnaryOp)
            and isinstance(each.op, ast.USub)
            and isinstance(each.operand, ast.Constant)
            for each in children
        )
        if negative and not (isinstance(node, ast.Subscript) and field == "slice"):
            yield "a negative literal outside an index"


def _names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


_LENGTHS, _VALUES = (3, 5), (0, 5)
_LEAST_DEPTH = 3
_ATTEMPTS_PER_PROGRAM = 500
"""Draws after which a grammar counts as exhausted."""
_NAME = "dsl_prog"
_TOGETHER = 16
"""Programs in one process."""


class DslListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to build; all of it decides the bytes.

    Raises:
        UnknownName: no grammar of that name.
        UserError: a number is out of range.
    """

    size: int = 500
    seed: int = 0
    max_depth: int = 4
    """Levels of the term; a terminal is one."""
    inputs: int = 3
    """Cases of a program."""
    grammar: str = "published"
    """A name of `truegrade.builders.list_language.GRAMMARS`."""
    returns: Type = Type.LIST
    weights: Weights | None = None
    """None takes the default ones."""

    def __post_init__(self) -> None:
        if self.grammar not in GRAMMARS:
            raise UnknownName("grammar", self.grammar, GRAMMARS)
        if self.max_depth < _LEAST_DEPTH:
            raise UserError(f"`max_depth` {self.max_depth}: at least {_LEAST_DEPTH} is needed for any condition")
        if self.inputs < 2:
            raise UserError(f"`inputs` {self.inputs}: at least 2 are needed to see that a program is not constant")


def variant_of(options: DslListOptions, *, mutants: bool = True) -> str:
    """The arguments that are not the defaults, as a part of a file's name, such as ``size-20-seed-3``."""
    default = DslListOptions()
    parts = []
    for name in DslListOptions.__struct_fields__:
        value = getattr(options, name)
        if value != getattr(default, name):
            shown = sha256_json(value)[:12] if name == "weights" else str(value).partition("[")[0]
            parts.append(f"{name.replace('_', '-')}-{shown}")
    return "-".join(parts if mutants else [*parts, "no-mutants"])


class _Candidate(msgspec.Struct, frozen=True):
    term: Term
    cases: tuple[RecordedCase, ...]


def build(options: DslListOptions, executor: Executor, *, workers: int = 1) -> Iterator[ExecutionRow]:
    """The rows of a data set, one by one, the same for the same options.

    Args:
        options: what to build.
        executor: runs the programs.
        workers: programs run at once.

    Raises:
        UserError: the grammar has too few programs of that depth.
    """
    grammar = GRAMMARS[options.grammar]
    weights = options.weights or default_weights(grammar)
    metadata = {
        "source": "truegrade dsl-list",
        "grammar": options.grammar,
        "seed": options.seed,
        "weights": sha256_json(weights)[:12] if options.weights else "default",
    }
    candidates = _candidates(options, TermSampler(grammar, weights))
    made = 0
    with ThreadPoolExecutor(workers, thread_name_prefix="dsl-list") as pool:
        while made < options.size and (batch := list(islice(candidates, _TOGETHER * workers))):
            parts = [batch[start : start + _TOGETHER] for start in range(0, len(batch), _TOGETHER)]
            returned = chain.from_iterable(pool.map(lambda part: _returned(part, executor), parts))
            for candidate, results in zip(batch, returned, strict=True):
                answered = _answered(candidate, results, options.inputs)
                if answered is not None and made < options.size:
                    yield _row(made, candidate.term, answered, metadata)
                    made += 1
    if made < options.size:
        raise UserError(
            f"the grammar gave only {made} of {options.size} different programs of depth {options.max_depth};"
            " ask for fewer (`size`), for deeper ones (`max_depth`) or for `grammar` extended"
        )


def _candidates(options: DslListOptions, sampler: TermSampler) -> Iterator[_Candidate]:
    """Terms that no rule refuses, each once, with twice as many inputs as are kept."""
    seen: set[str] = set()
    for attempt in range(options.size * _ATTEMPTS_PER_PROGRAM):
        rng = random.Random(f"dsl-list {options.seed} {attempt}")
        term = sampler.draw(options.returns, options.max_depth, rng)
        if degenerate(expression(term)) is not None:
            continue
        key = identity(source(term, _NAME))
        if key not in seen:
            seen.add(key)
            yield _Candidate(term, _draw_inputs(2 * options.inputs, rng))


def _draw_inputs(count: int, rng: random.Random) -> tuple[RecordedCase, ...]:
    """Different lists."""
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < count:
        drawn.setdefault(tuple(rng.randint(*_VALUES) for _ in range(rng.randint(*_LENGTHS))))
    return tuple(RecordedCase(kwargs={PARAMETER: list(values)}) for values in drawn)


def _returned(candidates: Sequence[_Candidate], executor: Executor) -> list[tuple[Returned, ...]]:
    """What each program returns on its cases.

    All run in one process, since programs of the grammar leave nothing to each other; one that does not answer all
    of its cases runs again by itself, because another may have ended the process.
    """
    names = [f"{_NAME}_{number}" for number in range(len(candidates))]
    sources = [source(candidate.term, name) for candidate, name in zip(candidates, names, strict=True)]
    chosen = f"def {_NAME}(number, {PARAMETER}):\n    return ({', '.join(names)},)[number]({PARAMETER})\n"
    cases = [
        RecordedCase(kwargs={"number": number, **case.kwargs})
        for number, candidate in enumerate(candidates)
        for case in candidate.cases
    ]
    together = iter(run_cases(executor, "".join((*sources, chosen)), _NAME, cases))
    returned = []
    for candidate in candidates:
        results = tuple(islice(together, len(candidate.cases)))
        if any(result.text is None for result in results):
            results = run_cases(executor, source(candidate.term, _NAME), _NAME, candidate.cases)
        returned.append(results)
    return returned


def _answered(
    candidate: _Candidate, returned: Sequence[Returned], wanted: int
) -> list[tuple[RecordedCase, str]] | None:
    """The first cases that a program answers, or None if it makes no item."""
    answered = [
        (case, result.text)
        for case, result in zip(candidate.cases, returned, strict=True)
        if result.text is not None
    ][:wanted]
    if len(answered) < wanted or len({text for _, text in answered}) == 1:
        return None
    if all(text == repr(case.kwargs[PARAMETER]) for case, text in answered):
        return None
    return answered


def _row(
    number: int, term: Term, answered: list[tuple[RecordedCase, str]], metadata: dict[str, object]
) -> ExecutionRow:
    name = f"{_NAME}_{number}"
    calls = tuple(f"{name}({PARAMETER}={case.kwargs[PARAMETER]!r})" for case, _ in answered)
    outputs = tuple(text for _, text in answered)
    return ExecutionRow(
        id=f"dsl_list_{number}",
        function_name=name,
        code=source(term, name),
        input=calls,
        output=outputs,
        correct_condition=tuple(f"{call} == {output}" for call, output in zip(calls, outputs, strict=True)),
        dsl=str(term),
        arity=1,
        depth=term.depth,
        metrics={"operations": term.size},
        metadata=metadata,
    )
