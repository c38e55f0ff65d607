"""What a profile is: one harness' exact rules at a named version."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import msgspec

from truegrade.errors import UserError
from truegrade.extraction.parsing import MAX_REPLY_CHARS, ExtractionLimitError
from truegrade.grading.executor import Executor
from truegrade.grading.judgement import Judgement, TestCount
from truegrade.records import Answer, Completion, Problem, Prompt, Reason, Verdict
from truegrade.records.kinds import Kind, problem_kind
from truegrade.registry import Origin
from truegrade.sandbox import Limits
from truegrade.statistics.tally import Scale

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


class Profile(ABC):
    """The rules of one harness. One file a profile; `truegrade profiles show NAME` prints all of it."""

    name: ClassVar[str]
    version: ClassVar[str]
    prompt_version: ClassVar[str | None] = None
    """Version whose words the prompts still have, where grading alone has changed since; None for `version`."""
    summary: ClassVar[str]
    covers: ClassVar[tuple[Kind, ...]]
    """Kinds of problem that it has rules for, whatever the data set."""
    judges_outside: ClassVar[bool] = False
    """Whether tests run in another process than the program where they can: it is said where they do not."""
    only: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    """Kind -> the data sets alone that the harness knows of it: its prompts show their problems, or its rules tell
    them by name. A kind that is not named here is covered for every data set."""
    takes: ClassVar[Takes] = "either"
    """Form of a reply to a problem of writing a function: text that continues the prompt, where Markdown is a
    syntax error; a whole program, which a body alone is not; or both. The summary warns of other forms."""
    variants: ClassVar[tuple[str, ...]] = ("default",)
    """Names of its prompts, for ``-T prompt=NAME``; not every benchmark has every one."""
    rules: ClassVar[tuple[Rule, ...]]
    defects: ClassVar[tuple[str, ...]] = ()
    """Known defects, reproduced on purpose."""
    limits: ClassVar[Limits] = Limits()
    scores_shots: ClassVar[tuple[str, ...]] = ()
    """Benchmarks on which the harness scores the very problems that its prompt shows solved."""
    reported: ClassVar[tuple[str, ...]] = ()
    """Metrics that the harness itself prints, where they are not pass@k."""
    ks: ClassVar[tuple[int, ...]] = ()
    """The k of pass@k that the harness prints, where they are not among those that every summary has."""
    scored: ClassVar[tuple[str, ...]] = ()
    """Names of the scores that `scores` gives beside right and wrong; a summary has the mean of each."""
    contest_scale: ClassVar[Scale | None] = None
    """How the harness prints pass@k of contest problems, where it does."""
    counts_failed: ClassVar[bool] = False
    """Whether a sample whose request failed is a wrong one, as the harness counts it; else it is left out."""
    current: ClassVar[bool] = True
    """Whether `truegrade profiles` lists it without ``--all``: not the rules of one study or an older version."""
    own_file: ClassVar[str | None] = None
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
        """Everything `truegrade profiles show` prints, as plain data."""
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

    @abstractmethod
    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """The prompt of a problem.

        Args:
            problem: the one to solve.
            variant: one of `variants`; None for the profile's own choice.
            examples: all problems of the benchmark by id, for prompts that show worked examples.

        Raises:
            UserError: the profile has no prompt for this kind of task, or no such variant.
        """

    def answer(self, problem: Problem, completion: Completion) -> Answer:
        """Take the answer out of a completion, with bounded work; see `truegrade.extraction.parsing`.

        A reply beyond the bounds is no answer, with a reason of its own: ``extraction_limit``.

        Raises:
            UserError: the profile does not cover the benchmark.
        """
        try:
            if completion.form != "program" and len(completion.text or "") > MAX_REPLY_CHARS:
                raise ExtractionLimitError(f"the reply has over {MAX_REPLY_CHARS:,} characters")
            return self.extract(problem, completion)
        except ExtractionLimitError as error:
            return Answer(value=None, found=str(error), reason=Reason.EXTRACTION_LIMIT)

    @abstractmethod
    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Take the answer out of a completion; pure, runs nothing. What calls it is `answer`.

        Raises:
            ExtractionLimitError: the rule would take too many steps.
            UserError: the profile does not cover the benchmark.
        """

    @abstractmethod
    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Whether an answer that has a value is right, and why not; programs run through the executor alone."""

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

    def warnings(self, problems: Iterable[Problem]) -> list[str]:
        """What a reader must know of these problems under this profile: lines for the summary; mostly none."""
        return []

    def executes(self, problem: Problem) -> bool:
        """Whether grading this problem may run a program (else no sandbox is started)."""
        return True

    def tally(self, outcomes: Sequence[tuple[bool, tuple[str, ...]]]) -> tuple[int, int]:
        """Samples and passes of one task, (n, c), as this harness counts them.

        Args:
            outcomes: (passed, marks) of each graded sample.
        """
        return len(outcomes), sum(passed for passed, _ in outcomes)


def has_rules(profile: Profile, kind: str, benchmark: str) -> bool:
    """Whether a harness has rules for problems of this kind in this data set."""
    known = profile.only.get(kind)
    return kind in profile.covers and (known is None or benchmark in known)


def coverage(profile: Profile) -> tuple[str, ...]:
    """What a profile covers, in words: ``function``, ``description (mbpp alone)``."""
    parts = [(kind, " and ".join(profile.only.get(kind, ()))) for kind in profile.covers]
    return tuple(f"{kind} ({known} alone)" if known else kind for kind, known in parts)


def unsupported(profile: Profile, problem: Problem) -> UserError:
    """The error for a problem that a harness has no rules for."""
    kind, covered = problem_kind(problem.task), ", ".join(coverage(profile))
    return UserError(
        f"profile {profile.name!r} has no rules for {problem.benchmark!r} ({kind}); it covers {covered}"
    )
