"""An agent as one is written outside of our tree: two tries, what the data set's own tests print between them."""

import asyncio

from truegrade.agents import AgentInfo
from truegrade.agents.steps import AgentTrial, SettledStep, tried_once
from truegrade.records import Message, Prompt
from truegrade.records.config import AgentConfig


def _asked(*words):
    return Prompt(messages=tuple(Message(role="user", content=each) for each in words), source="two tries")


class TwoTries:
    info = AgentInfo(
        name="two-tries", version="1", summary="two tries, official tests between them", covers=("own",), args={},
        defaults={}, rules=(), sees_official_tests=True,
    )  # fmt: skip
    config = AgentConfig(name="two-tries", version="1", args={})
    variant, label, scores_shots = "default", "two tries, shown the official tests; not pass@1 of the model", ()

    def __init__(self, args):
        pass

    def render_prompt(self, problem, shown_tests):
        return _asked(problem.text)

    async def answer(self, session, executor):
        words = (session.problem.text,)
        for round_ in (1, 2):
            asked = await session.ask("programmer", round_, 0, _asked(*words))
            tried = session.tried(round_)
            if tried is None:
                program = asked.reply.text.partition("```python\n")[2].rpartition("```")[0]
                ran = await asyncio.to_thread(session.official_tests, program, executor)
                trial = AgentTrial(test="all", status=ran.outcome.status, detail=ran.outcome.detail,
                                   cpu_s=ran.outcome.cpu_s, output=ran.output)  # fmt: skip
                tried = tried_once(trial, accepted=ran.passed, level=executor.level)
                session.conclude(round_, tried)
            if tried.accepted:
                break
            words = (*words, tried.candidates[0].trials[0].output)
        return session.settle(SettledStep(accepted=tried.accepted, round=round_, index=0), asked)
