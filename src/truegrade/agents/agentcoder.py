"""`agentcoder`: programmer, test designer and test executor after Huang et al., arXiv 2312.13010.

Their released code (huangd1999/AgentCoder@dddd1b9) runs on HumanEval only, and there it repairs nothing: it draws
again until self-made tests like a candidate. Its MBPP script fails as released, and would draw again until the
data set's own tests pass; that is not reproduced. MBPP is worked on under the rules for HumanEval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from truegrade.agents import agentcoder_prompts
from truegrade.agents.agentcoder_rounds import regenerate, repair
from truegrade.agents.agentcoder_settings import ARGUMENTS, DEFAULTS, read_settings
from truegrade.agents.base import AgentInfo, AgentRule, RoleModel
from truegrade.agents.session import BudgetSpent, Session
from truegrade.agents.steps import Role
from truegrade.agents.visible import VisibleProblem
from truegrade.grading.executor import Executor
from truegrade.models.base import Reply
from truegrade.records import Prompt
from truegrade.records.config import AgentConfig

_CODE = "huangd1999/AgentCoder@dddd1b9"

INFO = AgentInfo(
    name="agentcoder",
    version="dddd1b9.1",
    summary="programmer, test designer and test executor; accepts by self-made tests, never by official ones",
    covers=tuple(agentcoder_prompts.SHOWN),
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
        args: see `truegrade.agents.agentcoder_settings.ARGUMENTS`.

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
        """The programmer's first question; see `truegrade.agents.base.Agent`."""
        return agentcoder_prompts.programmer(problem, shown_tests, self.settings.shown_tests)

    async def answer(self, session: Session, executor: Executor) -> Reply:
        """Work on one sample; see `truegrade.agents.base.Agent`."""
        work = regenerate if self.settings.variant == "published" else repair
        try:
            return await work(session, self.settings, executor)
        except BudgetSpent:
            return session.give_up()
