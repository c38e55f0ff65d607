"""``open-instruct``: POST of ``{"program", "tests", "max_execution_time"}`` gives ``{"results", "runtimes"}``.

allenai/open-instruct@e6c3044 ``open_instruct/code_utils/api.py`` (``/test_program``; with tests as ``stdio``
``/test_program_stdio``) and ``open_instruct/ground_truth_utils.py`` ``CodeVerifier``: the score is the share of
ones.
"""

from __future__ import annotations

from typing import Any

from truegrade.assay.targets.calls.base import Call, Post, ProbeQuestion
from truegrade.assay.targets.readings import SCORE, Reading, no_verdict

MAX_EXECUTION_S = 6.0
"""Of one test, as the verifier asks for."""


def _ask(asked: ProbeQuestion, post: Post) -> Any:
    tests = asked.tests
    if asked.form == "stdio":
        pairs = zip(tests["inputs"], tests["outputs"], strict=True)
        tests = [{"input": given, "output": wanted} for given, wanted in pairs]
    return post({"program": asked.program, "tests": tests, "max_execution_time": MAX_EXECUTION_S, **asked.fields})


def _reading(value: Any) -> Reading:
    results = value.get("results") if isinstance(value, dict) else None
    if not isinstance(results, list) or not results or not all(one in {0, 1} for one in results):
        return Reading(None, None, no_verdict(SCORE, f"no list of 0 and 1 as results: {value}"))
    return Reading(all(results), sum(results) / len(results))


CALL = Call(name="open-instruct", ask=_ask, reads=_reading)
