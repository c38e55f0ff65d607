"""`agentcoder`: programmer, test designer and test executor after Huang et al., arXiv 2312.13010.

Their released code (huangd1999/AgentCoder@dddd1b9) runs on HumanEval only, and there it repairs nothing: it draws
again until self-made tests like a candidate. Its MBPP script fails as released, and would draw again until the
data set's own tests pass; that is not reproduced. MBPP is worked on under the rules for HumanEval.

AgentCoder's questions, byte for byte those of huangd1999/AgentCoder@dddd1b9 where that one can be sent.

On MBPP its programmer is sent a variable's name instead of the prompt, and its designer is never told what the
function is called. Here the programmer gets the prompt that the source means to send, and both are told the name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import ceil
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from truegrade import prompts
from truegrade.agents.session import AgentInfo, AgentRule, RoleModel, Session, best_of, try_candidate
from truegrade.agents.steps import AgentTrial, AskedStep, Candidate, Role, SettledStep, TriedStep, VisibleProblem
from truegrade.errors import UnknownName, UserError
from truegrade.extraction.programs import extract_program
from truegrade.grading.executor import Executor
from truegrade.grading.programs import assemble
from truegrade.models.base import Reply
from truegrade.profiles.function_scope import IMPORT_HELPER, cut_fence, needed_imports
from truegrade.records import Answer, Message, Prompt
from truegrade.records.config import AgentConfig

CODE = ("humaneval", "humanevalplus")
DESCRIPTION = ("mbpp", "mbpp-sanitized")

SHOWN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(CODE, ("HumanEval/0", "HumanEval/1")),
        **dict.fromkeys(DESCRIPTION, ("MBPP/2", "MBPP/3", "MBPP/11", "MBPP/12")),
    }
)
"""Problems that the prompts give away. The programmer's show HumanEval/0, HumanEval/1, MBPP/11 and MBPP/12 solved;
the designer's for MBPP shows official tests of MBPP/2 and MBPP/3."""


def refuse_unknown(problem: VisibleProblem) -> None:
    """See that AgentCoder knows how to ask about a problem.

    Raises:
        UserError: it has no words for this benchmark.
    """
    if problem.benchmark in SHOWN:
        return
    raise UserError(f"agent 'agentcoder' has no prompts for {problem.benchmark!r}; it covers {', '.join(SHOWN)}")


def programmer(problem: VisibleProblem, tests: Sequence[str], shown_tests: int) -> Prompt:
    """The programmer's question.

    Args:
        problem: what it is about.
        tests: those of the data set that the prompt may show.
        shown_tests: how many it shows; only MBPP has tests to show.

    Raises:
        UserError: as `refuse_unknown`, or no tests can be shown.
    """
    refuse_unknown(problem)
    if problem.benchmark in CODE:
        if shown_tests:
            raise UserError(
                f"`agent_args` shown_tests={shown_tests}: {problem.benchmark} shows no tests; leave it out"
            )
        system, user = "agentcoder.programmer.system", "agentcoder.programmer.humaneval.user"
        values = {"prompt": problem.text}
    elif shown_tests:
        system, user = "agentcoder.programmer.mbpp.system", "agentcoder.programmer.mbpp.user_intended"
        values = {"prompt": problem.text, "tests": "".join(f"\n{test}" for test in tests[:shown_tests])}
    else:
        system, user = "agentcoder.programmer.mbpp.system", "agentcoder.programmer.mbpp.hidden_tests.user"
        values = {"prompt": _named(problem)}
    return _conversation(problem, system, user, values)


def tester(problem: VisibleProblem) -> Prompt:
    """The test designer's question: the task, never a program or an official test of it."""
    if problem.benchmark in CODE:
        user, text = "agentcoder.tester.humaneval.user", problem.text
    else:
        user, text = "agentcoder.tester.mbpp.user", _named(problem)
    return _conversation(problem, "agentcoder.tester.system", user, {"prompt": text})


def repair_prompt(first: Prompt, reply: str, program: str, failed: AgentTrial) -> Prompt:
    """The programmer's next question: its own reply, one self-made test that failed, and how.

    The words are those of ``fix_bug``, which the released code defines and never calls.
    """
    request = prompts.render(
        "agentcoder.fix_bug.user",
        lg="python",
        completion=program,
        tests=failed.test,
        error=failed.detail or failed.status,
    )
    said = (Message(role="assistant", content=reply), Message(role="user", content=request))
    return Prompt(
        messages=(*first.messages, *said), source=f"{first.source}; agentcoder.fix_bug.user", shots=first.shots
    )


def _named(problem: VisibleProblem) -> str:
    return prompts.render("agentcoder.mbpp.named_task", prompt=problem.text, entry_point=problem.entry_point)


def _conversation(problem: VisibleProblem, system: str, user: str, values: Mapping[str, str]) -> Prompt:
    messages = (
        Message(role="system", content=prompts.render(system)),
        Message(role="user", content=prompts.render(user, **values)),
    )
    source = f"{user}: {prompts.load(user).source}"
    return Prompt(messages=messages, source=source, shots=SHOWN[problem.benchmark])


# -------- AgentCoder's arguments: two variants, their defaults, and what a pass rate under them may be called.


ARGUMENTS: Mapping[str, str] = MappingProxyType(
    {
        "variant": "published: both agents start anew while no candidate is accepted;"
        " repaired: the failing test and its error go back to the programmer",
        "rounds": "rounds of asking and testing, at most",
        "candidates": "programs the programmer writes in a round",
        "tests": "replies the test designer is asked for: in each round (published), once (repaired)",
        "accept": "share of the tests that a candidate must pass: of the designer's replies, each counting as a"
        " whole (published); of the single asserts (repaired)",
        "shown_tests": "MBPP: how many of the data set's own tests the programmer's prompt shows; with 0 it names"
        " the function instead",
        "tester_model": "the model that is asked for tests; without it the run's",
        "tester_base_url": "where that model is served, if not where the run's is (--base-url)",
        "tester_args": 'its model arguments, as JSON: {"input_price": 1, "output_price": 2}',
    }
)
"""What ``-A`` takes."""

_Count = Annotated[int, msgspec.Meta(ge=1, le=100)]


class AgentCoderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All of AgentCoder's arguments."""

    variant: Literal["published", "repaired"]
    rounds: _Count
    candidates: _Count
    tests: _Count
    accept: Annotated[float, msgspec.Meta(gt=0, le=1)]
    shown_tests: Annotated[int, msgspec.Meta(ge=0, le=100)]
    tester_model: str | None = None
    tester_base_url: str | None = None
    tester_args: dict[str, Any] | None = None

    @property
    def models(self) -> dict[Role, RoleModel]:
        """The models of roles that have one of their own."""
        if self.tester_model is None:
            return {}
        return {"tester": RoleModel(self.tester_model, self.tester_base_url, self.tester_args or {})}

    @property
    def stored(self) -> dict[str, Any]:
        """What a run's manifest has of them. A tester without a model of its own is not mentioned."""
        return {name: value for name, value in msgspec.to_builtins(self).items() if value is not None}

    def needed(self, units: int) -> int:
        """How many of so many tests a candidate must pass, at least one."""
        return max(1, ceil(Fraction(str(self.accept)) * units))

    @property
    def label(self) -> str:
        """What a pass rate is: best-of-N wherever more than one program may be written and one is chosen."""
        rounds = "1 round" if self.rounds == 1 else f"up to {self.rounds} rounds"
        if self.candidates > 1:
            kind = f"best-of-{self.candidates} chosen by self-made tests, {rounds}"
        elif self.variant == "published" and self.rounds > 1:
            kind = f"best-of-{self.rounds} chosen by self-made tests: one program a round, {rounds}"
        else:
            repaired = " of repair against self-made tests" if self.rounds > 1 else ""
            kind = f"pass@1 of an agent, {rounds}{repaired}"
        shown = f"; the prompt shows {self.shown_tests} official tests a task" if self.shown_tests else ""
        tests = f"; tests by {self.tester_model}" if self.tester_model else ""
        return f"{kind}{shown}{tests}; not pass@1 of the model"


DEFAULTS: Mapping[str, AgentCoderSettings] = MappingProxyType(
    {
        "published": AgentCoderSettings(
            variant="published", rounds=6, candidates=5, tests=5, accept=0.6, shown_tests=0
        ),
        "repaired": AgentCoderSettings(
            variant="repaired", rounds=5, candidates=1, tests=1, accept=1.0, shown_tests=0
        ),
    }
)
"""``published``: a first set and 5 regenerated ones, 5 programs, 3 of 5 test replies. The released designer asks
for 10 replies and its file of results holds 5; the bar of 3 is called 60 % there, which fits the 5
(huangd1999/AgentCoder@dddd1b9 ``src/test_executor_humaneval.py``, ``src/programmer_humaneval.py``,
``src/test_designer_humaneval.py``). ``repaired``: 5 rounds, all tests (arXiv 2312.13010)."""


def read_settings(args: Mapping[str, Any]) -> AgentCoderSettings:
    """The arguments given, and the variant's defaults for the others.

    Raises:
        UnknownName: there is no such argument or variant.
        UserError: a value does not fit.
    """
    INFO.refuse_unknown_arguments(args)
    variant = str(args.get("variant", "published"))
    if variant not in DEFAULTS:
        raise UnknownName("agentcoder variant", variant, DEFAULTS)
    given = {**msgspec.to_builtins(DEFAULTS[variant]), **args}
    try:
        settings = msgspec.convert(given, AgentCoderSettings)
    except msgspec.ValidationError as error:
        sentence, _, place = str(error).partition(" - at `$.")
        name = place.rstrip("`")
        raise UserError(f"`agent_args` {name}={given.get(name)}: {sentence[0].lower()}{sentence[1:]}") from None
    for name in ("tester_base_url", "tester_args"):
        if getattr(settings, name) is not None and settings.tester_model is None:
            raise UserError(f"`agent_args` {name} is about the tester's own model: name it with tester_model")
    return settings


# --------------------------------------------------------- AgentCoder's two ways to an answer, round by round.
# ``regenerate`` is the released code: no error ever reaches the programmer; candidates and tests are thrown away
# together until one candidate passes enough. ``repair`` is what the paper describes: the programmer hears which
# test failed, and how. In both the tests are the agent's own; the data set's are out of reach.


async def regenerate(session: Session, settings: AgentCoderSettings, executor: Executor) -> Reply:
    """Ask for candidates and tests anew until a candidate passes enough of the test designer's replies.

    Rules of huangd1999/AgentCoder@dddd1b9 ``src/test_executor_humaneval.py`` test_agent_concurrency: a reply of
    the designer counts as a whole; a candidate without ``def NAME`` scores 0; a reply without ``assert NAME(`` is
    passed over; of equals the first is best; without acceptance the last round's best is handed in.
    """
    round_ = 0
    while True:
        round_ += 1
        written = await _write(session, round_, [session.first] * settings.candidates)
        if not any(map(_replied, written)):
            return session.give_up()
        designed = await _design(session, settings, round_)
        tried = session.tried(round_)
        if tried is None:
            tried = await asyncio.to_thread(_try_whole_replies, session, settings, written, designed, executor)
            session.conclude(round_, tried)
        if tried.accepted or round_ == settings.rounds:
            settled = SettledStep(accepted=tried.accepted, round=round_, index=tried.best)
            return session.settle(settled, written[tried.best])


async def repair(session: Session, settings: AgentCoderSettings, executor: Executor) -> Reply:
    """Tell the programmer which self-made test its program fails, until one passes enough of them.

    The tests stay those of the first round that brought any. Where there is none, nothing can be told and the
    programmer starts anew. Where no round ends in acceptance, the first program that passed most is handed in.
    """
    tests: tuple[str, ...] = ()
    latest: dict[int, tuple[AskedStep, Candidate]] = {}
    best: tuple[int, SettledStep, AskedStep] | None = None
    round_ = 0
    while True:
        round_ += 1
        questions = [_next_question(session, latest.get(index)) for index in range(settings.candidates)]
        written = await _write(session, round_, questions)
        if not any(map(_replied, written)):
            return session.give_up()
        if not tests:
            designed = await _design(session, settings, round_)
            tests = tuple(dict.fromkeys(test for reply in designed for test in reply.tests))
        tried = session.tried(round_)
        if tried is None:
            tried = await asyncio.to_thread(_try_single_asserts, session, settings, written, tests, executor)
            session.conclude(round_, tried)
        latest |= {candidate.index: (written[candidate.index], candidate) for candidate in tried.candidates}
        passed = best_of(tried.candidates).passed
        if best is None or tried.accepted or passed > best[0]:
            settled = SettledStep(accepted=tried.accepted, round=round_, index=tried.best)
            best = passed, settled, written[tried.best]
        if tried.accepted or round_ == settings.rounds:
            return session.settle(best[1], best[2])


async def _write(session: Session, round_: int, questions: Sequence[Prompt]) -> list[AskedStep]:
    """The programmer's replies, one after the other: a kill loses at most one of them."""
    return [await session.ask("programmer", round_, index, question) for index, question in enumerate(questions)]


async def _design(session: Session, settings: AgentCoderSettings, round_: int) -> list[AskedStep]:
    """The test designer's replies; it is shown the task and nothing else."""
    question = tester(session.problem)
    return [await session.ask("tester", round_, index, question) for index in range(settings.tests)]


def _replied(asked: AskedStep) -> bool:
    return asked.reply.text is not None


# ----------------------------------------------------------------------------------- the test executor

Program = tuple[str | None, str]
"""A candidate's source, or None and why it has none."""

_TIME_LIMITS = 3
"""``repaired``: a program that used up its time on so many asserts is not run on the others."""


def _try_whole_replies(
    session: Session,
    settings: AgentCoderSettings,
    written: Sequence[AskedStep],
    designed: Sequence[AskedStep],
    executor: Executor,
) -> TriedStep:
    """``published``: imports, the first fence of the programmer's reply, the first fence of the designer's."""
    name = session.problem.entry_point
    blocks = [cut_fence(asked.reply.text or "")[0] for asked in designed]
    tests = [block for block in blocks if f"assert {name}(" in block]

    def program(asked: AskedStep) -> Program:
        code, _ = cut_fence(asked.reply.text or "")
        return (code, "") if f"def {name}" in code else (None, f"no `def {name}`")

    def source(code: str, test: str) -> str:
        rest = f"{code}\n{test}"
        # Only modules that are mentioned: loading them counts here, in the released code it does not. Without any,
        # something still stands in front, where a `from __future__` then comes too late.
        return f"{needed_imports(IMPORT_HELPER, rest) or 'pass'}\n\n{rest}"

    return _try(written, tests, program, source, settings.needed(settings.tests), executor)


def _try_single_asserts(
    session: Session,
    settings: AgentCoderSettings,
    written: Sequence[AskedStep],
    tests: Sequence[str],
    executor: Executor,
) -> TriedStep:
    """``repaired``: the program that ``strict`` would grade, with one assert at a time."""
    needed = settings.needed(len(tests)) if tests else 0

    def program(asked: AskedStep) -> Program:
        answer = _answer(session, asked)
        if answer.value is None:
            return None, answer.found
        return assemble(session.problem.prefix, answer), ""

    return _try(written, tests, program, "{}\n{}\n".format, needed, executor, time_limits=_TIME_LIMITS)


def _try(
    written: Sequence[AskedStep],
    tests: Sequence[str],
    program: Callable[[AskedStep], Program],
    source: Callable[[str, str], str],
    needed: int,
    executor: Executor,
    *,
    time_limits: int | None = None,
) -> TriedStep:
    """Run every test on every candidate that replied; see `TriedStep`."""
    candidates = []
    for asked in filter(_replied, written):
        code, why_not = program(asked)
        if code is None:
            candidates.append(Candidate(index=asked.index, skipped=why_not))
        else:
            run = partial(source, code)
            candidates.append(try_candidate(asked.index, tests, run, executor, time_limits=time_limits))
    best = best_of(candidates)
    ran = any(candidate.trials for candidate in candidates)
    return TriedStep(
        candidates=tuple(candidates),
        best=best.index,
        needed=needed,
        accepted=0 < needed <= best.passed,
        level=executor.level if ran else None,
    )


# ------------------------------------------------------------------------------------------- repairing


def _next_question(session: Session, latest: tuple[AskedStep, Candidate] | None) -> Prompt:
    """The first question, or what the programmer's latest program did wrong."""
    if latest is None:
        return session.first
    asked, candidate = latest
    failed = next((trial for trial in candidate.trials if not trial.passed), None)
    if failed is None:
        return session.first
    answer = _answer(session, asked)
    # A whole program is shown as it was given, without the task's stub in front of it.
    shown = answer.value if answer.form == "program" else assemble(session.problem.prefix, answer)
    return repair_prompt(session.first, asked.reply.text or "", shown or "", failed)


def _answer(session: Session, asked: AskedStep) -> Answer:
    """What ``strict`` takes out of a reply."""
    problem = session.problem
    return extract_program(asked.reply.text or "", problem.entry_point, prefix=problem.prefix)


_CODE = "huangd1999/AgentCoder@dddd1b9"

INFO = AgentInfo(
    name="agentcoder",
    version="dddd1b9.1",
    summary="programmer, test designer and test executor; accepts by self-made tests, never by official ones",
    covers=tuple(SHOWN),
    args=dict(ARGUMENTS),
    defaults={name: msgspec.to_builtins(settings) for name, settings in DEFAULTS.items()},
    rules=(
        AgentRule(
            "prompts and system messages of both agents, byte for byte", f"{_CODE} src/, prompts/*_update.txt"
        ),
        AgentRule("the designer sees the task, never a program", f"{_CODE} src/test_designer_humaneval.py"),
        AgentRule(
            "the designer is the run's model, or tester_model; the released code fixes gpt-3.5-turbo-1106", "ours"
        ),
        AgentRule(
            "published: 5 programs and 5 test replies a round, 3 s a run; accepted with 3 whole test replies"
            " passed; at most 6 rounds, each from scratch; no error is fed back",
            f"{_CODE} src/test_executor_humaneval.py",
        ),
        AgentRule("repaired: tests are designed once and run one assert at a time; up to 5 rounds", "2312.13010"),
        AgentRule(
            "repaired: the first failing test and its error go back in the words of fix_bug",
            f"{_CODE} src/programmer_mbpp.py, defined there and never called",
        ),
        AgentRule("not reproduced: empty and failed requests are repeated without end", _CODE),
        AgentRule(
            "not reproduced: on MBPP the official tests decide what is drawn again, and a variable's name is"
            " sent instead of the prompt",
            f"{_CODE} src/test_executor_mbpp.py, src/programmer_mbpp.py",
        ),
        AgentRule(
            "MBPP's function is named to both agents; problems that a prompt gives away are not scored", "ours"
        ),
    ),
)


class AgentCoder:
    """The agents with their settings.

    Args:
        args: see `ARGUMENTS`.

    Raises:
        UserError: an argument is not known or does not fit.
    """

    info: ClassVar[AgentInfo] = INFO

    def __init__(self, args: Mapping[str, Any]) -> None:
        self.settings = read_settings(args)

    @property
    def config(self) -> AgentConfig:
        """Name, version and all arguments."""
        return AgentConfig(name=INFO.name, version=INFO.version, args=self.settings.stored)

    @property
    def models(self) -> Mapping[Role, RoleModel]:
        """The tester's, where it has one of its own."""
        return self.settings.models

    @property
    def variant(self) -> str:
        """``published`` or ``repaired``."""
        return self.settings.variant

    @property
    def label(self) -> str:
        """What its pass rate is."""
        return self.settings.label

    @property
    def scores_shots(self) -> tuple[str, ...]:
        """None: a problem that a prompt shows solved is never scored."""
        return ()

    def render_prompt(self, problem: VisibleProblem, shown_tests: Sequence[str]) -> Prompt:
        """The programmer's first question; see `truegrade.agents.session.Agent`."""
        return programmer(problem, shown_tests, self.settings.shown_tests)

    async def answer(self, session: Session, executor: Executor) -> Reply:
        """Work on one sample; see `truegrade.agents.session.Agent`."""
        work = regenerate if self.settings.variant == "published" else repair
        return await work(session, self.settings, executor)
