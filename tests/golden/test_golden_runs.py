"""Golden runs: what whole commands say of stored replies of every kind, kept in ``expected/``.

They are the contract of changes that only move or merge code: no line of ``expected/`` may change unless the
change means to. The truth in them is what the code said when they were written; that it is right is tested
elsewhere.
``pytest tests/golden --write-golden`` writes them anew; read the difference before you commit it.

Left out, since they differ by machine, day or version: what `MASKS` lists, CPU and wall seconds, and the page's
style and scripts.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from difflib import unified_diff
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from support import contest_files, execution_files, stand_in_data
from support.thorough import thorough
from truegrade.cli import main

pytestmark = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="errors of Python 3.11 are in the texts")

EXPECTED = Path(__file__).parent / "expected"
FENCE = "```python\n"
ASSERTED = re.compile(r"(?<=== )(.+?)(?=\n|\"}|$)")


def in_program(line: str) -> Callable[[str], str]:
    """Put a statement at the start of the reply's program."""
    return lambda text: text.replace(FENCE, f"{FENCE}{line}\n", 1)


def claiming(value: str) -> Callable[[str], str]:
    """State another value behind the ``==``."""
    return lambda text: ASSERTED.sub(value, text)


EVERY_KIND: dict[str, Callable[[str], str]] = {
    "right": lambda text: text,
    "right, with prose": lambda text: f"Here it is.\n\n{text}\n\nThis is right.",
    "right, behind thinking": lambda text: f"<think>\nNot {FENCE}pass\n```\n</think>\n{text}",
    "right, twice": lambda text: f"{text}\n\nOr:\n\n{text}",
    "right, no fence": lambda text: text.replace(FENCE, "").replace("\n```", ""),
    "empty": lambda text: "",
    "no answer": lambda text: "I cannot help with that.",
    "cut": lambda text: text[: len(text) // 2],
}
PROGRAMS = {
    **EVERY_KIND,
    "wrong": lambda text: text.replace("return ", "return None and ").replace("print(", "print(1 + "),
    "raises": in_program("raise ValueError('no')"),
    "no Python": in_program("def ("),
    "exits": in_program("import os; os._exit(0)"),
    "leaves": in_program("raise SystemExit"),
    "killed": in_program("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
    "forged": lambda text: in_program("class Yes(int):\n    __eq__ = lambda self, other: True")(
        text.replace("return ", "return Yes() or ")
    ),
    "prints": in_program("print('besides')"),
    "imports": in_program("import collections"),
    "frames": in_program("import sys\nsys._getframe()"),
}
PREDICTIONS = {
    **EVERY_KIND,
    "another value": claiming("[0, 'other']"),
    "no literal": claiming("sum([1, 2])"),
    "no Python": claiming("[1,"),
    "true in another form": claiming("1.0 * 1"),
}
DEFECTS = {"cut": "length", "empty": "stop"}


def humaneval_plus(folder: Path) -> Path:
    """Three problems in the form of HumanEval+."""
    rows = [
        {
            "task_id": f"HumanEval/{number}",
            "prompt": f'def {name}(x):\n    """ {name} of x. """\n',
            "entry_point": name,
            "canonical_solution": f"    return {body}\n",
            "contract": "",
            "atol": atol,
            "base_input": [[1], [2]],
            "plus_input": [[3], [10**6], [-1]],
        }
        for number, (name, body, atol) in enumerate(
            (("double", "2 * x", 0), ("half", "x / 2", 1e-6), ("pair", "[x, x]", 0))
        )
    ]
    return written(folder / "HumanEvalPlus.jsonl.gz", rows, stand_in_data._zipped_lines)


def own_rows(folder: Path) -> Path:
    """Two functions and a program on standard input, without Python of ours."""
    rows: list[dict[str, Any]] = [
        {
            "id": name,
            "prompt": f'def {name}(x):\n    """Return {body}."""\n',
            "entry_point": name,
            "reference": f"    return {body}\n",
            "tests": [f"assert {name}(1) == {first}", f"assert {name}(5) == {last}"],
        }
        for name, body, first, last in (("inc", "x + 1", 2, 6), ("dec", "x - 1", 0, 4))
    ]
    rows.append(
        {
            "id": "echo",
            "prompt": "Print the line that is read.",
            "reference": "print(input())\n",
            "tests": [{"input": "a\n", "output": "a\n"}, {"input": "b c\n", "output": "b c\n"}],
        }
    )
    return written(folder / "own.jsonl", rows)


def contests(folder: Path) -> Path:
    """Sums, on standard input and as a method."""
    rows = [contest_files.row(name, function="add" if name in "cd" else None) for name in "abcd"]
    return contest_files.write_rows(folder / "livecodebench.jsonl", rows)


def crux(folder: Path) -> Path:
    """Programs of CRUXEval's form."""
    rows = [
        {"id": f"sample_{number}", "code": f"def f(x):\n    return {body}", "input": given, "output": value}
        for number, (body, given, value) in enumerate(
            (
                ("x * 2", "4", "8"),
                ("[x]", "'a'", "['a']"),
                ("x or None", "0", "None"),
                ("{x: x}", "1", "{1: 1}"),
                ("x, 'é'", "2", "(2, 'é')"),
            )
        )
    ]
    return written(folder / "cruxeval.jsonl", rows)


def written(file: Path, rows: Any, write: Callable[[Any], bytes] = stand_in_data._lines) -> Path:
    """Rows, in a file."""
    file.write_bytes(write(rows))
    return file


def nothing(folder: Path) -> None:
    """For benchmarks that need no file."""


class Golden(NamedTuple):
    """A run: what is asked, whose rules grade it, and the replies."""

    benchmark: str
    profiles: tuple[str, ...]
    data: Callable[[Path], Path | None]
    replies: dict[str, Callable[[str], str]] = PROGRAMS
    arguments: tuple[str, ...] = ()
    modified: bool = True


def stand_in(name: str, copies: int) -> Callable[[Path], Path]:
    """The stand-in of a benchmark's file, with so many of each problem under ids of their own."""

    def write(folder: Path) -> Path:
        file, rows, bytes_of = stand_in_data.STAND_INS[name]
        many = [{**row, "task_id": f"{row['task_id']}{copy}"} for copy in range(copies) for row in rows]
        return written(folder / file, many, bytes_of)

    return write


RUNS = {
    "humaneval": Golden(
        "humaneval", ("strict", "human-eval", "bigcode-instruct"), nothing, arguments=("--limit", "4")
    ),
    "humanevalplus": Golden("humanevalplus", ("strict", "evalplus"), humaneval_plus),
    "own": Golden("own.jsonl", ("strict",), own_rows, modified=False),
    "humanevalfix": Golden("humanevalfix", ("strict", "humanevalpack"), stand_in("humanevalfix", 2)),
    "leetcode": Golden("leetcode-dataset", ("strict", "leetcode-dataset"), stand_in("leetcode-dataset", 3)),
    "livecodebench": Golden(
        "livecodebench", ("strict", "livecodebench", "evalscope-sandbox"), contests, modified=False
    ),
    "bigcodebench": Golden("bigcodebench", ("strict", "bigcodebench"), stand_in("bigcodebench", 3)),
    "repair": Golden("micro-repair", ("strict",), nothing, arguments=("--limit", "4"), modified=False),
    "cruxeval": Golden("cruxeval-output", ("strict", "cruxeval"), crux, PREDICTIONS),
    "prediction": Golden(
        "execution-prediction",
        ("strict", "code-reasoning"),
        execution_files.write_rows,
        PREDICTIONS,
        ("--limit", "2"),
        False,
    ),
    "choice": Golden(
        "execution-choice",
        ("strict", "code-reasoning"),
        execution_files.write_rows,
        PREDICTIONS,
        ("--limit", "2"),
        False,
    ),
}

SUM = {
    "stdin": f"{FENCE}a, b = map(int, input().split())\nprint(a + b)\n```",
    "functional": f"{FENCE}class Solution:\n    def add(self, a, b):\n        return a + b\n```",
}

MASKS = (
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d| UTC)?", "TIME"),
    (r"\b20(2[6-9]|[3-9]\d)-\d\d-\d\d\b", "DAY"),  # those of the data are older
    (r"\b(?<!\.)\d+(\.\d+)? ?(ms|s|CPU s|seconds)\b(?! a test)", "SECONDS"),
    (r"'execution time': [-+.e\d]+", "SECONDS"),
    (r"level [123]\b[^\n|<]*", "LEVEL"),
    (r"\b[0-9a-f]{64}\b", "SHA256"),
    (r"\b3\.\d+\.\d+\b", "PYTHON"),
    (r"\(python PYTHON, platform [^)]*\)", "(VERSIONS)"),
)
"""Text that differs between machines and days: pattern, and what stands in its place."""
LEFT_OUT = {
    "created",
    "started",
    "finished",
    "seconds",
    "wall_s",
    "cpu_s",
    "latency_s",
    "level",
    "levels",
    "python",
    "platform",
    "machine",
    "truegrade",
    "versions",
    "environment",
    "protection",
}
"""Fields of summaries that do."""


class PageText(HTMLParser):
    """The words of a page, an element a line."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Style and scripts are no words."""
        self._hidden += tag in ("style", "script")

    def handle_endtag(self, tag: str) -> None:
        """They end."""
        self._hidden -= tag in ("style", "script")

    def handle_data(self, data: str) -> None:
        """Words."""
        if not self._hidden and data.strip():
            self.lines.append(" ".join(data.split()))


def masked(text: str, folder: Path) -> str:
    """A text without what differs by machine or day."""
    text = text.replace(str(folder), "FOLDER")
    for pattern, name in MASKS:
        text = re.sub(pattern, name, text)
    return text


def steady(value: Any) -> Any:
    """A summary without what differs by machine or day."""
    if isinstance(value, dict):
        return {key: steady(one) for key, one in value.items() if key not in LEFT_OUT}
    return [steady(one) for one in value] if isinstance(value, list) else value


def command(*words: object) -> tuple[int, str]:
    """Exit code and standard output of a command, in this process."""
    result = CliRunner().invoke(main, [str(word) for word in words], env={"COLUMNS": "160"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout if result.exit_code in (0, 1) else result.stdout + result.stderr


def write_replies(golden: Golden, asked: list[object], folder: Path) -> None:
    """A completion of every kind to every problem, made from the reference's; the last has failed."""
    code, said = command("run", *asked, "--no-grade", "-m", "baseline/reference", "--out", folder / "reference")
    assert code == 0, said
    rows = [json.loads(line) for line in (folder / "reference" / "completions.jsonl").read_text().splitlines()]
    with (folder / "replies.jsonl").open("w") as lines:
        for row in rows:
            right = row["text"]
            if golden.benchmark == "livecodebench":
                right = SUM["functional" if row["problem_id"].endswith(("c", "d")) else "stdin"]
            for sample, (name, change) in enumerate(golden.replies.items()):
                text = None if row is rows[-1] and sample == len(golden.replies) - 1 else change(right)
                made = {"sample": sample, "text": text, "finish_reason": DEFECTS.get(name, "stop")}
                usage = {"input_tokens": 10 + sample, "output_tokens": 20 + sample}
                lines.write(json.dumps({**row, **made, "usage": usage, "latency_s": 0.5}) + "\n")


def verdict_lines(run: Path) -> Iterator[str]:
    """A line a verdict: all that a profile said but seconds and level."""
    for file in sorted(run.glob("verdicts.*.jsonl")):
        yield f"-- {file.name}"
        for row in sorted(
            map(json.loads, file.read_text().splitlines()), key=lambda row: (row["problem_id"], row["sample"])
        ):
            said = [row["reason"], *row["marks"], *(["truncated"] if row["truncated"] else []), row["found"]]
            answer = json.dumps(row["answer"])
            verdict = (" ".join(map(str, said)), row["detail"], answer[:60], row["harness"])
            yield f"{row['problem_id']} {row['sample']}: {' | '.join(map(str, verdict))}"


def damaged(run: Path) -> None:
    """As a kill leaves a run: files that end in the middle of a line, and no results."""
    for file in run.glob("*.jsonl"):
        content = file.read_bytes()
        file.write_bytes(content[: len(content) * 3 // 5])
    for name in ("summary.json", "report.html"):
        (run / name).unlink()


def record(run: Path, code: int, said: str, folder: Path) -> str:
    """All that a run came to, in sections."""
    assert (run / "report.html").exists(), said
    sections = {
        f"terminal, exit code {code}": said,
        "verdicts": "\n".join(verdict_lines(run)),
        "summary.json": json.dumps(
            steady(json.loads((run / "summary.json").read_text())), indent=1, ensure_ascii=False
        ),
        "page": words_of(run / "report.html"),
    }
    for form in ("csv", "latex", "markdown"):
        code, said = command("report", run, "--format", form, "--out", folder / form)
        assert code == 0, said
        for file in sorted((folder / form).iterdir()):
            text = file.read_text()  # of samples, the names of columns: the verdicts are above
            of_file = text.partition("\n")[0] if file.name == "samples.csv" else text
            sections[f"report --format {form}, {file.name}"] = of_file
    return in_sections(sections, folder)


def difference(before: str, now: str) -> str:
    """Lines that went and came."""
    return "\n".join(unified_diff(before.splitlines(), now.splitlines(), lineterm="", n=0))


def words_of(page: Path) -> str:
    """What a page says."""
    reader = PageText()
    reader.feed(page.read_text())
    return "\n".join(reader.lines)


def in_sections(sections: dict[str, str], folder: Path) -> str:
    """Texts under their names, without what differs by machine or day."""
    return masked("".join(f"==== {name}\n{text.rstrip()}\n" for name, text in sections.items()), folder)


def compare_with_expected(name: str, found: str, request: pytest.FixtureRequest) -> None:
    """Nothing has changed, or it is written anew."""
    expected = EXPECTED / f"{name}.txt"
    if request.config.getoption("write_golden"):
        expected.write_text(found)
    assert not difference(expected.read_text(), found)


@pytest.fixture(autouse=True)
def folder_of_its_own(tmp_path, monkeypatch, humaneval_file):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))


OFTEN = ("humaneval", "own", "cruxeval", "choice")
"""Runs of `make test`: programs, a file of rows, a prediction, a choice; the others are thorough."""


@pytest.mark.parametrize("name", [name if name in OFTEN else thorough(name) for name in RUNS])
def test_a_run_is_as_it_was_and_resumed_it_is_the_same(name, tmp_path, request):
    golden = RUNS[name]
    file = golden.data(tmp_path)
    asked: list[object] = [golden.benchmark, *golden.arguments]
    asked += [] if file is None or golden.benchmark.endswith(".jsonl") else ["--data", file]
    asked += ["-T", "allow_modified=true"] if golden.modified and file is not None else []
    write_replies(golden, asked, tmp_path)
    graded = ["-m", "replay:replies.jsonl", "-n", len(golden.replies), "-k", 1, "-k", 5, "--out", "run"]
    graded += [word for profile in golden.profiles for word in ("--as", profile)]
    first = record(tmp_path / "run", *command("run", *asked, *graded), tmp_path)
    damaged(tmp_path / "run")
    again = record(tmp_path / "run", *command("run", *asked, *graded), tmp_path)
    assert not difference(first, again)
    compare_with_expected(name, first, request)


def test_runs_side_by_side_are_as_they_were(tmp_path, request):
    own_rows(tmp_path)
    golden = RUNS["own"]
    write_replies(golden, ["own.jsonl"], tmp_path)
    models = {"stored": "replay:replies.jsonl", "right": "baseline/reference", "empty": "baseline/empty"}
    for name, model in models.items():
        code, said = command("run", "own.jsonl", "-m", model, "-n", 15, "--out", name)
        assert code == 0, said
    sections = {}
    for words in (
        ["compare", *models],
        ["compare", *models, "--all-pairs", "--power", "--points", 5],
        ["compare", *models, "--table"],
        ["check", "50", "stored"],
        ["check", "stored"],
        ["check", "42.5", "stored/completions.jsonl", "--benchmark", "own.jsonl"],
    ):
        code, said = command(*words)
        sections[f"{' '.join(map(str, words))}: exit code {code}"] = said
    for form in ("csv", "latex", "markdown"):
        code, said = command("compare", *models, "--format", form, "--out", form)
        assert code == 0, said
        for made in sorted((tmp_path / form).iterdir()):
            sections[f"compare --format {form}, {made.name}"] = made.read_text()
    code, said = command("compare", *models, "--format", "html", "--out", "comparison.html")
    assert code == 0, said
    sections["comparison.html"] = words_of(tmp_path / "comparison.html")
    compare_with_expected("side_by_side", in_sections(sections, tmp_path), request)
