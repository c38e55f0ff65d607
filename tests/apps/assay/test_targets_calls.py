"""Each way to call a grader: what the grader gets, and what its answer means."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from targets_support import (
    RIGHT,
    WRONG,
    add_problem,
    asked,
    fixture_kept_sandboxes,  # noqa: F401
    fixture_write,  # noqa: F401
    jailed,
    problem_of,
    sending,
    service,
    verdicts,
)

from truegrade.apps.assay.targets.calls import CALLS
from truegrade.apps.assay.targets.opening import READ, handed_over, kinds_of, open_target, shape, show_call
from truegrade.records import ContestTask

REPLY = f"```python\n{RIGHT}```"


def taken(call: str, *sent: object, **more: object) -> list[object]:
    """What a function gets, by a callable of ours."""
    got: list[object] = []

    def reward(*args: object, **kwargs: object) -> list[float]:
        got.extend([*args, kwargs])
        return [1.0]

    said = asked(open_target(reward, call=call, **more), *(sent or (sending(RIGHT),)))
    assert [one.passed for one in said] == [True] * len(said)
    return got


def test_trl_gets_batches_of_one_by_name():
    (kwargs,) = taken("trl", fields={"difficulty": "easy"})
    tests = ["assert add(1, 2) == 3", "assert add(0, -4) == -4"]
    assert kwargs["prompts"] == [[{"role": "user", "content": "Add two numbers."}]]
    assert kwargs["completions"] == [[{"role": "assistant", "content": REPLY}]]
    assert kwargs["tests"] == kwargs["test_list"] == [tests]
    assert kwargs["answer"] == kwargs["ground_truth"] == ["\n".join(tests)]
    assert kwargs["verification_info"] == [{"language": "python", "test_cases": tests}]
    assert kwargs["difficulty"] == ["easy"]
    (kwargs,) = taken("trl-text")
    assert (kwargs["prompts"], kwargs["completions"]) == (["Add two numbers."], [REPLY])


TRL = """
def reward(prompts, completions, completion_ids, trainer_state, log_extra, log_metric, answer, **columns):
    \"""As a function of TRL's is written: all of what it hands over by name, whatever else there is.\"""
    assert len(prompts) == len(completions) == len(completion_ids) == len(answer) == 1
    assert all(isinstance(token, int) for token in completion_ids[0])
    assert trainer_state.global_step < trainer_state.max_steps and trainer_state.log_history == []
    log_extra("answer", answer)
    log_metric("length", float(len(completion_ids[0])))
    space = {}
    try:
        exec(completions[0][0]["content"].removeprefix("```python").rstrip("`") + answer[0], space)
    except AssertionError:
        return [0.0]
    return [1.0]
"""


@jailed
def test_a_function_that_takes_what_trl_hands_over_runs_in_the_jail_and_outside(write):
    file = write(TRL)
    for jail in (True, False):
        target = open_target(f"{file}:reward", call="trl", jail=jail)
        assert verdicts(asked(target, sending(RIGHT), sending(WRONG))) == [True, False]


def test_trl_text_columns_hold_other_shapes_as_json():
    (kwargs,) = taken("trl", tests_as="taco")
    assert json.loads(kwargs["answer"][0]) == kwargs["tests"][0]
    (kwargs,) = taken("trl", tests_as="check")
    assert kwargs["answer"] == kwargs["tests"]


def test_a_rubric_of_verifiers_gets_a_rollout_by_name():
    async def reward(completion, answer, state, info, **columns):
        right = completion[-1]["content"] == REPLY and state["answer"] == answer == "\n".join(info["tests"])
        return float(right and columns["tests"] == info["tests"] and columns["task_id"] == add_problem().id)

    assert verdicts(asked(open_target(reward, call="verifiers"), sending(RIGHT), sending(WRONG))) == [True, False]


def test_verl_gets_batches_of_one_by_name():
    (kwargs,) = taken("verl-batch", fields={"data_source": "code", "limit_s": 5})
    assert (kwargs["data_sources"], kwargs["solution_strs"], kwargs["limit_s"]) == (["code"], [REPLY], 5)
    assert [json.loads(one)["fn_name"] for one in kwargs["ground_truths"]] == ["add"]
    asked = [open_target(print, call="verl-batch", fields={"limit_s": 5})._asker.question(sending(RIGHT))] * 2
    batch = CALLS["verl-batch"].payload_of_batch(asked)["kwargs"]
    assert {name: one if name == "limit_s" else len(one) for name, one in batch.items()} == {
        "data_sources": 2, "solution_strs": 2, "ground_truths": 2, "extra_infos": 2, "limit_s": 5,
    }  # fmt: skip


def handed(call, kind):
    """Name to shape."""
    target = open_target(print, call="plain", tests_as=call.tests_as)
    problem = echo_problem() if call.name == "sandboxfusion" else add_problem()
    asked_so = target._asker.question(sending(RIGHT, problem=problem))
    return {name: said for name, _, said in handed_over(call, asked_so, kind)}


def contract(call, kind):
    """A row of the table in the docs, for a problem with two tests."""
    got, like, read = handed(call, kind), "", READ.get(call.name, "a verdict")
    if call.name == "trl-text":
        of = handed(CALLS["trl"], kind)
        got = {name: said for name, said in got.items() if of.pop(name) != said}
        like, read = "as `trl`, but ", "as `trl`" if read == READ["trl"] and not of else ""
    shapes: dict[str, list[str]] = {}
    for name, said in got.items():
        shapes.setdefault(said, []).append(f"`{name}`")
    row = "; ".join(f"{', '.join(names)}: {said}" for said, names in shapes.items())
    return f"| `{call.name}` | {kind} | {like}{row} | {read} |"


def test_the_contracts_in_the_docs_are_those_of_the_calls():
    page = (Path(__file__).parents[3] / "docs/assay.md").read_text().splitlines()
    expected = [contract(call, kind) for call in CALLS.values() for kind in kinds_of(call)]
    assert [row for row in expected if row not in page] == []
    assert sum(row.startswith("| `") and " | function | " in row for row in page) == sum(
        "function" in kinds_of(call) for call in CALLS.values()
    )


@pytest.mark.parametrize("call", CALLS)
def test_what_is_shown_is_what_a_grader_gets(call):
    shown = "\n".join(show_call(echo_problem() if call == "sandboxfusion" else add_problem(), call=call))
    assert shown.startswith(f"`call` {call}, ")
    if CALLS[call].arguments:
        got = taken(call)
        for name, value in (got[-1] | {f"argument {n}": each for n, each in enumerate(got[:-1], 1)}).items():
            if name not in CALLS[call].of_trainer:
                assert re.search(rf"^([\w ]+, )*{name}(, [\w ]+)*: {shape(value)}$", shown, re.MULTILINE)


def test_verl_gets_a_text_of_tests():
    (kwargs,) = taken("verl", fields={"data_source": "taco"})
    tests = {"inputs": ["1\n2", "0\n-4"], "outputs": ["3", "-4"], "fn_name": "add"}
    assert kwargs == {
        "data_source": "taco",
        "solution_str": REPLY,
        "ground_truth": json.dumps(tests),
        "extra_info": {"task_id": "add/0", "data_source": "own"},
    }


def test_rllm_gets_the_task_and_the_reply():
    task_info, action, _ = taken("rllm", fields={"data_source": "livecodebench"})
    case = {"input": "1\n2", "output": "3", "testtype": "functional", "metadata": {"func_name": "add"}}
    assert action == REPLY
    assert task_info["ground_truth"][0] == case
    assert task_info["data_source"] == "livecodebench"


def test_openrlhf_gets_lists():
    queries, prompts, labels, _ = taken("openrlhf")
    assert (queries, prompts) == ([f"Add two numbers.\n{REPLY}"], ["Add two numbers."])
    assert labels == [["assert add(1, 2) == 3", "assert add(0, -4) == -4"]]


def test_a_reply_is_sent_as_it_is():
    text = f"Two fences.\n```python\n{WRONG}```\n```python\n{RIGHT}```"
    assert taken("verl", sending(text, form="reply"))[0]["solution_str"] == text
    assert taken("plain", sending(text, form="reply"))[0] == text


def test_a_function_gets_the_arguments_that_it_takes():
    def reward(completions: list[object], answer: list[object]) -> dict[str, object]:
        return {"rewards": [float(len(completions)) * len(answer)]}

    assert asked(open_target(reward, call="trl"), sending(RIGHT))[0].score == 1.0


@jailed
def test_an_adapter_makes_the_arguments(write):
    file = write("""
        def named(problem, reply):
            return {"tests": problem["task"]["tests"], "program": reply.removeprefix("```python").strip("`")}
        def placed(problem, reply):
            return (reply.removeprefix("```python").strip("`"), problem["task"]["tests"])
        def both(problem, reply):
            return (reply.removeprefix("```python").strip("`"),), {"tests": problem["task"]["tests"]}
        def reward(program, tests):
            try:
                exec(program + tests, {})
            except AssertionError:
                return False
            return True
    """)
    for adapter in ("named", "placed", "both"):
        target = open_target(f"{file}:reward", call=f"{file}:{adapter}")
        assert verdicts(asked(target, sending(RIGHT), sending(WRONG))) == [True, False]


# --------------------------------------------------------------------------------------------------- HTTP


def test_open_instruct_over_http():
    answers = iter([[1, 1], [1, 0], [], "no"])

    def answer(body):
        return 200, json.dumps({"results": next(answers), "runtimes": []})

    with service(answer) as (address, got):
        said = asked(open_target(address, call="open-instruct"), *[sending(RIGHT)] * 4)
    assert [(one.passed, one.score) for one in said] == [(True, 1.0), (False, 0.5), (None, None), (None, None)]
    assert got[0]["tests"] == ["assert add(1, 2) == 3", "assert add(0, -4) == -4"]
    assert (got[0]["program"], got[0]["max_execution_time"]) == (RIGHT, 6.0)


def echo_problem():
    """Print the line that is read."""
    tests = json.dumps([{"input": word, "output": word, "testtype": "stdin"} for word in ("a", "b")])
    return problem_of(ContestTask(title="", question="", public_tests=tests, private_tests="[]"), "echo")


def test_sandboxfusion_asks_a_case_at_a_time_and_compares_here():
    def answer(body):
        out = {"right": body["stdin"] + "\n", "wrong": "a "}.get(body["code"], "")
        run = {"status": "Finished", "return_code": 0, "stdout": out}
        status = "SandboxError" if body["code"] == "broken" else "Success"
        return 200, json.dumps({"status": status, "message": "full", "run_result": run})

    with service(answer) as (address, got):
        sent = [sending(code, problem=echo_problem()) for code in ("right", "wrong", "broken")]
        said = asked(open_target(address, call="sandboxfusion"), *sent)
    assert [(one.passed, one.score) for one in said] == [(True, 1.0), (False, 0.0), (None, None)]
    assert said[2].detail == "grader_died: SandboxError: full"
    assert [body["stdin"] for body in got[:2]] == ["a", "b"]


@contextmanager
def our_service() -> Iterator[str]:
    """`truegrade serve`, in a process of its own."""
    words = [sys.executable, "-m", "truegrade", "serve", "--port", "0", "--json", "--workers", "1", "--no-token"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout is not None
        lines = []
        for line in iter(process.stdout.readline, ""):
            lines.append(line)
            if line.startswith("}"):
                break
        yield json.loads("".join(lines))["address"]
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


@pytest.mark.slow
def test_our_own_service_under_two_protocols():
    pytest.importorskip("prometheus_client", reason="the extra [serve] is not installed")
    echo, cat = echo_problem(), "print(input())"
    with our_service() as address:
        own = asked(open_target(address, call="truegrade"), sending(RIGHT), sending(WRONG))
        fusion = open_target(f"{address}/run_code", call="sandboxfusion")
        by_case = asked(fusion, sending(cat, problem=echo), sending("print(1)", problem=echo))
        function = open_target(f"{address}/run_code", call="sandboxfusion", tests_as="asserts")
        by_asserts = asked(function, sending(RIGHT), sending(WRONG))
    assert verdicts(own) == verdicts(by_case) == verdicts(by_asserts) == [True, False]


def test_a_problem_without_tests_of_that_shape_is_not_sent():
    got = []
    target = open_target(lambda program, tests: got.append(program), tests_as="stdio")
    said = asked(target, sending(RIGHT))
    assert got == []
    assert said[0].passed is None
    assert said[0].detail.startswith("tests_form: add/0: it asks for a function")
    problem = msgspec.structs.replace(add_problem(), id="other")
    assert asked(target, sending(RIGHT, problem=problem))[0].probe != said[0].probe
