"""`truegrade data build repository` from the command line: a small package, whole, twice, stopped and resumed."""

import json
import signal

import pytest
from click.testing import CliRunner

from support.commands import signalled
from support.repository_package import write_package
from truegrade.cli import main


def build(*words):
    return CliRunner().invoke(main, ["data", "build", "repository", *map(str, words)])


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    package = write_package(folder / "package")
    done = build(package, "--out", folder / "out", "--json")
    assert done.exit_code == 0, done.output
    return package, folder / "out", json.loads(done.stdout)


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_functions_become_problems_of_four_kinds(built):
    _, out, told = built
    ids = {
        kind: [row["id"].partition("tool.text.")[2] for row in rows(out / f"{kind}.jsonl")]
        for kind in told["rows"]
    }
    outside = ["words", "slug", "number", "letters", "counts", "pieces", "steps"]
    by_tests = ["push", "is_long", "Box.doubled"]
    assert ids["write"] == [f"{name}/write" for name in (*outside, *by_tests)]
    assert [row["tags"]["tier"] for row in rows(out / "write.jsonl")] == ["outside"] * 7 + ["own-tests"] * 3
    assert told["tiers"]["write"] == told["tiers"]["repair"] == {"outside": 7, "own-tests": 3}
    assert set(ids["repair"]) == {name.replace("write", "repair") for name in ids["write"]}
    assert {"words/complete", "number/complete", "slug/predict", "number/predict"} <= {
        *ids["complete"],
        *ids["predict"],
    }
    assert (told["functions"], told["reached"], told["tests"]["run"]) == (16, 15, 16)
    why = {one["name"].split()[-1]: one["why"] for one in told["left_out"] if one["kind"] == "write"}
    assert why["never"] == "no test reaches it"
    assert why["Box.halved"].startswith("what is kept refuses fewer than half of its mutants; by calls: ")
    assert "test_fails" in "".join(told["tests"]["failed"])


def passed(folder, kind, name, answer):
    """How many answers pass of how many."""
    asked = rows(folder / f"{kind}.jsonl")
    file = folder / f"{name}-{kind}.answers"
    lines = [json.dumps({"task_id": row["id"], "solution": answer(row)}) for row in asked]
    file.write_text("\n".join(lines) + "\n")
    run = folder / f"{name}-{kind}"
    words = ["grade", file, "-b", folder / f"{kind}.jsonl", "--out", run, "--json"]
    graded = CliRunner().invoke(main, [*map(str, words)])
    assert graded.exit_code == 0, graded.output
    verdicts = rows(run / "verdicts.strict@6.jsonl")
    return sum(one["passed"] for one in verdicts), len(verdicts)


@pytest.mark.parametrize("kind", ["write", "repair", "complete"])
def test_the_reference_passes_and_removed_bodies_do_not(built, kind):
    _, out, told = built
    count = told["rows"][kind]
    assert passed(out, kind, "right", lambda row: row["reference"]) == (count, count)
    assert passed(out, kind, "wrong", lambda row: f"def {row['entry_point']}(*a, **k):\n    pass\n") == (0, count)


def test_a_run_asks_for_them_and_the_reference_solves_all(built, tmp_path):
    _, out, told = built
    ran = CliRunner().invoke(
        main, ["run", str(out / "write.jsonl"), "--model", "baseline/reference", "--out", str(tmp_path / "r")]
    )
    assert (
        ran.exit_code == 0
        and "solves 100.0 %" in ran.output
        and f"of {told['rows']['write']} problems" in ran.output
    )
    predicted = [
        "run",
        "execution-prediction",
        "--data",
        str(out / "predict.jsonl"),
        "--model",
        "baseline/reference",
    ]
    for name, more in {"outputs": [], "states": ["-T", "asks=states"]}.items():
        ran = CliRunner().invoke(main, [*predicted, *more, "--out", str(tmp_path / name), "--json"])
        assert ran.exit_code == 0, ran.output
        verdicts = rows(tmp_path / name / "verdicts.strict@6.jsonl")
        assert all(one["passed"] for one in verdicts) and any("~mutant" in one["problem_id"] for one in verdicts)
        assert ("/state" in verdicts[0]["problem_id"]) is (name == "states")
    chosen = ["execution-choice" if word == "execution-prediction" else word for word in predicted]
    ran = CliRunner().invoke(main, [*chosen, "--out", str(tmp_path / "c")])
    assert ran.exit_code == 0 and "solves 100.0 %" in ran.output


def test_the_same_command_reads_what_is_finished(built):
    package, out, _ = built
    journal = (out / "parts.jsonl").read_bytes()
    again = build(package, "--out", out)
    assert again.exit_code == 0 and (out / "parts.jsonl").read_bytes() == journal
    assert "16 functions in 3 modules, 15 reached by 16 tests" in again.output
    assert f"truegrade run {out / 'write.jsonl'} --model" in again.stdout
    assert "1 it is async (write, repair, complete, predict), e.g. " in again.stdout


def test_a_build_that_is_killed_goes_on_where_it_was_to_the_bytes_of_one_that_was_not(tmp_path):
    files = {
        f"m{n}.py": f"def f{n}(n):\n    k = n * {n + 2}\n    k += 1\n    return k - (n > 9)\n" for n in range(3)
    }
    test = "import m0, m1, m2\ndef test():\n    for n in (1, 5, 8, 12, 20, 31): m0.f0(n), m1.f1(n), m2.f2(n)\n"
    package = write_package(tmp_path / "p", {**files, "test_m.py": test})
    parts = tmp_path / "k" / "parts.jsonl"
    command = ["data", "build", "repository", package, "--out", tmp_path / "k", "--workers", "1"]
    signalled(command, lambda: parts.exists() and parts.read_bytes().count(b"\n") >= 1, signal.SIGKILL)
    kept = parts.read_bytes()
    assert (
        build(package, "--out", tmp_path / "k").exit_code == build(package, "--out", tmp_path / "w").exit_code == 0
    )
    assert parts.read_bytes().startswith(kept[: kept.rindex(b"\n") + 1])
    for kind in ("write", "repair", "complete", "predict"):
        whole = (tmp_path / "w" / f"{kind}.jsonl").read_bytes()
        assert whole.count(b"\n") == 3 and (tmp_path / "k" / f"{kind}.jsonl").read_bytes() == whole


CODE = "def f(n: int):\n    return n * 2 + 1\n"
SAME = "def g(m: int):\n    return m * 2 + 1\n"


def test_kinds_size_and_seed(tmp_path):
    folder = write_package(
        tmp_path / "p", {"a.py": CODE, "b.py": CODE.replace("2", "3"), "c.py": CODE.replace("2", "4")}
    )
    taken = []
    for seed in range(4):
        out = tmp_path / str(seed)
        done = build(folder, "--out", out, "--kinds", "predict", "--size", "1", "--seed", seed)
        assert done.exit_code == 0 and sorted(path.name for path in out.iterdir()) == [
            "parts.jsonl",
            "predict.jsonl",
            "recording.json",
        ]
        taken += [row["id"] for row in rows(out / "predict.jsonl")]
    assert len(taken) == 4 and len(set(taken)) > 1


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"m.py": CODE}, "there are no tests"),
        ({"p/__init__.py": "", "p/bad.py": "def f(:", "p/m.py": CODE}, "p/bad.py: cannot be read"),
        ({"p/__init__.py": CODE, "p/c.pyx": ""}, "files of extension modules, e.g. p/c.pyx"),
        ({"m.py": CODE, "test_m.py": "import gone\n"}, "no test could be run"),
    ],
)
def test_bad_input_is_a_line_and_the_rest_goes_on(tmp_path, files, said):
    done = build(write_package(tmp_path / "p", files), "--out", tmp_path / "out")
    assert done.exit_code == 0 and said in done.output and "    1 predict" in done.stdout


@pytest.mark.parametrize(
    ("files", "words", "said"),
    [
        ({"m.py": "def shows(n: int):\n    print(n)\n"}, (), "no problem could be made; --verbose"),
        ({"notes.txt": "words"}, (), "no Python module of a package"),
        ({"m.py": ""}, ("--kinds", "wrote"), "did you mean write"),
    ],
)
def test_nothing_to_build_is_one_line_and_exit_code_2(tmp_path, files, words, said):
    done = build(write_package(tmp_path / "p", files), "--out", tmp_path / "out", *words)
    assert done.exit_code == 2 and said in done.stderr.replace("\n", " ")
    missing = build(tmp_path / "nowhere", "--out", tmp_path / "out")
    assert missing.exit_code == 2 and "no such file or folder" in missing.stderr


def test_each_reason_is_printed_where_it_is_asked_for(tmp_path):
    code = f"def shows(n: int):\n    print(n)\n\n{CODE}\n{SAME}"
    done = build(write_package(tmp_path / "p", {"m.py": code}), "--out", tmp_path / "out", "--verbose")
    assert "m.py:1 shows (predict): it returns one thing, or only what it was given: None" in done.stdout
    assert "m.py:7 g (predict): it is the same program as another: m.py:4 f" in done.stdout


def test_the_suite_runs_no_mutants_where_nothing_is_decided_by_them(tmp_path):
    assert build(write_package(tmp_path / "p"), "--out", tmp_path / "out", "--kinds", "predict").exit_code == 0
    assert not {path.name for path in (tmp_path / "out").iterdir()} & {"survey.json", "mutants.jsonl"}
