"""AgentCoder's questions, byte for byte those of huangd1999/AgentCoder@dddd1b9 where that one can be sent.

On MBPP its programmer is sent a variable's name instead of the prompt, and its designer is never told what the
function is called. Here the programmer gets the prompt that the source means to send, and both are told the name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from truegrade import prompts
from truegrade.agents.steps import AgentTrial, VisibleProblem
from truegrade.errors import UserError
from truegrade.records import Message, Prompt

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
    if problem.benchmark in SHOWN and problem.kind in ("function", "oracle"):
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


def repair(first: Prompt, reply: str, program: str, failed: AgentTrial) -> Prompt:
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
