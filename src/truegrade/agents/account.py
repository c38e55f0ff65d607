"""What an agent's run took and how often its own tests accepted, read from its steps. Runs nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from truegrade.agents import open_agent
from truegrade.errors import UserError
from truegrade.records import SampleKey, Usage
from truegrade.records.config import AgentConfig

if TYPE_CHECKING:  # of every summary; only a run with an agent loads what agents are made of
    from truegrade.agents.steps import AskedStep, Role, Step


class RoleUse(msgspec.Struct, frozen=True, kw_only=True):
    """What one of the agents took, over all samples."""

    model: str = ""
    """``provider/name`` that it asked; prices and tokens are this model's."""
    calls: int = 0
    """Questions asked, those without a reply included."""
    attempts: int = 0
    """Requests; more than calls where some were empty or failed."""
    failed_attempts: int = 0
    empty_attempts: int = 0
    unanswered: int = 0
    """Questions that got no reply with all their attempts."""
    input_tokens: int = 0
    output_tokens: int = 0
    latency_s: float = 0.0
    """Seconds of the answering requests together."""
    cost_usd: float | None = None
    """None where a price or a token count is not known."""


class AgentSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The part of ``summary.json`` about an agent."""

    agent: str
    """``name@version``."""
    variant: str
    label: str
    """What a pass rate of this run is, and that it is not the model's pass@1."""
    settled: int
    """Samples with an answer handed in."""
    accepted: int
    """Of these, samples whose answer passed enough self-made tests; or the data set's, where `official_tests`."""
    rounds: dict[str, int]
    """Rounds worked -> samples, of those settled."""
    without_tests: int
    """Settled samples in which no self-made test could be parsed."""
    tests: int
    """Self-made asserts parsed."""
    trials: int
    """Programs run by the test executor."""
    trial_cpu_s: float
    by_agent: dict[str, RoleUse]
    """``programmer``, ``tester``."""
    official_tests: bool = False
    """Whether the tests are the data set's own, and the model was shown what they print."""
    pass_rates: dict[str, float] = {}
    """Where they are: number of tries -> share of the settled samples that had passed by then, from 0 to 1."""

    @property
    def tests_itself(self) -> bool:
        """Whether the agent writes tests at all."""
        return self.by_agent["tester"].calls > 0

    @property
    def warnings(self) -> list[str]:
        """The warnings of the run."""
        said = [f"made by {self.agent}/{self.variant}: {self.label}"]
        if self.official_tests:
            shown = sum(count for tries, count in self.rounds.items() if int(tries) > 1)
            told = "the model was shown what the tests that grade it print, expected values included"
            return [*said, f"in {shown} of {self.settled} samples {told}"] if shown else said
        if self.settled > self.accepted:
            unaccepted = self.settled - self.accepted
            said.append(f"the agent's own tests accepted no program in {unaccepted} of {self.settled} samples")
        if self.without_tests:
            said.append(f"no self-made test could be parsed in {self.without_tests} of {self.settled} samples")
        return said


def summarise_steps(
    config: AgentConfig, steps: Iterable[Step], wanted: Callable[[SampleKey], bool], model: str = ""
) -> AgentSummary:
    """Count the steps of a run.

    Args:
        config: the agent that made them.
        steps: in the order they were made.
        wanted: whether a sample is to be counted.
        model: ``provider/name`` of the run's, which roles ask that have none of their own.
    """
    from truegrade.agents.steps import AskedStep, SettledStep, TriedStep

    settled: dict[SampleKey, SettledStep] = {}
    rounds: Counter[SampleKey] = Counter()
    tests: Counter[SampleKey] = Counter()
    uses: dict[Role, _Use] = {"programmer": _Use(), "tester": _Use()}
    trials, trial_cpu_s, from_zero = 0, 0.0, False
    for step in steps:
        if not wanted(step.key):
            continue
        from_zero |= step.round == 0  # as an agent of one's own may count them
        rounds[step.key] = max(rounds[step.key], step.round)
        match step.did:
            case AskedStep() as asked:
                uses[asked.agent].add(asked)
                tests[step.key] += len(asked.tests)
            case TriedStep(candidates=candidates):
                ran = [trial for candidate in candidates for trial in candidate.trials]
                trials += len(ran)
                trial_cpu_s += sum(trial.cpu_s for trial in ran)
            case SettledStep() as last:
                settled[step.key] = last
    about = _about(config)
    rounds = Counter({key: last + from_zero for key, last in rounds.items()})
    ended = Counter(last.round + from_zero for last in settled.values() if last.accepted)
    return AgentSummary(
        agent=f"{config.name}@{config.version}",
        variant=about.variant,
        label=about.label,
        settled=len(settled),
        accepted=sum(last.accepted for last in settled.values()),
        rounds={str(n): count for n, count in sorted(Counter(rounds[key] for key in settled).items())},
        without_tests=sum(not tests[key] for key in settled) if uses["tester"].calls else 0,
        tests=tests.total(),
        trials=trials,
        trial_cpu_s=trial_cpu_s,
        by_agent={role: use.total(about.models.get(role, model)) for role, use in uses.items()},
        official_tests=about.official_tests,
        pass_rates=_pass_rates(ended, rounds, len(settled)) if about.official_tests else {},
    )


def _pass_rates(ended: Counter[int], rounds: Counter[SampleKey], settled: int) -> dict[str, float]:
    """Shares accepted in at most one round, in at most two, up to the most that a sample took."""
    tries = range(1, max(rounds.values(), default=0) + 1)
    return {str(n): sum(ended[round_] for round_ in range(1, n + 1)) / settled for n in tries} if settled else {}


class _About(NamedTuple):
    """What an agent says of itself."""

    variant: str
    label: str
    official_tests: bool = False
    models: Mapping[Role, str] = MappingProxyType({})
    """Names of the models of roles that have one of their own."""


def _about(config: AgentConfig) -> _About:
    """What the agent says; of one that this version cannot open, only that it is one."""
    from truegrade.agents.session import role_models
    from truegrade.models.providers import full_name

    try:
        agent = open_agent(config.name, config.args)
    except UserError:
        # The one agent of earlier versions that showed these tests stored no word of it.
        shown = config.sees_official_tests or config.name == "aider"
        return _About(str(config.args.get("variant", "")), "result of an agent; not pass@1 of the model", shown)
    models = {role: full_name(own.name) for role, own in role_models(agent).items()}
    return _About(agent.variant, agent.label, config.sees_official_tests, models)


class _Use:
    """Running totals of one agent."""

    def __init__(self) -> None:
        self._outcomes: Counter[str] = Counter()
        self.calls = self._unanswered = 0
        self._usages: list[Usage] = []
        self._latency_s = 0.0
        self._cost_usd: float | None = 0.0

    def add(self, asked: AskedStep) -> None:
        """Take one question into account."""
        reply = asked.reply
        self.calls += 1
        self._unanswered += reply.text is None
        self._outcomes.update(attempt.outcome for attempt in reply.attempts)
        self._latency_s += reply.latency_s or 0.0
        if reply.usage is not None:
            self._usages.append(reply.usage)
        known = self._cost_usd is not None and reply.cost_usd is not None
        self._cost_usd = (self._cost_usd or 0.0) + (reply.cost_usd or 0.0) if known else None

    def total(self, model: str) -> RoleUse:
        """The totals so far, of questions to this model."""
        from truegrade.agents.session import total_usage

        usage = total_usage(self._usages) or Usage()
        return RoleUse(
            model=model if self.calls else "",
            calls=self.calls,
            attempts=self._outcomes.total(),
            failed_attempts=self._outcomes["error"],
            empty_attempts=self._outcomes["empty"],
            unanswered=self._unanswered,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            latency_s=self._latency_s,
            cost_usd=self._cost_usd if self.calls else None,
        )
