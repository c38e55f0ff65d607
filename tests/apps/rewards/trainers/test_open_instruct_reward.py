"""open-instruct: its verifiers ask the routes of the service (allenai/open-instruct@e6c3044)."""

from __future__ import annotations

import asyncio
import base64
import json
import pickle
import zlib
from types import SimpleNamespace

import pytest

from support.grading_service import served
from support.pages import blocks
from support.reward_battery import ASSERTS, STDIO, battery

STDIO_TESTS = [
    {"input": given, "output": output}
    for given, output in zip(*(json.loads(STDIO)[name] for name in ("inputs", "outputs")), strict=True)
]


@pytest.fixture(scope="module")
def verifier(checkout):
    """A verifier as the page's command configures it: by ``CODE_API_URL``."""
    checkout("allenai+open-instruct", "open_instruct.ground_truth_utils")
    from open_instruct.ground_truth_utils import CodeVerifier

    (command,) = [
        line for line in blocks("rewards.md", "sh", "open-instruct")[0].splitlines() if "CODE_API_URL" in line
    ]
    assert command.split("=")[1] == "http://127.0.0.1:8080"
    with served(token=None) as service:

        def found(path):
            settings = SimpleNamespace(
                code_api_url=command.split("=")[1].replace("http://127.0.0.1:8080", service.address) + path,
                code_max_execution_time=1.0,
                code_pass_rate_reward_threshold=0.99,
                code_apply_perf_penalty=False,
            )
            return CodeVerifier(settings)

        yield found


def scored(verifier, rows):
    async def every():
        return await asyncio.gather(*[verifier.async_call([], text, label) for text, label in rows])

    return [one.score for one in asyncio.run(every())]


@pytest.mark.parametrize(
    ("form", "path", "tests"),
    [("function", "/test_program", ASSERTS), ("stdio", "/test_program_stdio", STDIO_TESTS)],
)
def test_no_cheat_is_paid_and_right_programs_are(verifier, form, path, tests):
    due = battery(form, tests)
    found = scored(verifier(path), [(each.text, each.ground_truth) for each in due])
    assert dict(zip([each.name for each in due], found, strict=True)) == {each.name: each.reward for each in due}


def test_labels_as_its_data_sets_pack_them(verifier):
    due = battery("function", ASSERTS, cheats=1)[:2]
    label = base64.b64encode(zlib.compress(pickle.dumps(ASSERTS))).decode()
    assert scored(verifier("/test_program"), [(each.text, label) for each in due]) == [1.0, 0.0]
