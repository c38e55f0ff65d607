"""``verl``: ``compute_score(data_source, solution_str, ground_truth, extra_info)`` gives a number or dictionary.

verl-project/verl@1dda039 ``verl/experimental/reward_loop/reward_manager/naive.py``: by name; of a dictionary
``score`` counts. The ground truth of code is a text of JSON (``verl/utils/reward_score/prime_code/__init__.py``
reads it so), and for functions an input is a line of JSON an argument, an output JSON (``testing_util.py`` there,
``verl/utils/reward_score/sandbox_fusion/utils.py``).
"""

from __future__ import annotations

import json
from typing import Any

from truegrade.assay.targets.calls.base import Arguments, Call, ProbeQuestion, sources


def _arguments(asked: ProbeQuestion) -> Arguments:
    given = {
        "data_source": asked.problem.benchmark,
        "solution_str": asked.reply,
        "ground_truth": _ground_truth(asked.tests),
        "extra_info": sources(asked.problem),
    }
    return (), given | asked.fields


def _ground_truth(tests: Any) -> str:
    if isinstance(tests, str):
        return tests
    if isinstance(tests, dict) and "fn_name" in tests:
        inputs = ["\n".join(map(json.dumps, arguments)) for arguments in tests["inputs"]]
        tests = tests | {"inputs": inputs, "outputs": [json.dumps(value) for (value,) in tests["outputs"]]}
    return json.dumps(tests)


CALL = Call(name="verl", arguments=_arguments, tests_as="taco")
