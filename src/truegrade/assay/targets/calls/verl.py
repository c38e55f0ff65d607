"""``verl``: ``compute_score(data_source, solution_str, ground_truth, extra_info)`` gives a number or dictionary.

verl-project/verl@1dda039 ``verl/experimental/reward_loop/reward_manager/naive.py``: by name; of a dictionary
``score`` counts. The ground truth of code is a text of JSON (``verl/utils/reward_score/prime_code/__init__.py``
reads it so).
"""

from __future__ import annotations

import json

from truegrade.assay.targets.calls.base import Arguments, Call, ProbeQuestion, sources


def _arguments(asked: ProbeQuestion) -> Arguments:
    given = {
        "data_source": asked.problem.benchmark,
        "solution_str": asked.reply,
        "ground_truth": asked.tests if isinstance(asked.tests, str) else json.dumps(asked.tests),
        "extra_info": sources(asked.problem),
    }
    return (), given | asked.fields


CALL = Call(name="verl", arguments=_arguments, tests_as="taco")
