"""`explain`: HumanEvalExplain, in which a model describes a program and writes it again from its own description.

bigcode-project/bigcode-evaluation-harness@8fc5bae6 ``bigcode_eval/tasks/humanevalpack.py``
HumanEvalExplainDescribe and HumanEvalExplainSynthesize, prompt style ``instruct``. The description is cut to as
many characters as the data set's docstring has, and lines of the program that it quotes are taken out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from truegrade.agents.session import AgentInfo, AgentRule, Session
from truegrade.agents.steps import SettledStep, VisibleProblem
from truegrade.errors import UnknownName, UserError
from truegrade.files import syntax
from truegrade.grading.executor import Executor
from truegrade.models.base import Reply
from truegrade.prompts.making import HUMANEVALPACK_STOP, before_stop
from truegrade.records import Message, Prompt
from truegrade.records.config import AgentConfig

Style = Literal["chat", "text"]
ARGUMENTS = {"style": "chat (default): a question to a chat model; text: a text that a base model continues"}
INSTRUCTION = "Write functional code in Python according to the description."

_TASKS = "bigcode-project/bigcode-evaluation-harness@8fc5bae6 bigcode_eval/tasks/humanevalpack.py"
_QUOTED = 20
"""A line of the program counts as quoted if it has more characters than this."""
_LONGEST = r"using at most (\d+) characters\.\Z"

INFO = AgentInfo(
    name="explain",
    version="8fc5bae6",
    summary="HumanEvalExplain: describes a program, then writes it from the description alone",
    covers=("humanevalexplain",),
    args=ARGUMENTS,
    defaults={"published": {"style": "chat"}},
    rules=(
        AgentRule("the words of both questions; the second shows the description and the head", _TASKS),
        AgentRule(
            "a description ends at the length of the docstring or at a stop word, without lines of the program of"
            " over 20 characters that it quotes",
            _TASKS,
        ),
        AgentRule("style chat: the same words as a message; the harness has a model continue a text", "ours"),
        AgentRule("one program is written from each description", "ours; upstream by number of samples"),
    ),
)


class Explain:
    """The agent with its settings.

    Args:
        args: see `ARGUMENTS`.

    Raises:
        UnknownName: there is no such argument or style.
    """

    info: ClassVar[AgentInfo] = INFO

    variant: str = "published"
    label: str = "HumanEvalExplain: written from the model's own description; not pass@1 of HumanEval"
    scores_shots: tuple[str, ...] = ()

    def __init__(self, args: Mapping[str, Any]) -> None:
        INFO.refuse_unknown_arguments(args)
        style = args.get("style", "chat")
        if style not in ("chat", "text"):
            raise UnknownName("explain style", str(style), ("chat", "text"))
        self.style: Style = style
        self.config = AgentConfig(name=INFO.name, version=INFO.version, args={"style": style})

    def render_prompt(self, problem: VisibleProblem, shown_tests: Sequence[str]) -> Prompt:
        """The question for a description; see `truegrade.agents.session.Agent`."""
        if problem.benchmark not in INFO.covers:
            raise INFO.no_words(problem)
        return self._prompt(problem.text)

    async def answer(self, session: Session, executor: Executor) -> Reply:
        """Ask for the description, then for the program; see `truegrade.agents.session.Agent`."""
        described = await session.ask("programmer", 1, 0, session.first)
        if described.reply.text is None:
            return session.give_up()
        description = kept_description(described.reply.text, session.problem)
        written = await session.ask("programmer", 2, 0, self.second_prompt(description, session.problem))
        if written.reply.text is None:
            return session.give_up()
        return session.settle(SettledStep(accepted=True, round=2, index=0), written)

    def second_prompt(self, description: str, problem: VisibleProblem) -> Prompt:
        """The question for the program: its description, as `kept_description` gives it, and its head."""
        return self._prompt(f"{description}\n{INSTRUCTION}\n\n{_head(problem)}")

    def _prompt(self, words: str) -> Prompt:
        message = Message(role="user", content=words.strip())
        stop = HUMANEVALPACK_STOP if self.style == "text" else ()
        return Prompt(messages=(message,), style=self.style, stop=stop, source=_TASKS)


def kept_description(reply: str, problem: VisibleProblem) -> str:
    """What of a description the second question shows.

    Args:
        reply: the model's.
        problem: whose text is the program, and behind it the words that say how long the description may be.

    Raises:
        UserError: the words do not say so.
    """
    program, _, words = problem.text.rpartition("\n")
    longest = re.search(_LONGEST, words)
    if longest is None:
        raise UserError(f"{problem.id}: its text does not say how many characters a description may have")
    kept = before_stop(reply.strip()[: int(longest[1])], HUMANEVALPACK_STOP).rstrip()
    for line in map(str.strip, program.removeprefix(_head(problem)).split("\n")):
        if len(line) > _QUOTED:
            kept = kept.replace(line, "")
    return kept


def _head(problem: VisibleProblem) -> str:
    """The code before the function and its signature: the prefix without the docstring that ends it."""
    docstring = syntax.parse(problem.prefix).body[-1].body[-1]  # type: ignore[attr-defined]
    lines = problem.prefix.splitlines(keepends=True)[: docstring.lineno - 1]
    return "".join(lines).lstrip("\n")
