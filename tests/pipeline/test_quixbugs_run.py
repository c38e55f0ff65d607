"""QuixBugs from its prompt to its verdicts: the right programs, and the buggy ones handed back."""

import json

import pytest

import truegrade


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch, data_dir):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(data_dir))


def verdicts(run, profile):
    return [json.loads(line) for line in run.verdicts_path(profile).read_text().splitlines()]


@pytest.mark.slow
def test_the_reference_scores_40_of_40():
    run = truegrade.run("quixbugs", model="baseline/reference", workers=1)
    graded = verdicts(run, "strict@6")
    assert len(graded) == 40 and all(verdict["passed"] for verdict in graded)


@pytest.mark.slow
@pytest.mark.parametrize("prompt", ["default", "base"])
def test_both_profiles_count_tests_in_the_verdict(prompt):
    run = truegrade.run(
        "quixbugs", model="baseline/buggy", profiles=["strict", "coralx"], workers=1,
        task_args={"split": "coralx-test", "prompt": prompt},
    )  # fmt: skip
    strict, coralx = (
        {v["problem_id"].removeprefix("QuixBugs/"): v for v in verdicts(run, profile)} for profile in run.profiles
    )
    assert len(strict) == len(coralx) == 8
    assert not any(verdict["passed"] for verdict in (*strict.values(), *coralx.values()))
    assert {name: v["harness"]["tests"] for name, v in coralx.items()} == {
        "kheapsort": 4, "lcs_length": 9, "next_palindrome": 5, "next_permutation": 8, "possible_change": 10,
        "sieve": 6, "to_base": 10, "wrap": 5,
    }  # fmt: skip
    assert (strict["kheapsort"]["harness"]["passed"], coralx["kheapsort"]["harness"]["passed"]) == (1, 0)
    assert strict["sieve"]["harness"] == coralx["sieve"]["harness"]
    # Without a fence coralx begins at the first def, and the import before it is lost.
    kept = 3 if prompt == "default" else 0
    assert (strict["to_base"]["harness"]["passed"], coralx["to_base"]["harness"]["passed"]) == (3, kept)
