"""The audit of synthetic files with real gradings: every finding where it belongs, and none where it does not."""

import json
import math

import pytest
from audit_files import document, lines, right, toy, upstream, wrong

from truegrade.analysis.audit import CODES, Evidence, Severity, audit_file
from truegrade.analysis.audit.checks import hypergeometric_tail, label_in
from truegrade.errors import BadRecord, UnknownName
from truegrade.settings import Silent

TASKS = 12


def examine(path, *, tasks=TASKS, **options):
    return audit_file(Evidence(path=path, progress=Silent(), workers=2, **options), toy(tasks))


def found(result):
    """Findings by code, without the information that a toy file names no model."""
    return {item.code: item for item in result.findings if item.code != "model-unrecorded"}


def rows(solve, tasks=TASKS, **more):
    return [{**upstream(number), "completion": solve(number), **more} for number in range(tasks)]


def test_a_faithful_file_is_clean(tmp_path):
    result = examine(lines(tmp_path / "toy.jsonl", rows(right, is_solved=True, model="toy-1")))
    assert result.findings == []
    assert result.clean
    assert (result.tasks, result.samples, result.recorded) == (12, 12, {"is_solved": 12})
    assert result.estimates[0].value == 1.0


def test_flags_without_a_program_and_flags_that_the_tests_contradict(tmp_path):
    """MapCoder-like rows: three empty sources called solved, two wrong ones, one right one called unsolved."""
    table = [
        {**upstream(n), "source_codes": [right(n)], "responses": [right(n)], "is_solved": True}
        for n in range(TASKS)
    ]
    for number in (0, 1, 2):
        table[number]["source_codes"] = ["" if number else "# nothing yet"]
    for number in (3, 4):
        table[number]["source_codes"] = [wrong(number)]
    table[5]["is_solved"] = False
    result = examine(lines(tmp_path / "f.jsonl", table))
    findings = found(result)
    assert set(findings) == {"flag-without-program", "flag-pass-contradicted", "flag-fail-contradicted"}
    assert findings["flag-without-program"].rows == ["Toy/0", "Toy/1", "Toy/2"]
    assert "3 of the 11 rows" in findings["flag-without-program"].sentence
    assert findings["flag-pass-contradicted"].rows == [f"Toy/{n}" for n in range(5)]
    assert "3 wrong_answer, 2 no_answer" in findings["flag-pass-contradicted"].sentence
    assert findings["flag-fail-contradicted"].rows == ["Toy/5"]
    assert not result.clean
    assert result.estimates[0].value == pytest.approx(7 / 12)


def test_acceptance_by_own_tests_is_not_called_a_false_verdict(tmp_path):
    table = [
        {**upstream(n), "completion_list": [right(n), wrong(n)], "completion": right(n), "idx": n % 2,
         "need_reproduce": False}
        for n in range(TASKS)
    ]  # fmt: skip
    finding = found(examine(document(tmp_path / "f.json", table)))["flag-accepted-wrong"]
    assert finding.severity is Severity.WARNING
    assert finding.rows == [f"Toy/{n}#1" for n in range(1, TASKS, 2)]
    assert "that 'need_reproduce' (false) accepts fail" in finding.sentence


def test_verdicts_on_another_text_are_not_held_against_the_row(tmp_path):
    table = rows(wrong, passed=True, result="passed")
    for number, row in enumerate(table):
        row["full_code"] = "import math\n" + (right(number) if number < 9 else row["completion"])
    findings = found(examine(document(tmp_path / "f.json", table)))
    assert findings["flag-of-another-text"].count == 9
    assert "passed, result" in findings["flag-of-another-text"].sentence
    assert findings["flag-of-another-text"].flags == ("passed", "result")
    assert findings["flag-pass-contradicted"].rows == ["Toy/9", "Toy/10", "Toy/11"]


def test_a_program_that_the_rules_lose_is_not_called_missing(tmp_path):
    """`strict` finds nothing to grade in a text that is cut; there is a program in the file all the same."""
    table = rows(right, is_solved=True, model="m-1")
    table[0]["completion"] = "    return (x +"
    assert set(found(examine(lines(tmp_path / "f.jsonl", table)))) == {"flag-pass-contradicted", "truncated"}


def test_changed_tests_and_prompts_are_found_and_the_benchmarks_own_are_graded(tmp_path):
    table = rows(right)
    table[2]["test"] = "def check(candidate):\n    assert candidate(1) == 1\n"
    table[3]["prompt"] = "def add_3(x):\n"
    table[4]["prompt"] = table[4]["prompt"] + "\n"
    table[5]["test"] = table[5]["test"].replace("\n", "\r\n")
    result = examine(lines(tmp_path / "f.jsonl", table))
    errors = [item for item in result.findings if item.severity is Severity.ERROR]
    assert [(item.code, item.rows) for item in errors] == [("test-changed", ["Toy/2"])]
    assert [item.rows for item in result.findings if item.code == "prompt-changed"] == [["Toy/3"]]
    blanks = [item for item in result.findings if item.code == "test-changed" and item.severity is Severity.INFO]
    assert blanks[0].rows == ["Toy/5"]
    assert result.estimates[0].value == 1.0


def test_scored_shots_and_missing_tasks(tmp_path):
    path = lines(tmp_path / "f.jsonl", rows(right)[1:])
    findings = found(examine(path, shots=["Toy/0", "Toy/1"]))
    assert findings["shot-scored"].rows == ["Toy/1"]
    assert "1 of them pass" in findings["shot-scored"].sentence
    assert findings["tasks-missing"].rows == ["Toy/0"]
    with pytest.raises(UnknownName, match="Toy/99"):
        examine(path, shots=["Toy/99"])


def test_a_file_whose_first_sample_is_better_is_not_exchangeable(tmp_path):
    table = [
        {"task_id": f"Toy/{n}", "completion": (wrong if sample else right)(n, sample)}
        for n in range(TASKS)
        for sample in range(3)
    ]
    finding = found(examine(lines(tmp_path / "f.jsonl", table)))["not-exchangeable"]
    assert "100.0, 0.0, 0.0 %" in finding.sentence


def test_repeated_positions_and_identical_samples(tmp_path):
    table = [{"task_id": f"Toy/{n}", "completion_list": [right(n), right(n, 1), right(n)]} for n in range(TASKS)]
    table[0]["completion_list"] = [right(0)] * 3
    findings = found(examine(document(tmp_path / "f.json", table)))
    assert "sample 2 repeats sample 0 for all 12 problems" in findings["position-repeated"].sentence
    assert findings["samples-identical"].rows == ["Toy/0"]
    assert findings["samples-identical"].severity is Severity.INFO
    same = [{"task_id": f"Toy/{n}", "completion_list": [right(n)] * 2} for n in range(3)]
    assert found(examine(document(tmp_path / "g.json", same)))["samples-identical"].severity is Severity.WARNING


def test_uneven_numbers_of_samples(tmp_path):
    table = [
        {"task_id": f"Toy/{n}", "completion_list": [right(n), right(n, 1)][: 1 + n % 2]} for n in range(TASKS)
    ]
    assert found(examine(document(tmp_path / "f.json", table)))["samples-uneven"].count == 6


def test_a_null_among_several_texts_is_a_missing_sample_and_the_numbers_stay(tmp_path):
    table = [{"task_id": f"Toy/{n}", "completion_list": [right(n), None, right(n)]} for n in range(3)]
    result = examine(document(tmp_path / "f.json", table), tasks=3)
    assert (result.tasks, result.samples) == (3, 6)
    assert "sample 2 repeats sample 0 for all 3 problems" in found(result)["position-repeated"].sentence


def test_cut_texts_by_the_services_word_and_by_their_end(tmp_path):
    table = rows(right)
    table[0]["finish_reason"] = "length"
    table[1]["completion"] = "    return (x +"
    finding = found(examine(lines(tmp_path / "f.jsonl", table)))["truncated"]
    assert finding.rows == ["Toy/0", "Toy/1"]
    assert "1 according to finish_reason" in finding.sentence
    assert "1 of them fail" in finding.sentence


# -------------------------------------------------------------------------------------------- rounds


def rounds(tmp_path, first, second):
    table = [{"task_id": f"Toy/{n}", "completion": first(n)} for n in range(16)]
    before = lines(tmp_path / "round0.jsonl", table)
    after = lines(tmp_path / "round1.jsonl", [{**row, "completion": second(n)} for n, row in enumerate(table)])
    return found(examine(after, tasks=16, previous=[before]))


def test_only_failed_tasks_changed_is_feedback_from_the_official_tests(tmp_path):
    findings = rounds(tmp_path, lambda n: wrong(n) if n < 8 else right(n), lambda n: right(n))
    assert findings["official-feedback"].rows == [f"Toy/{n}" for n in range(8)]
    assert (
        "all of which fail the benchmark's own tests there under strict@6"
        in findings["official-feedback"].sentence
    )


def test_a_whole_new_round_is_no_feedback(tmp_path):
    assert not rounds(tmp_path, lambda n: wrong(n) if n < 8 else right(n), lambda n: right(n, 1))


def test_changes_regardless_of_the_verdict_are_no_feedback(tmp_path):
    findings = rounds(
        tmp_path,
        lambda n: wrong(n) if n < 8 else right(n),
        lambda n: right(n, n % 3 == 0) if n >= 8 else wrong(n),
    )
    assert "official-feedback" not in findings


def test_copies_are_found(tmp_path):
    path = lines(tmp_path / "a.jsonl", rows(right, 4))
    copy = lines(tmp_path / "b.jsonl", rows(right, 4))
    assert "file-duplicated" in found(examine(copy, tasks=4, previous=[path]))
    other = lines(tmp_path / "c.jsonl", rows(right, 4, note="new"))
    assert "completions-duplicated" in found(examine(other, tasks=4, previous=[path]))


def test_the_tail_of_the_hypergeometric_distribution():
    assert hypergeometric_tail(10, 5, 3, 3) == 1.0
    assert hypergeometric_tail(10, 5, 3, 0) == pytest.approx(math.comb(5, 3) / math.comb(10, 3))
    assert hypergeometric_tail(4, 0, 2, 0) == 1.0


# -------------------------------------------------------------------------------------------- models


@pytest.mark.parametrize(
    ("name", "model", "codes"),
    [
        ("gpt-4.jsonl", "gpt-4-0613", set()),
        ("gpt-4.jsonl", "openai/gpt-4", set()),
        ("GPT4-agent.jsonl", "gpt-4-0613", set()),
        ("gpt-4.jsonl", "gpt-4o-2024-05-13", {"model-label"}),
        ("gpt-4-answers.jsonl", "gpt-3.5-turbo-1106", {"model-label"}),
        ("answers.jsonl", "anything", set()),
    ],
)
def test_label_against_recorded_model(tmp_path, name, model, codes):
    result = examine(lines(tmp_path / name, rows(right, model=model)))
    assert {item.code for item in result.findings} == codes


def test_several_models_in_one_file_and_a_label_given(tmp_path):
    table = rows(right, model="a-1")
    table[0]["model"] = "b-1"
    findings = found(examine(lines(tmp_path / "f.jsonl", table), label="a"))
    assert "a-1 (11), b-1 (1)" in findings["model-mixed"].sentence
    assert "b-1" in findings["model-label"].sentence


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("gpt-3.5-turbo-1106.json", "gpt-3.5-turbo-1106"),
        ("zero_shot_gpt-3.5-turbo_0_mbpp.json", "gpt-3.5-turbo"),
        ("ChatGPT-Agent-HumanEval.jsonl", "ChatGPT"),
        ("codellama-7b_temp0.2.json", "codellama-7b"),
    ],
)
def test_the_label_in_a_file_name(name, label):
    assert label_in(name) == label


@pytest.mark.parametrize("name", ["samples.jsonl.gz", "graphics.json", "philosophy.jsonl", "palmer-answers.json"])
def test_a_file_name_without_a_model_has_no_label(name):
    assert label_in(name) is None


# ------------------------------------------------------------------------------------------ bad input


def test_bad_rows_and_unknown_tasks_are_refused(tmp_path):
    with pytest.raises(BadRecord, match=r"line 1.*Toy/999"):
        examine(lines(tmp_path / "a.jsonl", [{"task_id": "Toy/999", "completion": "x"}]))
    with pytest.raises(BadRecord, match="no completion"):
        examine(lines(tmp_path / "b.jsonl", [{"task_id": "Toy/1", "completion": None}]))


GOOD = json.dumps({"task_id": "Toy/1", "completion": right(1)})


@pytest.mark.parametrize(
    "bad",
    [
        '{"completion": "x"}',
        '{"task_id": "Toy/0", "completion": 4}',
        '{"task_id": "Toy/99", "completion": "x"}',
        '{"task_id": "Toy/0"',
        '"Toy/0"',
        '{"task_id": "Toy/0", "completion": ' + "[" * 5000 + "]" * 5000 + "}",
    ],
)
@pytest.mark.parametrize("first", [False, True])
def test_a_bad_row_does_not_refuse_the_others(tmp_path, bad, first):
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join([bad, GOOD] if first else [GOOD, bad]) + "\n")
    told = []
    assert examine(path, notice=told.append).samples == 1
    assert len(told) == 1 and f"line {1 if first else 2}" in told[0]


def test_a_number_of_thousands_of_digits_is_no_fault(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{GOOD[:-1]}, "n": {"9" * 5000}}}\n')
    assert examine(path).samples == 1


def test_every_code_is_explained():
    assert all(CODES.values())
    assert all(code == code.lower() for code in CODES)


@pytest.mark.slow
def test_published_verdicts_of_cruxeval_hold(data_dir):
    """8,000 recorded verdicts of a published file, graded anew."""
    from truegrade.benchmarks import load_benchmark

    path = data_dir / "cruxeval_codellama7b" / "output_scored.json"
    benchmark = load_benchmark("cruxeval-output", data_dir)
    result = audit_file(Evidence(path=path, profile="cruxeval", progress=Silent(), workers=2), benchmark)
    assert result.samples == 8000
    assert not [item for item in result.findings if item.code.startswith("flag-")]
