"""Problems that calls decide in the judge's process, and the conditions under which such a verdict is sound.

*Not bought by a table*: at least `LEAST_OUTCOMES` outcomes, at least half of the calls generated and in no file of
the tree, and an answer that looks results up in the recorded calls is refused. *Refuses nothing right*: calls stay
within what was recorded and give the same in every order, hash seed, time zone and folder; an exception decides by
its type alone; a call that refuses a behaviour-preserving rewriting is left out. *No hidden context*: what a
recorded call returned among the tests it returns alone, and no argument is changed.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

import msgspec

from truegrade.apps.repository.deciding_mutants import (
    StrengthFloor,
    TriedMutant,
    function_mutants,
    ignoring_parameters,
    strength_tags,
    without_body,
)
from truegrade.apps.repository.doctests import examples_in
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
from truegrade.builders.mutation.preserving import REWRITINGS
from truegrade.builders.shapes import DictShape, ListShape, NumberShape, Shape, ShapeDrawer, TextShape, shape_of
from truegrade.datasets.executions import NotRecorded, RecordedCase, call_text, literal_text
from truegrade.datasets.identity import without_docstrings
from truegrade.extraction.parsing import evaluate, is_literal, quietly
from truegrade.files import syntax
from truegrade.grading.executor import Executor
from truegrade.grading.functions import grade_by_tests
from truegrade.grading.judgement import Judgement
from truegrade.grading.programs import assemble, statements
from truegrade.records import Answer, FunctionTask, sha256_json

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
        drawn = (base[:begin] + middle + base[end:])[: max(shape.longest, 1)]
        return drawn or base  # an empty text is no neighbour of others


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
        for line in examples_in(text):
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


# ---------------------------------------------------------- Calls that decide, and the problems that rest on them.


LEAST_OUTCOMES = 3
_GENERATED = 90
"""Calls generated of a function, of which the deciding ones are chosen."""
_MOST_RECORDED, _MOST_GENERATED = 60, 60
"""Deciding calls of each sort."""
_MOST_MUTANTS, _HELD_OUT = 32, 20
"""Of a function; of so many of them every second one measures the calls, and all others choose these."""
_LEAST_SPLIT = 4
"""Mutants below which all measure the calls."""
_VARIED = 6
"""Recorded calls that get another value for a parameter."""
_VALUES = 3
"""Of each parameter, so many that calls are chosen for."""
_MOST_CALL_CHARS = 700


class DecidingCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call and what it gives."""

    case: RecordedCase
    text: str
    outcome: GivenOutcome
    generated: bool
    shown: bool = False
    """It is an example of the docstring, which the prompt shows."""

    @property
    def assertion(self) -> str:
        """The statement that decides by it."""
        if self.outcome.kind == "raised":
            return f"assert {type_raised.__name__}(lambda: {self.text}) == {self.outcome.value!r}\n"
        call = self.text if self.outcome.kind == "value" else f"_plain.list({self.text})"
        return f"assert {equals_exactly.__name__}({call}, {self.outcome.text})\n"


@cache
def _tools() -> str:
    """The functions that assertions call. They have no docstrings: in words for people a name may stand that the
    repository defines, and then the tests are thought to use it."""
    source = inspect.getsource(equals_exactly) + inspect.getsource(type_raised)
    return ast.unparse(without_docstrings(syntax.parse(source)))


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """A function with calls that decide about answers to it."""

    function: FunctionPlace
    prefix: str
    calls: tuple[DecidingCall, ...]
    mutants: tuple[TriedMutant, ...]
    rewritings: int
    """Behaviour-preserving ones that all calls accept."""
    whole: Mapping[str, str]
    """By mutant, the test of the whole suite that refuses it; empty for none."""

    @property
    def tests(self) -> str:
        """The tests of its problems."""
        head = "import builtins as _plain\nfrom typing import Any, Callable\n"
        return f"{head}\n\n{_tools()}\n\n\n{''.join(call.assertion for call in self.calls)}"

    @property
    def held_out(self) -> list[TriedMutant]:
        """The mutants that tell how strong the calls are."""
        return [one for one in self.mutants if one.held_out]

    @property
    def row(self) -> dict[str, Any]:
        """What its problems' rows hold, whatever they ask for."""
        tags = {
            "tier": "outside",
            **strength_tags(self.held_out, self.whole),
            "calls": str(len(self.calls)),
            "generated": str(sum(call.generated for call in self.calls)),
            "rewritings": str(self.rewritings),
        }
        if unvaried := unvaried_parameters(self.function, [call.case for call in self.calls]):
            tags["unvaried"] = " ".join(unvaried)
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


def decide_by_calls(
    function: FunctionPlace,
    package: Package,
    literals: TreeLiterals,
    jails: TwoJails,
    seed: int,
    floor: StrengthFloor,
) -> Decided:
    """Find calls that decide about answers to a function of a module's top level.

    Args:
        function: reached by tests (`FunctionPlace.why_not_outside`).
        package: its package.
        literals: all that stand in the tree.
        jails: where programs run.
        seed: of the generated calls.
        floor: how strong the calls have to be.

    Raises:
        NotRecorded: a condition does not hold; the message says which.
    """
    if copies := package.copies(function):
        raise NotRecorded(f"its package holds the same function again: {copies[0]}")
    prefix = package.prefix(function)
    calls = repeating_calls(function, prefix, literals, jails, seed, more=cases_that_vary(function))
    mutants = function_mutants(function, seed)[:_MOST_MUTANTS]
    rewritten, ignoring = rewritings_of(function), ignoring_parameters(function)
    expected = [call.outcome for call in calls]
    variants = [*rewritten, without_body(function.node), *(mutant.code for mutant in mutants), *ignoring]
    cases = [call.case for call in calls]
    seen = observe_variants(prefix, function.source, function.node.name, variants, cases, expected, jails.first)
    preserved, (removed, *changed) = seen[: len(rewritten)], seen[len(rewritten) :]
    if all_alike(removed, expected):
        raise NotRecorded("no call refuses a removed body")
    refused = [refusing(answers, expected) for answers in changed]
    split = len(mutants) >= _LEAST_SPLIT
    held_out = range(1, min(len(mutants), _HELD_OUT), 2) if split else range(len(mutants))
    shown = [each for number, each in enumerate(refused) if number not in held_out]
    chosen = _chosen(function, calls, accepting(calls, preserved), shown)
    decided = Decided(
        function=function,
        prefix=prefix,
        calls=tuple(calls[number] for number in chosen),
        mutants=tuple(
            TriedMutant(mutant=mutant, refused_by=len(refused[number] & {*chosen}), held_out=number in held_out)
            for number, mutant in enumerate(mutants)
        ),
        rewritings=sum(answers is not None for answers in preserved),
        whole=floor.whole,
    )
    _check(decided)
    floor.check(decided.held_out)
    return decided


def repeating_calls(
    function: FunctionPlace,
    prefix: str,
    literals: TreeLiterals,
    jails: TwoJails,
    seed: int,
    least: int = LEAST_CALLS,
    more: Sequence[RecordedCase] = (),
    errors: Collection[str] = (),
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
        errors: types that a generated call may raise besides those that recorded ones raise.

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
    shown = {text: case for case in function.examples() if (text := _text_of(name, case))}
    known = {text for _, text, _ in recorded}
    unknown = [(case, text, None) for text, case in shown.items() if text not in known]
    tried = [*recorded, *unknown, *generated]
    ours = len(recorded) + len(unknown)
    replays = replay_calls(prefix, function.source, name, [case for case, _, _ in tried], jails)
    if replays.why_none:
        raise NotRecorded(f"it does not run without its repository: {replays.why_none}")
    if replays.changes:
        raise NotRecorded("it changes its arguments, which do not come back from another process")
    found = [
        DecidingCall(case=case, text=text, outcome=outcome, generated=number >= ours, shown=text in shown)
        for number, ((case, text, seen), outcome) in enumerate(zip(tried, replays.outcomes, strict=True))
        if outcome is not None and (seen is None or decorated or _is_as_recorded(outcome, seen))
    ]
    standing = [call for call in found if not call.generated]
    if len(standing) < least:
        raise NotRecorded(f"fewer than {least} recorded calls return plain values, and the same each time")
    raised = {*errors, *(call.outcome.value for call in standing if call.outcome.kind == "raised")}
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


def _chosen(
    function: FunctionPlace, calls: Sequence[DecidingCall], usable: Sequence[int], refused: Sequence[set[int]]
) -> list[int]:
    """Calls that refuse many mutants and give many outcomes, in their order; half of them generated.

    First those that the docstring shows; then one after the other the one that refuses most mutants which none
    before it refuses; of equals the one that brings most parameters another value, then one with a new outcome,
    then a generated one.
    """
    given = _values(function, [call.case for call in calls])
    taken_values: dict[str, set[str]] = {}
    room = {False: _MOST_RECORDED, True: _MOST_GENERATED}
    taken: list[int] = []
    alive = [*range(len(refused))]
    outcomes: set[tuple[str, str | None]] = set()
    left = list(usable)
    while left:
        best = max(
            left,
            key=lambda one: (
                calls[one].shown,
                sum(one in refused[mutant] for mutant in alive),
                sum(_is_wanted(taken_values.get(name, set()), value) for name, value in given[one].items()),
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
        for name, value in given[best].items():
            taken_values.setdefault(name, set()).add(value)
        alive = [mutant for mutant in alive if best not in refused[mutant]]
    generated = sum(calls[one].generated for one in taken)
    known = [one for one in taken if not calls[one].generated][:generated]
    return sorted([*known, *(one for one in taken if calls[one].generated)])


def _is_wanted(known: set[str], value: str) -> bool:
    return len(known) < _VALUES and value not in known


def _values(function: FunctionPlace, cases: Sequence[RecordedCase]) -> list[dict[str, str]]:
    """The text of each parameter's value in each call, its default included."""
    form = function.form
    named = ({**form.defaults, **dict(zip(form.places, one.args, strict=False)), **one.kwargs} for one in cases)
    return [{name: repr(value) for name, value in each.items()} for each in named]


def unvaried_parameters(function: FunctionPlace, cases: Sequence[RecordedCase]) -> list[str]:
    """Parameters that have the same value in all calls."""
    given = _values(function, cases)
    names = dict.fromkeys(name for each in given for name in each)
    return [name for name in names if len({each.get(name) for each in given}) == 1]


def cases_that_vary(function: FunctionPlace) -> list[RecordedCase]:
    """Recorded calls with another value for a parameter that has its default in all of them."""
    recorded = [case for case, _ in function.recorded()]
    form = function.form
    bases = [case for case in recorded if len(case.args) <= len(form.first)][:_VARIED]
    return [
        RecordedCase(case.args, {**case.kwargs, name: value})
        for name in unvaried_parameters(function, recorded)
        if name in form.defaults and name not in form.first
        for case in bases
        for value in _others(form.defaults[name], case)
    ]


def _others(default: Any, case: RecordedCase) -> list[Any]:
    """Values of a default's type, other than it; none where its type does not tell any."""
    kind = type(default)
    if kind is bool:
        return [not default]
    if kind in (int, float):
        return [value for value in map(kind, (0, 1, 2, 5, default + 1, -default)) if value != default]
    if kind is str:
        return [value for value in ("", "_", "x") if value != default]
    if kind in (tuple, list):
        texts = [value for value in (*case.args, *case.kwargs.values()) if type(value) is str]
        return [kind([word]) for text in texts[:1] for word in text.split()[:2]]
    return []


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
