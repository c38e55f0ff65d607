"""Variant ``published``: best-of-N by self-made tests, drawn anew; counts and bounds exactly as released."""

import re

import pytest

import truegrade
from support import scripted_agents as agents
from support import scripted_server as scripted
from truegrade.agents.steps import steps_path
from truegrade.errors import ModelError, UserError

GOOD = "def add(x, y):\n    return x + y"
WRONG = "def add(x, y):\n    return x - y"
RIGHT_TEST = "assert add(2, 3) == 5\nassert add(-1, 1) == 0"
WRONG_TEST = "assert add(2, 3) == 6"


@pytest.fixture
def says():
    """Texts by number of the call, as fenced replies; the last repeats."""
    return lambda *codes: lambda call: agents.fence(codes[min(call.number, len(codes) - 1)])


def test_five_programs_and_five_test_replies_then_the_first_best_is_handed_in(play, says, steps):
    tests = says(RIGHT_TEST, WRONG_TEST, RIGHT_TEST, WRONG_TEST, RIGHT_TEST)
    codes = WRONG, "def other(): pass", GOOD, f"# second\n{GOOD}", WRONG
    run, played = play(says(*codes), tests, profiles=["strict", "agentcoder"])
    assert (len(played.of("programmer")), len(played.of("tester"))) == (5, 5)
    (tried,), (settled,) = steps(run, "tried"), steps(run, "settled")
    assert [candidate.passed for candidate in tried.candidates] == [0, 0, 3, 3, 0]
    assert tried.candidates[1].skipped == "no `def add`"
    assert (tried.needed, tried.best, tried.accepted) == (3, 2, True)
    assert (settled.accepted, settled.round, settled.index) == (True, 1, 2)
    (completion,) = run.completions()
    assert "x + y" in completion.text
    assert "second" not in completion.text, "of equals the first"
    for profile in ("strict", "agentcoder"):
        assert [verdict.passed for verdict in run.verdicts(profile)] == [True], "a reply like any other"


def test_usage_is_the_sum_and_is_told_by_agent(play, says):
    prices = {"input_price": 1.0, "output_price": 2.0}
    run, _ = play(says(GOOD), says(RIGHT_TEST), model_args=prices)
    (completion,) = run.completions()
    assert (completion.usage.input_tokens, completion.usage.output_tokens) == (100, 200)
    assert len(completion.attempts) == 10
    assert completion.cost_usd == pytest.approx(10 * 50e-6)
    assert completion.latency_s == pytest.approx(sum(attempt.latency_s for attempt in completion.attempts))
    programmer, tester = (run.summary["agent"]["by_agent"][name] for name in ("programmer", "tester"))
    for use in (programmer, tester):
        assert (use["calls"], use["attempts"], use["input_tokens"], use["output_tokens"]) == (5, 5, 50, 100)
        assert use["cost_usd"] == pytest.approx(5 * 50e-6)
    assert programmer["latency_s"] + tester["latency_s"] == pytest.approx(completion.latency_s)
    assert run.summary["agent"]["trials"] == 25
    assert run.summary["agent"]["tests"] == 10


def test_two_of_five_are_not_enough_and_both_agents_start_anew_without_hearing_why(play, says, steps):
    tests = says(*[RIGHT_TEST] * 2, *[WRONG_TEST] * 3, RIGHT_TEST)
    run, played = play(says(*[WRONG] * 4, GOOD), tests)
    assert [(tried.needed, tried.accepted) for tried in steps(run, "tried")] == [(3, False), (3, True)]
    assert (len(played.of("programmer")), len(played.of("tester"))) == (10, 10)
    for role in ("programmer", "tester"):
        assert len({call.text for call in played.of(role)}) == 1, "the same question each time"
    (settled,) = steps(run, "settled")
    assert (settled.round, settled.index) == (2, 0)
    assert run.summary["agent"]["rounds"] == {"2": 1}


def test_six_rounds_at_most_then_the_last_best_unaccepted(play, says, steps):
    codes = [f"{WRONG}  # {number}" for number in range(30)]
    run, played = play(says(*codes), says(RIGHT_TEST))
    assert (len(played.of("programmer")), len(played.of("tester"))) == (30, 30)
    (settled,) = steps(run, "settled")
    assert (settled.accepted, settled.round, settled.index) == (False, 6, 0)
    (completion,) = run.completions()
    assert "# 25" in completion.text, "first of the last round"
    assert run.summary["agent"]["accepted"] == 0
    (profile,) = run.summary["profiles"]
    assert "the agent's own tests accepted no program in 1 of 1 samples" in profile["warnings"]


def test_a_reply_counts_as_a_whole_and_one_without_the_function_is_passed_over(play, says, steps):
    half_right = "assert add(2, 3) == 5\nassert add(2, 3) == 6"
    tests = says(half_right, "assert sub(1, 1) == 0", "no assert", RIGHT_TEST, RIGHT_TEST)
    run, _ = play(says(GOOD), tests, agent_args={"rounds": 1})
    (tried,) = steps(run, "tried")
    assert [len(candidate.trials) for candidate in tried.candidates] == [3] * 5
    assert [candidate.passed for candidate in tried.candidates] == [2] * 5
    assert not tried.accepted, "3 of the 5 asked for, whatever could be used"


def test_the_import_helper_stands_in_front_of_the_program(play, says):
    needs = "def add(x, y):\n    return int(np.add(x, y)) + math.floor(0.5)"
    run, _ = play(says(needs), says(RIGHT_TEST), agent_args={"rounds": 1})
    assert run.summary["agent"]["accepted"] == 1


def test_arguments_set_rounds_candidates_tests_and_the_bar(play, says, steps):
    tests = says(RIGHT_TEST, WRONG_TEST, WRONG_TEST)
    args = {"rounds": 2, "candidates": 2, "tests": 3, "accept": 0.3}
    run, played = play(says(WRONG, GOOD), tests, agent_args=args)
    assert (len(played.of("programmer")), len(played.of("tester"))) == (2, 3)
    assert [(tried.needed, tried.accepted) for tried in steps(run, "tried")] == [(1, True)]


def test_each_question_of_a_sample_has_a_seed_of_its_own_that_is_the_same_every_time(play, says):
    from truegrade.records.config import Sampling

    seeds = []
    for out in ("a", "b"):
        _, played = play(says(GOOD), says(RIGHT_TEST), sampling=Sampling(seed=7), out=out, n=2)
        seeds.append([call.seed for call in played.calls])
    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == 20


def test_the_label_is_in_summary_text_page_and_json(play, says, capsys):
    import json

    from click.testing import CliRunner

    from truegrade.cli import main

    run, _ = play(says(GOOD), says(RIGHT_TEST))
    label = "best-of-5 chosen by self-made tests, up to 6 rounds; not pass@1 of the model"
    assert run.summary["agent"]["label"] == label
    assert label in (run.path / "report.html").read_text()
    text = CliRunner().invoke(main, ["grade", "run"], env={"COLUMNS": "200"})
    assert label in " ".join(text.stdout.split())
    as_json = json.loads(CliRunner().invoke(main, ["grade", "run", "--json"]).stdout)
    assert as_json["agent"]["label"] == label
    assert any(label in warning for warning in as_json["profiles"][0]["warnings"])


@pytest.fixture
def two_services(says):
    """A service for each role, and the arguments of a run that asks both, by their own prices."""
    programmer, tester = agents.Agents(says(GOOD), says()), agents.Agents(says(), says(RIGHT_TEST))
    with scripted.scripted_server(programmer) as first, scripted.scripted_server(tester) as second:
        asked = {
            "model": "openai-compatible/writer", "base_url": first.url, "agent": "agentcoder", "out": "run",
            "model_args": {"input_price": 1.0, "output_price": 2.0}, "ids": ("HumanEval/53",),
            "agent_args": {
                "tester_model": "openai-compatible/checker", "tester_base_url": second.url,
                "tester_args": {"input_price": 10.0, "output_price": 20.0},
            },
        }  # fmt: skip
        yield asked, programmer, tester


def test_the_tester_may_have_a_model_of_its_own_with_its_own_price(two_services):
    asked, programmer, tester = two_services
    run = truegrade.run("humaneval", **asked)
    assert (len(programmer.of("programmer")), len(programmer.of("tester"))) == (5, 0)
    assert (len(tester.of("programmer")), len(tester.of("tester"))) == (0, 5)
    by_agent = run.summary["agent"]["by_agent"]
    assert {role: use["model"] for role, use in by_agent.items()} == {
        "programmer": "openai-compatible/writer", "tester": "openai-compatible/checker",
    }  # fmt: skip
    assert by_agent["programmer"]["cost_usd"] == pytest.approx(5 * 50e-6)
    assert by_agent["tester"]["cost_usd"] == pytest.approx(5 * 500e-6)
    (completion,) = run.completions()
    assert completion.cost_usd == pytest.approx(5 * 550e-6)
    assert "tests by openai-compatible/checker" in run.summary["agent"]["label"]
    page = (run.path / "report.html").read_text()
    assert "openai-compatible/writer" in page and "openai-compatible/checker" in page


def test_a_tester_that_is_not_reached_names_the_argument_of_its_address(two_services):
    asked, _, _ = two_services
    asked["agent_args"]["tester_base_url"] = "http://127.0.0.1:1/v1"
    with pytest.raises(ModelError, match="give another `agent_args` tester_base_url"):
        truegrade.run("humaneval", **asked)
    with pytest.raises(ModelError, match="give another `base_url`"):
        truegrade.run("humaneval", **{**asked, "base_url": "http://127.0.0.1:1/v1", "out": "two"})


def test_a_tester_without_an_address_of_its_own_is_asked_where_the_run_s_model_is(says, monkeypatch):
    monkeypatch.setenv("KEY_OF_BOTH", "k")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    both = agents.Agents(says(GOOD), says(RIGHT_TEST))
    with scripted.scripted_server(both) as server:
        truegrade.run(
            "humaneval", model="openai-compatible/writer", base_url=server.url, agent="agentcoder", out="run",
            ids=("HumanEval/53",), model_args={"api_key_env": "KEY_OF_BOTH"},
            agent_args={"tester_model": "openai/checker"},
        )  # fmt: skip
    assert (len(both.of("programmer")), len(both.of("tester"))) == (5, 5)


def test_a_tester_in_this_process_takes_no_address(says):
    programmer = agents.Agents(says(GOOD), says())
    with scripted.scripted_server(programmer) as server:
        run = truegrade.run(
            "humaneval", model="openai-compatible/writer", base_url=server.url, agent="agentcoder", out="run",
            ids=("HumanEval/53",), agent_args={"tester_model": "embedded/truegrade-micro"},
        )  # fmt: skip
    assert run.summary["agent"]["by_agent"]["tester"]["model"] == "embedded/truegrade-micro"


def test_the_tester_s_model_is_part_of_the_run_and_is_resumed(two_services, tmp_path):
    asked, programmer, tester = two_services
    run = truegrade.run("humaneval", **asked)
    assert run.manifest.generation.agent.args["tester_model"] == "openai-compatible/checker"
    run.completions_path.write_bytes(b"")
    log = steps_path(run.path).read_bytes().splitlines(keepends=True)
    steps_path(run.path).write_bytes(b"".join(log[:-3]))  # the last test reply, the round and what was handed in
    programmer.calls.clear()
    tester.calls.clear()
    truegrade.run("humaneval", **asked)
    assert (len(programmer.calls), len(tester.calls)) == (0, 1)
    with pytest.raises(UserError, match="tester_model"):
        truegrade.run(
            "humaneval", **{**asked, "agent_args": {**asked["agent_args"], "tester_model": "openai-compatible/o"}}
        )


def test_without_a_model_of_its_own_the_tester_is_not_in_the_manifest(play, says):
    run, _ = play(says(GOOD), says(RIGHT_TEST))
    assert not [name for name in run.manifest.generation.agent.args if name.startswith("tester")]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"tester_model": "openai-compatible/m", "tester_args": {"api_key_env": "NOT_SET"}}, "NOT_SET"),
        ({"tester_model": "baseline/lookup"}, "cannot answer what an agent asks"),
        ({"tester_base_url": "http://localhost:1"}, "name it with tester_model"),
        ({"tester_model": "openai-compatible/m", "tester_base_url": "http://u:k@localhost:1"}, "holds a key"),
        ({"tester_model": "openai-compatible/m", "tester_base_url": "http://localhost:1?key=k"}, "holds a key"),
        ({"tester_model": "openai-compatible/m", "tester_base_url": "ftp:x"},
         "give `agent_args` tester_base_url as http"),
        ({"tester_model": "embedded/truegrade-micro", "tester_base_url": "http://localhost:1/v1"},
         "leave `agent_args` tester_base_url out"),
        ({"tester_model": 3}, "expected `str | null`"),
    ],
)  # fmt: skip
def test_a_tester_that_cannot_be_asked_is_refused_before_anything_is(
    play, says, monkeypatch, tmp_path, args, said
):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UserError, match=re.escape(said)):
        play(says(GOOD), says(RIGHT_TEST), agent_args=args)
    assert not (tmp_path / "run").exists()
