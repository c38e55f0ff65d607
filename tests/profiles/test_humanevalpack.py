"""HumanEvalPack: the benchmarks, the harness' rules, and parity with its code."""

import json
import os
from pathlib import Path

import pytest
from peer_process import ask
from profile_rows import completion, extracted, passed

import truegrade
from support.scripted_server import Answer, chat, scripted_server
from support.stand_in_data import DOC, HELPER, HUMANEVALPACK, write_stand_in
from truegrade.agents import open_agent
from truegrade.agents.explain import kept_description
from truegrade.agents.steps import visible_problem
from truegrade.benchmarks import load_benchmark
from truegrade.benchmarks.humaneval import HumanEvalPackRow
from truegrade.errors import UnknownName, UserError
from truegrade.profiles import open_profile
from truegrade.profiles.bigcode import STOP, first_function

PACK, STRICT = open_profile("humanevalpack"), open_profile("strict")
AGENT = open_agent("explain", {"style": "text"})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_stand_in("humanevalfix", tmp_path)


def problems(data: Path, name: str, **args: str):
    return load_benchmark(name, data, {"allow_modified": "true", **args}).problems


@pytest.mark.parametrize("show", ["docs", "tests"])
def test_bugs_fail_and_repairs_pass(data, show):
    for problem in problems(data, "humanevalfix", show=show):
        task = problem.task
        assert problem.tags == {"bug_type": "value misuse", "failure_symptoms": "incorrect output"}
        assert ('"""' in task.buggy) == (show == "docs")
        for profile in (STRICT, PACK):
            programs = [(problem, code) for code in (task.reference, task.buggy)]
            assert passed(profile, programs, "program") == [True, False], profile.name


def test_cheats_fail_under_strict(data):
    equal = "class E:\n    def __eq__(self, other):\n        return True\n\n\ndef four(n):\n    return E()\n"
    cheats = [equal, "import os\nos._exit(0)\n", "import sys\nsys.exit(0)\n", "def four(n):\n    check = None\n"]
    for name in ("humanevalfix", "humanevalsynthesize"):
        for problem in problems(data, name):
            assert not any(passed(STRICT, [(problem, f"```python\n{cheat}\n```") for cheat in cheats])), name


def test_prompts(data):
    first, second = problems(data, "humanevalfix", show="tests")
    said = PACK.render_prompt(first).messages[0].content
    assert said == (
        "def four(n: int) -> int:\n    return 3 * n\n\n\n\ndef check(four):\n    assert four(1) == 4\n"
        "    assert four(2) == 8\n\ncheck(four)\n\nFix bugs in four.\n\ndef four(n: int) -> int:"
    )
    asked = problems(data, "humanevalsynthesize")[1]
    assert PACK.render_prompt(asked, "continue").messages[0].content == (second.task.prompt + DOC).strip()
    assert PACK.render_prompt(asked).messages[0].content.startswith("Write a Python function `four(n: int)")
    ours = STRICT.render_prompt(asked).messages[-1].content
    assert HELPER.strip() in ours and "Write the Python function `four` that does this." in ours
    with pytest.raises(UserError, match="continue"):
        PACK.render_prompt(first, "continue")


def test_only_the_first_function_is_read(data):
    asked = problems(data, "humanevalsynthesize")[0]
    assert first_function("\n    return 4 * n\n\nx = 1\n    y\n") == "\n    return 4 * n\n"
    assert extracted(PACK, asked, "\n    return 4 * n\n#end", "completion").endswith('"""\n    return 4 * n')
    assert passed(PACK, [(asked, "\n    return 4 * n\nprint(1)\n")]) == [True]
    assert passed(PACK, [(asked, "Here it is:\n    return 4 * n\n")]) == [False]  # prose is no indented line


def test_a_function_is_explained_and_written_again(data):
    asked = problems(data, "humanevalexplain")[1]
    first = AGENT.render_prompt(visible_problem(asked), ()).messages[0].content
    assert first.startswith(f"{HELPER}def four(n: int) -> int:\n    return twice(twice(n))\n\nProvide a concise")
    assert first.endswith(" natural language description of the code using at most 27 characters.")
    assert PACK.render_prompt(asked).messages[0].content == first
    right, wrong = "\n    return 4 * n\n", "\n    return n\n"
    assert passed(PACK, [(asked, right), (asked, wrong)], "completion") == [True, False]
    assert passed(STRICT, [(asked, asked.task.reference)], "program") == [True]


def test_what_of_a_description_is_kept(data):
    asked = visible_problem(problems(data, "humanevalexplain")[1])
    assert kept_description("  It multiplies by four, by way of twice.", asked) == "It multiplies by four, by w"
    assert kept_description("return twice(twice(n)) is it", asked) == " is i"
    assert kept_description("Four.\ndef four", asked) == "Four."


def test_both_questions_are_asked(data, tmp_path):
    told = iter(("Four times.", "```python\ndef four(n):\n    return 4 * n\n```"))
    with scripted_server(lambda body: Answer(chat(next(told)))) as server:
        where = {"base_url": server.url, "out": tmp_path / "run", "ids": ("HumanEvalPack/0",)}
        common = {"data": data, "task_args": {"allow_modified": "true"}, "model": "openai-compatible/m", **where}
        with pytest.raises(UserError, match="`agent` explain"):
            truegrade.run("humanevalexplain", **common)
        run = truegrade.run("humanevalexplain", agent="explain", **common)
    asked = [request.body["messages"][0]["content"] for request in server.requests]
    words = "Write functional code in Python according to the description."
    assert asked[1:] == [f"Four times.\n{words}\n\ndef four(n: int) -> int:"]
    assert [verdict.passed for verdict in run.verdicts("strict")] == [True]
    assert "own description; not pass@1" in run.summary["agent"]["label"]


@pytest.mark.parametrize("args", [{"style": "poem"}, {"rounds": 2}])
def test_arguments_of_the_agent_are_checked(args):
    with pytest.raises(UnknownName, match="explain"):
        open_agent("explain", args)


def test_other_benchmarks_are_refused():
    with pytest.raises(UserError, match="humanevalpack"):
        PACK.extract(load_benchmark("micro-repair", args={"size": "1"}).problems[0], completion("x"))


def _real() -> Path:
    folder = os.environ.get("TRUEGRADE_DATA", "")
    if not (Path(folder) / "humanevalpack.jsonl").is_file():
        pytest.skip("humanevalpack.jsonl is not in TRUEGRADE_DATA: truegrade data pull humanevalpack")
    return Path(folder)


@pytest.mark.slow
def test_every_reference_is_right_and_every_bug_wrong():
    fix, synthesize = (load_benchmark(name, _real()).problems for name in ("humanevalfix", "humanevalsynthesize"))
    assert len(fix) == len(synthesize) == 164
    for profile in (STRICT, PACK):
        assert all(passed(profile, [(each, each.task.reference) for each in (*fix, *synthesize)], "program"))
    assert not any(passed(PACK, [(each, each.task.buggy) for each in fix], "program"))
    explain = load_benchmark("humanevalexplain", _real()).problems
    assert all(passed(STRICT, [(each, each.task.reference) for each in explain], "program"))


# ------------------------------------------------------------------------------------------------- parity


def _cases(rows):
    """Replies to each row: right, wrong, with text behind, in a fence, cheats."""
    leaving = "\n    import os\n    os._exit(0)\n"
    equal = "\n    return type('E', (), {'__eq__': lambda s, o: True})()\n"
    for each in rows:
        right, wrong = "\n" + each["canonical_solution"], "\n" + each["buggy_solution"]
        for reply in (right, wrong, f"{right}\nassert False\n", f"```python{right}```", leaving, equal):
            yield from ((style, each, reply) for style in ("docs", "tests", "instruct", "continue"))
        yield from (("explain", each, reply) for reply in (right, wrong, f"```python{right}```"))
        quoted = f"It does {each['canonical_solution'].strip()} and more.\ndef f(): pass"
        yield from (("describe", each, reply) for reply in ("Short.", f"\n{quoted}", each["docstring"] * 2))


def _asked(style, problem):
    """The prompt that the driver makes in this style; of the second step with the description that it has."""
    if style == "describe":
        return AGENT.render_prompt(visible_problem(problem), ())
    if style == "explain":
        return AGENT.second_prompt("It does.", visible_problem(problem))
    return PACK.render_prompt(problem, "continue" if style == "continue" else None)


@pytest.mark.slow
def test_parity(data, tmp_path, monkeypatch):
    monkeypatch.setenv("SCRATCH", str(tmp_path))
    file, every = data, 1
    folder = Path(os.environ.get("TRUEGRADE_DATA", ""))
    if (folder / "humanevalpack.jsonl").is_file():
        file, every = folder / "humanevalpack.jsonl", 1 if os.environ.get("TRUEGRADE_PARITY_ROWS") == "all" else 20
    stored = [json.loads(line) for line in file.read_text().splitlines()][::every]
    cases = list(_cases(stored))
    peer = ask("humanevalpack", {"cases": cases})
    assert list(dict.fromkeys(peer["stops"])) == list(STOP)  # every task appends to one list
    known = {}
    for style, name, args in (
        ("docs", "humanevalfix", {"show": "docs"}), ("tests", "humanevalfix", {"show": "tests"}),
        ("instruct", "humanevalsynthesize", {}), ("continue", "humanevalsynthesize", {}),
        ("describe", "humanevalexplain", {}), ("explain", "humanevalexplain", {}),
    ):  # fmt: skip
        for problem in problems(file, name, **args):
            known[style, problem.id.rpartition("/")[2]] = problem
    for (style, each, reply), theirs in zip(cases, peer["answers"], strict=True):
        problem = known[style, each["task_id"].rpartition("/")[2]]
        assert _asked(style, problem).messages[0].content == theirs["prompt"]
        if style == "describe":
            assert kept_description(reply, visible_problem(problem)) == theirs["program"]
            continue
        assert extracted(PACK, problem, reply, "completion") == theirs["program"]
        (ours,) = passed(PACK, [(problem, reply)], "completion")
        assert ours == theirs["passed"], (style, each["task_id"], reply)
    assert {theirs.get("passed") for theirs in peer["answers"]} == {True, False, None}


def test_rows_are_read_as_upstream_writes_them():
    assert set(HumanEvalPackRow.__struct_fields__) <= set(HUMANEVALPACK[0])
