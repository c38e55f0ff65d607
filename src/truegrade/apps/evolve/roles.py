"""The roles of problems: training, selection, final report, forgetting; those of QuixBugs among them.

    train        adapters learn from these
    selection    the search sees these scores, so they flatter what it chose
    final        looked at once, after the search (`truegrade.apps.evolve.finishing`)
    forgetting   what the base could do before: looked at with the final ones
    pool         with tests: expert iteration learns replies to them; other genomes are selected by them too
    replay       what the base could do before: its own replies may be learned once more

CORAL-X has two roles and reports the scores it selected by: the best of 200 equal genomes of true rate .5 then
shows .94 on its 8 problems. Roles that share a name or a program with the training set cannot be made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice, product
from typing import Literal, NamedTuple

import msgspec

from truegrade.apps.evolve.genomes import is_one_token, nameless, ngrams
from truegrade.benchmarks import load_benchmark
from truegrade.builders.mutation.mutants import Mutant, MutationOptions, NotAProgram, mutants_of, normalised
from truegrade.datasets.checkouts import REST, TEST, TRAIN
from truegrade.datasets.identity import notes_of, program_identity, without_notes
from truegrade.errors import UserError
from truegrade.grading.executor import Executor
from truegrade.kinds import kind_of
from truegrade.profiles.base import Profile
from truegrade.records import Answer, Problem, Reason, sha256_json

# ------------------------------------ A repair problem of any kind: a name, the buggy program and the correct one.


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """What training and the checks against contamination need of a problem."""

    problem: str
    """Its id."""
    name: str
    """The function's: what CORAL-X calls the problem."""
    buggy: str
    """As the benchmark stores it."""
    reference: str
    """As the benchmark stores it, notes and alternative solutions included."""

    @property
    def solution(self) -> str:
        """The reference without the strings that stand between its statements."""
        return without_notes(self.reference)

    @property
    def programs(self) -> frozenset[str]:
        """Identities of both programs, whatever their names and layout."""
        return frozenset({program_identity(self.buggy), program_identity(self.reference)})


def repair_of(problem: Problem) -> Repair:
    """The repair that a problem asks for.

    Raises:
        UserError: it asks for something else.
    """
    kind, task = kind_of(problem.task), problem.task
    name, buggy, reference = kind.entry_point(task), kind.buggy(task), kind.reference(task)
    if not (name and buggy and isinstance(reference, str)):
        raise UserError(
            f"problem {problem.id} holds no program to repair, so nothing can be learned from it;"
            " train on a benchmark of repairs: quixbugs or micro-repair"
        )
    return Repair(problem=problem.id, name=name, buggy=buggy, reference=reference)


# ----------------------------------------------------------------------------------------------------------------
# New repair problems out of solved ones: one token of a correct program is changed, and its tests then fail.


_DECIDED = frozenset({Reason.WRONG_ANSWER, Reason.RUNTIME_ERROR})
"""Failures that no clock and no memory decides, so that every machine draws the same mutants."""


def fresh_mutants(
    problems: Sequence[Problem], profile: Profile, executor: Executor, *, seed: int, per_program: int = 2
) -> tuple[Problem, ...]:
    """Draw mutants of correct programs; each is verified to fail the tests, and its reference to pass them.

    The same seed draws the same mutants, and a program's draw does not depend on the other programs.

    Args:
        problems: repairs whose correct programs are changed.
        profile: whose grading decides.
        executor: bound to the profile's limits.
        seed: of the draw.
        per_program: how many of each, as far as there are so many.

    Raises:
        UserError: a problem is no repair, or its own reference fails.
    """
    drawn: list[Problem] = []
    for problem in problems:
        repair = repair_of(problem)
        try:
            solution = normalised(repair.solution)
        except NotAProgram as error:
            raise UserError(f"problem {problem.id}: its reference cannot be mutated: {error}") from None
        if _reason(problem, solution, profile, executor) is not Reason.PASSED:
            raise UserError(
                f"problem {problem.id}: its own reference fails under {profile.id}; no mutant is drawn"
            )
        failing = _failing(problem, repair, solution, profile, executor, seed)
        drawn.extend(islice(failing, per_program))
    return tuple(drawn)


def _failing(
    problem: Problem, repair: Repair, solution: str, profile: Profile, executor: Executor, seed: int
) -> Iterator[Problem]:
    """Mutants that fail, in the order that the seed gives them; never the bug that the benchmark itself has."""
    known = set(repair.programs)
    candidates = [each for each in mutants_of(solution, MutationOptions()) if is_one_token(solution, each.code)]
    for mutant in sorted(candidates, key=lambda each: sha256_json([seed, repair.name, each.id])):
        same = program_identity(mutant.code)
        if same not in known and _reason(problem, mutant.code, profile, executor) in _DECIDED:
            known.add(same)
            yield _as_problem(problem, repair, solution, mutant)


def _reason(problem: Problem, program: str, profile: Profile, executor: Executor) -> Reason:
    return profile.judgement(problem, Answer(value=program, found="as given"), executor).reason


def _as_problem(problem: Problem, repair: Repair, solution: str, mutant: Mutant) -> Problem:
    """The problem with another bug, both programs in one layout, the buggy one with the notes it had."""
    notes = notes_of(repair.buggy)
    buggy = f"{mutant.code}\n\n{notes}" if notes else mutant.code
    task = msgspec.structs.replace(problem.task, buggy=buggy, reference=solution)
    return msgspec.structs.replace(
        problem,
        id=f"{problem.id}~{mutant.id}",
        task=task,
        tags={**problem.tags, "mutation": mutant.operator, "fresh": "mutant"},
    )


# ------------------------ Overlap between training and test problems: by name, by program, and by shared text.
# A shared name or a shared program is refused. Shared text is reported: generated programs and textbook
# algorithms share phrases without being the same, so a person decides.


LONG = 13
"""Tokens of the longer n-gram: Brown et al. (arXiv 2005.14165, appendix C) look for shared 13-grams."""
SHORT = 6
"""Tokens of the shorter one: a function of ten lines has few spans of 13."""
CONTAINED = 0.7
"""Share of an item's n-grams that calls it a near duplicate: PaLM's, for 8-grams (arXiv 2204.02311, section 8)."""


class Contamination(UserError):
    """Something is trained on and tested on."""


class Overlap(msgspec.Struct, frozen=True, kw_only=True):
    """Two items that share something."""

    trained: str
    tested: str
    """Ids of the problems."""
    kind: Literal["name", "program", "13-gram", "6-gram"]
    """What is shared; the first two are refused."""
    share: float
    """1 for names and programs; else the share of the tested item's n-grams that the trained one has."""
    jaccard: float
    """Of their 6-grams."""


class OverlapReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a comparison of all pairs found."""

    pairs: int
    refused: tuple[Overlap, ...] = ()
    near: tuple[Overlap, ...] = ()
    """Near duplicates, most alike first."""
    closest: Overlap | None = None
    """The pair with the largest Jaccard similarity of 6-grams, whatever it is."""


def validate_no_overlap(training: Collection[str], test: Collection[str]) -> None:
    """Refuse two lists of names that share one; CORAL-X's check, in its words.

    Raises:
        Contamination: they do.
    """
    shared = sorted(set(training) & set(test))
    if shared:
        raise Contamination(f"CRITICAL: Training/test overlap detected: {{{', '.join(map(repr, shared))}}}")


def refuse_trained(tested: Problem, training: Iterable[Problem]) -> None:
    """Refuse to test on a problem that was trained on, under this name or another; in CORAL-X's words.

    Raises:
        Contamination: it was.
    """
    item = repair_of(tested)
    for other in map(repair_of, training):
        if item.name == other.name:
            raise Contamination(f"CONTAMINATION: {item.name} is training problem")
        if item.programs & other.programs:
            raise Contamination(
                f"CONTAMINATION: {item.name} is training problem (the same program as {other.problem},"
                " under another name)"
            )


def refuse_overlap(training: Sequence[Problem], test: Sequence[Problem]) -> None:
    """Refuse two sets of problems that share a name or a program.

    Raises:
        Contamination: they do; it names every one.
    """
    trained, tested = [repair_of(each) for each in training], [repair_of(each) for each in test]
    validate_no_overlap([item.name for item in trained], [item.name for item in tested])
    programs = {program: item for item in trained for program in item.programs}
    same = sorted({
        f"{item.problem} = {programs[program].problem}"
        for item in tested for program in item.programs if program in programs
    })  # fmt: skip
    if same:
        raise Contamination(f"CRITICAL: Training/test overlap detected: the same programs in {', '.join(same)}")


def overlaps(training: Sequence[Problem], test: Sequence[Problem]) -> OverlapReport:
    """Compare every training problem with every test problem; refuses nothing."""
    trained = [_item(problem) for problem in training]
    tested = [_item(problem) for problem in test]
    found = [_overlap(one, other) for one, other in product(trained, tested)]
    near = [pair for pair in found if pair.kind in {"13-gram", "6-gram"} and pair.share >= CONTAINED]
    return OverlapReport(
        pairs=len(found),
        refused=tuple(pair for pair in found if pair.kind in {"name", "program"}),
        near=tuple(sorted(near, key=lambda pair: (-pair.share, -pair.jaccard, pair.tested, pair.trained))),
        closest=max(found, key=lambda pair: pair.jaccard, default=None),
    )


_Grams = frozenset[tuple[str, ...]]


class _Item(NamedTuple):
    repair: Repair
    programs: frozenset[str]
    short: _Grams
    long: _Grams


def _item(problem: Problem) -> _Item:
    repair = repair_of(problem)
    tokens = nameless(repair.solution)
    return _Item(repair, repair.programs, ngrams(tokens, SHORT), ngrams(tokens, LONG))


def _overlap(trained: _Item, tested: _Item) -> Overlap:
    long, short = _containment(trained.long, tested.long), _containment(trained.short, tested.short)
    kind: Literal["name", "program", "13-gram", "6-gram"]
    if trained.repair.name == tested.repair.name:
        kind, share = "name", 1.0
    elif trained.programs & tested.programs:
        kind, share = "program", 1.0
    else:
        kind, share = ("13-gram", long) if long >= CONTAINED else ("6-gram", short)
    union = len(trained.short | tested.short)
    return Overlap(
        trained=trained.repair.problem,
        tested=tested.repair.problem,
        kind=kind,
        share=share,
        jaccard=len(trained.short & tested.short) / union if union else 0.0,
    )


def _containment(trained: _Grams, tested: _Grams) -> float:
    return len(trained & tested) / len(tested) if tested else 0.0


class Roles(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A benchmark's problems by what they are for; disjoint by construction.

    Raises:
        Contamination: a name or program of the training set is in another role, or the same bug is in selection
            and final.
    """

    benchmark: str
    train: tuple[Problem, ...]
    selection: tuple[Problem, ...]
    final: tuple[Problem, ...]
    forgetting: tuple[Problem, ...] = ()
    pool: tuple[Problem, ...] = ()
    replay: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader of the report must know about the division, as sentences."""

    def __post_init__(self) -> None:
        refuse_overlap(self.learned, self.tested)
        refuse_shared_bugs(self.selection, (*self.final, *self.forgetting))

    @property
    def learned(self) -> tuple[Problem, ...]:
        """All problems that some adapter may learn from."""
        return (*self.train, *self.pool, *self.replay)

    @property
    def tested(self) -> tuple[Problem, ...]:
        """All problems that no adapter may learn from."""
        return (*self.selection, *self.final, *self.forgetting)

    def check(self, tested: Problem, *, learns_pool: bool = True) -> None:
        """Refuse to score a training problem; to be called for every problem that is evaluated.

        Args:
            tested: the problem.
            learns_pool: whether what is evaluated learned from the pool.

        Raises:
            Contamination: it is one.
        """
        item = repair_of(tested)
        marks = self._marks | (self._pool_marks if learns_pool else frozenset())
        if marks & {item.name, *item.programs}:
            refuse_trained(tested, self.learned)

    @cached_property
    def _marks(self) -> frozenset[str]:
        return _marks((*self.train, *self.replay))

    @cached_property
    def _pool_marks(self) -> frozenset[str]:
        return _marks(self.pool)

    def overlaps(self) -> OverlapReport:
        """How much text the training problems share with the others."""
        return overlaps(self.learned, self.tested)


def _marks(problems: tuple[Problem, ...]) -> frozenset[str]:
    """Names and programs, none of which another role may have."""
    repairs = [repair_of(problem) for problem in problems]
    return frozenset(mark for repair in repairs for mark in (repair.name, *repair.programs))


def refuse_shared_bugs(selection: tuple[Problem, ...], final: tuple[Problem, ...]) -> None:
    """Refuse a final problem that selection has already seen; another bug in the same program is another problem.

    Raises:
        Contamination: there is one.
    """
    seen = {program_identity(repair_of(problem).buggy): problem.id for problem in selection}
    for problem in final:
        before = seen.get(program_identity(repair_of(problem).buggy))
        if before is not None:
            raise Contamination(f"CONTAMINATION: {problem.id} is for the final report, but {before} selects by it")


# ------------------------------- The roles of micro-repair: draws from seeds, disjoint by name and by program.


BENCHMARK = "micro-repair"
_TRAINED = ("seen-unseen",)
_UNSEEN = ("seen-unseen", "unseen-unseen")
_SEEN = ("seen-seen", "unseen-seen")
"""Splits of the benchmark, programs then bug classes, by whether pre-training showed the class."""
_SPARE_PART = 8
"""One item in so many is drawn to spare, for those that another role has."""
_SEED_CHARS = 15
"""Hexadecimal digits of a seed: below the benchmark's limit of 63 bits."""


class MicroSizes(msgspec.Struct, frozen=True, kw_only=True):
    """Items of each role."""

    train: int = 96
    selection: int = 64
    final: int = 200
    forgetting: int = 100
    pool: int = 0
    replay: int = 0


def micro_roles(seed: int, sizes: MicroSizes | None = None) -> Roles:
    """Train, select and report on bug classes that pre-training never showed; forgetting on those it did.

    No two roles share a function's name, a correct program or a buggy one. Selection and final have seen and
    unseen programs in turn. The same seed gives the same roles on every machine.

    Raises:
        UserError: a size is out of range.
    """
    sizes = sizes or MicroSizes()
    taken: set[str] = set()
    drawn: dict[str, tuple[Problem, ...]] = {}
    for role, splits, size in (
        ("final", _UNSEEN, sizes.final),
        ("selection", _UNSEEN, sizes.selection),
        ("train", _TRAINED, sizes.train),
        ("forgetting", _SEEN, sizes.forgetting),
        ("pool", _TRAINED, sizes.pool),
        ("replay", _SEEN, sizes.replay),
    ):
        drawn[role] = tuple(_draw(role, splits, size, seed, frozenset(taken)))
        for problem in drawn[role]:
            taken |= _marks((problem,))
    note = f"drawn from seed {seed}; no two roles share a name, a correct program or a buggy one"
    return Roles(benchmark=BENCHMARK, notes=(note,), **drawn)


def _draw(role: str, splits: tuple[str, ...], size: int, seed: int, taken: frozenset[str]) -> Iterator[Problem]:
    """Items of the splits in turn, none of whose names and programs are taken."""
    enough = size // len(splits) + size // _SPARE_PART + 1
    streams = [_stream(role, split, seed, enough) for split in splits]
    for number in range(size):
        stream = streams[number % len(streams)]
        found = next(problem for problem in stream if not _marks((problem,)) & taken)
        yield msgspec.structs.replace(found, id=f"{BENCHMARK}/{role}/{number}")


def _stream(role: str, split: str, seed: int, enough: int) -> Iterator[Problem]:
    """Items of a split without end, as many at first as are likely to do.

    A larger set begins with the smaller one, so more can be drawn and the first ones left out.
    """
    begin = int(sha256_json([BENCHMARK, role, split, seed])[:_SEED_CHARS], 16)
    given = 0
    while True:
        args = {"split": split, "seed": str(begin), "size": str(enough)}
        yield from load_benchmark(BENCHMARK, args=args).problems[given:]
        given, enough = enough, 2 * enough


# ------------------- CORAL-X's split of QuixBugs by name: 24 programs to train on, 8 to select by, 8 left out.
# Its description says that the 8 left out are those without JSON tests. Nine programs have none, and one of them,
# ``reverse_linked_list``, stands in its training list: of the 24, 23 have JSON tests.


WITHOUT_JSON = REST | {"reverse_linked_list"}
"""The graph and list programs (jkoppel/QuixBugs@4257f44): tested by modules of their own."""

validate_no_overlap(TRAIN, TEST)


# ------------------ The roles of QuixBugs' programs: CORAL-X's lists, and final problems outside both of them.


_TRAINED_WITHOUT_JSON = ", ".join(sorted(TRAIN & WITHOUT_JSON))


def quixbugs_roles(
    problems: Sequence[Problem],
    profile: Profile,
    executor: Executor,
    *,
    seed: int,
    json_only: bool = False,
    mutants: int = 2,
) -> Roles:
    """Train on CORAL-X's 24 programs, select by its 8, report on the graph programs and on new mutants.

    The mutants are of programs that were not trained on: of the 8, with another bug than the one selected by, and
    of the graph programs.

    Args:
        problems: QuixBugs, all 40 programs.
        profile: whose grading verifies the mutants.
        executor: bound to the profile's limits.
        seed: of the draw of mutants.
        json_only: leave out of training what has no JSON tests, as the repository's loader does: 23 programs.
        mutants: new ones of each program; reverse_linked_list has none that ends and fails.

    Raises:
        UserError: a program of the lists is missing; there is no other data to fall back on.
    """
    by_name = {repair_of(problem).name: problem for problem in problems}
    trained = TRAIN - WITHOUT_JSON if json_only else TRAIN
    train = _chosen(by_name, trained)
    final = _chosen(by_name, WITHOUT_JSON - trained)
    selection = _chosen(by_name, TEST)
    fresh = fresh_mutants((*selection, *final), profile, executor, seed=seed, per_program=mutants)
    return Roles(
        benchmark=problems[0].benchmark,
        train=train,
        selection=selection,
        final=(*map(_as_graph, final), *fresh),
        notes=(_about_training(json_only), _about_mutants(len(fresh), seed)),
    )


def _chosen(by_name: Mapping[str, Problem], names: frozenset[str]) -> tuple[Problem, ...]:
    """The problems of these names, in the order of the names."""
    missing = sorted(names - by_name.keys())
    if missing:
        raise UserError(
            f"QuixBugs here lacks {', '.join(missing)}, which the division names; load all 40 programs,"
            " nothing else is put in their place"
        )
    return tuple(by_name[name] for name in sorted(names))


def _as_graph(problem: Problem) -> Problem:
    return msgspec.structs.replace(problem, tags={**problem.tags, "fresh": "program"})


def _about_training(json_only: bool) -> str:
    if json_only:
        return (
            f"{_TRAINED_WITHOUT_JSON} stands in CORAL-X's training list but has no JSON tests: 23 programs are"
            " trained on, and it is in the final report"
        )
    return (
        f"{_TRAINED_WITHOUT_JSON} stands in CORAL-X's training list, so of the 9 graph and list programs 8 are in"
        " the final report"
    )


def _about_mutants(count: int, seed: int) -> str:
    return (
        f"{count} of the final problems are one-token mutants drawn from seed {seed}; those of the selection"
        " programs have a new bug in a program that the search has scored adapters by"
    )
