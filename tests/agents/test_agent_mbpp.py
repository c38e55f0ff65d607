"""MBPP: the rules for HumanEval; the function is named, its official tests stay hidden unless asked for."""

import pytest

from support import scripted_agents as agents
from support.thorough import one_in
from truegrade.benchmarks import load_benchmark

GOOD = "def square_perimeter(a):\n    return 4 * a"
WRONG = "def square_perimeter(a):\n    return 3 * a"
TESTS = "assert square_perimeter(0) == 0\nassert square_perimeter(6) == 24"


@pytest.fixture(autouse=True)
def with_data(data_dir, monkeypatch):
    monkeypatch.setenv("TRUEGRADE_DATA", str(data_dir))


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", one_in(2, ["mbpp", "mbpp-sanitized"]))
def test_both_variants_work_on_mbpp(play, benchmark):
    task = "MBPP/17"
    for variant, programs in (("published", 5), ("repaired", 2)):
        run, played = play(
            lambda call: agents.fence(GOOD if call.number else WRONG), lambda _: agents.fence(TESTS),
            benchmark=benchmark, ids=(task,), agent_args={"variant": variant}, out=variant,
        )  # fmt: skip
        assert len(played.of("programmer")) == programs
        assert [verdict.passed for verdict in run.verdicts()] == [True]
        assert run.summary["agent"]["accepted"] == 1
        assert "The name of the function is square_perimeter." in played.of("programmer")[0].text
        assert "The name of the function is square_perimeter." in played.of("tester")[0].text
        assert "You are a code developer." in played.of("programmer")[0].text


def test_shown_tests_are_shown_to_the_programmer_alone_and_the_label_says_so(play):
    official = load_benchmark("mbpp", None, {}).by_id()["MBPP/17"].task.shown_tests
    run, played = play(lambda _: agents.fence(GOOD), lambda _: agents.fence(TESTS), benchmark="mbpp",
                       ids=("MBPP/17",), agent_args={"shown_tests": 2})  # fmt: skip
    for call in played.of("programmer"):
        assert official[0] in call.text and official[1] in call.text
        assert official[2] not in call.text
        assert "Your code should pass these tests:" in call.text
    for call in played.of("tester"):
        assert not any(test in call.text for test in official)
    assert "the prompt shows 2 official tests a task" in run.summary["agent"]["label"]


def test_problems_that_the_prompts_give_away_are_neither_asked_nor_scored(play):
    ids = ("MBPP/2", "MBPP/3", "MBPP/11", "MBPP/12", "MBPP/17")
    run, played = play(lambda _: agents.fence(GOOD), lambda _: agents.fence(TESTS), benchmark="mbpp", ids=ids)
    assert len(played.calls) == 10
    assert set(run.manifest.excluded) == set(ids[:4])


def test_a_benchmark_whose_prompt_holds_official_tests_is_refused(play):
    from truegrade.errors import UserError

    with pytest.raises(UserError, match="no prompts for 'mbppplus'; it covers humaneval"):
        play(lambda _: "", lambda _: "", benchmark="mbppplus", ids=())
