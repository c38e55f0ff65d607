"""AgentCoder's two ways to an answer, round by round.

``regenerate`` is the released code: no error ever reaches the programmer; candidates and tests are thrown away
together until one candidate passes enough. ``repair`` is what the paper describes: the programmer hears which test
failed, and how. In both the tests are the agent's own; the data set's are out of reach.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from truegrade.agents import agentcoder_prompts
from truegrade.agents.agentcoder_settings import AgentCoderSettings
from truegrade.agents.session import Session
from truegrade.agents.steps import AskedStep, Candidate, SettledStep, TriedStep
from truegrade.agents.trials import best_of, try_candidate
from truegrade.extraction.programs import extract_program
from truegrade.grading.executor import Executor
from truegrade.grading.programs import assemble
from truegrade.models.base import Reply
from truegrade.profiles.agentcoder_extraction import cut_fence
from truegrade.profiles.agentcoder_imports import IMPORT_HELPER
from truegrade.profiles.function_scope import needed_imports
from truegrade.records import Answer, Prompt


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
    question = agentcoder_prompts.tester(session.problem)
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
    return agentcoder_prompts.repair(session.first, asked.reply.text or "", shown or "", failed)


def _answer(session: Session, asked: AskedStep) -> Answer:
    """What ``strict`` takes out of a reply."""
    problem = session.problem
    return extract_program(asked.reply.text or "", problem.entry_point, prefix=problem.prefix)
