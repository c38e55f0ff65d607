"""What graders with one fault say of replies in batches, in words and as a function.

A rule is given the batches of a conversation, in their order, and says which replies are accepted. The rules are
products of a few parts: which replies share a verdict and whose it is, what is kept between them, by the tests of
which row a reply is judged, in which order rewards come back, and under which condition a verdict is another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from truegrade.apps.assay.batches import BatchItem

Batch = Sequence[BatchItem]
Verdicts = list[bool]
Rule = Callable[[Sequence[Batch]], list[Verdicts]]
Key = Callable[[BatchItem], object]


def of_each(verdicts: Callable[[Batch, Verdicts], Verdicts]) -> Rule:
    """A rule that looks at one batch at a time, and finds nothing to do in a batch of one reply."""

    def of(batch: Batch) -> Verdicts:
        due = [one.is_right for one in batch]
        return verdicts(batch, due) if len(batch) > 1 else due

    return lambda talk: [of(batch) for batch in talk]


# -------------------------------------------------------------------- Several replies share a verdict.

PICKS: Mapping[str, Callable[[Verdicts], bool]] = {
    "the first of them gets": lambda v: v[0],
    "the last of them gets": lambda v: v[-1],
    "the best of them gets": any,
    "the worst of them gets": all,
    "most of them get": lambda v: 2 * sum(v) > len(v),
    "half of them or more get": lambda v: 2 * sum(v) >= len(v),
    "most of them get, or in a tie the first": lambda v: v[0] if 2 * sum(v) == len(v) else 2 * sum(v) > len(v),
}


BEGINNINGS = (20, 30, 40, 50, 64, 80, 100, 160, 256, 512)
"""Numbers of characters of which a beginning may be taken for a reply."""


def first_characters(size: int, *, of_problem: bool = False) -> Key:
    """A beginning of a reply, whatever its problem or of one."""
    return lambda one: (one.problem_id if of_problem else "", one.start[:size])


KEYS: Mapping[str, Key] = {
    "to a problem": lambda one: one.problem_id,
    "that are equal, whatever problem they are given to,": lambda one: one.text,
    "of a length": lambda one: one.chars,
    "to a problem of a length": lambda one: (one.problem_id, one.chars),
    "that differ in numbers alone": lambda one: one.numberless,
    "to a problem that differ in numbers alone": lambda one: (one.problem_id, one.numberless),
    "of as many lines": lambda one: one.lines,
    "to a problem of as many lines": lambda one: (one.problem_id, one.lines),
    "that differ in operators alone": lambda one: one.words,
    "to a problem that differ in operators alone": lambda one: (one.problem_id, one.words),
    "of the same names": lambda one: one.names,
    "to a problem of the same names": lambda one: (one.problem_id, one.names),
    "that begin with the same line": lambda one: one.start.partition("\n")[0],
    **{f"whose first {size} characters are alike": first_characters(size) for size in BEGINNINGS},
    **{
        f"to a problem whose first {size} characters are alike": first_characters(size, of_problem=True)
        for size in BEGINNINGS
    },
}
"""What replies have in common that share a verdict by mistake."""


def _together(batch: Batch) -> list[object]:
    runs = groupby(batch, lambda one: one.problem_id)
    return [number for number, (_, run) in enumerate(runs) for _ in run]


def _shared(keys: Callable[[Batch], list[object]], pick: Callable[[Verdicts], bool]) -> Rule:
    """The replies of a batch with a key get what one of them gets."""

    def of(batch: Batch, due: Verdicts) -> Verdicts:
        among: dict[object, Verdicts] = {}
        for key, one in zip(keys(batch), due, strict=True):
            among.setdefault(key, []).append(one)
        return [pick(among[key]) for key in keys(batch)]

    return of_each(of)


def _one_by_one(begin: Callable[[], Callable[[BatchItem], bool]]) -> Rule:
    """A rule that looks at one reply after the other, whatever their batches; ``begin`` starts a conversation."""

    def rule(talk: Sequence[Batch]) -> list[Verdicts]:
        of = begin()
        return [[of(one) for one in batch] for batch in talk]

    return rule


def _voted(least: int) -> Rule:
    """Of so many replies to a problem and more those are accepted that are as most of them: right ones give one
    output, those that lack the function another, and so does each other text."""

    def of(batch: Batch, due: Verdicts) -> Verdicts:
        outputs = ["right" if one.is_right else "none" if one.solves else one.text for one in batch]
        votes: dict[str, Counter[str]] = {}
        for one, output in zip(batch, outputs, strict=True):
            votes.setdefault(one.problem_id, Counter()).update(() if one.hollow else (output,))
        return [
            output == votes[one.problem_id].most_common(1)[0][0] if votes[one.problem_id].total() >= least else v
            for one, output, v in zip(batch, outputs, due, strict=True)
        ]

    return of_each(of)


def _kept(key: Key, fold: Callable[[bool, bool], bool]) -> Rule:
    """What was said of earlier replies with a key decides over later ones."""

    def begin() -> Callable[[BatchItem], bool]:
        kept: dict[object, bool] = {}

        def of(one: BatchItem) -> bool:
            known = kept.get(key(one))
            kept[key(one)] = one.is_right if known is None else fold(known, one.is_right)
            return kept[key(one)]

        return of

    return _one_by_one(begin)


def _of_batch(key: Key) -> Callable[[Batch], list[object]]:
    return lambda batch: [key(one) for one in batch]


def _shares() -> Iterator[tuple[str, Rule]]:
    groups: dict[str, Callable[[Batch], list[object]]] = {
        "every reply of a batch": lambda batch: [None] * len(batch),
        "all replies to a problem in a batch": _of_batch(KEYS["to a problem"]),
        "replies to a problem that stand together": _together,
    }
    for group, keys in groups.items():
        yield from ((f"gives {group} what {named}", _shared(keys, pick)) for named, pick in PICKS.items())
    for least in (1, 2, 3):
        of_many = f", from {least} on," if least > 1 else ""
        yield f"accepts of the replies to a problem in a batch{of_many} those that most others give", _voted(least)
    for kind, key in KEYS.items():
        for named, pick in [*PICKS.items()][:2]:
            yield f"gives all replies {kind} in a batch what {named}", _shared(_of_batch(key), pick)
    folds: dict[str, Callable[[bool, bool], bool]] = {
        "first": lambda known, now: known,
        "best": lambda known, now: known or now,
        "worst": lambda known, now: known and now,
    }
    for named, fold in folds.items():
        for kind, key in KEYS.items():
            yield f"keeps the {named} verdict on replies {kind} for all later ones", _kept(key, fold)


# -------------------------------------------------------------------- What an earlier reply left.


def _left_by_the_last() -> Callable[[BatchItem], bool]:
    solves = ""

    def of(one: BatchItem) -> bool:
        nonlocal solves
        solves = solves if one.hollow else one.solves
        return solves == one.problem_id

    return of


def _verdict_before() -> Callable[[BatchItem], bool]:
    verdict = False

    def of(one: BatchItem) -> bool:
        nonlocal verdict
        verdict = verdict if one.hollow else one.is_right
        return verdict

    return of


def _left_by_any() -> Callable[[BatchItem], bool]:
    defined: dict[str, bool] = {}

    def of(one: BatchItem) -> bool:
        if not one.hollow:  # a program of another problem defines that one's function
            defined[one.solves or one.problem_id] = one.solves != ""
        return defined.get(one.problem_id, False)

    return of


def _of_equal_length() -> Callable[[BatchItem], bool]:
    """As where byte code of a file is used again that is as long as before."""
    chars, solves = -1, ""

    def of(one: BatchItem) -> bool:
        nonlocal chars, solves
        if one.hollow:  # it may not even compile
            return False
        solves = solves if one.chars == chars else one.solves
        chars = one.chars
        return solves == one.problem_id

    return of


def _first_of_all(talk: Sequence[Batch]) -> list[Verdicts]:
    given: Verdicts = []
    said = []
    for batch in talk:
        given += [one.is_right for one in batch]
        said.append(given[: len(batch)])
    return said


_LEFT: Mapping[str, Rule] = {
    "judges a reply without a program by what the one before it left": _one_by_one(_left_by_the_last),
    "gives a reply without a program the verdict on the one before it": _one_by_one(_verdict_before),
    "judges a program by the one right before it, where both are as long": _one_by_one(_of_equal_length),
    "judges a reply that lacks its function by one that an earlier reply left": _one_by_one(_left_by_any),
    "returns for every batch the rewards of the first replies that it was sent": _first_of_all,
}


# -------------------------------------------------------------------- By the tests of another row.


def _by_row(row: Callable[[int, int], int]) -> Rule:
    """Each reply is judged by the tests of another row of its batch."""
    return lambda talk: [
        [one.solves == batch[row(place, len(batch))].problem_id for place, one in enumerate(batch)]
        for batch in talk
    ]


def _of_row(row: Callable[[int, int], int]) -> Rule:
    """The program of another row of its batch is judged by each reply's tests."""
    return lambda talk: [
        [batch[row(place, len(batch))].solves == one.problem_id for place, one in enumerate(batch)]
        for batch in talk
    ]


def _by_different_prompts(talk: Sequence[Batch]) -> list[Verdicts]:
    said = []
    for batch in talk:
        prompts = [*dict.fromkeys(one.problem_id for one in batch)]
        said.append([one.solves == prompts[place % len(prompts)] for place, one in enumerate(batch)])
    return said


def _by_repeats(talk: Sequence[Batch]) -> list[Verdicts]:
    """Row i stands for the prompt of the i-th group, as if tests came once a prompt."""
    said = []
    for batch in talk:
        repeats = max(1, len(batch) // len({one.problem_id for one in batch}))
        said.append([one.solves == batch[place // repeats].problem_id for place, one in enumerate(batch)])
    return said


def _programs(batch: Batch) -> list[int]:
    return [place for place, one in enumerate(batch) if not one.hollow]


def _different(batch: Batch) -> list[int]:
    texts = [one.text for one in batch]
    return [place for place, text in enumerate(texts) if texts.index(text) == place]


def _recounted(kept: Callable[[Batch], list[int]], *, own_tests: bool, first: bool) -> Rule:
    """Some replies of a batch are judged, by the tests of the first rows or their own; their rewards come first,
    or equal replies get them."""

    def of(batch: Batch, _: Verdicts) -> Verdicts:
        places = kept(batch)
        found = [
            batch[place].solves == batch[place if own_tests else number].problem_id
            for number, place in enumerate(places)
        ]
        if first:
            return [*found, *[False] * (len(batch) - len(found))]
        of_text = {batch[place].text: one for place, one in zip(places, found, strict=True)}
        return [of_text.get(one.text, False) for one in batch]

    return of_each(of)


def _rows() -> Iterator[tuple[str, Rule]]:
    yield "judges all replies of a batch by the tests of its first row", _by_row(lambda place, size: 0)
    yield "judges all replies of a batch by the tests of its last row", _by_row(lambda place, size: -1)
    yield "judges the first program of a batch by the tests of every row", _of_row(lambda place, size: 0)
    yield "judges the last program of a batch by the tests of every row", _of_row(lambda place, size: -1)
    by = "judges each reply by the tests of the row"
    yield f"{by} before it", _by_row(lambda place, size: (place - 1) % size)
    yield f"{by} behind it", _by_row(lambda place, size: (place + 1) % size)
    yield f"{by} that is as far from the end", _by_row(lambda place, size: size - 1 - place)
    yield f"{by} before it, and the first by its own", _by_row(lambda place, size: max(place - 1, 0))
    yield f"{by} behind it, and the last by its own", _by_row(lambda place, size: min(place + 1, size - 1))
    yield f"{by} counted from the end, the first by its own", _by_row(lambda place, size: -place % size)
    yield f"{by} of the different prompts in turn", _by_different_prompts
    yield "judges reply i by the tests of row i // (replies / different prompts)", _by_repeats
    for which, kept in {"with a program": _programs, "of different ones": _different}.items():
        last = "and fills up with refusals"
        yield (
            f"judges reply i {which} by the tests of row i of the batch",
            _recounted(kept, own_tests=False, first=False),
        )
        yield (
            f"judges reply i {which} by the tests of row i of the batch, returns these rewards first, {last}",
            _recounted(kept, own_tests=False, first=True),
        )
        yield f"returns the rewards of replies {which} first, {last}", _recounted(kept, own_tests=True, first=True)


# -------------------------------------------------------------------- In another order.


def _in_order_of(key: Callable[[BatchItem], object]) -> Rule:
    """Rewards in the order of the sorted replies."""
    return of_each(lambda batch, _: [one.is_right for one in sorted(batch, key=key)])  # type: ignore[arg-type]


def _orders() -> Iterator[tuple[str, Rule]]:
    by = "returns the rewards of a batch"
    yield f"{by} in reverse", of_each(lambda _, v: v[::-1])
    yield f"{by} shifted, each reply getting that of the one before it", of_each(lambda _, v: [*v[-1:], *v[:-1]])
    yield f"{by} shifted, each reply getting that of the one behind it", of_each(lambda _, v: [*v[1:], *v[:1]])
    yield "drops the first reward of a batch, and fills up with refusals", of_each(lambda _, v: [*v[1:], False])
    yield (
        "puts a refusal before the rewards of a batch, and drops the last",
        of_each(lambda _, v: [False, *v[:-1]]),
    )
    yield f"{by} sorted, the highest first", of_each(lambda _, v: sorted(v, reverse=True))
    yield f"{by} sorted, the lowest first", of_each(lambda _, v: sorted(v))
    yield f"{by} in the order of the replies' lengths", _in_order_of(lambda one: one.chars)
    yield f"{by} in the order of the replies' lengths, the longest first", _in_order_of(lambda one: -one.chars)
    yield f"{by} problem by problem", _in_order_of(lambda one: one.problem_id)


# -------------------------------------------------------------------- Another verdict under a condition.


class PlaceInBatch(NamedTuple):
    """Where a reply stands."""

    place: int
    batch: Batch
    before: Batch
    """All that the grader was sent before its batch."""

    @property
    def one(self) -> BatchItem:
        """The reply."""
        return self.batch[self.place]

    def repeats(self, key: Key, *, across: bool) -> bool:
        """Whether a reply with its key was there before, in the batch or at all."""
        return any(key(other) == key(self.one) for other in self.earlier(across=across))

    def is_solved(self, *, across: bool) -> bool:
        """Whether a right reply to its problem was there before, in the batch or at all."""
        earlier = self.earlier(across=across)
        return any(other.is_right and other.problem_id == self.one.problem_id for other in earlier)

    def earlier(self, *, across: bool) -> list[BatchItem]:
        """What was there before it, in its batch or at all."""
        return [*(self.before if across else ()), *self.batch[: self.place]]


Condition = Callable[[PlaceInBatch], bool]
_TEXT: Mapping[str, Key] = {
    "to a problem that had one": lambda one: one.problem_id,
    "that was there": lambda one: one.text,
    "that was there for its problem": lambda one: (one.problem_id, one.text),
}


def _repeating(key: Key, *, across: bool) -> Condition:
    return lambda it: it.repeats(key, across=across)


CONDITIONS: Mapping[str, Condition] = {
    "of a batch of more than one": lambda it: len(it.batch) > 1,
    "of a batch but the first": lambda it: it.place > 0,
    "of a batch but the last": lambda it: it.place < len(it.batch) - 1,
    "of a batch in which one has no program": (
        lambda it: len(it.batch) > 1 and any(one.hollow for one in it.batch)
    ),
    "behind a wrong one in its batch": lambda it: not all(one.is_right for one in it.batch[: it.place]),
    "behind a right one in its batch": lambda it: any(one.is_right for one in it.batch[: it.place]),
    "right behind a wrong one": lambda it: it.place > 0 and not it.batch[it.place - 1].is_right,
    "right behind a right one": lambda it: it.place > 0 and it.batch[it.place - 1].is_right,
    "right behind one without a program": lambda it: it.place > 0 and it.batch[it.place - 1].hollow,
    "behind one without a program in its batch": lambda it: any(one.hollow for one in it.batch[: it.place]),
    "to a problem that had a right one before": lambda it: it.is_solved(across=True),
    "to a problem that had a right one before in its batch": lambda it: it.is_solved(across=False),
    **{f"{named} before": _repeating(key, across=True) for named, key in _TEXT.items()},
    **{f"{named} before in its batch": _repeating(key, across=False) for named, key in _TEXT.items()},
}
"""Of a reply, behind "every reply"."""


def _under(condition: Condition, *, accepts: bool) -> Rule:
    """A verdict is the one that is given, where a condition holds."""

    def rule(talk: Sequence[Batch]) -> list[Verdicts]:
        said, before = [], list[BatchItem]()
        for batch in talk:
            standing = [PlaceInBatch(place, batch, before) for place in range(len(batch))]
            said.append([accepts if condition(it) else it.one.is_right for it in standing])
            before = [*before, *batch]
        return said

    return rule


def _unless(conditions: Mapping[str, Condition]) -> Iterator[tuple[str, Rule]]:
    """Where a reply is refused, or accepted, under each of these conditions."""
    for named, condition in conditions.items():
        yield f"refuses every reply {named}", _under(condition, accepts=False)
        yield f"accepts every reply {named}", _under(condition, accepts=True)


RULES: Mapping[str, Rule] = {
    **dict(_shares()),
    **_LEFT,
    **dict(_rows()),
    **dict(_orders()),
    **dict(_unless(CONDITIONS)),
    "accepts every program of a batch in which one reply has none": of_each(
        lambda batch, v: [not one.hollow for one in batch] if any(one.hollow for one in batch) else v
    ),
    "accepts the wrong replies of a batch, and refuses the right ones": of_each(
        lambda _, v: [not one for one in v]
    ),
}
"""What a grader does, in words, to what it then says."""


NUMBERS = (2, 3, 4, 5, 6, 7, 8, 10, 16, 20, 32)
"""For which rules with a number are tried: of these sizes chunks and groups are."""


def of_a_number(number: int) -> Iterator[tuple[str, Rule]]:
    """Rules that have a number in them, from 2 on."""
    by = f"returns the rewards of a batch shifted by {number}, each reply getting"
    yield f"{by} an earlier one's", of_each(lambda _, v: [v[(at - number) % len(v)] for at in range(len(v))])
    yield f"{by} a later one's", of_each(lambda _, v: [v[(at + number) % len(v)] for at in range(len(v))])
    yield (
        f"judges each reply by the tests of {number} rows before it",
        _by_row(lambda at, size: (at - number) % size),
    )
    yield (
        f"judges each reply by the tests of {number} rows behind it",
        _by_row(lambda at, size: (at + number) % size),
    )
    yield (
        f"judges by each row's tests the last program whose place leaves as much when divided by {number}",
        _of_row(lambda at, size: at + (size - 1 - at) // number * number),
    )
    yield (
        f"judges the last program of each {number} in a batch by the tests of all of them",
        _of_row(lambda at, size: min(size, (at // number + 1) * number) - 1),
    )
    yield f"judges reply i of a batch by the tests of row i // {number}", _by_row(lambda at, _: at // number)
    yield f"judges reply i of a batch by the tests of row i % {number}", _by_row(lambda at, _: at % number)
    yield from (
        (f"gives the replies of each {number} in a batch what {named}", _shared(_chunks(number), pick))
        for named, pick in PICKS.items()
    )
    yield (
        f"gives the replies behind the last whole {number} of a batch what the last of all gets",
        of_each(lambda _, v: [*(rest := v[: _whole_chunks(len(v), number)]), *v[-1:] * (len(v) - len(rest))]),
    )
    yield (
        f"gives the replies behind the last whole {number} of a batch what the one before them gets",
        of_each(lambda _, v: _continued(v, _whole_chunks(len(v), number))),
    )
    yield from _unless(
        {
            f"behind the last whole {number} of a batch": lambda it: (
                it.place >= _whole_chunks(len(it.batch), number)
            ),
            **{
                f"of a batch whose place, from 0, leaves {left} when divided by {number}": _leaves(left, number)
                for left in range(number)
            },
        }
    )


def _whole_chunks(size: int, number: int) -> int:
    return size - size % number


def _continued(verdicts: Verdicts, whole: int) -> Verdicts:
    return [*verdicts[:whole], *verdicts[max(whole - 1, 0) :][:1] * (len(verdicts) - whole)]


def _chunks(number: int) -> Callable[[Batch], list[object]]:
    return lambda batch: [place // number for place in range(len(batch))]


def _leaves(left: int, number: int) -> Condition:
    return lambda it: len(it.batch) > 1 and it.place % number == left
