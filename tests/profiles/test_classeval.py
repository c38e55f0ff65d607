"""ClassEval: the benchmark, the harness' rules, and parity with its code."""

import json
import os
from pathlib import Path

import pytest
from peer_process import ask, peers
from profile_rows import completion, extracted, grade_all

from support import stand_in_data
from truegrade.benchmarks import load_benchmark
from truegrade.errors import UserError
from truegrade.profiles import open_profile
from truegrade.profiles.classeval import NOT_FOUND, extract_code, with_static
from truegrade.records import Reason

CLASSEVAL, STRICT = open_profile("classeval"), open_profile("strict")
SKELETON = '''import math
class Disc:
    """ A disc. """

    def __init__(self, radius):
        self.radius = radius

    def area(self):
        """ Its area. """

    def grow(self, by):
        """ Add to the radius. """
'''
SOLUTION = """import math
class Disc:

    def __init__(self, radius):
        self.radius = radius

    def area(self):
        return math.pi * self.radius ** 2

    def grow(self, by):
        self.radius += by
        return self.radius
"""
TESTS = """import unittest
class DiscTestArea(unittest.TestCase):
    def test_area(self):
        self.assertAlmostEqual(Disc(1).area(), 3.14159, delta=0.001)
    def test_area_2(self):
        self.assertEqual(Disc(0).area(), 0)
class DiscTestGrow(unittest.TestCase):
    def test_grow(self):
        self.assertEqual(Disc(1).grow(2), 3)
    def test_grow_2(self):
        self.assertEqual(Disc(1).grow(-1), 0)
class DiscTestMain(unittest.TestCase):
    def test_main(self):
        disc = Disc(1)
        disc.grow(1)
        self.assertAlmostEqual(disc.area(), 12.566, delta=0.001)
"""
CLASSES = ["DiscTestArea", "DiscTestGrow", "DiscTestMain"]
ROW = {
    "task_id": "ClassEval_0", "class_name": "Disc", "skeleton": SKELETON, "import_statement": ["import math"],
    "solution_code": SOLUTION, "test": TESTS, "test_classes": CLASSES,
}  # fmt: skip
PLAIN = stand_in_data.CLASSEVAL[0]
ROWS = [ROW, PLAIN]
WRONG = SOLUTION.replace("self.radius += by", "self.radius -= by")
EQUAL = (
    "class E:\n    __eq__ = __ge__ = __le__ = lambda self, other: True\n    __sub__ = __rsub__ = lambda s, o: 0\n"
)
CHEATS = {
    "equal": f"{EQUAL}class Disc:\n    def __init__(self, r):\n        pass\n"
    "    def area(self):\n        return E()\n    def grow(self, by):\n        return E()\n",
    "exit": f"import os\nos._exit(0)\n{SOLUTION}",
    "system-exit": f"import sys\nsys.exit(0)\n{SOLUTION}",
    "unittest": f"import unittest\nunittest.TestCase.run = lambda self, result=None: result\n{WRONG}",
    "asserts": f"import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\n{WRONG}",
}
"""None solves the first task; the harness accepts some."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "ClassEval_data.json"
    file.write_text(json.dumps(ROWS))
    return file


def problems(data: Path, **args: str):
    return load_benchmark("classeval", data, {"allow_modified": "true", **args}).problems


def fence(code: str, label: str = "python") -> str:
    return f"Here it is:\n```{label}\n{code}\n```\nDone."


def replies(row: dict) -> list[str]:
    """Right, wrong and awkward replies to a row."""
    code, head = row["solution_code"], f"class {row['class_name']}"
    shifted = "\n".join(f"  {line}" for line in code.split("\n"))
    return [
        fence(code), code, f"Sure.\n\n{code}", fence(code, "py"), fence(code, ""), f"```python\n{code}",
        f"Call it so:\n```python\nx = 1\n```\nThe class:\n{fence(code)}", fence(row["skeleton"]), row["skeleton"],
        fence(code.replace("return", "return not", 1)), fence(code.replace("    @staticmethod\n", "")),
        f"[PYTHON]\n{code}[/PYTHON]", f"### Response:\n{fence(code)}", f"[/INST] {code}", shifted, "", "no code",
        f"{head}(object):\n    pass", fence(f"{code}\nraise ValueError"),
    ]  # fmt: skip


def test_problems(data):
    first, second = problems(data)
    assert (first.id, first.task.entry_point, first.task.prompt) == ("ClassEval/0", "Disc", SKELETON)
    assert first.task.prefix == "import math\n" and second.task.prefix == ""
    assert first.packages == second.packages == () and first.tags == {"test_classes": "3"}


def test_libraries_are_named_and_refused(tmp_path):
    file = tmp_path / "ClassEval_data.json"
    needing = {**ROW, "task_id": "ClassEval_2", "import_statement": ["import no_such_library_xyz"]}
    file.write_text(json.dumps([ROW, needing]))
    with pytest.raises(
        UserError, match=r"1 of 2 problems .*no_such_library_xyz \(1\); pip install 'truegrade\[classeval\]'"
    ):
        problems(file)
    (kept,) = problems(file, packages="standard")
    assert kept.id == "ClassEval/0"
    file.write_text(json.dumps([needing]))
    with pytest.raises(UserError, match="leaves out 1 of 1 problems"):
        problems(file, packages="standard")


def test_prompts(data):
    first = problems(data)[0]
    asked = f"Please complete the class Disc in the following code.\n{SKELETON}"
    assert CLASSEVAL.render_prompt(first, "plain").messages[-1].content == asked
    system, user = CLASSEVAL.render_prompt(first).messages
    assert (system.role, system.content) == ("system", "You are a helpful assistant.")
    assert user.content.endswith(f"### Instruction:\n{asked}\n\n### Response:\n")
    assert CLASSEVAL.render_prompt(first, "skeleton").style == "text"
    with pytest.raises(UserError, match="magicoder"):
        CLASSEVAL.render_prompt(first, "incremental")


def test_extraction():
    assert extract_code(f"a\n```python\n{SOLUTION}```\n```python\nx\n```") == f"\n{SOLUTION}"
    assert extract_code(f"```python\n{SOLUTION}") == ""
    assert extract_code("```py\nx\n```") == "py\nx\n"
    assert extract_code("Words.\nimport a\n\n  class A:\n\n    x = 1\nWords.") == "import a\nclass A:\n  x = 1"
    assert with_static("    @staticmethod\n    def f(x):\n  def g(x):\n    def h(self):") == (
        "    @staticmethod\n    def f(x):\n  def g(x):\n    def h(self):"
    )


def test_each_class_of_tests_is_counted(data):
    first = problems(data)[0]
    programs = (SOLUTION, WRONG, "while True:\n    pass", "import os\nos._exit(0)")
    right, wrong, loops, ends = grade_all(
        open_profile("classeval+1s"), [(first, fence(code)) for code in programs]
    )
    assert right.passed and right.harness["results"] == ["success"] * 3
    assert wrong.reason is Reason.WRONG_ANSWER and wrong.harness["results"] == ["success", "fail", "fail"]
    assert wrong.marks == ("tests-inside", "methods:1/3") and "DiscTestGrow: fail" in wrong.detail
    assert loops.reason is Reason.TIME_LIMIT and loops.harness["passed"] == 0
    assert ends.reason is Reason.RUNTIME_ERROR and "ended the process" in ends.detail


def test_strict_takes_right_classes_alone(data):
    first = problems(data)[0]
    rows = [(first, fence(code)) for code in (SOLUTION, f"# no fence\n{SOLUTION}", WRONG, *CHEATS.values())]
    right, also, wrong, *cheats = grade_all(STRICT, rows)
    assert right.passed and also.passed and "methods:3/3" in right.marks and "tests-inside" not in right.marks
    assert wrong.reason is Reason.WRONG_ANSWER and "methods:1/3" in wrong.marks
    assert [judged.passed for judged in cheats] == [False] * len(CHEATS)
    asked = STRICT.render_prompt(first).messages[0].content
    assert asked.startswith("Complete this Python class:") and SKELETON in asked


def test_tests_that_no_program_passes_are_left_out_of_strict(tmp_path):
    file = tmp_path / "ClassEval_data.json"
    tests = TESTS.replace("DiscTestGrow", "IpUtilTestGetHostname").replace("test_grow_2", "test_get_hostname_3")
    row = {**ROW, "task_id": "ClassEval_48", "test": tests.replace("grow(-1), 0)", "grow(-1), 'LAPTOP')")}
    file.write_text(json.dumps([row]))
    (problem,) = problems(file)
    assert problem.task.skipped == ("IpUtilTestGetHostname.test_get_hostname_3",)
    (ours,), (theirs,) = (grade_all(profile, [(problem, fence(SOLUTION))]) for profile in (STRICT, CLASSEVAL))
    assert ours.passed and "tests-skipped" in ours.marks
    assert theirs.harness["results"] == ["success", "partial_success", "success"]


def test_other_suites_are_refused():
    with pytest.raises(UserError, match="classeval"):
        CLASSEVAL.extract(load_benchmark("micro-repair", args={"size": "1"}).problems[0], completion("x"))


def _real() -> Path:
    file = Path(os.environ.get("TRUEGRADE_DATA", "")) / "ClassEval_data.json"
    if not file.is_file():
        pytest.skip("ClassEval_data.json is not in TRUEGRADE_DATA: truegrade data pull classeval")
    return file


@pytest.mark.slow
def test_the_defect_of_the_data_is_the_only_one_of_its_kind():
    rows = json.loads(_real().read_text())
    found = {
        row["task_id"].replace("_", "/"): tuple(
            name.strip() for name in row["test_classes"] if name != name.strip()
        )
        for row in rows
    }
    assert {name: classes for name, classes in found.items() if classes} == dict(NOT_FOUND)


# ------------------------------------------------------------------------------------------------- parity


def _model_replies(rows: list[dict]) -> list[tuple[dict, str]]:
    """What the checkout holds of two models' replies to these rows."""
    known, found = {row["task_id"]: row for row in rows}, []
    for model in ("GPT-4-Turbo", "deepseek-coder-6.7b-instruct"):
        file = peers() / "FudanSELab+ClassEval" / "output" / "model_output_v1.0.0" / f"{model}_class_H_greedy.json"
        if file.is_file():
            stored = json.loads(file.read_text())
            found += [(known[one["task_id"]], one["predict"][0]) for one in stored if one["task_id"] in known]
    return found


@pytest.mark.slow
def test_parity(data):
    for module in ("func_timeout", "scipy"):
        pytest.importorskip(module, reason=f"the harness imports {module}: pip install {module}")
    file, every = data, 1
    if (Path(os.environ.get("TRUEGRADE_DATA", "")) / "ClassEval_data.json").is_file():
        file, every = _real(), 1 if os.environ.get("TRUEGRADE_PARITY_ROWS") == "all" else 20
    loaded = {problem.id.replace("/", "_"): problem for problem in load_benchmark(
        "classeval", file, {"allow_modified": "true", "packages": "standard"}).problems}  # fmt: skip
    stored = [row for row in json.loads(file.read_text()) if row["task_id"] in loaded][::every]
    cases = [(row, reply) for row in stored for reply in replies(row)[: None if every > 1 or file == data else 6]]
    cases += _model_replies(stored)
    if file == data:
        cases += [(ROW, fence(cheat)) for cheat in CHEATS.values()]
        cases += [(PLAIN, "class Twice:\n    def of(x):\n        while True:\n            pass")]
    peer = ask("classeval", {"cases": cases, "rows": stored})
    for row, theirs in zip(stored, peer["prompts"], strict=True):
        ours = {
            style: CLASSEVAL.render_prompt(loaded[row["task_id"]], style).messages[-1].content for style in theirs
        }
        assert ours == theirs
    judged = grade_all(CLASSEVAL, [(loaded[row["task_id"]], reply) for row, reply in cases])
    differing = []
    for (row, reply), ours, theirs in zip(cases, judged, peer["answers"], strict=True):
        assert extracted(CLASSEVAL, loaded[row["task_id"]], reply) == theirs["program"], row["task_id"]
        results = ours.harness["results"] if ours.harness else None
        if "No module named" in ours.detail or (row["task_id"] == "ClassEval_50" and os.geteuid() == 0):
            continue  # a package that the problem does not name; a file that root can write
        if results != theirs["results"]:
            differing.append((row["task_id"], reply[:60], results, theirs["results"]))
    assert not differing, differing
    assert len({ours.passed for ours in judged}) == 2
