"""Problems that calls decide in the judge's process, and the conditions under which such a verdict is sound.

*Not bought by a table*: at least `LEAST_OUTCOMES` outcomes, at least half of the calls generated and in no file of
the tree, and an answer that looks results up in the recorded calls is refused. *Refuses nothing right*: calls stay
within what was recorded and give the same in every order, hash seed, time zone and folder; an exception decides by
its type alone; a call that refuses a behaviour-preserving rewriting is left out. *No hidden context*: what a
recorded call returned among the tests it returns alone, and no argument is changed.
"""

from __future__ import annotations

import ast
import doctest
import inspect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

import msgspec

from truegrade.apps.repository.functions import LEAST_CALLS, FunctionPlace, RecordedCall
from truegrade.apps.repository.packing import Package
from truegrade.apps.repository.replaying import (
    Answers,
    GivenOutcome,
    TwoJails,
    all_alike,
    equals_exactly,
    observe_variants,
    refusing,
    replay_calls,
    type_raised,
)
from truegrade.builders.mutation.mutants import Mutant, MutationOptions, NotAProgram, mutants_of, normalised
from truegrade.builders.mutation.operators import OPERATORS, WIDER_OPERATORS
from truegrade.builders.mutation.preserving import REWRITINGS
from truegrade.builders.shapes import DictShape, ListShape, NumberShape, Shape, ShapeDrawer, TextShape, shape_of
from truegrade.datasets.executions import NotRecorded, RecordedCase, call_text, literal_text
from truegrade.extraction.parsing import evaluate, is_literal, quietly
from truegrade.files import syntax
from truegrade.grading.executor import Executor
from truegrade.grading.functions import grade_by_tests
from truegrade.grading.judgement import Judgement
from truegrade.grading.programs import assemble, statements
from truegrade.records import Answer, FunctionTask, sha256_json
from truegrade.statistics.intervals import wilson

# ------------------------------ Calls that stand in no file: near recorded ones, within what these have in common.


_TRIES = 12
"""Calls tried for one that is wanted."""
_RECOMBINED, _REDRAWN = 0.4, 0.7
"""Shares of changes: an argument of another recorded call; up to here a drawn value, else a changed one."""

_MOST_CHARS = 4000
_MOST_OF_A_TABLE, _MOST_ARGUMENTS = 200, 6

Place = int | str


class NearDrawer(ShapeDrawer):
    """Draws values of shapes that were read from known values."""

    def _count(self, shape: ListShape | DictShape) -> int:
        return self._random.randint(shape.shortest, max(shape.shortest, min(shape.longest, shape.shortest + 6)))

    def _number(self, shape: NumberShape) -> Any:
        if shape.known and self._random.random() < 0.5:  # next to a known one
            value = self._random.choice(shape.known) + self._random.choice((-2, -1, 1, 2))
        else:
            known = [abs(value) for value in shape.known]
            reach = max([*known, 1])
            value = self._random.randint(
                -int(min(reach, 10**9)) if shape.low < 0 else 0, int(min(reach, 10**9)) + 1
            )
        if shape.kind is float:
            return float(value) + self._random.choice((0.0, 0.25, 0.5))
        return int(value)

    def _text(self, shape: TextShape) -> Any:
        if shape.kind is bytes or not shape.alphabet:
            return self._random.choice(shape.known or ("",))
        base = self._random.choice(shape.known or ("",))
        begin, end = sorted(self._random.randrange(len(base) + 1) for _ in range(2))
        letters = "".join(self._random.choice(shape.alphabet) for _ in range(self._random.randrange(1, 4)))
        middle = self._random.choice(("", letters, base[begin:end] * 2, base[begin:end][::-1]))
        return (base[:begin] + middle + base[end:])[: max(shape.longest, 1)]


def generate_cases(recorded: Sequence[RecordedCase], wanted: int, random: Random) -> list[RecordedCase]:
    """Calls near recorded ones, each different from all others and from these; fewer where no more are found."""
    shapes = _shapes(recorded)
    drawer = NearDrawer(random)
    seen = {_key(case) for case in recorded}
    found: list[RecordedCase] = []
    bases = [case for case in recorded if case.args or case.kwargs]
    for _ in range(_TRIES * wanted if bases else 0):
        case = _changed(random.choice(bases), recorded, shapes, drawer, random)
        if case is not None and (key := _key(case)) is not None and key not in seen:
            seen.add(key)
            found.append(case)
            if len(found) == wanted:
                break
    return found


def _key(case: RecordedCase) -> str | None:
    return literal_text((case.args, case.kwargs), _MOST_CHARS)


def _shapes(recorded: Sequence[RecordedCase]) -> Mapping[Place, Shape]:
    """What the values at each place have in common."""
    values: dict[Place, list[Any]] = {}
    for case in recorded:
        for place, value in _places(case):
            values.setdefault(place, []).append(value)
    return {place: shape_of(held) for place, held in values.items()}


def _places(case: RecordedCase) -> Iterator[tuple[Place, Any]]:
    yield from enumerate(case.args)
    yield from case.kwargs.items()


def _changed(
    case: RecordedCase, recorded: Sequence[RecordedCase], shapes: Mapping[Place, Shape], drawer: NearDrawer,
    random: Random,
) -> RecordedCase | None:  # fmt: skip
    """A call with one argument changed, now and then two; None where a value would leave what is known."""
    args, kwargs = list(case.args), dict(case.kwargs)
    for _ in range(random.choice((1, 1, 2))):
        place = random.choice([place for place, _ in _places(case)])
        holder: Any = kwargs if isinstance(place, str) else args
        chance = random.random()
        if chance < _RECOMBINED:
            others = [value for other in recorded for at, value in _places(other) if at == place]
            value = random.choice(others)
        elif chance < _REDRAWN:
            value = drawer.value(shapes[place])
        else:
            value = _with_a_part_changed(holder[place], shapes[place], drawer, random)
        if not shapes[place].fits(value):
            return None
        holder[place] = value
    return RecordedCase(tuple(args), kwargs)


def _with_a_part_changed(value: Any, shape: Shape, drawer: NearDrawer, random: Random) -> Any:
    """A list or tuple with an item left out, doubled, moved or redrawn; of anything else one of its shape."""
    if type(value) not in (list, tuple) or not value:
        return drawer.value(shape)
    items = list(value)
    at = random.randrange(len(items))
    kind = random.randrange(4)
    if kind == 0:
        items.pop(at)
    elif kind == 1:
        items.insert(random.randrange(len(items) + 1), items[at])
    elif kind == 2:
        items.insert(random.randrange(len(items)), items.pop(at))
    else:
        items[at] = _with_a_part_changed(items[at], shape_of([*items]), drawer, random)
    return type(value)(items)


# ------------------------------------------- What stands in the files of a tree, as far as it is literal.


class TreeLiterals:
    """All literals of a tree's Python files and of the examples in its texts.

    Args:
        files: contents by path.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._groups: set[tuple[str, ...]] = set()
        """Texts that stand side by side, as arguments or at the beginning of a list or tuple, in order."""
        self._singles: set[str] = set()
        """Texts of the items of lists and tuples."""
        self._calls: set[tuple[str, str]] = set()
        """Names that are called with one argument, and that."""
        for path, content in files.items():
            if path.endswith((".py", ".md", ".rst", ".txt", ".pyi")):
                self._read(content.decode("utf-8", "replace"), is_python=path.endswith((".py", ".pyi")))

    def hold(self, name: str, case: RecordedCase) -> bool:
        """Whether the arguments of a call of a function stand in a file, as those of a call or in a table."""
        texts = [literal_text(value, _MOST_CHARS) or "" for value in (*case.args, *case.kwargs.values())]
        if len(texts) == 1:
            return texts[0] in self._singles or (name, texts[0]) in self._calls
        return tuple(sorted(texts)) in self._groups

    def _read(self, text: str, *, is_python: bool) -> None:
        if is_python:
            self._take(text)
            if ">>>" not in text:
                return
        for line in _examples(text):
            self._take(line)

    def _take(self, source: str) -> None:
        try:
            with quietly():
                nodes = [*ast.walk(syntax.parse(source))]
        except (SyntaxError, ValueError, RecursionError):
            return
        for node in nodes:
            if isinstance(node, ast.Call):
                texts = [_text(one) for one in (*node.args, *(keyword.value for keyword in node.keywords))]
                name = ast.unparse(node.func).rpartition(".")[2]
                self._calls.update((name, text) for text in texts if text is not None and len(texts) == 1)
                self._group(texts)
            elif isinstance(node, ast.Tuple | ast.List):
                texts = [_text(one) for one in node.elts[:_MOST_OF_A_TABLE]]
                self._singles.update(text for text in texts if text is not None)
                for count in range(2, min(len(texts), _MOST_ARGUMENTS) + 1):
                    self._group(texts[:count])

    def _group(self, texts: Sequence[str | None]) -> None:
        if None not in texts:
            self._groups.add(tuple(sorted(text for text in texts if text is not None)))


def _text(node: ast.expr) -> str | None:
    if not is_literal(node):
        return None
    try:
        return literal_text(evaluate(node), _MOST_CHARS)
    except (ValueError, TypeError, RecursionError):
        return None


def _examples(text: str) -> list[str]:
    """The code of the doctest examples in any text."""
    try:
        return [example.source for example in doctest.DocTestParser().get_examples(text)]
    except ValueError:  # an indentation that it takes for an error: line by line then
        lines = [line.strip() for line in text.splitlines()]
        return [line.removeprefix(">>>").strip() for line in lines if line.startswith(">>>")]


# ---------------------------------------------------------- Calls that decide, and the problems that rest on them.


LEAST_OUTCOMES = 3
LEAST_STRENGTH = 0.5
"""Share of mutants that the calls refuse, below which there is no problem."""
_GENERATED = 48
"""Calls generated of a function, of which the deciding ones are chosen."""
_MOST_RECORDED, _MOST_GENERATED = 10, 14
"""Deciding calls of each sort."""
_MOST_MUTANTS = 32
_LEAST_SPLIT = 4
"""Mutants from which on every second one has a part in the choice of the calls, and the others measure it."""
_MOST_CALL_CHARS = 700


class DecidingCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call and what it gives."""

    case: RecordedCase
    text: str
    outcome: GivenOutcome
    generated: bool

    @property
    def assertion(self) -> str:
        """The statement that decides by it."""
        if self.outcome.kind == "raised":
            return f"assert {type_raised.__name__}(lambda: {self.text}) == {self.outcome.value!r}\n"
        call = self.text if self.outcome.kind == "value" else f"_plain.list({self.text})"
        return f"assert {equals_exactly.__name__}({call}, {self.outcome.text})\n"


class TriedMutant(msgspec.Struct, frozen=True, kw_only=True):
    """A mutant and what the deciding calls make of it."""

    mutant: Mutant
    refused_by: int
    """Calls, or tests."""
    held_out: bool
    """Whether it had no part in the choice of what decides, so that it may tell how strong that is."""


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """A function with calls that decide about answers to it."""

    function: FunctionPlace
    prefix: str
    calls: tuple[DecidingCall, ...]
    mutants: tuple[TriedMutant, ...]
    rewritings: int
    """Behaviour-preserving ones that all calls accept."""

    @property
    def tests(self) -> str:
        """The tests of its problems."""
        head = "import builtins as _plain\nfrom typing import Any, Callable\n"
        parts = [inspect.getsource(equals_exactly), inspect.getsource(type_raised)]
        return head + "\n\n".join(parts) + "\n\n" + "".join(call.assertion for call in self.calls)

    @property
    def held_out(self) -> list[TriedMutant]:
        """The mutants that tell how strong the calls are."""
        return [one for one in self.mutants if one.held_out]

    @property
    def strength(self) -> tuple[float, float, float]:
        """The share of these that some call refuses, and the bounds of its 95 % interval."""
        return strength_of(self.held_out)

    @property
    def row(self) -> dict[str, Any]:
        """What its problems' rows hold, whatever they ask for."""
        tags = {
            "tier": "outside",
            **strength_tags(self.held_out),
            "calls": str(len(self.calls)),
            "generated": str(sum(call.generated for call in self.calls)),
            "rewritings": str(self.rewritings),
        }
        return {"prefix": self.prefix, "tests": self.tests, "tags": tags}

    def judged(self, source: str, executor: Executor) -> Judgement:
        """What the judge says of an answer."""
        task = FunctionTask(
            prompt="",
            entry_point=self.function.node.name,
            prefix=self.prefix,
            tests=self.tests,
            reference=self.function.source,
        )
        program = assemble(self.prefix, Answer(value=source, found="the repository's", form="program"))
        return grade_by_tests(task, program, executor)


def strength_of(mutants: Sequence[TriedMutant]) -> tuple[float, float, float]:
    """The share of mutants that are refused, and the bounds of its 95 % interval."""
    refused = sum(bool(one.refused_by) for one in mutants)
    return (refused / len(mutants), *wilson(refused, len(mutants)))


def strength_tags(mutants: Sequence[TriedMutant]) -> dict[str, str]:
    """The same as tags of a problem."""
    share, low, high = strength_of(mutants)
    return {"strength": f"{share:.3f}", "strength_interval": f"{low:.3f}-{high:.3f}", "mutants": str(len(mutants))}


def decide_by_calls(
    function: FunctionPlace, package: Package, literals: TreeLiterals, jails: TwoJails, seed: int
) -> Decided:
    """Find calls that decide about answers to a function of a module's top level.

    Args:
        function: reached by tests (`FunctionPlace.why_not_outside`).
        package: its package.
        literals: all that stand in the tree.
        jails: where programs run.
        seed: of the generated calls.

    Raises:
        NotRecorded: a condition does not hold; the message says which.
    """
    if copies := package.copies(function):
        raise NotRecorded(f"its package holds the same function again: {copies[0]}")
    prefix = package.prefix(function)
    calls = repeating_calls(function, prefix, literals, jails, seed)
    mutants = function_mutants(function, seed)[:_MOST_MUTANTS]
    rewritten = rewritings_of(function)
    expected = [call.outcome for call in calls]
    variants = [*rewritten, without_body(function.node), *(mutant.code for mutant in mutants)]
    cases = [call.case for call in calls]
    seen = observe_variants(prefix, function.source, function.node.name, variants, cases, expected, jails.first)
    preserved, (removed, *changed) = seen[: len(rewritten)], seen[len(rewritten) :]
    if all_alike(removed, expected):
        raise NotRecorded("no call refuses a removed body")
    refused = [refusing(answers, expected) for answers in changed]
    shown = range(0, len(mutants), 2) if len(mutants) >= _LEAST_SPLIT else ()
    chosen = _chosen(calls, accepting(calls, preserved), [refused[number] for number in shown])
    decided = Decided(
        function=function,
        prefix=prefix,
        calls=tuple(calls[number] for number in chosen),
        mutants=tuple(
            TriedMutant(mutant=mutant, refused_by=len(refused[number] & {*chosen}), held_out=number not in shown)
            for number, mutant in enumerate(mutants)
        ),
        rewritings=sum(answers is not None for answers in preserved),
    )
    _check(decided)
    return decided


def repeating_calls(
    function: FunctionPlace,
    prefix: str,
    literals: TreeLiterals,
    jails: TwoJails,
    seed: int,
    least: int = LEAST_CALLS,
    more: Sequence[RecordedCase] = (),
) -> list[DecidingCall]:
    """Recorded calls, then generated ones, that give the same whenever they are made.

    Args:
        function: reached by tests (`FunctionPlace.why_not_outside`).
        prefix: stands before it (`Package.prefix`).
        literals: all that stand in the tree.
        jails: where programs run.
        seed: of the generated calls.
        least: recorded calls that there must be.
        more: calls to try beside the generated ones.

    Raises:
        NotRecorded: too few do, or one changes its arguments.
    """
    name, decorated = function.node.name, bool(function.node.decorator_list)
    recorded = [(case, text, seen) for case, seen in function.recorded() if (text := _text_of(name, case))]
    random = Random(int(sha256_json([seed, function.id])[:12], 16))
    near = generate_cases([case for case, _, _ in recorded], _GENERATED, random)
    generated = [
        (case, text, None)
        for case in (*near, *more)
        if not literals.hold(name, case) and (text := _text_of(name, case))
    ]
    tried = [*recorded, *generated]
    replays = replay_calls(prefix, function.source, name, [case for case, _, _ in tried], jails)
    if replays.why_none:
        raise NotRecorded(f"it does not run without its repository: {replays.why_none}")
    if replays.changes:
        raise NotRecorded("it changes its arguments, which do not come back from another process")
    found = [
        DecidingCall(case=case, text=text, outcome=outcome, generated=seen is None)
        for (case, text, seen), outcome in zip(tried, replays.outcomes, strict=True)
        if outcome is not None and (seen is None or decorated or _is_as_recorded(outcome, seen))
    ]
    known = [call for call in found if not call.generated]
    if len(known) < least:
        raise NotRecorded(f"fewer than {least} recorded calls return plain values, and the same each time")
    raised = {call.outcome.value for call in known if call.outcome.kind == "raised"}
    return [
        call
        for call in found
        if not call.generated or call.outcome.kind != "raised" or call.outcome.value in raised
    ]


def _text_of(name: str, case: RecordedCase) -> str:
    text = call_text(name, case.args, case.kwargs)
    return text if text is not None and len(text) <= _MOST_CALL_CHARS else ""


def _is_as_recorded(outcome: GivenOutcome, seen: RecordedCall) -> bool:
    """Whether a call gives alone what it gave among the tests, as far as that is known."""
    known = seen.kind in ("items", outcome.kind)  # of a generator nothing else is known
    return known and seen.result in (None, outcome.text)


def accepting(calls: Sequence[DecidingCall], preserved: Sequence[Answers]) -> list[int]:
    """The calls that accept every rewriting that can be defined."""
    expected = [call.outcome for call in calls]
    wrong = [refusing(answers, expected) for answers in preserved if answers is not None]
    return [number for number in range(len(calls)) if not any(number in each for each in wrong)]


def _chosen(calls: Sequence[DecidingCall], usable: Sequence[int], refused: Sequence[set[int]]) -> list[int]:
    """Few calls that refuse many mutants and give many outcomes, in their order; half of them generated.

    One after the other the one that refuses most mutants which none before it refuses; of equals one with a new
    outcome, then a generated one.
    """
    room = {False: _MOST_RECORDED, True: _MOST_GENERATED}
    taken: list[int] = []
    alive = [*range(len(refused))]
    outcomes: set[tuple[str, str | None]] = set()
    left = list(usable)
    while left:
        best = max(
            left,
            key=lambda one: (
                sum(one in refused[mutant] for mutant in alive),
                _outcome_key(calls[one]) not in outcomes,
                calls[one].generated,
                -one,
            ),
        )
        left.remove(best)
        if not room[calls[best].generated]:
            continue
        room[calls[best].generated] -= 1
        taken.append(best)
        outcomes.add(_outcome_key(calls[best]))
        alive = [mutant for mutant in alive if best not in refused[mutant]]
    generated = sum(calls[one].generated for one in taken)
    known = [one for one in taken if not calls[one].generated][:generated]
    return sorted([*known, *(one for one in taken if calls[one].generated)])


def _outcome_key(call: DecidingCall) -> tuple[str, str | None]:
    return call.outcome.kind, call.outcome.text


def _check(decided: Decided) -> None:
    """See that the conditions of the tier hold.

    Raises:
        NotRecorded: one does not.
    """
    generated = [call for call in decided.calls if call.generated]
    if len(generated) < LEAST_CALLS:
        raise NotRecorded("too few generated calls give the same each time and stand in no file of the tree")
    if len({_outcome_key(call) for call in decided.calls}) < LEAST_OUTCOMES:
        raise NotRecorded(f"its calls have fewer than {LEAST_OUTCOMES} outcomes")
    known = Counter(_outcome_key(call) for call in decided.calls if not call.generated)
    usual = known.most_common(1)[0][0] if known else ("", None)
    if sum(_outcome_key(call) != usual for call in generated) < 2:
        raise NotRecorded("a table of its recorded calls would do")
    if not decided.held_out:
        raise NotRecorded("no mutant of it can be made, so that nothing tells how strong its calls are")
    if decided.strength[0] < LEAST_STRENGTH:
        raise NotRecorded("its calls refuse fewer than half of its mutants")


def function_mutants(function: FunctionPlace, seed: int) -> list[Mutant]:
    """The mutants of a function, in an order that is drawn by the seed."""
    try:
        return drawn_mutants(normalised(function.source), function.id, seed)
    except (NotAProgram, RecursionError):
        return []


def drawn_mutants(source: str, name: str, seed: int) -> list[Mutant]:
    """The mutants of a source in their own layout, in an order that seed and name draw.

    Raises:
        NotAProgram, RecursionError: as `mutants_of`.
    """
    found = mutants_of(source, MutationOptions(operators=(*OPERATORS, *WIDER_OPERATORS)))
    return sorted(found, key=lambda one: sha256_json([seed, name, one.id]))


def rewritings_of(function: FunctionPlace) -> list[str]:
    """The function rewritten in ways that keep its meaning; names of parameters stay, since calls may use them."""
    made = []
    arguments = function.node.args
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    use = f"{function.node.name}({', '.join(f'{name}={name}' for name in names)})\n"
    for rewrite in REWRITINGS.values():
        try:
            tree = ast.Module(statements(function.source + "\n" + use), [])
            before = ast.dump(tree)
            tree = ast.fix_missing_locations(rewrite(tree))
            if ast.dump(tree) != before:
                tree.body.pop()
                made.append(ast.unparse(tree))
        except (SyntaxError, RecursionError, ValueError):
            continue
    return made


def without_body(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """A function of the same parameters that does nothing."""
    arguments = ast.unparse(node.args)
    return f"def {node.name}({arguments}):\n    pass\n"
