"""A killed run goes on where it was; failures and empty replies end, are counted, and are asked again."""

import hashlib
import json
import signal
import subprocess
import sys
import time
from collections import Counter

import msgspec
import pytest
from click.testing import CliRunner

import truegrade
from support import scripted_agents as agents
from support import scripted_server as scripted
from support.thorough import thorough
from truegrade.agents.steps import Step, read_steps, steps_path
from truegrade.cli import main
from truegrade.errors import BadRecord, UserError
from truegrade.records import sha256_json
from truegrade.records.config import GenerationConfig, RequestPolicy, Sampling

GOOD = "def add(x, y):\n    return x + y"
WRONG = "def add(x, y):\n    return x - y"
TESTS = "assert add(2, 3) == 5\nassert add(0, 0) == 0"
REPAIRED = {"variant": "repaired"}


def by_seed(*codes):
    """A reply that depends on the call's seed alone, so that an interrupted run and a whole one agree."""
    return lambda call: codes[hashlib.sha256(str(call.seed).encode()).digest()[0] % len(codes)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "n", "moments"), [("published", 1, 2), thorough(("published", 2, 3)), thorough(("repaired", 2, 3))]
)
def test_kill_9_at_any_step_then_the_same_command_asks_only_for_what_is_missing(
    serving, variant, n, moments, tmp_path
):
    def slowly(say):
        return lambda call: scripted.Answer(scripted.chat(agents.fence(say(call))), delay_s=0.02)

    programs, tests = by_seed(WRONG, WRONG, WRONG, GOOD), by_seed(TESTS, "assert add(2, 3) == 6", TESTS)

    def command(url, out):
        return [
            *("run", "humaneval"),
            *("--id", "HumanEval/53", "--id", "HumanEval/23"),
            *("--model", "openai-compatible/m", "--base-url", url, "--agent", "agentcoder"),
            *("-A", f"variant={variant}", "-A", "rounds=3", "-A", "candidates=2", "-A", "tests=2"),
            *("--seed", "3", "-n", str(n), "--max-connections", "2"),
            *("--out", out, "--json"),
        ]

    with serving(slowly(programs), slowly(tests)) as (server, played):
        assert CliRunner().invoke(main, command(server.url, "whole")).exit_code == 0
        needed = _asked(played)
        played.calls.clear()
        kills = 0
        for wanted in (len(needed) // 2, len(needed) - 2, 1)[:moments]:
            process = subprocess.Popen(
                [sys.executable, "-m", "truegrade", *command(server.url, "killed")], stdout=subprocess.DEVNULL
            )
            deadline = time.monotonic() + 300
            while process.poll() is None and len(played.calls) < wanted:
                assert time.monotonic() < deadline
                time.sleep(0.002)
            kills += process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert CliRunner().invoke(main, command(server.url, "killed")).exit_code == 0
    asked = _asked(played)
    assert kills == moments
    assert set(asked) == set(needed)
    assert asked.total() - needed.total() <= 2 * kills, "at most the requests under way are asked again"
    whole, killed = truegrade.load("whole"), truegrade.load("killed")
    for read in (_answers, _verdicts, _accounts):
        assert read(killed) == read(whole)


def _asked(played):
    return Counter((call.seed, call.text) for call in played.calls)


def _answers(run):
    return {c.key: (c.text, c.usage, len(c.attempts)) for c in run.completions()}


def _verdicts(run):
    return {v.key: v.passed for v in run.verdicts()}


def _accounts(run):
    agent = json.loads(json.dumps(run.summary["agent"]))
    del agent["trial_cpu_s"]
    for use in agent["by_agent"].values():
        del use["latency_s"]
    return agent


@pytest.fixture
def repaired_twice(serving):
    """Make a run, let ``meanwhile(run)`` change its files, run again at the same address."""

    def run_twice(meanwhile):
        notices = []
        with serving(lambda _: agents.fence(GOOD), lambda _: agents.fence(TESTS)) as (server, played):
            options = {"model": "openai-compatible/m", "base_url": server.url, "ids": ("HumanEval/53",),
                       "agent": "agentcoder", "agent_args": REPAIRED, "out": "run"}  # fmt: skip
            meanwhile(truegrade.run("humaneval", **options))
            played.calls.clear()
            return truegrade.run("humaneval", notice=notices.append, **options), played, notices

    return run_twice


def test_a_step_torn_by_the_kill_is_dropped_with_a_notice_and_asked_again(repaired_twice):
    def tear(run):
        first, second, *_ = steps_path(run.path).read_bytes().splitlines(keepends=True)
        steps_path(run.path).write_bytes(first + second[: len(second) // 2])
        run.completions_path.write_bytes(b"")

    again, played, notices = repaired_twice(tear)
    assert [call.role for call in played.calls] == ["tester"]
    assert any("steps.jsonl" in notice and "torn" in notice for notice in notices)
    assert [c.usage.input_tokens for c in again.completions()] == [20]
    assert [len(c.attempts) for c in again.completions()] == [2]


def test_killed_between_the_last_step_and_the_answer_nothing_is_asked_and_all_is_accounted(repaired_twice):
    again, played, _ = repaired_twice(lambda run: run.completions_path.write_bytes(b""))
    assert played.calls == []
    assert [len(c.attempts) for c in again.completions()] == [2]
    assert len(list(read_steps(again.path))) == 4, "the answer is not settled twice"


def test_steps_of_other_words_are_not_mixed_in(repaired_twice):
    def reword(run):
        first, *rest = list(read_steps(run.path))
        changed = msgspec.structs.replace(first, did=msgspec.structs.replace(first.did, prompt_sha256="0" * 64))
        steps_path(run.path).write_bytes(b"".join(msgspec.json.encode(step) + b"\n" for step in [changed, *rest]))
        run.completions_path.write_bytes(b"")

    with pytest.raises(BadRecord, match="other words than this version uses"):
        repaired_twice(reword)


def test_server_errors_end_after_bounded_tries_are_counted_once_and_asked_again(serving):
    broken = True

    def programmer(_):
        return scripted.error(500, "broken") if broken else agents.fence(GOOD)

    with serving(programmer, lambda _: agents.fence(TESTS)) as (server, played):
        options = {
            "model": "openai-compatible/m", "base_url": server.url, "ids": ("HumanEval/53",), "out": "run",
            "agent": "agentcoder", "agent_args": {"candidates": 2},
            "request_policy": RequestPolicy(max_attempts=3, backoff_s=0.01, backoff_max_s=0.01, max_connections=1),
        }  # fmt: skip
        notices = []
        run = truegrade.generate("humaneval", notice=notices.append, **options)
        assert (len(played.of("programmer")), len(played.of("tester"))) == (6, 0)
        assert not run.answered()
        assert "1 sample has no reply" in notices[-1]
        broken = False
        run = truegrade.run("humaneval", **options)
        assert (len(played.of("programmer")), len(played.of("tester"))) == (8, 5)
    usage = run.summary["usage"]
    assert (usage["attempts"], usage["failed_attempts"]) == (13, 6), "each request once"
    programmer_use = run.summary["agent"]["by_agent"]["programmer"]
    assert (programmer_use["calls"], programmer_use["unanswered"], programmer_use["failed_attempts"]) == (4, 2, 6)
    assert run.summary["missing"] == 0


def test_a_designer_that_fails_costs_its_tests_and_no_answer(play, steps):
    run, played = play(lambda _: agents.fence(GOOD), lambda _: scripted.error(500, "broken"),
                       agent_args={"rounds": 2, "candidates": 1, "tests": 2})  # fmt: skip
    assert len(played.of("tester")) == 2 * 2 * 2, "rounds x replies x attempts"
    (settled,) = steps(run, "settled")
    assert not settled.accepted
    assert run.summary["agent"]["by_agent"]["tester"]["unanswered"] == 4
    assert [verdict.passed for verdict in run.verdicts()] == [True]


def test_empty_replies_end_after_bounded_tries_and_are_counted(play):
    run, played = play(lambda _: "", lambda _: "", agent_args={"rounds": 2, "candidates": 2, "tests": 1},
                       request_policy=RequestPolicy(max_attempts=3, backoff_s=0.01,
                                                    max_connections=1))  # fmt: skip
    attempts = run.summary["usage"]["attempts"]
    assert attempts == len(played.calls) <= 2 * (2 + 1) * 3
    assert run.summary["usage"]["empty_attempts"] == attempts
    assert run.summary["agent"]["without_tests"] == 1
    assert run.summary["profiles"][0]["reasons"] == {"no_answer": 1}


def test_a_cost_limit_holds_inside_a_sample_and_a_higher_one_goes_on(serving):
    prices = {"input_price": 10_000, "output_price": 20_000}  # dollars per million: $0.5 a reply of 10 + 20 tokens
    with serving(lambda _: agents.fence(GOOD), lambda _: agents.fence(TESTS)) as (server, played):
        options = {"model": "openai-compatible/m", "base_url": server.url, "ids": ("HumanEval/53",), "out": "run",
                   "agent": "agentcoder", "model_args": prices}  # fmt: skip
        truegrade.generate(
            "humaneval", request_policy=RequestPolicy(max_cost_usd=1.2, max_connections=1), **options
        )
        assert len(played.calls) == 3
        truegrade.generate(
            "humaneval", request_policy=RequestPolicy(max_cost_usd=1.2, max_connections=1), **options
        )
        assert len(played.calls) == 3
        run = truegrade.run(
            "humaneval", request_policy=RequestPolicy(max_cost_usd=9.0, max_connections=1), **options
        )
        assert len(played.calls) == 10
    assert run.summary["usage"]["cost_usd"] == pytest.approx(5.0)
    assert run.summary["usage"]["attempts"] == 10


# ---------------------------------------------------------------------------------- names and identities


def test_a_run_of_another_agent_variant_or_none_is_another_run(play):
    says = [lambda _: agents.fence(GOOD), lambda _: agents.fence(TESTS)]
    run, _ = play(*says, agent_args=REPAIRED)
    with pytest.raises(UserError, match=r"generation\.agent\.args\.variant \(repaired there, published asked\)"):
        play(*says, agent_args={})
    with pytest.raises(UserError, match=r"generation\.agent"):
        truegrade.run("humaneval", model="openai-compatible/m", base_url="http://127.0.0.1:9/v1", out="run")
    assert run.manifest.generation.agent.name == "agentcoder"
    assert run.manifest.generation.agent.args["rounds"] == 5
    assert run.manifest.generation.prompt_rule == "agentcoder@dddd1b9.1/repaired"


def test_runs_without_an_agent_keep_the_identity_they_had():
    config = GenerationConfig(model="a/b", prompt_rule="strict@1/default", sampling=Sampling(temperature=0.2))
    before = {"model": "a/b", "base_url": None, "prompt_rule": "strict@1/default", "model_args": {}, "sampling": {
        "temperature": 0.2, "top_p": None, "max_tokens": None, "seed": None, "stop": [], "reasoning_effort": None,
    }}  # fmt: skip
    assert config.sha256 == sha256_json(before)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--agent", "agentcode"), "no agent 'agentcode'; did you mean agentcoder?"),
        (("--agent", "agentcoder", "-A", "round=3"), "no agentcoder argument 'round'; did you mean rounds?"),
        (("--agent", "agentcoder", "-A", "variant=repair"), "did you mean repaired?"),
        (("--agent", "agentcoder", "-A", "variant=7"), "no agentcoder variant '7'"),
        (("--agent", "agentcoder", "-A", "variant=[]"), "no agentcoder variant '[]'"),
        (("--agent", "agentcoder", "-A", "rounds=0"), "-A rounds=0: expected `int` >= 1"),
        (("--agent", "agentcoder", "-A", "accept=2"), "-A accept=2: expected `float` <= 1"),
        (("--agent", "agentcoder", "-A", "shown_tests=1"), "humaneval shows no tests"),
        (("--agent", "agentcoder", "-T", "prompt=base"), "agent 'agentcoder' writes its own prompts"),
        (("--agent", "agentcoder", "--model", "replay:x"), "leave --agent agentcoder out"),
        (("-A", "rounds=1"), "there is no agent to take it"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(arguments, sentence):
    done = CliRunner().invoke(main, ["run", "humaneval", *arguments])
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_a_key_the_default_model_runs_too_with_and_without_grading():
    for out, more in (("run", ()), ("asked", ("--no-grade",))):
        arguments = ["run", "humaneval", "--limit", "3-4", "--agent", "agentcoder", "--out", out, "--json", *more]
        done = CliRunner().invoke(main, [*arguments, "-A", "rounds=2"])
        assert done.exit_code == 0, done.stderr
    graded = json.loads(CliRunner().invoke(main, ["grade", "asked", "--json"]).stdout)
    ran = truegrade.load("run").summary
    assert graded["agent"]["settled"] == ran["agent"]["settled"] == 2
    assert graded["profiles"][0]["tasks"] == ran["profiles"][0]["tasks"]


def test_agents_are_listed_with_their_arguments():
    every = json.loads(CliRunner().invoke(main, ["list", "agents", "--json"]).stdout)
    listed = next(agent for agent in every if agent["name"] == "agentcoder")
    assert listed["name"] == "agentcoder"
    assert set(listed["args"]) == set(listed["defaults"]["published"]) == set(listed["defaults"]["repaired"])
    wide = {"COLUMNS": "200"}
    text = " ".join(CliRunner().invoke(main, ["list", "agents", "agentcoder"], env=wide).stdout.split())
    assert all(name in text for name in listed["args"])
    assert all(rule["text"] in text for rule in listed["rules"])
    lines = CliRunner().invoke(main, ["list", "agents"], env=wide).stdout.splitlines()
    assert all(any(agent["name"] in line and agent["summary"] in line for line in lines) for agent in every)
    assert len(lines) <= len(every) + 6


def test_every_line_of_steps_fits_its_schema(play):
    import jsonschema

    from truegrade.cli.schemas import json_schema

    run, _ = play(lambda _: agents.fence(GOOD), lambda _: agents.fence(TESTS))
    validator = jsonschema.Draft202012Validator(json_schema("step"))
    lines = steps_path(run.path).read_bytes().splitlines()
    assert len(lines) == 12
    for line in lines:
        validator.validate(json.loads(line))
        assert msgspec.json.decode(line, type=Step).sample == 0
