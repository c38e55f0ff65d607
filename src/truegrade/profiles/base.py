"""What a profile is: one harness' exact rules at a named version, and what it refuses.

Two profiles rule by rule: what is written in one and not in the other.
"""

from __future__ import annotations

import dataclasses
import sys
from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

import msgspec

from truegrade.errors import BadRecord, UnknownName, UserError
from truegrade.extraction.parsing import MAX_REPLY_CHARS, ExtractionLimitError
from truegrade.files.json_text import OWN, line_of, read_toml
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.kinds import Context, Kept, Kind, kind_of, problem_kind
from truegrade.prompts.making import RenderPrompt
from truegrade.records import Answer, Completion, ContestTask, Problem, Prompt, Reason, Task, Verdict
from truegrade.registry import Origin
from truegrade.sandbox import Limits
from truegrade.statistics.tally import Scale

T = TypeVar("T")

Step = Literal["prompt", "extraction", "program", "comparison", "limits", "aggregation"]
Takes = Literal["continuation", "program", "either"]
NO_EXAMPLES: Mapping[str, Problem] = MappingProxyType({})
NO_SCORES: Mapping[str, float] = MappingProxyType({})


class Rule(msgspec.Struct, frozen=True):
    """One rule of a profile and where it is written."""

    step: str
    """``prompt``, ``extraction``, ``program``, ``comparison``, ``limits`` or ``aggregation``."""
    text: str
    source: str
    """Repository path at a version, paper section, or ``ours``."""
    id: str = ""
    """Short name to refer to the rule by, which rules of several profiles that say the same share; every rule of a
    built-in profile has one."""


class _RuleOf(Rule, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule as a file has it, which may hold several profiles."""

    step: Step
    profiles: tuple[str, ...] = ()
    """Names of the profiles of the file that have this rule; all of them where none is named."""


class _DefectOf(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    text: str
    profiles: tuple[str, ...]


class Description(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the TOML file beside a module says of the profiles in it."""

    summaries: dict[str, str]
    """One line of each profile, by its name."""
    rules: tuple[_RuleOf, ...]
    defects: tuple[str | _DefectOf, ...] = ()
    """In one order for all profiles, as the rules; a text alone is a defect of every profile."""

    def rules_of(self, profile: str) -> tuple[Rule, ...]:
        """The rules of the profile of that name."""
        held = (rule for rule in self.rules if not rule.profiles or profile in rule.profiles)
        return tuple(Rule(rule.step, rule.text, rule.source, rule.id) for rule in held)

    def defects_of(self, profile: str) -> tuple[str, ...]:
        """The known defects of the profile of that name."""
        held = (one for one in self.defects if isinstance(one, str) or profile in one.profiles)
        return tuple(one if isinstance(one, str) else one.text for one in held)


def read_description(path: Path) -> Description:
    """The description in a file, which is read again where it has changed.

    Raises:
        BadRecord: the file does not hold one, or names a profile that it has no summary of; names line and field.
    """
    found = path.stat()
    return _described_in(path.absolute(), found.st_mtime_ns, found.st_size)


@cache
def _described_in(path: Path, changed_ns: int, size: int) -> Description:
    advice = OWN if path.is_relative_to(Path(__file__).parent) else "see docs/extend.md"
    found = read_toml(path, Description, advice)
    for kind, entries in (("rules", found.rules), ("defects", found.defects)):
        for place, entry in enumerate(entries):
            for name in () if isinstance(entry, str) else entry.profiles:
                if name not in found.summaries:
                    line = line_of(path.read_text(encoding="utf-8"), (kind, str(place), "profiles"))
                    said = f"{name!r} has no summary in this file; {advice}"
                    raise BadRecord(path, said, line=line, field=f"{kind}[{place}].profiles")
    return found


class _Described(Generic[T]):
    """An attribute of a profile that the TOML file of its module's name holds, read when it is asked for.

    A profile that is derived from another, and described neither in Python nor by a file, has the other's.
    """

    def __init__(self, part: Callable[[Description, str], T], default: T | None = None) -> None:
        self._part, self._default = part, default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, profile: object, kind: type) -> T:
        for base in kind.__mro__:
            if "rules" in vars(base):  # described in Python; a file of that name may be anything
                continue
            module, name = getattr(sys.modules.get(base.__module__), "__file__", None), getattr(base, "name", "")
            path = None if module is None else Path(module).with_suffix(".toml")
            if path and path.is_file() and name in (found := read_description(path)).summaries:
                return self._part(found, name)
        if self._default is None:
            raise AttributeError(f"{kind.__name__} has no {self._name}, nor has a TOML file beside its module")
        return self._default


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What a harness does with one kind of problem; a part that is None is done as the kind itself does it."""

    prompts: Callable[[Problem, Any, Mapping[str, Problem]], Mapping[str, RenderPrompt]] | None = None
    """The prompts of a problem by name; ``default`` is one of them. Given the task, and every problem by id."""
    extract: Callable[[Problem, Any, Completion], Answer] | None = None
    """The answer in a completion; see `Profile.extract`."""
    judge: Callable[[Problem, Any, Answer, Context], Judgement] | None = None
    """Whether an answer that has a value is right."""
    executes: bool = True
    """Whether ``judge`` may run a program."""
    only: tuple[str, ...] = ()
    """The data sets alone that the harness knows of the kind; none for every one."""

    def __post_init__(self) -> None:
        """Refuse a text in place of a tuple, whose letters would be names."""
        only: object = self.only
        if isinstance(only, str):
            raise TypeError(f"only={only!r} is a text; write ({only!r},)")


_AS_THE_KIND = Way()


class Profile(ABC):
    """The rules of one harness. One file a harness; `truegrade list profiles NAME` prints all of it.

    Summary, rules and known defects are given here as attributes or, as of every profile of this package, in the
    TOML file of the module's name beside it (`Description`).
    """

    if TYPE_CHECKING:
        summary: str
        rules: tuple[Rule, ...]
        defects: tuple[str, ...]
        """Known defects, reproduced on purpose."""
    else:
        summary = _Described(lambda found, name: found.summaries[name])
        rules = _Described(Description.rules_of)
        defects = _Described(Description.defects_of, ())

    def __init_subclass__(cls) -> None:
        """What a profile covers follows from its ways, unless it says so itself.

        Raises:
            TypeError: a way is none.
        """
        for kind, way in vars(cls).get("ways", {}).items():
            if not isinstance(way, Way):
                raise TypeError(f"the way for {kind!r} is {way!r:.60}; write Way(extract=..., judge=...)")
        if "ways" in vars(cls) and "covers" not in vars(cls):
            cls.covers = tuple(cls.ways)
        if "ways" in vars(cls) and "only" not in vars(cls):
            cls.only = MappingProxyType({kind: way.only for kind, way in cls.ways.items() if way.only})

    name: str
    version: str
    prompt_version: str | None = None
    """Version whose words the prompts still have, where grading alone has changed since; None for `version`."""
    ways: ClassVar[Mapping[str, Way]] = MappingProxyType({})
    """What it does with each kind of problem, by its name; `covers` and `only` follow from them."""
    covers: tuple[str, ...]
    """Kinds of problem that it has rules for, whatever the data set."""
    everything: bool = False
    """Whether it has rules for every kind: those that the kind itself gives."""
    judges_outside: bool = False
    """Whether tests run in another process than the program where they can: it is said where they do not."""
    only: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Kind -> the data sets alone that the harness knows of it: its prompts show their problems, or its rules tell
    them by name. A kind that is not named here is covered for every data set."""
    elsewhere: Mapping[str, str] = MappingProxyType({})
    """Data set that it does not cover -> why, and what to use instead."""
    takes: Takes = "either"
    """Form of a reply to a problem of writing a function: text that continues the prompt, where Markdown is a
    syntax error; a whole program, which a body alone is not; or both. The summary warns of other forms."""
    variants: tuple[str, ...] = ("default",)
    """Names of its prompts, for ``-T prompt=NAME``; not every benchmark has every one."""
    limits: Limits = Limits()
    scores_shots: tuple[str, ...] = ()
    """Benchmarks on which the harness scores the very problems that its prompt shows solved."""
    reported: tuple[str, ...] = ()
    """Metrics that the harness itself prints, where they are not pass@k."""
    ks: tuple[int, ...] = ()
    """The k of pass@k that the harness prints, where they are not among those that every summary has."""
    scored: tuple[str, ...] = ()
    """Names of the scores that `scores` gives beside right and wrong; a summary has the mean of each."""
    contest_scale: Scale | None = None
    """How the harness prints pass@k of contest problems, where it does."""
    counts_failed: bool = False
    """Whether a sample whose request failed is a wrong one, as the harness counts it; else it is left out."""
    current: bool = True
    """Whether `truegrade list profiles` lists it without ``--all``: not rules of one study, or older ones."""
    own_file: str | None = None
    """Format of `truegrade export` that is the harness' own output file; every run under it gets one."""
    timeout_s: float | None = None
    """CPU seconds in place of each limit of the harness' own, of a program, a call or a test; None keeps those."""
    origin: Origin | None = None
    """Where a profile that is not built in was found."""

    @property
    def id(self) -> str:
        """``name@version``, as verdicts carry it; with another time limit ``name@version+30s``."""
        return f"{self.name}@{self.version}" + ("" if self.timeout_s is None else f"+{self.timeout_s:g}s")

    @property
    def prompt_id(self) -> str:
        """``name@version`` as the configuration of a run carries it: who worded the prompts."""
        return f"{self.name}@{self.prompt_version or self.version}"

    def cpu_s(self, own: float) -> float:
        """CPU seconds in force where the harness has this limit."""
        return own if self.timeout_s is None else self.timeout_s

    def describe(self) -> dict[str, Any]:
        """Everything `truegrade list profiles` prints, as plain data."""
        return {
            "name": self.name,
            "version": self.version,
            "summary": self.summary,
            "covers": self.covers,
            "only": dict(self.only),
            "variants": self.variants,
            "rules": self.rules,
            "defects": self.defects,
            "limits": self.limits,
            "origin": self.origin or Origin(how="built-in", name=self.name),
        }

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The prompt of a problem; in the words of its kind, where a harness has none of its own.

        Args:
            problem: the one to solve.
            variant: one of `variants`; None for the profile's own choice.
            examples: all problems of the benchmark by id, for prompts that show worked examples.

        Raises:
            UserError: the profile has no prompt for this kind of task, or no such variant.
        """
        kind, way = self.kind(problem), self._way(problem)
        render = way.prompts
        choices = (
            kind.prompts(problem.task, examples) if render is None else render(problem, problem.task, examples)
        )
        known = [name for name in choices if self.everything or name in self.variants]
        if (name := variant or "default") not in known:
            raise UnknownName("prompt variant", name, known, f"for {problem.benchmark} under {self.name}")
        return choices[name]()

    def answer(self, problem: Problem, completion: Completion) -> Answer:
        """Take the answer out of a completion, with bounded work; see `truegrade.extraction.parsing`.

        A reply beyond the bounds is no answer, with a reason of its own: ``extraction_limit``.

        Raises:
            UserError: the profile does not cover the benchmark.
        """
        try:
            if completion.form != "program" and len(completion.text or "") > MAX_REPLY_CHARS:
                raise ExtractionLimitError(f"the reply has over {MAX_REPLY_CHARS:,} characters")
            found = self.extract(problem, completion)
            if not isinstance(found, Answer):
                raise TypeError(f"extraction gave {type(found).__name__} and no truegrade.records.Answer")
            return found
        except ExtractionLimitError as error:
            return Answer(value=None, found=str(error), reason=Reason.EXTRACTION_LIMIT)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Take the answer out of a completion; pure, runs nothing. What calls it is `answer`.

        Raises:
            ExtractionLimitError: the rule would take too many steps.
            UserError: the profile does not cover the benchmark.
        """
        kind, way = self.kind(problem), self._way(problem)
        if way.extract is None:
            return kind.extract(problem.task, completion)
        return way.extract(problem, problem.task, completion)

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Whether an answer that has a value is right, and why not; as its kind judges, where none differs."""
        kind, way = self.kind(problem), self._way(problem)
        return (way.judge or kind.judge)(problem, problem.task, answer, self.context(executor))

    def context(self, executor: Executor) -> Context:
        """What judging may use under the profile's limits."""
        return Context(executor, lambda asked: self.cpu_s(asked or self.limits.cpu_s), self._kept)

    @cached_property
    def _kept(self) -> Kept:
        return Kept()

    def _way(self, problem: Problem) -> Way:
        return self.ways.get(problem_kind(problem.task), _AS_THE_KIND)

    def kind(self, problem: Problem) -> Kind[Any]:
        """The kind of a problem.

        Raises:
            UserError: the profile does not cover it.
        """
        if not has_rules(self, problem_kind(problem.task), problem.benchmark):
            raise unsupported(self, problem)
        return kind_of(problem.task)

    def tests_passed(self, problem: Problem, answer: Answer, executor: Executor) -> TestCount | None:
        """How many of the problem's tests an answer passes, for partial credit; None where they cannot be counted.

        Every test is run, also behind one that fails, so this costs further runs; a verdict never rests on it.
        """
        return None

    def scores(self, verdict: Verdict) -> Mapping[str, float]:
        """What the harness scores a graded answer by besides right and wrong: names of `scored`, runs nothing.

        One that cannot be computed on this machine is left out, of every verdict alike, and `warnings` names it.
        """
        return NO_SCORES

    def kept(self, completion: Completion, answer: Answer) -> str:
        """What the harness' own output file holds of a reply: the answer, or the reply where it has none."""
        return answer.value if answer.value is not None else completion.text or ""

    def published_scale(self, problems: Iterable[Problem]) -> Scale | None:
        """How the harness prints pass@k of these problems; None where it does not."""
        return self.contest_scale if all(isinstance(problem.task, ContestTask) for problem in problems) else None

    def warnings(self, problems: Iterable[Problem]) -> list[str]:
        """What a reader must know of these problems under this profile: lines for the summary; mostly none."""
        return []

    def executes(self, problem: Problem) -> bool:
        """Whether grading this problem may run a program (else no sandbox is started)."""
        if type(self).judgement is not Profile.judgement:  # what the kind says holds for its own judging alone
            return True
        way = self._way(problem)
        return kind_of(problem.task).executes if way.judge is None else way.executes

    def tally(self, outcomes: Sequence[tuple[bool, tuple[str, ...]]]) -> tuple[int, int]:
        """Samples and passes of one task, (n, c), as this harness counts them.

        Args:
            outcomes: (passed, marks) of each graded sample.
        """
        return len(outcomes), sum(passed for passed, _ in outcomes)


def has_rules(profile: Profile, kind: str, benchmark: str) -> bool:
    """Whether a harness has rules for problems of this kind in this data set."""
    known = profile.only.get(kind)
    return profile.everything or (kind in profile.covers and (known is None or benchmark in known))


def coverage(profile: Profile) -> tuple[str, ...]:
    """What a profile covers, in words: ``function``, ``description (mbpp alone)``."""
    parts = [(kind, " and ".join(profile.only.get(kind, ()))) for kind in profile.covers]
    return tuple(f"{kind} ({known} alone)" if known else kind for kind, known in parts)


def unsupported(profile: Profile, problem: Problem) -> UserError:
    """The error for a problem that a harness has no rules for."""
    if (why := profile.elsewhere.get(problem.benchmark)) is not None:
        return UserError(f"profile {profile.name!r}: {why}")
    kind, covered = problem_kind(problem.task), ", ".join(coverage(profile))
    return UserError(
        f"profile {profile.name!r} has no rules for {problem.benchmark!r} ({kind}); it covers {covered}"
    )


# ----------------------------------------------------------------------------------------------------------------
# What a profile refuses: a benchmark that its harness has no rules for, a prompt that it has no words for.


TaskT = TypeVar("TaskT", bound=Task)


def covered_task(profile: Profile, problem: Problem, kind: type[TaskT], /) -> TaskT:
    """The task of a problem that is covered, by a profile that covers tasks of this type alone.

    Raises:
        UserError: the profile does not cover the problem.
    """
    profile.kind(problem)
    task = problem.task
    assert isinstance(task, kind)
    return task


BY_SANITIZED_MBPP = MappingProxyType(
    {
        "mbppplus": "its mbpp_plus asks and grades with the asserts of sanitized MBPP, which MBPP+'s file does not"
        " hold; use the benchmark mbpp-sanitized, which has all of MBPP+'s tasks"
    }
)
"""`Profile.elsewhere` of harnesses whose MBPP+ has these tests."""


def check_variant(profile: Profile, variant: str | None) -> str:
    """The name of the prompt to use; ``default`` where none is asked for.

    Raises:
        UnknownName: the profile has no such prompt.
    """
    if variant is not None and variant not in profile.variants:
        raise UnknownName("prompt variant", variant, profile.variants, f"for {profile.name}")
    return variant or "default"


def refuse_uncovered(profiles: Iterable[Profile], problems: Iterable[Problem]) -> None:
    """See, before anything is asked or imported, that every profile has rules for these problems.

    Raises:
        UserError: a profile does not cover one of them.
    """
    kinds = {(problem.benchmark, problem_kind(problem.task)): problem for problem in problems}
    for profile in profiles:
        for (benchmark, kind), problem in kinds.items():
            if not has_rules(profile, kind, benchmark):
                raise unsupported(profile, problem)


def covered_benchmarks(profile: Profile) -> list[str]:
    """Names of the built-in data sets that it has rules for."""
    from truegrade.benchmarks import BENCHMARKS, find_benchmark  # only listings need every data set's module

    specs = map(find_benchmark, BENCHMARKS)
    return [
        spec.name
        for spec in specs
        if any(has_rules(profile, kind, spec.name) for kind in spec.tasks.split(" or "))
    ]


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that differs, as text; ``none`` where one profile lacks it."""

    name: str
    first: str
    second: str


class StepDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one step that only one of the two has."""

    step: str
    first: list[Rule]
    second: list[Rule]
    same: int
    """Rules of the step whose text is the same."""


class ProfileDifference(msgspec.Struct, frozen=True, kw_only=True):
    """What `truegrade list profiles A --diff B` prints."""

    first: str
    """``name@version``."""
    second: str
    facts: list[Fact]
    """Coverage, prompts, limits and, of contest graders, the switches of the harness itself."""
    rules: list[StepDifference]
    """Every step that either has rules for, those without a difference included."""
    defects: StepDifference
    """Known defects, as rules without a source."""


def difference(first: Profile, second: Profile) -> ProfileDifference:
    """Hold two profiles against each other; rules are the same where their words are."""
    steps = dict.fromkeys(rule.step for rule in (*first.rules, *second.rules))
    return ProfileDifference(
        first=first.id,
        second=second.id,
        facts=list(_facts(first, second)),
        rules=[
            _step(step, *([rule for rule in of.rules if rule.step == step] for of in (first, second)))
            for step in steps
        ],
        defects=_step("defects", *([Rule("defects", text, "") for text in of.defects] for of in (first, second))),
    )


def _step(step: str, first: list[Rule], second: list[Rule]) -> StepDifference:
    texts = [{rule.text for rule in rules} for rules in (first, second)]
    return StepDifference(
        step=step,
        first=[rule for rule in first if rule.text not in texts[1]],
        second=[rule for rule in second if rule.text not in texts[0]],
        same=len(texts[0] & texts[1]),
    )


def _facts(first: Profile, second: Profile) -> Iterator[Fact]:
    one, two = _settings(first), _settings(second)
    for name in dict.fromkeys((*one, *two)):
        a, b = one.get(name), two.get(name)
        if a == b:
            continue
        if isinstance(a, tuple) and isinstance(b, tuple):
            yield Fact(name=name, first=_only(a, b), second=_only(b, a))
        else:
            yield Fact(name=name, first=_told(a), second=_told(b))


def _settings(profile: Profile) -> dict[str, Any]:
    """What a profile is besides its rules, by name; lists as tuples, of which only the difference is told."""
    found: dict[str, Any] = {
        "covers": coverage(profile),
        "prompts": profile.variants,
        "metrics it prints": profile.reported,
        "scale": profile.contest_scale,
        **{f"limit {name}": value for name, value in dataclasses.asdict(profile.limits).items()},
    }
    harness = getattr(profile, "harness", None)
    if harness is not None:
        found |= {f"harness {name}": value for name, value in harness.rules.items() if name != "preload"}
        found["harness added_s"] = harness.added_s
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def _only(own: tuple[Any, ...], other: tuple[Any, ...]) -> str:
    alone = [str(item) for item in own if item not in other]
    return f"also {', '.join(alone)}" if alone else "nothing else"


def _told(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
