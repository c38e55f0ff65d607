"""Variant ``repaired``: the programmer hears which self-made test failed, and how."""

import pytest

from support import scripted_agents as agents
from truegrade.agents.agentcoder import read_settings

GOOD = "def add(x, y):\n    return x + y"
WRONG = "def add(x, y):\n    return x - y"
TESTS = "assert add(0, 0) == 0\nassert add(2, 3) == 5, 'sums'\nassert add(2, 2) == 4"
REPAIRED = {"variant": "repaired"}


@pytest.fixture
def says():
    return lambda *codes: lambda call: agents.fence(codes[min(call.number, len(codes) - 1)])


def test_the_failing_test_and_its_error_go_back_and_the_repair_is_accepted(play, says, steps):
    run, played = play(says(WRONG, GOOD), says(TESTS), agent_args=REPAIRED)
    assert [call.role for call in played.calls] == ["programmer", "tester", "programmer"]
    first, second = played.of("programmer")
    assert second.messages[: len(first.messages)] == first.messages
    assert second.messages[-2] == {"role": "assistant", "content": f"Here it is:\n```python\n{WRONG}\n```\n"}
    said = second.messages[-1]["content"]
    assert said.startswith("Please re-completion the code to fix the error message.")
    assert WRONG in said
    assert "assert add(2, 3) == 5, 'sums'" in said
    assert "It raise the error:\n```python\nAssertionError: sums\n```" in said
    assert "def add(x: int" not in said, "its own program, without the task's stub"
    assert "add(0, 0)" not in said and "add(2, 2)" not in said, "the first failing test alone"
    tried = steps(run, "tried")
    assert [candidate.passed for round_ in tried for candidate in round_.candidates] == [1, 3]
    assert [round_.needed for round_ in tried] == [3, 3]
    (settled,) = steps(run, "settled")
    assert (settled.accepted, settled.round) == (True, 2)
    assert [verdict.passed for verdict in run.verdicts()] == [True]
    assert run.summary["agent"]["label"].startswith("pass@1 of an agent, up to 5 rounds of repair")


def test_every_assert_is_a_test_of_its_own_also_in_replies_cut_short(play, steps):
    cut = "```python\nimport math\nassert add(0, 0) == 0\nassert add(1, 1) == math.floor(2.5)\nassert add(5, "
    run, _ = play(lambda _: agents.fence(GOOD), lambda _: cut, agent_args=REPAIRED)
    (tried,) = steps(run, "tried")
    imported = ["import math\nassert add(0, 0) == 0", "import math\nassert add(1, 1) == math.floor(2.5)"]
    assert [trial.test for trial in tried.candidates[0].trials] == imported


def test_rounds_are_bounded_and_the_first_that_passed_most_is_handed_in(play, says, steps):
    better = "def add(x, y):\n    return 4"
    codes = ["def add(x, y):\n    return None", better, "def add(x, y):\n    return 4 # again", WRONG]
    run, played = play(says(*codes), says("assert add(2, 2) == 4\nassert add(2, 2) == 5"),
                       agent_args={**REPAIRED, "rounds": 4})  # fmt: skip
    assert (len(played.of("programmer")), len(played.of("tester"))) == (4, 1)
    (settled,) = steps(run, "settled")
    assert (settled.accepted, settled.round) == (False, 2)
    (completion,) = run.completions()
    assert better in completion.text and "again" not in completion.text


def test_a_reply_without_tests_is_said_asked_again_and_accepts_nothing(play, says):
    args = {**REPAIRED, "rounds": 3}
    run, played = play(says(GOOD), lambda _: "I would test zero, one and many.", agent_args=args)
    assert (len(played.of("programmer")), len(played.of("tester"))) == (3, 3)
    assert len({call.text for call in played.of("programmer")}) == 1, "nothing failed, so nothing is fed back"
    assert run.summary["agent"]["without_tests"] == 1
    assert run.summary["agent"]["accepted"] == 0
    assert "no self-made test could be parsed in 1 of 1 samples" in run.summary["profiles"][0]["warnings"]


def test_each_candidate_repairs_its_own_program(play, steps):
    codes = {0: WRONG, 1: "def add(x, y):\n    return x * y", 2: f"{WRONG}  # still", 3: GOOD}
    run, played = play(lambda call: agents.fence(codes[call.number]), lambda _: agents.fence(TESTS),
                       agent_args={**REPAIRED, "candidates": 2})  # fmt: skip
    third, fourth = played.of("programmer")[2:]
    assert "x - y" in third.text and "x * y" not in third.text
    assert "x * y" in fourth.text and "x - y" not in fourth.text
    (settled,) = steps(run, "settled")
    assert (settled.round, settled.index) == (2, 1)
    assert run.summary["agent"]["label"].startswith("best-of-2 chosen by self-made tests, up to 5 rounds")


def test_a_body_alone_is_a_program_here(play):
    run, _ = play(lambda _: agents.fence("    return x + y"), lambda _: agents.fence(TESTS), agent_args=REPAIRED)
    assert run.summary["agent"]["accepted"] == 1
    assert [verdict.passed for verdict in run.verdicts()] == [True]


REPAIRS = "pass@1 of an agent, up to 5 rounds of repair against self-made tests"
LABELS = {
    "pass@1 of an agent, 1 round; not pass@1 of the model": {"rounds": 1, "candidates": 1},
    "best-of-6 chosen by self-made tests: one program a round, up to 6 rounds; not pass@1 of the model": {
        "candidates": 1
    },
    f"{REPAIRS}; the prompt shows 3 official tests a task; not pass@1 of the model": {
        "variant": "repaired",
        "shown_tests": 3,
    },
}


@pytest.mark.parametrize(("label", "args"), LABELS.items())
def test_only_one_program_without_a_choice_is_called_pass_at_1(label, args):
    assert read_settings(args).label == label


def test_the_bar_is_exact_in_decimal():
    settings = read_settings({"accept": 0.55})
    assert settings.needed(20) == 11
    assert read_settings({}).needed(5) == 3
    assert read_settings({"accept": 0.01}).needed(5) == 1
