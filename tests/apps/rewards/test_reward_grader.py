"""What replies earn, by a real pool in this process; every setting."""

import asyncio
import gc
import threading

import pytest

from support.reward_replies import LINES, MOSTLY, RIGHT, SLOW, SQUARES, WRONG, fenced, script, square
from truegrade.apps.rewards.grader import RewardGrader, reward_grader
from truegrade.apps.rewards.records import PolicyReply, RewardError, RewardLimits, Scheme, TruthCache
from truegrade.apps.rewards.trl import truegrade_reward
from truegrade.errors import UserError

WRITES = """def f(n):
    import os
    for d in range(3, 64):
        try: os.write(d, b'yes' * 99)
        except OSError: pass
    return n * n"""


@pytest.fixture(scope="module")
def pool():
    """Keeps the node's pool open while graders of other settings use it."""
    with RewardGrader(workers=2) as grader:
        yield grader


def values(replies, **settings):
    with RewardGrader(**settings) as grader:
        return [reward.value for reward in grader.grade_sync(replies)]


def test_right_is_one_and_wrong_is_zero_with_reasons(pool):
    right, wrong, none, program = pool.grade_sync(
        [square(), square(WRONG), PolicyReply(text="no", ground_truth=SQUARES), script("print(n * n)")]
    )
    assert (right.value, right.passed, right.reason, right.pass_rate) == (1.0, True, "passed", 1.0)
    assert (wrong.value, wrong.passed, wrong.reason) == (0.0, False, "wrong_answer") and wrong.detail
    assert (none.value, none.reason) == (0.0, "no_code")
    assert (program.value, program.reason) == (1.0, "passed")


@pytest.mark.parametrize(
    ("scheme", "earned"),
    [
        ("all", [1.0, 0.0, 0.0]),
        ("share", [1.0, 0.75, 0.25]),
        ("share-after-all(3)", [1.0, 1.0, 1 / 3]),
        ("threshold(0.7)", [1.0, 1.0, 0.0]),
    ],
)
def test_schemes_pay_for_shares_of_tests(pool, scheme, earned):
    replies = [square(), square(MOSTLY), square("1")]
    assert values(replies, scheme=scheme) == earned
    programs = [script(f"print({value})") for value in (RIGHT, MOSTLY, "1")]
    assert values(programs, scheme=scheme) == earned


def test_what_cannot_be_counted_is_right_or_wrong():
    for scheme in ("share", "threshold(0.1)", "share-after-all(2)"):
        assert [Scheme.parse(scheme).value(passed, None) for passed in (True, False)] == [1.0, 0.0]


@pytest.mark.parametrize(
    "truth", [[], {}, "{", None, {"inputs": [], "outputs": []}, 7, object()], ids=lambda truth: str(truth)[:12]
)
def test_a_ground_truth_without_tests_is_never_a_number(pool, truth):
    (reward,) = pool.grade_sync([square(truth=truth)])
    assert (reward.value, reward.passed, reward.reason) == (None, None, "grader_error")
    assert reward.detail.startswith("no tests: ")
    assert values([square(truth=truth)], on_error=-0.5) == [-0.5]
    with pytest.raises(RewardError, match=r"task-7: .*no tests"):
        values([square(truth=truth, problem_id="task-7")], on_error="raise")


def test_tests_that_fail_themselves_are_never_a_number(pool):
    """They can be read, but not run."""
    (reward,) = pool.grade_sync([square(truth=["assert f(1) == unknown_name"])])
    assert (reward.value, reward.reason) == (None, "grader_error")


def test_a_reply_that_was_cut_off(pool):
    cut = [square(finish_reason="length"), PolicyReply(text="def", ground_truth=SQUARES, finish_reason="length")]
    whole, half = pool.grade_sync(cut)
    assert (whole.value, whole.reason, whole.truncated) == (1.0, "passed", True)
    assert (half.value, half.passed, half.reason, half.truncated) == (0.0, False, "truncated", True)
    with RewardGrader(truncated="none") as grader:
        rewards = grader.grade_sync([*cut, square(finish_reason="stop")])
    assert [(it.value, it.passed, it.truncated) for it in rewards] == [
        (None, None, True), (None, None, True), (1.0, True, False)]  # fmt: skip


def test_a_program_that_sets_out_to_change_its_verdict_earns_what_was_set(pool):
    hack = PolicyReply(text=fenced(WRITES), ground_truth=SQUARES)
    (reward,) = pool.grade_sync([hack])
    assert (reward.value, reward.tampering, reward.passed) == (0.0, True, False)
    assert values([hack, square(), square(WRONG)], tampering=-1.0, scheme="share") == [-1.0, 1.0, 0.0]


def test_limits_travel_with_the_request(pool):
    slow = "sum(range(5 * 10**6)) and n * n"
    hungry = "len(bytearray(300 * 2**20)) and n * n"
    replies = [square(slow), square(hungry, truth=["assert f(1) == 1"]), square()]
    assert values(replies) == [1.0, 1.0, 1.0]
    with RewardGrader(limits={"cpu_s": 0.1, "memory_bytes": 2**28}) as grader:
        rewards = grader.grade_sync(replies)
    assert [it.reason for it in rewards] == ["time_limit", "memory_limit", "passed"]


def test_replies_name_problems_of_a_benchmark(pool, humaneval_file):
    text = "```python\ndef add(x: int, y: int):\n    return x + y\n```"
    replies = [
        PolicyReply(text=text, problem_id="HumanEval/53"),
        PolicyReply(text=text, problem_id="HumanEval/0"),
        square(),
    ]
    assert values(replies, benchmark=f"humaneval={humaneval_file}") == [1.0, 0.0, 1.0]
    with pytest.raises(UserError, match="no problem 'HumanEval/999'"):
        values([PolicyReply(text=text, problem_id="HumanEval/999")], benchmark=f"humaneval={humaneval_file}")
    with pytest.raises(UserError, match="humanevil"):
        values([PolicyReply(text=text, problem_id="HumanEval/0")], benchmark="humanevil")


SUITE = '''
from truegrade.benchmarks import Benchmark, BenchmarkSpec
from truegrade.records import Problem, SuiteTask

TESTS = """import unittest
from unittest.mock import patch

class TestCases(unittest.TestCase):
    @patch("json.loads", return_value="said")
    def test_patched(self, loads):
        self.assertEqual(read("x"), "said")
"""
READ = "import json\\ndef read(text):\\n    return json.loads(text)\\n"
TASK = SuiteTask(prompt="", entry_point="read", tests=TESTS, reference=READ)

def load(data, args):
    problem = Problem(id="read", benchmark="reads", dataset_sha256="0", cluster="read", task=TASK)
    return Benchmark(name="reads", problems=(problem,), dataset_sha256="0", source="here")

BENCHMARK = BenchmarkSpec(name="reads", summary="", tasks="suite", size=1, licence="", citation="", load=load)
'''


def test_passes_beside_tests_are_paid_where_told_to(pool, tmp_path):
    file = tmp_path / "reads.py"
    file.write_text(SUITE)
    about = {"benchmark": str(file), "scheme": "share"}
    right, wrong = (
        PolicyReply(text=fenced(f"import json\ndef read(text):\n    return {value}"), problem_id="read")
        for value in ("json.loads(text)", "text")
    )
    with RewardGrader(**about) as grader:
        unknown, failed = grader.grade_sync([right, wrong])
    assert (unknown.value, unknown.passed, unknown.reason) == (None, None, "grader_error")
    assert "`tests_inside` pays such passes" in unknown.detail
    assert (failed.value, failed.pass_rate) == (0.0, None)
    assert values([right, wrong], tests_inside=True, **about) == [1.0, 0.0]
    assert values([right], on_error=0.0, **about) == [0.0]
    with pytest.raises(RewardError, match="tests_inside"):
        values([right], on_error="raise", **about)


def test_what_the_service_refuses_costs_its_neighbours_nothing(pool, humaneval_file):
    async def ask(grader):
        bad = grader.grade([PolicyReply(text="x", problem_id="HumanEval/999")])
        return await asyncio.gather(bad, *(grader.grade([square()]) for _ in range(9)), return_exceptions=True)

    with RewardGrader(benchmark=f"humaneval={humaneval_file}") as grader:
        refused, *rest = asyncio.run(ask(grader))
    assert isinstance(refused, UserError)
    assert [rewards[0].value for rewards in rest] == [1.0] * 9


def test_odd_text_is_graded(pool):
    odd = PolicyReply(text="\ud800" + fenced("def f(n):\n    return n * n") + "\x00\udfff", ground_truth=SQUARES)
    assert pool.grade_sync([odd])[0].value == 1.0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"scheme": "half"}, "`scheme`"),
        ({"on_error": "ignore"}, "`on_error`"),
        ({"on_error": True}, "`on_error`"),
        ({"truncated": "zero"}, "`truncated`"),
        ({"workers": 0}, "`workers`"),
        ({"workers": "two"}, "`workers`: 'two' is no whole number"),
        ({"tests_inside": "no"}, "`tests_inside`: 'no' is neither True nor False"),
        ({"tampering": "x"}, "`tampering`"),
        ({"url": "127.0.0.1:8080"}, "`url`: .* neither http:// nor"),
        ({"retry_s": 0}, "`retry_s`"),
        ({"profile": "strickt"}, "no profile 'strickt'; did you mean strict"),
        ({"benchmark": "humanevl"}, "no benchmark 'humanevl'; did you mean humaneval"),
        ({"benchmark": "humaneval=nowhere.jsonl"}, "`benchmark`: humaneval=nowhere.jsonl: no such file"),
        ({"limits": {"cpu": 1}}, "no field of `limits` 'cpu'; did you mean cpu_s"),
        ({"limits": 3}, "`limits`: 3 is no mapping of cpu_s, memory_bytes"),
        ({"limits": {"cpu_s": -1}}, "`limits`.*> 0"),
    ],
)
def test_a_setting_at_fault_is_named(settings, words):
    with pytest.raises(UserError, match=words):
        RewardGrader(**settings)


def test_what_is_no_setting_and_a_column_that_is_not_there_get_a_suggestion():
    with pytest.raises(UserError, match="no setting of a reward 'profil'; did you mean profile"):
        truegrade_reward(profil="strict")
    with pytest.raises(UserError, match="no column of the data set 'test'; did you mean tests"):
        truegrade_reward(column="test")(["no program"], tests=[SQUARES])


@pytest.mark.parametrize(
    ("completions", "tests", "said"),
    [
        ("text", [SQUARES], "`completions` is a text"),
        ([3], [SQUARES], "a completion is a text or a list of messages, and 3 is neither"),
        (["a", "b"], [SQUARES], "column 'tests' has 1 rows, and there are 2 completions"),
    ],
)
def test_batches_of_another_form_are_refused(completions, tests, said):
    with pytest.raises(UserError, match=said):
        truegrade_reward()(completions, tests=tests)


def test_names_that_only_the_pool_knows_are_refused_by_it(pool):
    with pytest.raises(UserError, match="strickt"):
        values([square()], profile="strickt")
    with pytest.raises(UserError, match="does not count tests"):
        values([square()], profile="human-eval", scheme="share")


def test_threads_and_loops_share_a_grader(pool):
    """Each gets its own answer, whoever asks beside it."""
    found = {}

    def thread(number):
        asked = [square("n * n" if (number + i) % 2 else "0") for i in range(3)]
        found[number] = [reward.value for reward in pool.grade_sync(asked)]

    async def one(number):
        (reward,) = await pool.grade([square("n * n" if number % 2 else "0")])
        return reward.value

    async def many():
        return await asyncio.gather(*map(one, range(40)))

    def loop(number):
        found[number] = asyncio.run(many())

    threads = [threading.Thread(target=thread, args=(n,)) for n in range(24)]
    threads += [threading.Thread(target=loop, args=(n,)) for n in (100, 101)]
    for it in threads:
        it.start()
    for it in threads:
        it.join()
    for number in range(24):
        assert found[number] == [float((number + i) % 2) for i in range(3)]
    assert found[100] == found[101] == [float(n % 2) for n in range(40)]


def test_a_caller_that_gives_up_leaves_the_others_alone(pool):
    async def go():
        slow = asyncio.ensure_future(pool.grade([square(SLOW)]))
        await asyncio.sleep(0.05)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        return await pool.grade([square()])

    assert asyncio.run(go())[0].value == 1.0


def test_telemetry_sees_what_was_paid_and_changes_nothing(pool, caplog):
    class Watching:
        def __init__(self):
            self.seen = []

        def observe(self, replies, rewards):
            self.seen.append((len(replies), [it.value for it in rewards]))
            raise RuntimeError("full disk")

    watching = Watching()
    assert values([square(), square(WRONG)], telemetry=watching) == [1.0, 0.0]
    assert watching.seen == [(2, [1.0, 0.0])]
    assert "full disk" in caplog.text


def test_the_same_settings_give_the_same_open_grader(pool):
    first = reward_grader(limits={"cpu_s": 5.0}, scheme="share")
    assert reward_grader(scheme="share", limits={"cpu_s": 5.0}) is first
    assert reward_grader(scheme="share") is not first
    first.close()
    again = reward_grader(scheme="share", limits={"cpu_s": 5.0})
    assert again is not first and again.grade_sync([square()])[0].value == 1.0
    again.close()


def test_a_closed_grader_says_so(pool):
    grader = RewardGrader(limits=RewardLimits(cpu_s=2.0))
    assert grader.grade_sync([square()])[0].value == 1.0
    grader.close()
    grader.close()
    (reward,) = grader.grade_sync([square()])
    assert (reward.value, reward.detail) == (None, "the grader of rewards is closed")


def test_a_forgotten_grader_is_closed(pool):
    from truegrade.apps.rewards import node_pool as places

    grader = RewardGrader(workers=1)
    grader.grade_sync([square()])
    name = grader._place
    assert name in places._askers
    del grader
    gc.collect()
    assert name not in places._askers


def test_equal_ground_truths_are_read_once_and_few_are_kept():
    cache = TruthCache(kept=2)
    first = cache.problem(SQUARES, None)
    assert cache.problem(list(SQUARES), None) is first
    assert cache.problem(SQUARES, "g") is not first
    assert cache.problem(dict(LINES), None).id != first.id
    assert len(cache) == 2
    changed = ["assert f(1) == 1"]
    before = cache.problem(changed, None)
    changed.append("assert f(2) == 4")
    assert cache.problem(changed, None).id != before.id
    small = TruthCache(kept_bytes=10)
    small.problem(SQUARES, None)
    assert len(small) == 0
