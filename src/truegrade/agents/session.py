"""What an agent works with: the steps of one sample, the test executor, self-made and official tests.

One sample of an agent: it asks the model, remembers every step, and adds up what they took.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import msgspec

from truegrade.agents.steps import (
    AgentTrial,
    AskedStep,
    Candidate,
    Role,
    SettledStep,
    Step,
    StepLog,
    TriedStep,
    VisibleProblem,
    prompt_tests,
    visible_problem,
)
from truegrade.errors import BadRecord, ModelError, TruegradeError, UnknownName, UserError
from truegrade.extraction.blocks import fenced_blocks, longest_start
from truegrade.extraction.parsing import Parser, SourceText, unix_newlines
from truegrade.extraction.thinking import Weight, final_channel
from truegrade.grading.executor import Executor
from truegrade.grading.trials import PACKAGES, PytestRun
from truegrade.kinds import kind_of
from truegrade.models.base import Model, Reply, generate_sample, no_sample
from truegrade.records import (
    Attempt,
    Problem,
    Prompt,
    Reason,
    SampleKey,
    Usage,
)
from truegrade.records.config import AgentConfig, RequestPolicy, Sampling

# ----------------------------------------- The test executor: candidates against self-made tests, in the jail.
# Programs and tests are both model-written, so both run inside one jailed process: the tests of an agent are no
# secret, and whatever a candidate or a test does to them decides nothing but which candidate the agent hands in.


CPU_S = 3.0
"""CPU seconds of one program with one test (huangd1999/AgentCoder@dddd1b9 ``src/test_executor_humaneval.py``)."""

NOT_RUN = "not_run"


def try_candidate(
    index: int,
    tests: Sequence[str],
    assemble: Callable[[str], str],
    executor: Executor,
    *,
    time_limits: int | None = None,
) -> Candidate:
    """Run every test on one candidate.

    Args:
        index: of the candidate in its round.
        tests: source of each.
        assemble: makes the program to run of a test.
        executor: runs it.
        time_limits: after so many tests that used up their time the others are not run; None runs all.

    Raises:
        SandboxError: the machinery failed.
    """
    trials: list[AgentTrial] = []
    for test in tests:
        if time_limits is not None and sum(t.status == Reason.TIME_LIMIT for t in trials) >= time_limits:
            trials.append(AgentTrial(test=test, status=NOT_RUN, detail=f"{time_limits} others used up their time"))
            continue
        outcome = executor.inside(assemble(test), cpu_s=CPU_S)
        trials.append(AgentTrial(test=test, status=outcome.status, detail=outcome.detail, cpu_s=outcome.cpu_s))
    return Candidate(index=index, trials=tuple(trials))


def best_of(candidates: Sequence[Candidate]) -> Candidate:
    """The first that passes most tests.

    Raises:
        ValueError: there is none.
    """
    return max(candidates, key=lambda candidate: (candidate.passed, -candidate.index))


# ---------- Asserts out of a test designer's reply, each a small program of its own. Reads text; runs nothing.


MAX_TESTS = 50
"""Of more asserts in one reply only the first count."""

_ASSERT_LINES = 20
"""How many lines an assert may have, where the block around it does not parse."""

_SETUP = ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign | ast.FunctionDef | ast.ClassDef


def parse_tests(reply: str, entry_point: str) -> tuple[str, ...]:
    """The top-level asserts that call ``entry_point``, each behind the imports and values defined before it.

    What binds ``entry_point`` itself is left out, so that no test brings the function that it tests; so are
    statements that only do something, such as ``sys.exit()``. A block that does not parse as a whole, because the
    reply was cut, gives the asserts that do. Duplicates count once.
    """
    text = unix_newlines(final_channel(reply, _holds_assert).text)
    parser = Parser()
    tests: dict[str, None] = {}
    for source in [fence.code for fence in fenced_blocks(text)] or [text]:
        for test in _tests(parser, source, entry_point):
            tests.setdefault(test)
            if len(tests) == MAX_TESTS:
                return tuple(tests)
    return tuple(tests)


def _holds_assert(text: str) -> Weight:
    return Weight.ANSWER if "assert" in text else Weight.NOTHING


def _tests(parser: Parser, source: str, entry_point: str) -> Iterator[str]:
    setup: list[str] = []
    for statement, code in _statements(parser, source):
        if isinstance(statement, ast.Assert):
            if _calls(statement, entry_point):
                yield "\n".join([*setup, code])
        elif isinstance(statement, _SETUP) and not _binds(statement, entry_point):
            setup.append(code)


def _statements(parser: Parser, source: str) -> Iterator[tuple[ast.stmt, str]]:
    """The statements of a block with their source; behind the line where reading it stops, its asserts alone."""
    start = longest_start(parser, source)
    if start is not None:
        written = SourceText(start.source)
        for statement in start.tree.body:
            yield statement, written.text_of(statement)
    lines = source.split("\n")[start.lines if start else 0 :]
    for number, line in enumerate(lines):
        if line.lstrip().startswith("assert"):
            yield from _assert_from(parser, lines[number : number + _ASSERT_LINES])


def _assert_from(parser: Parser, lines: list[str]) -> Iterator[tuple[ast.stmt, str]]:
    """The shortest start of the lines that is one assert."""
    for end in range(1, len(lines) + 1):
        code = "\n".join([lines[0].lstrip(), *lines[1:end]])
        tree = parser.module(code)
        if isinstance(tree, ast.Module):
            if isinstance(tree.body[0], ast.Assert):
                yield tree.body[0], ast.get_source_segment(code, tree.body[0]) or ""
            return


def _calls(node: ast.AST, name: str) -> bool:
    return any(
        isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == name
        for part in ast.walk(node)
    )


def _binds(node: ast.AST, name: str) -> bool:
    """Whether a statement defines, imports or assigns a name, at any depth."""
    for part in ast.walk(node):
        match part:
            case ast.FunctionDef(name=bound) | ast.AsyncFunctionDef(name=bound) | ast.ClassDef(name=bound):
                found = bound == name
            case ast.alias(name=bound, asname=renamed):
                found = name == (renamed or bound) or bound == "*"
            case ast.Name(id=bound, ctx=ast.Store()):
                found = bound == name
            case _:
                found = False
        if found:
            return True
    return False


OfficialTests = Callable[[str, Executor], PytestRun]
"""Runs the data set's own tests of one problem on a program."""


NO_MODELS: Mapping[Role, Model] = MappingProxyType({})


class BudgetSpent(Exception):
    """No further request may start; the sample stays unanswered and goes on with the next command."""


class Session:
    """What an agent works with while it answers one sample.

    Stored steps are given back instead of asked again: every reply, and every failure of a concluded round.

    Args:
        sample: 0-based number of the sample.
        problem: what the agent may know of the problem.
        prompt: what the run says the problem was asked with: the programmer's first prompt.
        sampling: parameters of the run; the seed is already the sample's own.
        model: the model in question.
        models: of roles that have another one.
        log: the run's steps.
        official_tests: for an agent that says that it shows their output (`AgentInfo.sees_official_tests`).
    """

    def __init__(
        self,
        sample: int,
        problem: VisibleProblem,
        prompt: Prompt,
        sampling: Sampling,
        *,
        model: Model,
        log: StepLog,
        models: Mapping[Role, Model] = NO_MODELS,
        official_tests: OfficialTests | None = None,
    ) -> None:
        self.official_tests = official_tests
        self.sample, self.problem, self.first = sample, problem, prompt
        self._sampling, self._model, self._log = sampling, model, log
        self._models = models
        self._key = SampleKey(problem.id, sample)
        steps, self._accounted = log.take(self._key)
        self._asked: list[AskedStep] = []
        self._replies: dict[tuple[int, Role, int], AskedStep] = {}
        self._tried: dict[int, TriedStep] = {}
        self._settled: SettledStep | None = None
        self._shown: set[str] = set()
        for step in steps:
            self._remember(step)

    async def ask(self, agent: Role, round_: int, index: int, prompt: Prompt) -> AskedStep:
        """The reply to a prompt, from the store or from the model. A failure is a reply without text.

        Raises:
            BudgetSpent: the cost limit is reached.
            BadRecord: the stored step was asked with other words.
            ModelError, UserError: see `truegrade.models.base.Model`.
        """
        stored = self._replies.get((round_, agent, index))
        if stored is not None and (stored.reply.text is not None or round_ in self._tried):
            if stored.prompt_sha256 != prompt.sha256:
                problem = (
                    f"{self._key.problem_id} sample {self._key.sample}, round {round_}: the {agent} was asked with"
                    " other words than this version uses; choose another `out`"
                )
                raise BadRecord(self._log.path, problem, field="prompt_sha256")
            return stored
        limit_usd = self._model.request_policy.max_cost_usd
        if limit_usd is not None and self._log.spent_usd >= limit_usd:
            raise BudgetSpent
        sampling = _own_seed(self._sampling, agent, round_, index)
        model = self._models.get(agent, self._model)
        try:
            reply = await generate_sample(model, self._key, prompt, sampling)
        except (ModelError, UserError) as error:
            raise error if model.base_url == self._model.base_url else of_role(agent, error) from None
        messages = () if prompt.sha256 in self._shown else prompt.messages
        asked = AskedStep(
            agent=agent,
            index=index,
            prompt_sha256=prompt.sha256,
            messages=messages,
            seed=sampling.seed,
            reply=reply,
            tests=self._tests(agent, reply),
        )
        self._store(round_, asked)
        return asked

    def tried(self, round_: int) -> TriedStep | None:
        """How a round ended, if it is stored."""
        return self._tried.get(round_)

    def conclude(self, round_: int, tried: TriedStep) -> None:
        """Store how a round ended."""
        self._store(round_, tried)

    def settle(self, settled: SettledStep, answer: AskedStep) -> Reply:
        """Store what is handed in and make the pipeline's reply of it."""
        if settled != self._settled:
            self._store(settled.round, settled)
        replies = [asked.reply for asked in self._asked]
        latencies_s = [reply.latency_s for reply in replies if reply.latency_s is not None]
        attempts, cost_usd = self._news()
        return msgspec.structs.replace(
            answer.reply,
            usage=total_usage([reply.usage for reply in replies if reply.usage is not None]),
            latency_s=sum(latencies_s) if latencies_s else None,
            attempts=attempts,
            cost_usd=cost_usd,
        )

    def give_up(self) -> Reply:
        """The reply without text of a sample that could not be finished."""
        name = self._asked[-1].reply.model if self._asked else self._model.name
        attempts, cost_usd = self._news()
        return Reply(text=None, model=name, attempts=attempts, cost_usd=cost_usd)

    def _tests(self, agent: Role, reply: Reply) -> tuple[str, ...]:
        return parse_tests(reply.text or "", self.problem.entry_point) if agent == "tester" else ()

    def _store(self, round_: int, did: AskedStep | TriedStep | SettledStep) -> None:
        step = Step(problem_id=self._key.problem_id, sample=self._key.sample, round=round_, did=did)
        self._log.append(step)
        self._remember(step)

    def _remember(self, step: Step) -> None:
        match step.did:
            case AskedStep() as asked:
                self._asked.append(asked)
                self._replies[step.round, asked.agent, asked.index] = asked
                self._shown.add(asked.prompt_sha256)
            case TriedStep() as tried:
                self._tried[step.round] = tried
            case SettledStep() as settled:
                self._settled = settled

    def _news(self) -> tuple[tuple[Attempt, ...], float | None]:
        """Attempts and their cost that no stored completion of this sample tells of yet."""
        news: list[Reply] = []
        passed_over = self._accounted
        for asked in self._asked:
            if passed_over > 0:
                passed_over -= len(asked.reply.attempts)
            else:
                news.append(asked.reply)
        costs_usd = [reply.cost_usd for reply in news if reply.cost_usd is not None]
        cost_usd = sum(costs_usd) if len(costs_usd) == len(news) else None
        return tuple(attempt for reply in news for attempt in reply.attempts), cost_usd


def total_usage(parts: Sequence[Usage]) -> Usage | None:
    """Tokens of several requests together; None if none is known."""
    if not parts:
        return None
    reasoning = [part.reasoning_tokens for part in parts if part.reasoning_tokens is not None]
    return Usage(
        input_tokens=sum(part.input_tokens for part in parts),
        output_tokens=sum(part.output_tokens for part in parts),
        reasoning_tokens=sum(reasoning) if reasoning else None,
    )


def _own_seed(sampling: Sampling, agent: Role, round_: int, index: int) -> Sampling:
    """Each question of a sample has a seed of its own, else all candidates would be one."""
    if sampling.seed is None:
        return sampling
    digest = hashlib.sha256(f"{sampling.seed}/{agent}/{round_}/{index}".encode()).digest()
    return msgspec.structs.replace(sampling, seed=int.from_bytes(digest[:4], "big") >> 1)


# ----------------------------------- What an agent is: a multi-step asker that the pipeline takes for a model.


class AgentRule(msgspec.Struct, frozen=True):
    """One rule of an agent and where it is written."""

    text: str
    source: str
    """Repository path at a version, an arXiv number, or ``ours``."""


class AgentInfo(msgspec.Struct, frozen=True, kw_only=True):
    """An agent as ``truegrade list agents`` lists it."""

    name: str
    version: str
    summary: str
    covers: tuple[str, ...]
    """Names of the benchmarks it can work on."""
    args: dict[str, str]
    """Arguments (``-A``), each with its meaning."""
    defaults: dict[str, dict[str, object]]
    """Defaults of the arguments, by variant."""
    rules: tuple[AgentRule, ...]
    sees_official_tests: bool = False
    """Whether it is given a way to run the data set's own tests and to read what they print, expected values
    included; no agent is given the tests themselves."""

    def refuse_unknown_arguments(self, args: Mapping[str, Any]) -> None:
        """See that every argument given is one of its own.

        Raises:
            UnknownName: one is not.
        """
        for name in args:
            if name not in self.args:
                raise UnknownName(
                    f"{self.name} argument", name, self.args, "`truegrade list agents` explains them"
                )

    def no_words(self, problem: VisibleProblem) -> UserError:
        """The error that a problem is none of those that it can work on."""
        covered = ", ".join(self.covers)
        return UserError(f"agent {self.name!r} has no words for {problem.benchmark!r}; it covers {covered}")


class RoleModel(NamedTuple):
    """The model of one role, where it is another than the run's; arguments as of `truegrade.models.open_model`."""

    name: str
    base_url: str | None
    args: Mapping[str, Any]


class Agent(Protocol):
    """An agent with its settings; it holds no state between samples."""

    @property
    def config(self) -> AgentConfig:
        """Name, version and all arguments: part of the run's identity."""

    @property
    def variant(self) -> str:
        """Which of its ways of working."""

    @property
    def label(self) -> str:
        """What a pass rate of this agent is, in words that keep it from being taken for the model's pass@1."""

    @property
    def scores_shots(self) -> tuple[str, ...]:
        """Benchmarks whose problems count although a prompt shows them solved."""

    def render_prompt(self, problem: VisibleProblem, shown_tests: Sequence[str]) -> Prompt:
        """The first question on a problem.

        Args:
            problem: what the agent may know of it.
            shown_tests: those of the data set's tests that a prompt may show; nobody sees them later.

        Raises:
            UserError: the agent does not know this kind of problem.
        """

    async def answer(self, session: Session, executor: Executor) -> Reply:
        """Work on one sample until there is an answer. A Reply without text could not be finished.

        Raises:
            BudgetSpent: as `Session.ask` does; who asked for the answer gives the sample up.
        """


def sees_official_tests(agent: Agent) -> bool:
    """Whether an agent declares that it runs the data set's own tests and shows what they print."""
    info = getattr(agent, "info", None)
    return isinstance(info, AgentInfo) and info.sees_official_tests


def of_role(role: Role, error: TruegradeError) -> TruegradeError:
    """An error of a role's own model, which names the arguments that hold this model's address and settings."""
    said = str(error).replace("`base_url` http", f"`agent_args` {role}_base_url=http")
    said = said.replace("`base_url`", f"`agent_args` {role}_base_url")
    said = said.replace("`model_args`", f"`agent_args` {role}_args")
    return error if said == str(error) else ModelError(said) if isinstance(error, ModelError) else UserError(said)


def role_models(agent: Agent) -> Mapping[Role, RoleModel]:
    """The roles of an agent that have a model of their own, as it says in ``models``; mostly none."""
    models: Mapping[Role, RoleModel] = getattr(agent, "models", {})
    return models


# --------------- The data set's own tests, for an agent that declares that it shows their output to the model.
# Such an agent is handed a function that runs them, never their source; what they print names expected values.


def official_tests(agent: Agent, problems: Mapping[str, Problem]) -> dict[str, OfficialTests]:
    """What runs the tests of each problem that has some; nothing for an agent that does not declare it."""
    if not sees_official_tests(agent):
        return {}
    found = {
        id_: kind_of(problem.task).tests_run(problem.task, id_.rpartition("/")[2])
        for id_, problem in problems.items()
    }
    return {id_: run for id_, run in found.items() if run is not None}


def packages(agent: Agent) -> tuple[str, ...]:
    """What the agent's jail lets programs import besides what every jail does."""
    return PACKAGES if sees_official_tests(agent) else ()


# --------- The faces that an agent shows the pipeline: it words problems like a profile and answers like a model.


class AgentPrompts:
    """Words problems as an agent does, which is told of each what it may know."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    @property
    def scores_shots(self) -> Sequence[str]:
        """Benchmarks whose problems count although a prompt shows them solved."""
        return self._agent.scores_shots

    def render_prompt(self, problem: Problem, variant: str | None, examples: Mapping[str, Problem]) -> Prompt:
        """The first question on a problem; see `Agent.render_prompt`."""
        return self._agent.render_prompt(visible_problem(problem), prompt_tests(problem))


class AgentModel:
    """An agent in front of a model, for one run.

    Args:
        agent: what to do.
        model: whom to ask; its request policy bounds every request, its cost limit the run.
        executor: runs the agent's programs and tests.
        log: the run's steps; the caller closes it.
        problems: what the agent may know of each problem of the run, by id.
        models: of roles that have another model than the run's; its `RequestPolicy` bounds theirs.
        official_tests: what runs the tests of each, for an agent that shows their output; else None.
    """

    def __init__(
        self,
        agent: Agent,
        model: Model,
        executor: Executor,
        log: StepLog,
        problems: Mapping[str, VisibleProblem],
        official_tests: Mapping[str, OfficialTests] | None = None,
        models: Mapping[Role, Model] = NO_MODELS,
    ) -> None:
        self._agent, self._model, self._executor, self._log = agent, model, executor, log
        self._problems, self._official_tests, self._models = problems, official_tests or {}, models

    @property
    def name(self) -> str:
        """The model's ``provider/name``."""
        return self._model.name

    @property
    def base_url(self) -> str | None:
        """Where the model is served."""
        return self._model.base_url

    @property
    def request_policy(self) -> RequestPolicy:
        """The model's; ``max_connections`` samples are worked on at once, each with one request at a time."""
        return self._model.request_policy

    @property
    def adaptations(self) -> tuple[str, ...]:
        """Parameters that the model's service did not take as asked."""
        return tuple(
            said for model in (self._model, *self._models.values()) for said in getattr(model, "adaptations", ())
        )

    async def generate(self, prompt: Prompt, sampling: Sampling) -> Reply:
        """Refuse: an agent works on a problem.

        Raises:
            UserError: always.
        """
        raise no_sample(f"{self.name} behind an agent")

    async def generate_sample(self, key: SampleKey, prompt: Prompt, sampling: Sampling) -> Reply:
        """One sample of the agent: its answer, with the accounts of all its steps."""
        problem = self._problems[key.problem_id]
        tests = self._official_tests.get(key.problem_id)
        session = Session(
            key.sample, problem, prompt, sampling,
            model=self._model, models=self._models, log=self._log, official_tests=tests,
        )  # fmt: skip
        try:
            return await self._agent.answer(session, self._executor)
        except BudgetSpent:
            return session.give_up()

    async def close(self) -> None:
        """Release the connections of the models."""
        for model in (self._model, *self._models.values()):
            await model.close()
