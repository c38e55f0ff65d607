"""What the agents write is hostile until shown otherwise: it harms nothing, and nothing official reaches them."""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from support import scripted_agents as agents
from truegrade.agents import open_agent
from truegrade.agents.session import CPU_S, NOT_RUN, AgentModel, AgentPrompts, try_candidate
from truegrade.agents.steps import StepLog, read_steps, visible_problem
from truegrade.benchmarks import load_benchmark
from truegrade.models.base import Reply, generate_sample
from truegrade.records import SampleKey
from truegrade.records.config import RequestPolicy, Sampling
from truegrade.sandbox import Limits, Sandbox

GOOD = "def add(x, y):\n    return x + y"
WRONG = "def add(x, y):\n    return x - y"


@pytest.mark.parametrize(
    "test",
    [
        "assert add(2, 3) == 5\nimport sys\nsys.exit(0)",
        "assert add(2, 3) == 5\nimport os\nos._exit(0)",
        "assert add(2, 3) == 5\nraise SystemExit",
        "import os, signal\nassert add(2, 3) == os.kill(os.getppid(), signal.SIGKILL)",
        "assert add(open('/etc/passwd', 'w').write('x'), 3)",
        "assert add(__import__('pathlib').Path('{mark}').write_text('x'), 3)",
    ],
)
def test_hostile_tests_are_failed_tests(play, steps, test, tmp_path):
    mark = tmp_path / "mark"
    hostile = test.replace("{mark}", str(mark))
    for variant in ("published", "repaired"):
        args = {"variant": variant, "rounds": 1, "candidates": 1, "tests": 1}
        run, _ = play(lambda _: agents.fence(GOOD), lambda _: agents.fence(hostile), agent_args=args, out=variant)
        (tried,) = steps(run, "tried")
        (trial,) = tried.candidates[0].trials
        harmless = variant == "repaired" and test.startswith("assert add(2, 3) == 5\n")
        assert trial.passed == harmless, "of a repaired run's tests only the assert is left"
        assert [verdict.passed for verdict in run.verdicts()] == [True]
    assert not mark.exists()


def test_tests_that_always_hold_choose_nothing_and_change_no_verdict(play):
    for out, test in (("a", "assert True"), ("b", "assert add(1, 1) or True")):
        args = {"variant": "repaired", "rounds": 2}
        run, _ = play(
            lambda _: agents.fence(WRONG), lambda _, test=test: agents.fence(test), agent_args=args, out=out
        )
        assert run.summary["agent"]["accepted"] == (out == "b")
        assert [verdict.passed for verdict in run.verdicts()] == [False], "accepted by itself is not right"


@pytest.mark.slow
def test_an_endless_test_ends_and_is_a_failed_one(play, steps, monkeypatch):
    monkeypatch.setattr("truegrade.agents.session.CPU_S", 0.3)
    loop = "while True: pass\nassert add(1, 1) == 2"
    args = {"rounds": 1, "candidates": 1, "tests": 1}
    run, _ = play(lambda _: agents.fence(GOOD), lambda _: agents.fence(loop), agent_args=args)
    assert [trial.status for trial in steps(run, "tried")[0].candidates[0].trials] == ["time_limit"]


class Clock:
    """An executor under which whatever says so uses up its time."""

    def inside(self, source, *, cpu_s):
        assert cpu_s == CPU_S == 3.0
        status = "time_limit" if "endless" in source else "passed"
        return SimpleNamespace(status=status, detail="", cpu_s=cpu_s)


def test_a_program_that_used_up_its_time_often_enough_is_not_run_on_the_other_asserts():
    tests = ["a", "endless 1", "b", "endless 2", "c", "d"]
    statuses = ["passed", "time_limit", "passed", "time_limit", "passed", "passed"]
    whole = try_candidate(0, tests, str, Clock())
    assert [trial.status for trial in whole.trials] == statuses
    bounded = try_candidate(0, tests, str, Clock(), time_limits=2)
    assert [trial.status for trial in bounded.trials] == [*statuses[:4], NOT_RUN, NOT_RUN]
    assert (whole.passed, bounded.passed) == (4, 2)


# ------------------------------------------------------------------------- independence and official tests


@pytest.mark.parametrize("variant", ["published", "repaired"])
def test_the_test_designer_sees_the_task_and_no_program(play, variant):
    _, played = play(
        lambda call: agents.fence(f"{WRONG}  # MARK{call.number}"),
        lambda _: agents.fence("assert add(2, 3) == 5"),
        agent_args={"variant": variant, "rounds": 3},
    )
    assert played.of("tester")
    for call in played.of("tester"):
        assert "MARK" not in call.text
        assert [message["role"] for message in call.messages] == ["system", "user"]
        assert "Add two numbers x and y" in call.text


@pytest.mark.parametrize("variant", ["published", "repaired"])
@pytest.mark.parametrize(("benchmark", "ids"), [("humaneval", ("HumanEval/53", "HumanEval/23")),
                                                ("mbpp", ("MBPP/17", "MBPP/20"))])  # fmt: skip
def test_no_official_test_is_sent_to_anybody(play, data_dir, monkeypatch, benchmark, ids, variant):
    monkeypatch.setenv("TRUEGRADE_DATA", str(data_dir))
    problems = load_benchmark(benchmark, None, {}).by_id()
    _, played = play(
        lambda call: agents.fence("def add(x, y):\n    return None"),
        lambda _: agents.fence("assert add(2, 3) == 5\nassert square_perimeter(3) == 12"),
        benchmark=benchmark, ids=ids, agent_args={"variant": variant, "rounds": 2},
    )  # fmt: skip
    sent = "\n".join(call.text for call in played.calls)
    for name in ids:
        for line in problems[name].task.tests.splitlines():
            if "assert" in line:
                assert line.strip() not in sent


class Recorder:
    """A model that keeps the prompts it gets."""

    name, base_url, request_policy = "recorder/m", None, RequestPolicy()

    def __init__(self):
        self.prompts = []

    async def generate(self, prompt, sampling):
        self.prompts.append(prompt)
        tester = "developer assistant" in prompt.messages[0].content
        code = "assert add(2, 3) == 6" if tester else WRONG
        return Reply(text=f"```python\n{code}\n```", model="m")

    async def close(self):
        pass


@pytest.mark.parametrize("variant", ["published", "repaired"])
@pytest.mark.parametrize("benchmark", ["humaneval", "humanevalplus"])
def test_problems_that_differ_in_their_tests_alone_give_the_same_steps(
    data_dir, monkeypatch, tmp_path, benchmark, variant
):
    monkeypatch.setenv("TRUEGRADE_DATA", str(data_dir))
    problem = load_benchmark(benchmark, None, {}).by_id()["HumanEval/53"]
    if benchmark == "humaneval":
        other_task = msgspec.structs.replace(
            problem.task, tests="def check(f):\n    assert f(2, 3) == 6\ncheck(add)"
        )
    else:
        other_task = msgspec.structs.replace(problem.task, base_inputs=((7, 8),), plus_inputs=())
    other = msgspec.structs.replace(problem, task=other_task)
    agent = open_agent("agentcoder", {"variant": variant, "rounds": 2})
    seen, told = [], []
    with Sandbox(Limits(cpu_s=3.0), workers=1, allow_unsafe=True) as sandbox:
        for number, item in enumerate((problem, other)):
            folder = tmp_path / str(number)
            folder.mkdir()
            model, log = Recorder(), StepLog(folder)
            prompt = AgentPrompts(agent).render_prompt(item, None, {})
            worker = AgentModel(agent, model, sandbox, log, {item.id: visible_problem(item)})
            asyncio.run(generate_sample(worker, SampleKey(item.id, 0), prompt, Sampling()))
            log.close()
            seen.append(model.prompts)
            told.append(_without_times(list(read_steps(folder))))
    assert seen[0] == seen[1]
    assert told[0] == told[1]


def _without_times(steps):
    told = json.loads(msgspec.json.encode(steps))
    for step in told:
        for candidate in step["did"].get("candidates", ()):
            for trial in candidate["trials"]:
                del trial["cpu_s"]
    return told


def test_the_programs_run_in_the_jail_and_nowhere_else(monkeypatch):
    """No module of the agents can run source itself, nor reach the machine that does but through the protocol."""
    import truegrade.agents

    for path in Path(truegrade.agents.__file__).parent.glob("*.py"):
        text = path.read_text()
        for word in ("exec(", "eval(", "compile(", "subprocess", "truegrade.sandbox"):
            assert word not in text, (path.name, word)
