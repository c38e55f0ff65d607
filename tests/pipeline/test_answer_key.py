"""Nobody who answers can get at a problem's reference or tests: neither a model, nor the cache, nor an agent.

Everything that can be reached from what they are handed is searched, not only what they look at.
"""

import asyncio
import gc
import json
import sys
from types import FunctionType, ModuleType

import pytest

import truegrade
from truegrade.agents.agentcoder import AgentCoder
from truegrade.agents.session import AgentModel, AgentPrompts
from truegrade.agents.steps import VisibleProblem, prompt_tests, visible_problem
from truegrade.errors import UserError
from truegrade.models import open_model
from truegrade.models.base import Reply
from truegrade.models.replay import CachedModel
from truegrade.records import (
    Case,
    CasesTask,
    ChoiceTask,
    ContestTask,
    FunctionTask,
    InputTask,
    OracleTask,
    OutputTask,
    Problem,
)
from truegrade.records.config import RequestPolicy, Sampling

KEY = "ANSWER-KEY"
"""Stands in the reference and in every test, and in nothing that may be shown."""
ROW = {
    "task_id": "HumanEval/53",
    "prompt": 'def add(x: int, y: int):\n    """Add two numbers x and y"""\n',
    "entry_point": "add",
    "canonical_solution": f"    return x + y  # {KEY}\n",
    "test": f"def check(candidate):\n    assert candidate(0, 1) == 1  # {KEY}\n",
}
WRONG = "```python\ndef add(x, y):\n    return x - y\nassert add(2, 3) == 5\n```"


def reachable(*roots):
    """Every object behind these, but for modules, their names and classes, which hold no problem of a run."""
    modules = {id(vars(module)) for module in list(sys.modules.values())}
    found, waiting = {}, list(roots)
    while waiting:
        item = waiting.pop()
        if id(item) in found or id(item) in modules or isinstance(item, ModuleType | type):
            continue
        found[id(item)] = item
        if isinstance(item, FunctionType):
            waiting += [item.__closure__, item.__defaults__, item.__kwdefaults__]
        else:
            waiting += gc.get_referents(item)
    return found.values()


def holds_key(*roots):
    return any(
        KEY.encode() in item if isinstance(item, bytes) else KEY in item
        for item in reachable(*roots)
        if isinstance(item, str | bytes)
    )


class Recorder:
    """A model at an address, so that it may be cached, which is never reached."""

    name, base_url, request_policy = "recorder/m", "http://localhost:1/v1", RequestPolicy(max_connections=1)

    def __init__(self):
        self.prompts, self.given = [], []

    async def generate(self, prompt, sampling):
        self.prompts.append(prompt)
        self.given.append(holds_key(self, prompt, sampling))
        return Reply(text=WRONG, model="m")

    async def close(self):
        pass


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("TRUEGRADE_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "HumanEval.jsonl"
    file.write_text(json.dumps(ROW) + "\n")
    return file


def ask(data, model, **options):
    task_args = {"allow_modified": "true"}
    return truegrade.generate(
        "humaneval", model=model, data=data, task_args=task_args, out=data.parent / "run", **options
    )


@pytest.fixture
def handed(monkeypatch):
    """By method, whether what it was handed, itself included, led to the key; one entry a call."""
    told = {}

    def watch(owner, name):
        before = getattr(owner, name)

        async def spied(*args):
            told.setdefault(f"{owner.__name__}.{name}", []).append(holds_key(*args))
            return await before(*args)

        monkeypatch.setattr(owner, name, spied)

    watch(CachedModel, "generate_sample")
    watch(AgentModel, "generate_sample")
    watch(AgentCoder, "answer")
    return told


def test_the_key_is_found_where_it_is(data):
    problem = Problem(id="a", benchmark="b", dataset_sha256="", cluster="a", task=TASKS["function"])
    assert holds_key(open_model("baseline/reference", problems={"a": problem}))
    assert not holds_key(open_model("baseline/lookup", problems={"a": problem}))
    assert not holds_key(open_model("ollama/m", problems={"a": problem}))
    made = ask(data, "baseline/reference")
    assert [completion.text.count(KEY) for completion in made.completions()] == [1]


@pytest.mark.parametrize("cache", [False, True])
def test_no_model_and_no_cache_gets_the_key(data, handed, cache):
    model = Recorder()
    made = ask(data, model, n=2, sampling=Sampling(temperature=1.0, seed=1), cache=cache)
    assert [completion.text for completion in made.completions()] == [WRONG, WRONG]
    assert model.given == [False, False]
    assert handed == ({"CachedModel.generate_sample": [False, False]} if cache else {})


@pytest.mark.parametrize("variant", ["published", "repaired"])
def test_no_agent_gets_the_key(data, handed, variant):
    model = Recorder()
    ask(data, model, agent="agentcoder", agent_args={"variant": variant, "rounds": 2, "candidates": 1, "tests": 1})
    assert len(model.given) > 2 and not any(model.given)
    assert handed == {"AgentModel.generate_sample": [False], "AgentCoder.answer": [False]}


COMMON = {"entry_point": "f", "reference": KEY}
TASKS = {
    "function": FunctionTask(
        prompt="do it", prefix="import a", tests=KEY, setup=KEY, shown_tests=(KEY,), buggy=KEY, **COMMON
    ),
    "oracle": OracleTask(
        prompt="do it",
        prefix="import a",
        base_inputs=((KEY,),),
        plus_inputs=((KEY,),),
        shown_tests=(KEY,),
        **COMMON,
    ),
    "cases": CasesTask(buggy=KEY, cases=(Case(arguments=(KEY,), expected=KEY),), **COMMON),
    "contest": ContestTask(title="t", question="do it", public_tests=KEY, private_tests=KEY),
    "output_prediction": OutputTask(program=KEY, function="f", arguments=KEY, expected=KEY),
    "execution_choice": ChoiceTask(
        programs=(KEY, KEY), function="f", arguments=KEY, expected=(KEY, KEY), original="A", item="i", case=0
    ),
    "input_prediction": InputTask(program=KEY, function="f", expected=KEY, reference_arguments=KEY),
}


@pytest.mark.parametrize("kind", TASKS)
def test_an_agent_sees_the_question_of_a_problem_and_no_more(kind):
    problem = Problem(id="a/1", benchmark="b", dataset_sha256="", cluster="a/1", task=TASKS[kind], tags={"k": KEY})
    visible = visible_problem(problem)
    assert not holds_key(visible)
    assert (visible.id, visible.benchmark, visible.kind) == ("a/1", "b", kind)
    assert visible.text == ("do it" if kind in ("function", "oracle", "contest") else "")
    assert (visible.entry_point, visible.prefix) == (
        ("f", "import a") if kind in ("function", "oracle") else ("", "")
    )


def test_the_tests_that_a_prompt_may_show_are_given_for_the_first_prompt_alone():
    class Showing:
        scores_shots = ()

        def render_prompt(self, problem, shown_tests):
            self.seen = (problem, shown_tests)

    task = FunctionTask(prompt="p", tests=KEY, shown_tests=("assert f(1)",), **COMMON)
    problem = Problem(id="a", benchmark="b", dataset_sha256="", cluster="a", task=task)
    agent = Showing()
    AgentPrompts(agent).render_prompt(problem, None, {"a": problem})
    expected = VisibleProblem(id="a", benchmark="b", kind="function", text="p", entry_point="f")
    assert agent.seen == (expected, prompt_tests(problem)) == (expected, ("assert f(1)",))


def test_an_agent_refuses_a_question_that_is_no_sample():
    worker = AgentModel(None, Recorder(), None, None, {})
    with pytest.raises(UserError, match="answers the samples of a run"):
        asyncio.run(worker.generate(None, Sampling()))
