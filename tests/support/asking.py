"""Asking a model in an event loop of its own: for the tests of every vendor."""

import asyncio

from truegrade.models import open_model
from truegrade.records import Message, Prompt
from truegrade.records.config import RequestPolicy

QUICK = RequestPolicy(backoff_s=0.01, backoff_max_s=0.02, timeout_s=5.0)
DIALOGUE = Prompt(
    messages=(
        Message(role="system", content="Be brief."),
        Message(role="user", content="Say hello."),
        Message(role="assistant", content="hello"),
        Message(role="user", content="Again."),
    ),
    style="chat",
    source="test",
)


def asked(name, url, ask, *, request_policy=QUICK, **args):
    """What `ask` brings from a model that is closed afterwards, and the model to look at.

    ``ask`` takes the model and returns coroutines, all awaited at the same time.
    """

    async def work():
        model = open_model(name, base_url=url, request_policy=request_policy, args=args)
        try:
            return await asyncio.gather(*ask(model)), model
        finally:
            await model.close()

    return asyncio.run(work())
