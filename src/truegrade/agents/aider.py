"""`aider`: two tries at an exercise, with the output of its tests between them, as Aider's benchmark has it.

Aider-AI/aider@5dc9490 ``benchmark/benchmark.py`` run_test_real with ``--tries 2``, its default. The tests are
those that the answer is graded by: their output tells the model expected values before its second try.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, ClassVar

import msgspec

from truegrade.agents.session import AgentInfo, AgentRule, OfficialTests, Session
from truegrade.agents.steps import AgentTrial, SettledStep, TriedStep, VisibleProblem, file_to_edit, tried_once
from truegrade.errors import UnknownName, UserError
from truegrade.files.extras import require
from truegrade.grading.executor import Executor
from truegrade.models.base import Reply
from truegrade.profiles.aider_whole import BENCHMARKS, SOURCE, Chat, cleaned, first_chat, whole_file
from truegrade.records import Prompt, Reason
from truegrade.records.config import AgentConfig

TRIES = 2
TIMED_OUT = "Tests timed out!"
"""What the model is told instead of an output."""

_HARNESS = f"{SOURCE} benchmark/benchmark.py"

INFO = AgentInfo(
    name="aider",
    version="5dc9490",
    summary="two tries; between them the model is shown the output of the very tests that grade it",
    covers=(*BENCHMARKS, "write, repair and complete of data build repository"),
    args={},
    defaults={"published": {}},
    rules=(
        AgentRule(
            "the messages of both tries, format whole: those of the profile aider", f"{SOURCE} aider/coders"
        ),
        AgentRule("a first reply whose tests pass is the answer", f"{_HARNESS} run_test_real"),
        AgentRule(
            "else the output of pytest goes back, without its seconds, with the file as the reply left it; the"
            " second reply is the answer",
            f"{_HARNESS} run_test_real, cleanup_test_output",
        ),
        AgentRule(
            "pass_rate_1 and pass_rate_2: passed after the first, after either", f"{_HARNESS} summarize_results"
        ),
        AgentRule(
            "a repository's function: the chat is about its file, out of which the function is the answer, with"
            " what is new at the top level; of tests that run outside it the first failure is told",
            "ours",
        ),
        AgentRule(
            "the jail shows pytest no other plug-in, and the file stands beside its tests alone, without .meta",
            "ours",
        ),
        AgentRule(
            "not reproduced: other edit formats and fences, questions in a try after lint errors, summaries of a"
            " long chat",
            f"{SOURCE} aider/coders/base_coder.py",
        ),
    ),
    sees_official_tests=True,
)


class AiderAgent:
    """The agent; it has no settings.

    Args:
        args: none.

    Raises:
        UnknownName: there is an argument.
        UserError: pytest is not installed.
    """

    info: ClassVar[AgentInfo] = INFO

    config = AgentConfig(name=INFO.name, version=INFO.version, args={})
    variant: str = "published"
    label: str = (
        "pass rate of two tries, the model shown the output of the official tests between them; not pass@1 of the"
        " model"
    )
    scores_shots: tuple[str, ...] = ()

    def __init__(self, args: Mapping[str, Any]) -> None:
        for name in args:
            raise UnknownName("aider argument", name, (), "it takes none")
        require("aider", "agent 'aider'")

    def render_prompt(self, problem: VisibleProblem, shown_tests: Sequence[str]) -> Prompt:
        """The first try's question; see `truegrade.agents.session.Agent`."""
        return _chat(problem).prompt()

    async def answer(self, session: Session, executor: Executor) -> Reply:
        """Ask once or twice; see `truegrade.agents.session.Agent`.

        Every try but the last is followed by its tests' output; the last one's result is kept, too.
        """
        if session.official_tests is None:
            raise UserError(
                f"agent 'aider' needs the tests of {session.problem.id}, which this run does not give it"
            )
        chat, file, round_ = _chat(session.problem), file_to_edit(session.problem), 0
        while True:
            round_ += 1
            asked = await session.ask("programmer", round_, 0, chat.prompt())
            if asked.reply.text is None:
                return session.give_up()
            edited = whole_file(asked.reply.text, chat.file)
            program = chat.content if edited is None else edited
            if file is not None:
                program = file.answer(program)
            tried = session.tried(round_)
            if tried is None:
                tried = await asyncio.to_thread(_test, session.official_tests, program, executor)
                session.conclude(round_, tried)
            if tried.accepted or round_ == TRIES:
                reply = session.settle(SettledStep(accepted=tried.accepted, round=round_, index=0), asked)
                return reply if file is None else msgspec.structs.replace(reply, text=program, form="program")
            chat = chat.failed(asked.reply.text, tried.candidates[0].trials[0].output)


def _test(official_tests: OfficialTests, program: str, executor: Executor) -> TriedStep:
    """How a program fared in the data set's tests."""
    ran = official_tests(program, executor)
    timed_out = ran.outcome.status == Reason.TIME_LIMIT
    trial = AgentTrial(
        test="the data set's own tests",
        status=ran.outcome.status,
        detail=ran.outcome.detail,
        cpu_s=ran.outcome.cpu_s,
        output=TIMED_OUT if timed_out else cleaned(ran.output),
    )
    return tried_once(trial, accepted=ran.passed, level=executor.level)


def _chat(problem: VisibleProblem) -> Chat:
    if (file := file_to_edit(problem)) is not None:
        return first_chat(file.words, PurePosixPath(file.path).name, file.content)
    if problem.benchmark not in BENCHMARKS or not problem.module:
        raise INFO.no_words(problem)
    return first_chat(problem.text, f"{problem.module}.py", problem.starter)
