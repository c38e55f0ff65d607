"""The kind of problem that the page on extensions shows, in a file of its own: graded, rewarded, refused."""

import json
from pathlib import Path

import msgspec
import pytest

from truegrade import kinds
from truegrade.apps.assay.building import ProblemBuilder
from truegrade.apps.assay.input_domain import known_calls
from truegrade.apps.assay.own_tests import by_own_tests
from truegrade.apps.assay.probes.must_fail import make_impossible, must_fail_probes
from truegrade.apps.assay.probes.stubs import examples_of
from truegrade.apps.assay.records import Battery
from truegrade.apps.rewards.grader import RewardGrader
from truegrade.apps.rewards.records import PolicyReply
from truegrade.benchmarks import load_benchmark
from truegrade.grading.judgement import from_outcome
from truegrade.grading.problem_tests import CallTests, ReferenceTests, SourceTests, StreamTests
from truegrade.grading.repairs import grade_repair
from truegrade.grading.tests_forms import put_tests
from truegrade.kinds import Kind, kind_of, register
from truegrade.kinds.base import ShownPart
from truegrade.kinds.code import code_answer
from truegrade.profiles import open_profile
from truegrade.prompts.making import as_stored
from truegrade.records import Answer, Case, Problem, Task
from truegrade.sandbox import Limits, Sandbox

FENCED = "```sql\n{}\n```"
QUERIES = ("--data", "queries.jsonl")


@pytest.fixture
def page(extend_page, tmp_path, monkeypatch):
    extend_page.write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def summary_of(folder):
    return json.loads((folder / "summary.json").read_text())["profiles"][0]


def test_the_reference_solves_its_problems_and_the_report_shows_the_run(cli, page):
    asked = ("run", "queries.py", *QUERIES, "--model", "baseline/reference", "--out", "r")
    assert cli(*asked)[0] == 0
    profile = summary_of(page / "r")
    assert (
        profile["profile"].startswith("strict@") and profile["reasons"] == {"passed": 2} and profile["level"] == 3
    )
    assert cli(*asked)[0] == 0 and summary_of(page / "r") == profile  # resumed
    assert "query/1" in (page / "r" / "report.html").read_text()


def test_answers_in_a_file_are_compared_as_sets_of_rows_or_in_order(cli, page):
    grouped, ordered = "select b, count(*) from t group by b", "select a from t order by a"
    rows = [
        ("query/0", FENCED.format(f"{grouped} order by b desc"), "passed"),  # another order, where none is due
        ("query/0", FENCED.format(f"{grouped} having count(*) > 1"), "wrong_answer"),
        ("query/0", FENCED.format("select b, count(*) from t group by b; drop table t"), "runtime_error"),
        ("query/0", "select b from t", "wrong_answer"),  # as given: the row is a completion
        ("query/1", FENCED.format(f"{ordered} desc"), "passed"),
        ("query/1", FENCED.format(ordered), "wrong_answer"),
        ("query/1", FENCED.format("select a from no_such_table"), "runtime_error"),
        ("query/1", FENCED.format('""")\nprint(\'[[3], [2], [1]]\')\nraise SystemExit  #'), "runtime_error"),
    ]
    file = page / "answers.jsonl"
    file.write_text("".join(json.dumps({"task_id": name, "completion": text}) + "\n" for name, text, _ in rows))
    code, _, err = cli("grade", str(file), "--benchmark", "queries.py", *QUERIES, "--out", "g")
    assert code == 0, err
    with_reasons = [json.loads(line) for line in (page / "g" / "verdicts.strict@6.jsonl").read_text().splitlines()]
    found = {(one["problem_id"], one["sample"]): one["reason"] for one in with_reasons}
    assert found == {(name, number % 4): reason for number, (name, _, reason) in enumerate(rows)}


def test_a_reply_earns_what_the_kind_decides(page):
    texts = [FENCED.format("select a from t order by a desc"), FENCED.format("select 1"), "no query"]
    with RewardGrader(benchmark="queries.py=queries.jsonl") as grader:
        rewards = grader.grade_sync([PolicyReply(text=text, problem_id="query/1") for text in texts])
    assert [(one.value, one.reason) for one in rewards] == [
        (1.0, "passed"),
        (0.0, "wrong_answer"),
        (0.0, "no_code"),
    ]


def test_a_harness_without_rules_for_it_refuses_it_before_anything_is_asked(cli, page):
    asked = ("run", "queries.py", *QUERIES, "--model", "baseline/reference", "--as", "human-eval", "--out", "r")
    code, _, err = cli(*asked)
    assert code == 2 and "profile 'human-eval' has no rules for 'queries' (query); it covers function" in err
    code, _, err = cli(*asked[:-4], "-T", "prompt=base", "--out", "r")
    assert code == 2 and not (page / "r").exists()


def test_a_file_that_is_read_twice_has_one_kind(page):
    first, second = (load_benchmark("queries.py", Path("queries.jsonl")).problems[0].task for _ in range(2))
    assert kind_of(first).names == kind_of(second).names == ("query",)


def test_a_profile_that_knows_the_kind_covers_it(cli, page, monkeypatch):
    monkeypatch.syspath_prepend(page)
    words = (page / "fenced.py").read_text()
    words = words.replace('("function", "description")', '("query",)').replace("prompt}", "question}")
    words = words.replace('"python\\n"', '"sql\\n"').replace(
        "(problem.task, assemble(problem.task.prefix, answer), executor)", ""
    )
    judged = "return queries.Query().judge(problem, problem.task, answer, self.context(executor))"
    words = words.replace("return grade_by_tests", judged)
    (page / "reader.py").write_text(f"import queries\n{words}")
    asked = ("run", "queries.py", *QUERIES, "--model", "baseline/reference", "--as", "reader.py", "--out", "r")
    code, _, err = cli(*asked)
    assert code == 0, err
    assert summary_of(page / "r")["reasons"] == {"passed": 2}


@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ("def judge(", "def judged(", "Query has judged, which nothing calls; did you mean judge?"),
        ("def judge(", "def decides(", "Query lacks judge: write it"),
        ("def extract(", "def extracted(", "did you mean extract?"),
        (
            "def judge(",
            "def tests(self, task):\n        pass\n\n    def judge(",
            "Query lacks with_tests: write it",
        ),
        (
            "def judge(",
            "def name(self, task):\n        return 'function'\n\n    def judge(",
            "Query.name gives 'function', which is not among its names",
        ),
        (', tag="query"', "", "Query needs a task: a class made of truegrade.records.Task"),
        ("class QueryTask(Task,", "class QueryTask(msgspec.Struct,", "Query needs a task"),
        ('("query",)', '"query"', "Query needs names: a tuple of texts"),
        ('("query",)', '("contest",)', "Query takes over contest, which a built-in kind has"),
        ('tag="query"', 'tag="suite"', "Query takes over suite"),
        ("register(Query())", "register(Query)", "Query is no object of a class made of truegrade.kinds.Kind"),
        ("register(Query())", "", "no kind of problem has tasks of class QueryTask; end the file"),
        ('{"default": lambda', '{"plain": lambda', "no prompt variant 'default'; known: plain"),
        (
            'as_stored(words, source="queries.py")',
            "words",
            "query/0: its prompt cannot be made: TypeError: it is str",
        ),
        ('as_stored(words, source="queries.py")', "task.wrods", "no attribute 'wrods' (queries.py, line 31)"),
        ('Answer(value=None, found="no fence of SQL", reason=Reason.NO_CODE)', "None", "extraction gave NoneType"),
        ("msgspec.structs.replace(judged, **wrong)", "True", "judging gave bool and no Judgement"),
        (
            "msgspec.structs.replace(judged, **wrong)",
            "msgspec.structs.replace(judged, detail=5)",
            "got `int` - at `$.detail`",
        ),
        (
            "msgspec.structs.replace(judged, **wrong)",
            "msgspec.structs.replace(judged, reason='fine')",
            "at `$.reason`",
        ),
        (
            "msgspec.structs.replace(judged, **wrong)",
            "msgspec.structs.replace(judged, marks=(len,))",
            "grading failed: TypeError",
        ),
        ('found="no fence of SQL"', "found=None", "got `null` - at `$.found`"),
        (
            "def judge(",
            "def needs(self, task):\n        return {}['x']\n\n    def judge(",
            "its kind of problem is at fault: KeyError: 'x' (queries.py, line",
        ),
        (
            "def judge(",
            "def needs(self, task):\n        pass\n\n    def judge(",
            "query/0: its kind of problem is at fault: TypeError",
        ),
    ],
)
def test_what_is_wrong_with_a_kind_is_said_in_a_line(cli, page, written, instead, said):
    source = (page / "queries.py").read_text()
    assert written in source
    (page / "queries.py").write_text(source.replace(written, instead))
    model = "baseline/empty" if "NoneType" in said or "found" in said else "baseline/reference"
    code, _, err = cli("run", "queries.py", *QUERIES, "--model", model, "--out", "r")
    assert (code, "Traceback" in err) == (2, False) and said in err.splitlines()[-1], err


class TableTask(Task, frozen=True, kw_only=True, tag="table"):
    """A function as a table of its values."""

    words: str
    entry_point: str
    reference: str
    cases: tuple[Case, ...]


class Table(Kind[TableTask]):
    """Says of its tests that they are calls, and no more."""

    task = TableTask
    names = ("table",)

    def shown(self, task):
        return ShownPart(text=task.words, entry_point=task.entry_point)

    def prompts(self, task, examples):
        return {"default": lambda: as_stored(task.words, source="a table")}

    def extract(self, task, completion):
        return code_answer(completion, task.entry_point)

    def tests(self, task):
        return CallTests(entry_point=task.entry_point, cases=task.cases)

    def with_tests(self, task, tests):
        return self._with(task, tests.cases)

    def _with(self, task, cases):  # nobody else calls it, so it may be named as it likes
        return msgspec.structs.replace(task, cases=cases)

    _judge = None

    def judge(self, problem, task, answer, context):
        return grade_repair(self.suite(task), answer.value, context.executor, cpu_s=context.cpu_s(None))


LAST = TableTask(
    words="last([1, 2]) == 2",
    entry_point="last",
    reference="def last(xs):\n    return xs[-1]\n",
    cases=(Case(arguments=([1, 2],), expected=2), Case(arguments=(["a"],), expected="a")),
)


TABLES = """
from dataclasses import replace
from test_kind_from_outside import LAST, Table, TableTask
from truegrade.benchmarks import Benchmark, BenchmarkSpec
from truegrade.grading.problem_tests import CallTests
from truegrade.kinds import register
from truegrade.kinds.base import ShownPart
from truegrade.records import Problem
import msgspec


class FaultyTask(TableTask, frozen=True, kw_only=True, tag="faulty"):
    pass


class Faulty(Table):
    task, names = FaultyTask, ("faulty",)
    {fault}


register(Faulty())


def load(data, args):
    task = FaultyTask(**msgspec.structs.asdict(LAST))
    problem = Problem(id="table/0", benchmark="tables", dataset_sha256="t", cluster="table/0", task=task)
    return Benchmark(name="tables", problems=(problem,), dataset_sha256="t", source="tables.py")


BENCHMARK = BenchmarkSpec(
    name="tables", summary="Tables.", tasks="faulty", size=1, licence="none", citation="none", load=load
)
"""
FAULTS = {
    ("tests", "cases=[[1]]"): "tests = lambda self, task: CallTests(entry_point='last', cases=[[1]])",
    ("shown", "text=1"): "shown = lambda self, task: 'last'",
    ("tests", "raise"): "tests = lambda self, task: {}['x']",
}


@pytest.fixture
def table(monkeypatch):
    monkeypatch.setattr(kinds, "_REGISTERED", dict(kinds._REGISTERED))
    register(Table())
    return Problem(id="table/0", benchmark="tables", dataset_sha256="t", cluster="table/0", task=LAST)


def test_a_kind_that_gives_its_tests_as_calls_is_put_in_the_forms_of_others_and_made_impossible(table):
    tests = kind_of(LAST).tests(LAST)
    put = put_tests("table/0", tests, "asserts").tests
    assert put == ["assert last([1, 2]) == 2", "assert last(['a']) == 'a'"]
    assert [probe.origin for probe, _ in must_fail_probes(table)] == ["one-off", "one-off", "conflicting"]
    assert make_impossible(table, "one-off", 1).problem.task.cases[1].expected == "a!"
    assert examples_of(table) == [(([1, 2],), 2)]


@pytest.mark.parametrize("fault", ["raise SystemExit(0)", "raise UserError('not so')", "raise KeyError(1)"])
def test_a_judge_that_ends_on_one_answer_leaves_the_others_their_verdicts(cli, page, fault):
    source = (page / "queries.py").read_text()
    source = source.replace(
        "        rows = []", f"        if 'desc' in answer.value:\n            {fault}\n        rows = []"
    )
    (page / "queries.py").write_text(f"from truegrade.errors import UserError\n{source}")
    code, _, err = cli("run", "queries.py", *QUERIES, "--model", "baseline/reference", "--out", "r")
    assert code == 1 and summary_of(page / "r")["reasons"] == {"passed": 1, "grader_error": 1}, err


class Forgeable(Table):
    """Decides by how the program ends."""

    shape = CallTests(entry_point="last", cases=LAST.cases)

    def tests(self, task):
        return self.shape

    def judge(self, problem, task, answer, context):
        return from_outcome(context.executor.script(f"{answer.value}\nassert last([1, 2]) == 2\n"))


@pytest.mark.parametrize(
    "shape",
    [
        CallTests(entry_point="last", cases=LAST.cases),
        SourceTests(entry_point="last", source="assert last([1, 2]) == 2"),
        ReferenceTests(entry_point="last", reference=LAST.reference, inputs=(([1, 2],), ([3],))),
        StreamTests(inputs=("[1, 2]",), outputs=("2",), function="last"),
    ],
)
def test_a_judge_that_can_be_forged_does_not_testify_for_itself(table, monkeypatch, shape):
    monkeypatch.setattr(Forgeable, "shape", shape)
    register(Forgeable())
    strict = open_profile("strict")
    forged, right = (
        Answer(value=code, found="whole", form="program") for code in ("import os\nos._exit(0)\n", LAST.reference)
    )
    with Sandbox(Limits(cpu_s=3.0), workers=1) as jail:
        assert [strict.judgement(table, each, jail).passed for each in (forged, right)] == [True, True]
        judged = [strict.judgement(by_own_tests(table), each, jail) for each in (forged, right)]
    assert [each.passed for each in judged] == [False, True], judged


@pytest.mark.parametrize(("method", "given"), [("tests", "cases=[[1]]"), ("shown", "text=1"), ("tests", "raise")])
def test_what_an_assay_cannot_read_of_a_kind_is_said_in_a_line(cli, page, method, given):
    (page / "tables.py").write_text(TABLES.replace("{fault}", FAULTS[method, given]))
    code, _, err = cli("assay", "tables.py", "--limit", "1", "--probes", "right,stubs", "--out", "a")
    assert code == 2 and "table/0: its kind of problem is at fault:" in err.splitlines()[-1], err


def test_an_assay_finds_its_grader_right_on_right_and_wrong_programs(table):
    with Sandbox(Limits(cpu_s=3.0), workers=1) as jail:
        assert known_calls(table, jail).own == (([1, 2],), (["a"],))
        battery = Battery(classes=("right", "mutants", "must-fail"), per_problem=4, inputs=5)
        builder = ProblemBuilder(battery=battery, companions={}, claims={}, number=1, executor=jail)
        _, probes = builder.build(table, 0)
        assert {probe.label for probe in probes} >= {"right", "wrong"}
        strict = open_profile("strict")
        changed = {probe.id: problem for probe, problem in must_fail_probes(table)}
        for probe in probes:
            answer = Answer(value=probe.code, found="whole", form="program")
            judged = strict.judgement(changed.get(probe.id, table), answer, jail)
            assert judged.passed is (probe.label == "right"), probe
