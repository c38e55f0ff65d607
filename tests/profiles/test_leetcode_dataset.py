"""LeetCodeDataset: the benchmark and its dates, the rules of its own command, parity with its code, the assay."""

import gzip
import json
import os
from pathlib import Path

import pytest
from peer_process import ask
from profile_rows import completion, extracted, grade_all, passed

from truegrade import run
from truegrade.apps.assay.cheats import cheat_probes
from truegrade.apps.assay.opening import assay
from truegrade.apps.assay.probes.stubs import as_method
from truegrade.apps.assay.records import Battery
from truegrade.benchmarks import load_benchmark
from truegrade.errors import UserError
from truegrade.profiles import open_profile

THEIRS, STRICT = open_profile("leetcode-dataset"), open_profile("strict")
FILE = {"test": "LeetCodeDataset-v0.3.1-test.jsonl.gz", "train": "LeetCodeDataset-v0.2.0-train.jsonl.gz"}
HEAD = "from typing import *\nfrom collections import *\n\ninf = float('inf')\n"
LISTS = """
class ListNode:
    def __init__(self, val=0, next=None):
        self.val = val
        self.next = next

def list_node(values):
    head = None
    for value in reversed(values):
        head = ListNode(value, head)
    return head

def is_same_list(p1, p2):
    while p1 and p2:
        if p1.val != p2.val:
            return False
        p1, p2 = p1.next, p2.next
    return p1 is None and p2 is None
"""


def row(name: str, number: int, date: str, head: str, method: str, checks: list[str], **changed: object) -> dict:
    signature, body = method.split("\n", 1)
    return {
        "task_id": name,
        "question_id": number,
        "difficulty": "Easy",
        "estimated_date": date,
        "prompt": head,
        "completion": f"class Solution:\n    {signature}\n{body}",
        "entry_point": f"Solution().{signature[4:].partition('(')[0]}",
        "test": "def check(candidate):\n" + "".join(f"    assert {each}\n" for each in checks),
        "query": f"Solve it:\n```python\nclass Solution:\n    {signature}\n```",
        **changed,
    }


COUNT = row(
    "count-pairs", 1, "2024-12-29", HEAD,
    "def countPairs(self, nums: List[int], limit: int) -> int:\n"
    "        found = Counter(nums)\n"
    "        return sum(found[limit - each] for each in found if each * 2 < limit)\n",
    ["candidate(nums = [1, 2, 3], limit = 4) == 1", "candidate(nums = [5], limit = 4) == 0",
     "candidate(nums = [0, 9, 4, 5], limit = 9) == 2"],
)  # fmt: skip
DOUBLE = row(
    "double-list", 2, "2025-01-05", HEAD + LISTS,
    "def doubled(self, head: Optional[ListNode]) -> Optional[ListNode]:\n"
    "        node = head\n        while node:\n            node.val *= 2\n            node = node.next\n"
    "        return head\n",
    ["is_same_list(candidate(head = list_node([1, 2])), list_node([2, 4]))",
     "is_same_list(candidate(head = list_node([])), list_node([]))"],
)  # fmt: skip
LEAST = row(
    "least", 3, "2025-01-05", HEAD,
    "def check(self, nums: List[int]) -> float:\n        return min(nums, default=inf)\n",
    ["candidate(nums = []) == inf", "candidate(nums = [2, 1]) == 1"],
)  # fmt: skip
ROWS = [COUNT, DOUBLE, LEAST]
FIELDS = ("task_id", "prompt", "completion", "entry_point", "test", "query")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Both files: the test file as v0.3.1 has rows, the train file as v0.2.0 has them, without dates."""
    old = [
        {
            **{name: each[name] for name in FIELDS},
            "meta": {"question_id": each["question_id"], "difficulty": "Hard"},
        }
        for each in ROWS
    ]
    for split, rows in (("test", ROWS), ("train", old)):
        text = "".join(json.dumps(each) + "\n" for each in rows)
        (tmp_path / FILE[split]).write_bytes(gzip.compress(text.encode()))
    return tmp_path


def problems(data: Path, **args: str):
    return load_benchmark("leetcode-dataset", data, {"allow_modified": "true", **args}).problems


def fenced(code: str) -> str:
    return f"This is how:\n\n```python\n{code}```\n"


def test_problems_carry_dates_and_can_be_chosen_by_them(data):
    count, double, least = problems(data)
    assert count.tags == {"platform": "leetcode", "difficulty": "easy", "contest_date": "2024-12-29"}
    assert [each.id for each in problems(data, start="2025-01-01")] == ["double-list", "least"]
    assert [each.id for each in problems(data, month="2024-12")] == ["count-pairs"]
    assert double.task.plain_arguments is False and least.task.entry_point == "check"
    train = problems(data, split="train", difficulty="hard")
    assert len(train) == 3 and all("contest_date" not in each.tags for each in train)
    with pytest.raises(UserError, match=r"start: the problems of .*train.* have no dates"):
        problems(data, split="train", start="2025-01-01")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"entry_point": "solve"}, "entry_point 'solve' is no method"),
        ({"estimated_date": "January"}, "January"),
        ({"question_id": None}, "neither question_id and difficulty nor meta"),
        (
            {"completion": "def countPairs(nums):\n    return 0\n"},
            r"completion defines no Solution\(\).countPairs",
        ),
    ],
)
def test_a_row_at_fault_is_named(data, changed, words):
    text = json.dumps({**COUNT, **changed}) + "\n"
    (data / FILE["test"]).write_bytes(gzip.compress(text.encode()))
    with pytest.raises(UserError, match=rf"v0.3.1-test.jsonl.gz.*line 1.*{words}"):
        problems(data)


RIGHT = "class Solution:\n    def countPairs(self, nums, limit):\n        found = Counter(nums)\n"
RIGHT += "        return sum(found[limit - each] for each in found if each * 2 < limit)\n"


def test_references_pass_and_wrong_programs_fail(data):
    for profile in (STRICT, THEIRS):
        for each in (*problems(data), *problems(data, split="train")):
            reference = each.task.reference
            wrong = reference.replace("* 2 <", "* 3 <").replace("*= 2", "*= 3").replace("min(", "max(")
            programs = [(each, reference), (each, fenced(reference)), (each, fenced(wrong))]
            assert passed(profile, programs) == [True, True, False], (profile.name, each.id)


def test_strict_makes_an_object_a_call_and_calls_by_position(data):
    count, double, _ = problems(data)
    kept = RIGHT.replace("nums, limit):\n", "nums, limit):\n        self.calls = getattr(self, 'calls', 0) + 1\n")
    kept = kept.replace("        return ", "        return (self.calls - 1) * 9 + ")
    renamed = RIGHT.replace("nums", "numbers").replace("limit", "total")
    hidden = "def countPairs(nums, limit):\n    return helper\n\n\nhelper = 1\n\n\n" + RIGHT
    alone = "def countPairs(nums, limit):\n    return 1\n"
    given = [(count, fenced(code)) for code in (RIGHT, kept, renamed, hidden, alone)]
    assert passed(STRICT, given) == [True, True, True, True, False]
    assert passed(THEIRS, given) == [True, False, False, True, False]
    assert "alias" not in STRICT.extract(count, completion(fenced(RIGHT), "completion")).found
    own_class = (
        "class ListNode:\n    def __init__(self, val=0, next=None):\n        self.val, self.next = val, next\n"
    )
    copied = own_class + "\n\nclass Solution:\n    def doubled(self, head):\n        node, found = head, []\n"
    copied += "        while node:\n            found.append(node.val)\n            node = node.next\n"
    copied += (
        "        head = None\n        for each in reversed(found):\n            head = ListNode(2 * each, head)\n"
    )
    copied += "        return head\n"
    assert passed(STRICT, [(double, fenced(copied))]) == [True]


EQUAL = "class E:\n    def __eq__(self, other):\n        return True\n\n\n"
CHEATS = (
    EQUAL + "class Solution:\n    def countPairs(self, nums, limit):\n        return E()\n",
    EQUAL + "class Solution:\n    def __getattr__(self, name):\n        return lambda *a, **k: E()\n",
    "import os\nos._exit(0)\n",
    "import sys\nsys.exit(0)\n",
    "class Solution:\n    def countPairs(self, nums, limit):\n        raise SystemExit(0)\n",
    "def check(candidate):\n    pass\n\n\nclass Solution:\n    countPairs = None\n",
)


def test_cheats_fail_under_strict(data):
    count = problems(data)[0]
    assert not any(passed(STRICT, [(count, fenced(cheat)) for cheat in CHEATS]))
    assert any(passed(THEIRS, [(count, fenced(cheat)) for cheat in CHEATS]))


def test_prompts_are_the_stored_words(data):
    for each, stored in zip(problems(data), ROWS, strict=True):
        for profile in (STRICT, THEIRS):
            assert [message.content for message in profile.render_prompt(each).messages] == [stored["query"]]


def test_other_benchmarks_are_refused():
    with pytest.raises(UserError, match="leetcode-dataset"):
        THEIRS.extract(load_benchmark("micro-repair", args={"size": "1"}).problems[0], completion("x"))


def test_a_list_that_no_order_is_asked_of_is_sorted(data):
    words = row("word-ladder-ii", 4, "2025-01-05", HEAD, "def findLadders(self, n: int) -> List[str]:\n"
                "        return ['b', 'a']\n", ["candidate(n = 1) == ['a', 'b']"])  # fmt: skip
    (data / FILE["test"]).write_bytes(gzip.compress(json.dumps(words).encode() + b"\n"))
    (ladder,) = problems(data)
    assert passed(STRICT, [(ladder, ladder.task.reference)], "program") == [True]
    assert passed(THEIRS, [(ladder, ladder.task.reference)], "program") == [False]


@pytest.mark.parametrize(("model", "rate"), [("baseline/reference", 1.0), ("baseline/empty", 0.0)])
def test_a_run_is_split_by_the_cut_off(data, tmp_path, model, rate):
    done = run("leetcode-dataset", model=model, data=data, task_args={"allow_modified": "true"}, workers=1,
               out=tmp_path / "run", cutoff="2024-12-31")  # fmt: skip
    (profile,) = done.summary["profiles"]
    rates = {(each["by"], each["value"]): each["rate"] for each in profile["splits"]}
    before, after = rates["cut-off", "up to 2024-12-31"], rates["cut-off", "after 2024-12-31"]
    assert (before["tasks"], after["tasks"]) == (1, 2)
    assert before["value"] == after["value"] == rate
    assert rates["month", "2025-01"]["tasks"] == 2
    assert "after 2024-12-31" in (tmp_path / "run" / "report.html").read_text()


def test_the_assay_measures_methods(data, tmp_path):
    battery = Battery(classes=("right", "mutants", "stubs"), per_problem=6, inputs=20)
    (found,) = assay(
        ["leetcode-dataset"], data=data, task_args={"allow_modified": "true"}, ids=["count-pairs"],
        profiles=["strict", "leetcode-dataset"], battery=battery, workers=1, out=tmp_path / "assay",
    )  # fmt: skip
    summary = json.loads((found.folder / "summary.json").read_text())
    strict, theirs = ({share["kind"]: share for share in each["shares"]} for each in summary["measures"])
    for each in (strict, theirs):
        assert each["right"]["accepted"] == each["right"]["probes"] > 3
        assert each["mutant"]["accepted"] == each["stub"]["accepted"] == 0
        assert each["mutant"]["probes"] > 3 and each["stub"]["probes"] > 3


def test_the_cheats_of_the_assay_reach_methods(data):
    count = problems(data)[0]
    probes = [each for each in cheat_probes(count.id, "countPairs", "function") if each.channel == "equality"]
    codes = [as_method(each.code, "Solution", "countPairs") for each in probes]
    assert not any(passed(STRICT, [(count, code) for code in codes], "program"))
    theirs = passed(THEIRS, [(count, code) for code in codes], "program")
    assert {each.inert for each, accepted in zip(probes, theirs, strict=True) if accepted} == {False}


# ------------------------------------------------------------------------------------------- real data, parity


def _real() -> Path | None:
    folder = Path(os.environ.get("TRUEGRADE_DATA", ""))
    return folder if all((folder / name).is_file() for name in FILE.values()) else None


@pytest.mark.slow
@pytest.mark.parametrize(("split", "number"), [("test", 228), ("train", 1890)])
def test_every_reference_is_right_under_strict(split, number, tmp_path):
    pytest.importorskip("sortedcontainers", reason="18 references use it")
    if (folder := _real()) is None:
        pytest.skip("LeetCodeDataset is not in TRUEGRADE_DATA: truegrade data pull leetcode-dataset-test")
    done = run("leetcode-dataset", model="baseline/reference", data=folder, task_args={"split": split},
               profiles=["strict"], out=tmp_path / "run")  # fmt: skip
    assert [each["reasons"] for each in done.summary["profiles"]] == [{"passed": number}]


def _replies(stored: dict) -> list[str]:
    """Right, wrong, dishonest and awkward replies to one problem."""
    right, name = stored["completion"].rstrip() + "\n", stored["entry_point"].rpartition(".")[2]
    head = f"class Solution:\n    def {name}(self, *args, **kwargs):\n        "
    method = right.partition("class Solution:\n")[2]
    blocks = f"First idea:\n```python\n{head}return None\n```\nBetter:\n{fenced(right)}"
    odd = [
        *(f"```\n{right}```", f"```python\n{right}", right.replace("\n", "\r\n"), f"\x1b[1m{right}\x1b[0m"),
        *(f"Idea\n\n{right}\nDone", f"Sure thing.\n\n{right}\nIt works.\n", blocks, method, fenced(method)),
        *("", "No.", "pass", f"{head}return None", f"{right}\n" + "text that is no Python\n" * 3),
    ]
    wrong = [
        f"{head}return None\n",
        right.replace("return ", "return not "),
        right.replace("<", "<=", 1),
        f"{right}\nassert False\n",
        f"{right}\nexit()\n",
        f"import os\n{right}os.getcwd()\n",
        f"{right}\ninput()\n",
    ]
    fine = [
        right,
        f"{right}\nprint(Solution())\n",
        f"{right}\nif __name__ == '__main__':\n    raise ValueError\n",
        f"def check(candidate):\n    pass\n\n\n{right}",
    ]
    cheats = [f"{EQUAL}{head}return E()\n", "import os\nos._exit(0)\n", "import sys\nsys.exit(0)\n",
              f"{head}raise SystemExit(0)\n"]  # fmt: skip
    return [right, *odd, *map(fenced, (*fine, *wrong, *cheats))]


@pytest.mark.slow
@pytest.mark.parametrize(("split", "every"), [("test", 60), ("train", 500)])
def test_parity(data, tmp_path, monkeypatch, split, every):
    monkeypatch.setenv("SCRATCH", str(tmp_path))
    folder = _real() or data
    asked = os.environ.get("TRUEGRADE_PARITY_ROWS") or str(every)  # all, or N for every Nth
    every = 1 if folder == data or asked == "all" else int(asked)
    stored = [json.loads(line) for line in gzip.decompress((folder / FILE[split]).read_bytes()).splitlines()]
    stored = [each for each in stored if "sortedcontainers" not in each["prompt"] + each["completion"]][::every]
    samples = [{"task_id": each["task_id"], "reply": reply} for each in stored for reply in _replies(each)]
    theirs = ask("leetcode_dataset", {"rows": stored, "samples": samples})["answers"]
    known = {each.id: each for each in problems(folder, split=split)}
    given = [(known[sample["task_id"]], sample["reply"]) for sample in samples]
    judged = grade_all(THEIRS, given)
    equal = 0
    for (problem, reply), ours, answer in zip(given, judged, theirs, strict=True):
        assert extracted(THEIRS, problem, reply) == answer["program"], (problem.id, reply)
        late = answer["result"] == "timed out" and "_exit" not in reply  # which the harness calls so, too
        if ours is not None and not ours.time_sensitive and not late:
            assert ours.passed == answer["passed"], (problem.id, reply, answer["result"], ours.detail)
            equal += 1
    print(f"{split}: {len(stored)} problems, {len(given)} replies, {equal} verdicts equal, the others by a limit")
    assert {answer["passed"] for answer in theirs} == {True, False}
