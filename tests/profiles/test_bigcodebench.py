"""BigCodeBench: the benchmark, the harness' rules, and parity with its code."""

import gzip
import json
import os
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest
from peer_process import ask
from peer_replies import mutant
from profile_rows import completion, extracted, grade_all, passed

from truegrade.benchmarks import load_benchmark
from truegrade.benchmarks.bigcodebench import HARD_FILES, BigCodeBenchRow, _item, modules_of
from truegrade.errors import BadRecord, UserError
from truegrade.models.base import Reply
from truegrade.pipeline.generate import completion_of
from truegrade.pipeline.importing import identity_of
from truegrade.pipeline.loading import select
from truegrade.profiles import open_profile
from truegrade.profiles.bigcodebench import BASE_EOS, EOS, sanitize
from truegrade.records import SampleKey
from truegrade.store.importers.base import index_ids, match_id

HARNESS, STRICT = open_profile("bigcodebench"), open_profile("strict")
HEAD = "import json\n\ndef task_func(text, key):\n"
DOC = '    """\n    Read JSON and give the value of a key, or None.\n    """\n'
BODY = "    return json.loads(text).get(key)\n"
TESTS = """import unittest
from unittest.mock import patch

class TestCases(unittest.TestCase):
    def test_found(self):
        self.assertEqual(task_func('{"a": 5}', "a"), 5)

    def test_missing(self):
        self.assertIsNone(task_func("{}", "a"))

    @patch("json.loads", return_value={"k": "said"})
    def test_patched(self, loads):
        self.assertEqual(task_func("x", "k"), "said")
        loads.assert_called_once_with("x")
"""


def row(number: int, **changed: object) -> dict[str, object]:
    return {
        "task_id": f"BigCodeBench/{number}",
        "entry_point": "task_func",
        "prompt": HEAD + DOC,
        "prompt_wo_doc": HEAD,
        "instruction": f"Read JSON.\nYou should write self-contained code starting with:\n```\n{HEAD}```",
        "canonical_solution": BODY,
        "test": TESTS,
    } | changed


ROWS = [row(0), row(1, test=f"import tensorflow as tf, json\n{TESTS}")]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "BigCodeBench.jsonl.gz"
    file.write_bytes(gzip.compress("".join(json.dumps(each) + "\n" for each in ROWS).encode()))
    return file


def problems(data: Path, **args: str):
    return load_benchmark(
        "bigcodebench", data, {"allow_modified": "true", "packages": "standard", **args}
    ).problems


def test_problems_that_need_packages_are_refused_or_left_out(data):
    with pytest.raises(UserError, match=r"1 of 2 problems need .* tensorflow \(1\); pip install"):
        problems(data, packages="all")
    loaded = load_benchmark("bigcodebench", data, {"allow_modified": "true", "packages": "installed"})
    assert [problem.id for problem in loaded.problems] == ["BigCodeBench/0"]
    assert "1 of 2 problems are left out whose packages are not installed: tensorflow (1)" in loaded.part
    lacks = "it needs tensorflow, not installed here: pip install 'truegrade[bigcodebench]'"
    assert loaded.left_out == {"BigCodeBench/1": lacks} and "left out" not in (loaded.modified or "")
    with pytest.raises(
        UserError, match=r"problem 'BigCodeBench/1' of bigcodebench is left out: it needs tensorflow"
    ):
        select(loaded, ids=["BigCodeBench/1"])
    ids = index_ids(loaded.by_id(), loaded.left_out)
    with pytest.raises(
        BadRecord, match=r"a\.jsonl, line 3: problem 'BigCodeBench/1' is left out: it needs tensorflow"
    ):
        match_id(1, ids, path=Path("a.jsonl"), line=3)
    published = identity_of(msgspec.structs.replace(loaded, modified=None))
    assert published.label == "bigcodebench" and published.part == loaded.part
    assert loaded.problems[0].tags == {"libs": "standard library"}
    assert loaded.problems[0].packages == ("tensorflow",)  # what may be imported is the same for every problem
    left = load_benchmark("bigcodebench", data, {"allow_modified": "true", "packages": "standard"})
    assert len(left.problems) == 1 and "more than the standard library" in left.part


def test_tests_that_chance_decides_are_left_out_under_strict(tmp_path):
    unlucky = f"{TESTS}\n    def test_multiple_words(self):\n        self.assertEqual(task_func('{{}}', 'a'), 5)\n"
    file = tmp_path / "BigCodeBench.jsonl"
    file.write_text("".join(json.dumps(row(number, test=unlucky)) + "\n" for number in (270, 271)))
    answers = [(problem, RIGHT) for problem in problems(file)]
    assert passed(STRICT, answers, "program") == [True, False]
    assert passed(HARNESS, answers, "program") == [False, False]
    assert "tests-skipped" in grade_all(STRICT, answers[:1], "program")[0].marks


def test_imports_are_read_wherever_they_stand():
    source = (
        "import numpy as np, os\nfrom sklearn.svm import SVC\n    import pandas\n# import torch\nfrom . import x\n"
    )
    assert modules_of(source) == ("numpy", "pandas", "sklearn")


def test_the_hard_subset_is_that_of_its_file(data):
    with pytest.raises(UserError, match=r"subset=hard: .*BigCodeBench-Hard\.jsonl\.gz is not there"):
        problems(data, subset="hard")
    (data.parent / HARD_FILES[1]).write_text('{"task_id": "BigCodeBench/0"}\n{"task_id": "BigCodeBench/9"}\n')
    with pytest.raises(UserError, match="field task_id: 2 ids, 1 of them unknown; the hard subset has 148"):
        problems(data, subset="hard")


def test_packages_that_others_import_are_needed_too(data):
    calls = {2: "read_excel", 3: "read_html", 4: "read_csv"}
    stored = [row(n, test=f"import tensorflow\n{TESTS}tensorflow.{name}('f')\n") for n, name in calls.items()]
    data.write_bytes(gzip.compress("".join(json.dumps(each) + "\n" for each in stored).encode()))
    with pytest.raises(UserError, match=r"3 of 3 problems need .* tensorflow \(3\)"):
        problems(data, packages="all")
    needed = [_item(msgspec.convert(each, BigCodeBenchRow), "complete").packages for each in stored]
    assert needed == [("tensorflow", "openpyxl", "xlrd"), ("tensorflow", "lxml"), ("tensorflow",)]


RIGHT = HEAD + BODY
LIAR = """def task_func(text, key):
    class Same:
        __class__ = int
        def __eq__(self, other):
            return True
        def __ne__(self, other):
            return False
    return Same()
"""
PATCHED = """import unittest
for name in ("assertEqual", "assertIsNone"):
    setattr(unittest.TestCase, name, lambda *given: None)
"""


@pytest.mark.parametrize("split", ["complete", "instruct"])
def test_right_wrong_and_forged_programs(data, split):
    (problem,) = problems(data, split=split)
    programs = [
        RIGHT,
        RIGHT.replace("import json\n", ""),
        RIGHT.replace("get(key)", "get(key, 1)"),
        "import os\nos._exit(0)\n",
    ]
    assert passed(HARNESS, [(problem, code) for code in programs], "program") == [True, True, False, False]
    assert passed(STRICT, [(problem, code) for code in programs], "program") == [True, True, False, False]
    assert passed(STRICT, [(problem, f"```python\n{code}```") for code in programs]) == [True, True, False, False]


def test_forged_programs_pass_as_published_and_not_unmarked_under_strict(data):
    (problem,) = problems(data)
    loads = "    import json\n    json.loads(text)\n"
    empty = "import unittest\nunittest.TestLoader.loadTestsFromTestCase = lambda *a: unittest.TestSuite()\n"
    patched = f"{PATCHED}def task_func(text, key):\n{loads}"
    forged = [empty, patched]
    assert passed(HARNESS, [(problem, code) for code in forged], "program") == [True, True]
    judged = grade_all(STRICT, [(problem, code) for code in [*forged, LIAR]], "program")
    assert not [one for one in judged if one.passed and "tests-inside" not in one.marks]


def test_prompts(data):
    (complete,), (instruct,) = problems(data), problems(data, split="instruct")
    asked = (
        "Please provide a self-contained Python script that solves the following problem in a markdown code block:"
    )
    assert HARNESS.render_prompt(complete).messages[0].content == f"{asked}\n```\n{(HEAD + DOC).strip()}\n```\n"
    assert HARNESS.render_prompt(instruct).messages[0].content == f"{asked}\n{instruct.task.prompt.strip()}\n"
    begun = HARNESS.render_prompt(complete, "chat")
    assert begun.messages[1].content.endswith("corresponding tests:\n```python\n") and begun.stop == EOS
    text = HARNESS.render_prompt(complete, "base")
    assert (text.messages[0].content, text.style, text.stop) == (HEAD + DOC, "text", BASE_EOS)
    with pytest.raises(UserError, match="split=complete"):
        HARNESS.render_prompt(instruct, "base")
    assert "Read JSON." in STRICT.render_prompt(instruct).messages[0].content


def test_what_is_graded_of_a_reply(data):
    (problem,) = problems(data)
    given = completion(BODY + "\ndef other():\n    pass\n", "completion")
    assert HARNESS.extract(problem, given).value == problem.task.prompt + given.text
    asked = msgspec.structs.replace(given, prompt_sha256="asked here")
    assert HARNESS.extract(problem, asked).value == (problem.task.prompt + BODY).replace("\n\n", "\n").strip()
    reply = f"Sure.\n```python\n{RIGHT}\nprint(task_func('1', 2))\n```\nDone."
    assert extracted(HARNESS, problem, reply) == RIGHT.replace("\n\n", "\n").strip()
    assert sanitize("def task_func():\n    print(1)\n", "task_func") == "def task_func():\n    print(1)"
    one_line = "x = 1\ndef task_func(): return x\n"
    assert sanitize(one_line, "task_func") == "x = 1"  # as upstream: unindented lines that name it are cut


def test_rows_are_read_as_upstream_writes_them():
    assert set(BigCodeBenchRow.__struct_fields__) <= set(ROWS[0])


# ------------------------------------------------------------------------------------------------- parity


ALL_ROWS = os.environ.get("TRUEGRADE_PARITY_ROWS") == "all"
PARTS = 40 if ALL_ROWS else 1
"""In how many parts the parity test runs the data set, one after the other or side by side."""


FAIL_AS_ROOT = {"BigCodeBench/812", "BigCodeBench/832"}
"""Tests that expect a file not to be readable and a folder not to be makeable, which the harness runs as whoever
compares. The folder of 832 stays, and fails every answer to 288."""
_COMMANDS = (14, 15, 16, 18, 350, 459, 460, 461, 562, 785, 1028, 1101, 1103, 1104)
DIFFER = {
    **dict.fromkeys(_COMMANDS, "starts commands of the system, which the jail does not have"),
    **dict.fromkeys((147, 1038, 1040), "starts a server of its own"),
    193: "draws without a seed, so that a fault shows by chance",
    **dict.fromkeys((205, 363), "starts a pool of processes, whose end the harness awaits until its time is up"),
}
"""Why verdicts of these problems may differ."""


def _stored() -> list[dict[str, object]]:
    path = Path(os.environ.get("TRUEGRADE_DATA", "")) / "BigCodeBench.jsonl.gz"
    if not path.is_file():
        return []
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


def _real() -> list[dict[str, object]]:
    """Some rows of the data set that need the standard library alone."""
    return [each for each in _stored() if _plain(each)][:: 8 if ALL_ROWS else 60]


def _plain(each: dict[str, object]) -> bool:
    """Whether a row needs neither packages nor commands of the system, nor much time."""
    source = _source(each)
    starts = "subprocess" in source or "os.system" in source
    return not modules_of(source) and not starts and each["task_id"] != "BigCodeBench/0"


def _source(each: dict[str, object]) -> str:
    return f"{each['prompt']}{each['canonical_solution']}\n{each['test']}"


def _replies(each: dict[str, object]) -> list[str]:
    """Right, wrong, awkward and forged replies to a row."""
    right = f"{each['prompt']}\n{each['canonical_solution']}"
    head = str(each["prompt_wo_doc"])
    forged = "\n    class E:\n        def __eq__(self, other):\n            return True\n    return E()\n"
    silent = f"{PATCHED}\n{head}    return None\n"
    return [
        f"```python\n{right}\n```",
        f"Here you are:\n\n```python\n{right}\n```\nIt returns what you asked for.",
        right,
        f"{right}\nprint(task_func)\n",
        f"```python\n{each['canonical_solution']}\n```",
        f"```python\n{head}    return None\n```",
        f"```python\n{mutant(right)}\n```",
        f"```python\n{head}{forged}```",
        f"```python\n{silent}```",
        f"```python\nimport os\nos._exit(0)\n{right}\n```",
        f"```python\ndef helper():\n    pass\n\n{right}\nx = 1\n```",
    ]


def _asked(part: int) -> list[tuple[dict[str, object], list[str]]]:
    """The rows of a part and their replies: all of them to a row that needs the standard library alone, and a
    right and a wrong one to the others whose packages are installed."""
    if PARTS == 1:
        return [(each, _replies(each)) for each in (ROWS[0], *_real())]
    stored = _stored() or pytest.skip("BigCodeBench.jsonl.gz is not in TRUEGRADE_DATA")
    mine = [each for each in stored[part::PARTS] if os.geteuid() or each["task_id"] not in FAIL_AS_ROOT]
    here = [each for each in mine if all(map(find_spec, modules_of(_source(each))))]
    return [(each, _replies(each) if _plain(each) else [_replies(each)[0], _replies(each)[6]]) for each in here]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_parity(part, tmp_path, monkeypatch):
    monkeypatch.setenv("SCRATCH", str(tmp_path))
    asked = _asked(part)
    stored = [each for each, _ in asked]
    replies = [(each, reply) for each, some in asked for reply in some]
    programs = [(each, sanitize(reply, "task_func")) for each, reply in replies]
    prompts = [
        (split, each[field])
        for each in stored
        for split, field in (("complete", "prompt"), ("instruct", "instruction"))
    ]
    peer = ask(
        "bigcodebench", {"prompts": prompts, "replies": [reply for _, reply in replies], "checks": programs}
    )
    assert (tuple(peer["stops"][0]), (*peer["stops"][0], *peer["stops"][1])) == (EOS, BASE_EOS)
    assert [sanitize(reply, "task_func") for _, reply in replies] == peer["sanitized"]
    written = tmp_path / "rows" / "BigCodeBench.jsonl.gz"
    written.parent.mkdir()
    written.write_bytes(gzip.compress("".join(json.dumps(each) + "\n" for each in stored).encode()))
    known = {
        split: {problem.id: problem for problem in problems(written, split=split, packages="installed")}
        for split in ("complete", "instruct")
    }
    asked = [HARNESS.render_prompt(known[split][each["task_id"]]).messages[0].content
             for each in stored for split in ("complete", "instruct")]  # fmt: skip
    assert asked == peer["prompts"]
    ours = passed(HARNESS, [(known["complete"][each["task_id"]], code) for each, code in programs], "program")
    theirs = [status == "pass" for status in peer["statuses"]]
    different = [
        (each["task_id"], one, code)
        for (each, code), one, other in zip(programs, ours, theirs, strict=True)
        if one != other
    ]
    ids = {task for task, _, _ in different}
    print(f"part {part}: {len(stored)} rows, {len(programs)} verdicts, {len(different)} differ: {sorted(ids)}")
    assert ids <= {f"BigCodeBench/{number}" for number in DIFFER}
    assert set(theirs) == {True, False}


def replied(problem, text):
    """A base model's reply as a run records it."""
    prompt = STRICT.render_prompt(problem, "base")
    return completion_of(problem, prompt, SampleKey(problem.id, 0), Reply(text=text, model="base"))


TRAILING = "\nI hope that this helps: print((\n"


def test_a_base_model_goes_on_with_the_prompt(data):
    problem = problems(data)[0]
    found = STRICT.extract(problem, replied(problem, BODY + TRAILING))
    assert found.form == "completion" and found.value.strip() == BODY.strip()


def test_every_right_body_behind_its_prompt_is_an_answer(data):
    stored = _stored()[:300] or pytest.skip("BigCodeBench.jsonl.gz is not in TRUEGRADE_DATA")
    made = problems(data)[0]
    lost = []
    for row in msgspec.convert(stored, list[BigCodeBenchRow]):
        problem = msgspec.structs.replace(made, id=row.task_id, task=_item(row, "complete").task)
        if STRICT.extract(problem, replied(problem, row.canonical_solution + TRAILING)).value is None:
            lost.append(row.task_id)
    assert not lost
