"""quixbugs: forty programs, two layouts, and the verdicts of their own tests on right and on buggy programs."""

import json

import pytest

from truegrade.benchmarks import load_benchmark
from truegrade.errors import BadRecord, UserError
from truegrade.grading.repairs import grade_repair, suite_of
from truegrade.kinds import kind_of
from truegrade.profiles.strict import Strict
from truegrade.prompts import render
from truegrade.records import CasesTask, Completion, FunctionTask
from truegrade.sandbox import Sandbox

ENDLESS = {"bitcount", "sqrt", "find_first_in_sorted"}
"""Buggy programs that some of their tests never get out of."""
NODES = {
    *("breadth_first_search", "depth_first_search", "detect_cycle", "reverse_linked_list"),
    *("shortest_path_length", "topological_ordering"),
}
"""Programs whose tests hand them nodes."""


@pytest.fixture
def loaded(data_dir):
    def load(**args):
        return load_benchmark("quixbugs", data_dir, args)

    return load


def names(benchmark):
    return {problem.task.entry_point for problem in benchmark.problems}


def test_all_forty_are_there(loaded):
    benchmark = loaded()
    assert len(benchmark.problems) == len(names(benchmark)) == 40
    assert benchmark.problems[0].id == "QuixBugs/bitcount"
    tasks = [type(problem.task) for problem in benchmark.problems]
    assert (tasks.count(CasesTask), tasks.count(FunctionTask)) == (31, 9)
    tests = [len(p.task.cases) for p in benchmark.problems if isinstance(p.task, CasesTask)]
    assert sum(tests) == 242
    graphs = [kind_of(p.task).suite(p.task).size for p in benchmark.problems if isinstance(p.task, FunctionTask)]
    assert sum(graphs) == 36


@pytest.mark.parametrize(
    ("split", "size"),
    [("all", 40), ("coralx-train", 24), ("coralx-test", 8), ("coralx-rest", 8), ("json", 31), ("graph", 9)],
)
def test_splits(loaded, split, size):
    assert len(loaded(split=split).problems) == size


def test_coralx_s_split_has_a_training_problem_without_json_tests(loaded):
    assert names(loaded(split="graph")) & names(loaded(split="coralx-train")) == {"reverse_linked_list"}


def test_slow_tests_are_declared_skipped_and_can_be_run(loaded):
    skipped = {p.task.entry_point: p.task.skipped for p in loaded().problems if "skipped" in p.tags}
    assert skipped == {"knapsack": (9,), "levenshtein": (3,)}
    run = loaded(slow="run").by_id()
    assert not any("skipped" in problem.tags for problem in run.values())
    assert run["QuixBugs/knapsack"].task.cpu_s == 900
    assert run["QuixBugs/levenshtein"].task.slow == (2, 3)
    assert run["QuixBugs/gcd"].task.cpu_s is None


def test_wrong_arguments_are_refused(loaded):
    with pytest.raises(UserError, match="split=test: must be one of all, coralx-train"):
        loaded(split="test")
    with pytest.raises(UserError, match="slow=yes"):
        loaded(slow="yes")


def test_a_changed_file_is_refused_or_said_to_be_modified(data_dir, tmp_path):
    rows = [json.loads(line) for line in (data_dir / "quixbugs.jsonl").read_text().splitlines()]
    rows[0]["buggy"] += "\n"
    path = tmp_path / "changed.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(BadRecord, match="is not the pinned quixbugs"):
        load_benchmark("quixbugs", path)
    rows[0]["name"] = "popcount"
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(BadRecord, match="1 of 40 rows are missing: bitcount"):
        load_benchmark("quixbugs", path)
    modified = load_benchmark("quixbugs", path, {"allow_modified": "true"})
    assert modified.source == f"modified: {path}"
    assert modified.problems[0].id == "QuixBugs/popcount" and "split" not in modified.problems[0].tags


def test_a_checkout_gives_the_same_problems(data_dir, tmp_path, loaded):
    for folder in ("python_programs", "correct_python_programs", "json_testcases", "python_testcases"):
        (tmp_path / folder).mkdir()
    for row in map(json.loads, (data_dir / "quixbugs.jsonl").read_text().splitlines()):
        files = {"python_programs": row["buggy"], "correct_python_programs": row["correct"]}
        for folder, text in files.items():
            (tmp_path / folder / f"{row['name']}.py").write_text(text)
        cases = "\n".join(map(json.dumps, row["tests"] or ()))
        if cases:
            (tmp_path / "json_testcases" / f"{row['name']}.json").write_text(cases)
        else:
            (tmp_path / "python_testcases" / f"test_{row['name']}.py").write_text(row["pytest_source"])
        if "node_source" in row:
            (tmp_path / "python_testcases" / "node.py").write_text(row["node_source"])
    checkout = load_benchmark("quixbugs", tmp_path)
    assert checkout.problems == loaded().problems
    assert checkout.source == str(tmp_path)


def test_graph_modules_lose_their_imports_and_nothing_else(loaded):
    task = loaded().by_id()["QuixBugs/detect_cycle"].task
    assert "import" not in task.tests and "pytest" not in task.tests
    assert task.tests.startswith("node1 = Node(1)\n")
    assert task.tests.endswith("\n\ntest1()\ntest2()\ntest3()\ntest4()\ntest5()\ntest6()\n")
    assert task.setup.startswith("class Node:")
    crossing = {p.task.entry_point for p in loaded().problems if kind_of(p.task).suite(p.task).classes is not None}
    assert crossing == NODES and "class Node" in suite_of(task).trusted


def test_the_prompt_is_coralx_s_byte_for_byte(loaded):
    problem = loaded().by_id()["QuixBugs/bitcount"]
    buggy = problem.task.buggy
    expected = (
        "Fix the buggy Python function in bitcount.py\n\n"
        "The function has a bug that needs to be corrected. Analyze the code and provide the fixed version.\n\n"
        f"Buggy Code:\n```python\n{buggy}\n```\n\n"
        "Provide the corrected Python code:\n```python\n"
    )
    chat, base = Strict().render_prompt(problem), Strict().render_prompt(problem, "base")
    assert chat.messages[0].content == base.messages[0].content == expected
    assert (chat.style, base.style, base.stop) == ("chat", "text", ("```",))
    assert expected == render("quixbugs.repair", name="bitcount", buggy=buggy)


@pytest.mark.parametrize("tail", ["", "\n```", "\n```\nThe bug was in line 4.\n```python\nbitcount(3)\n```"])
def test_text_that_goes_on_behind_the_open_fence_is_taken(loaded, tail):
    problem = loaded().by_id()["QuixBugs/bitcount"]
    reply = completion(problem, problem.task.reference.strip() + tail, form="completion")
    answer = Strict().extract(problem, reply)
    assert answer.value is not None and answer.value.strip() == problem.task.reference.strip()


def completion(problem, text, **more):
    return Completion(
        benchmark=problem.benchmark, dataset_sha256=problem.dataset_sha256, problem_id=problem.id, sample=0,
        config_sha256="", prompt_sha256="", text=text, model="", **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def verdicts(data_dir):
    """Under `strict`: what every right and every buggy program gets, by name."""
    profile = Strict()
    problems = load_benchmark("quixbugs", data_dir).problems
    with Sandbox(profile.limits, workers=1, allow_unsafe=True) as jail:

        def verdict(problem, program):
            answer = profile.extract(problem, completion(problem, f"```python\n{program.strip()}\n```"))
            # a test that overruns is a test that overruns, in 0.3 seconds as in 10
            seconds = 0.3 if problem.task.entry_point in ENDLESS else profile.limits.cpu_s
            return grade_repair(
                kind_of(problem.task).suite(problem.task), answer.value, jail, cpu_s=seconds, timeouts=1
            )

        yield {p.task.entry_point: (verdict(p, p.task.reference), verdict(p, p.task.buggy)) for p in problems}


@pytest.mark.slow
@pytest.mark.thorough
def test_right_programs_pass_40_of_40_under_the_official_comparators(verdicts):
    right = {name: judgement for name, (judgement, _) in verdicts.items()}
    assert [name for name, judgement in right.items() if not judgement.passed] == []
    assert len(right) == 40
    skipping = {name for name, judgement in right.items() if "tests-skipped" in judgement.marks}
    assert skipping == {"knapsack", "levenshtein"}
    assert not any("tests-inside" in judgement.marks for judgement in right.values())
    tests = [judgement.harness["tests"] for judgement in right.values()]
    assert sum(tests) == 242 - 2 + 36
    assert all(judgement.harness["passed"] == judgement.harness["tests"] for judgement in right.values())


@pytest.mark.slow
@pytest.mark.thorough
def test_buggy_programs_pass_0_of_40(verdicts):
    buggy = {name: judgement for name, (_, judgement) in verdicts.items()}
    assert [name for name, judgement in buggy.items() if judgement.passed] == []
    assert {name for name, judgement in buggy.items() if judgement.reason == "time_limit"} <= ENDLESS
    counts = {name: (j.harness["passed"], j.harness["tests"]) for name, j in buggy.items()}
    assert counts["quicksort"] == (12, 13) and counts["lis"] == (8, 12) and counts["wrap"] == (0, 5)
    assert "not_run" in buggy["bitcount"].harness["results"]
