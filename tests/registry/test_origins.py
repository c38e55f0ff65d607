"""A run remembers where things came from, and runs no file that this machine's user did not name."""

import hashlib
import json
import shutil

import pytest
from click.testing import CliRunner

import truegrade
from truegrade.cli import main
from truegrade.errors import NotComparable, UnknownName, UserError
from truegrade.profiles import find_profile, open_profile, open_stored
from truegrade.registry import Origin

RUN = ("run", "doubling.py", "--model", "baseline/reference", "--as", "fenced.py", "--as", "strict", "--out", "r")
AGAIN = [("grade", "r"), ("export", "r", "--format", "inspect"), ("report", "r"),
         ("compare", "r", "r", "--as", "fenced"), RUN]  # fmt: skip


@pytest.fixture
def made(cli, extend_page, tmp_path):
    """A run over the files of the page; returns the command line."""
    extend_page.write_files(tmp_path)
    code, _, err = cli(*RUN)
    assert code == 0, err
    return cli


def find_hash(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def refused(cli, *arguments):
    code, _, err = cli(*arguments)
    assert code == 2 and err.count("\n") == 1 and err.startswith("truegrade: "), (arguments, err)
    return err


@pytest.mark.parametrize("command", AGAIN, ids=lambda words: words[0])
def test_a_run_over_files_needs_no_further_word(made, command):
    code, _, err = made(*command)
    assert code == 0, err


def test_a_file_is_run_only_where_its_user_named_it(made, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another machine"))
    sign = tmp_path / "it was run"
    for command in (("grade", "r"), ("export", "r", "--format", "inspect")):
        err = refused(made, *command)
        assert "not been told to run; name it: --benchmark FILE.py" in err and "sha256" in err
    assert made("grade", "r", "--benchmark", "doubling.py", "--as", "fenced.py")[0] == 0  # now it was named
    assert made("grade", "r", "--as", "strict")[0] == 0

    hostile = tmp_path / "hostile.py"
    hostile.write_text(f"open({str(sign)!r}, 'w')\n" + (tmp_path / "doubling.py").read_text())
    manifest = tmp_path / "r" / "manifest.json"
    stored = json.loads(manifest.read_text())
    stored["origins"]["benchmark"]["place"] = str(hostile)
    manifest.write_text(json.dumps(stored))
    assert "of sha256" in refused(made, "grade", "r")  # a name that is known, with other bytes behind it
    stored["origins"]["benchmark"]["sha256"] = find_hash(hostile)
    manifest.write_text(json.dumps(stored))
    assert "not been told to run" in refused(made, "grade", "r")
    assert not sign.exists()


def test_a_file_in_the_run_s_own_folder_is_not_run(made, tmp_path):
    shutil.copy(tmp_path / "doubling.py", tmp_path / "r" / "doubling.py")
    manifest = tmp_path / "r" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('doubling.py"', 'r/doubling.py"'))
    assert "r/doubling.py" in refused(made, "grade", "r")


@pytest.mark.parametrize("name", ["doubling.py", "doubling.py:BENCHMARK", "json:loads", "sums.jsonl"])
def test_names_that_are_read_never_lead_to_a_file(made, tmp_path, name):
    manifest = tmp_path / "r" / "manifest.json"
    stored = json.loads(manifest.read_text())
    del stored["origins"]
    stored["benchmark"]["name"] = name
    manifest.write_text(json.dumps(stored))
    assert "not installed here" in refused(made, "grade", "r")
    with pytest.raises(UnknownName):
        open_profile(name)
    with pytest.raises(UnknownName):
        open_stored(f"{name}@1")


def test_a_log_that_names_a_file_does_not_run_it(made, tmp_path):
    log = {"version": 2, "eval": {"task": "truegrade/doubling.py", "model": "x"}, "samples": []}
    (tmp_path / "log.json").write_text(json.dumps(log))
    code, _, err = made("grade", "log.json", "--format", "inspect")
    assert code == 2 and "no benchmark 'doubling.py'" in err


@pytest.mark.parametrize(("file", "command"), [("doubling.py", ("grade", "r")), ("doubling.py", RUN)])
def test_another_version_of_a_benchmark_file_is_refused_with_both_hashes(made, tmp_path, file, command):
    path = tmp_path / file
    before = find_hash(path)
    path.write_text(path.read_text() + "# changed\n")
    err = refused(made, *command)
    assert before[:12] in err and find_hash(path)[:12] in err


def test_a_profile_s_verdicts_are_of_one_version_of_its_file(made, tmp_path):
    path = tmp_path / "fenced.py"
    path.write_text(path.read_text() + "# changed\n")
    assert "fenced@1 was made with fenced.py" in refused(made, "grade", "r", "--as", "fenced.py")
    path.write_text(path.read_text().replace('"1"', '"2"'))
    code, out, err = made("grade", "r", "--as", "fenced.py", "--json")
    assert code == 0, err  # the earlier verdicts stay, in a column of their own
    assert [profile["profile"] for profile in json.loads(out)["profiles"]] == [
        "fenced@2",
        "fenced@1",
        open_profile("strict").id,
    ]


def test_answers_of_two_versions_of_a_provider_are_not_mixed(made, tmp_path):
    command = ("run", "doubling.py", "--model", "parrot.py/grey", "--out", "p")
    assert made(*command)[0] == 0
    path = tmp_path / "parrot.py"
    path.write_text(path.read_text().replace("x + x", "x - x"))
    assert "provider was made with parrot.py" in refused(made, *command, "-n", "2")


def test_objects_are_handed_in_again(made, tmp_path):
    from truegrade.benchmarks import find_benchmark

    spec, profile = find_benchmark("doubling.py"), type(find_profile("fenced.py"))
    run = truegrade.run(spec, model="baseline/reference", profiles=[profile, profile()], out="o")
    assert run.manifest.origin("benchmark") == Origin(how="object", name="truegrade.benchmarks.base.BenchmarkSpec")
    with pytest.raises(UserError, match="cannot be found again by itself"):
        truegrade.grade("o")
    truegrade.grade("o", benchmark=spec, profiles=[profile])


def test_a_run_of_before_is_read_as_it_was(tmp_path):
    done = CliRunner().invoke(
        main,
        [
            "run",
            "micro-repair",
            "-T",
            "size=12",
            "--limit",
            "1",
            "--model",
            "baseline/reference",
            "--out",
            str(tmp_path / "m"),
        ],
    )
    assert done.exit_code == 0
    assert "origins" not in json.loads((tmp_path / "m" / "manifest.json").read_text())


def test_two_files_of_one_profile_are_not_comparable(made, tmp_path):
    origin = find_profile("fenced.py").origin
    path = tmp_path / "fenced.py"
    path.write_text(path.read_text() + "# changed\n")
    with pytest.raises(NotComparable):
        open_stored("fenced@1", origin, tmp_path / "r")


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        (
            "doubling.py",
            ('"assert double(2) == 4"', '""'),
            "problem 'double/0' has no tests, so every",
        ),
        ("doubling.py", ("problems=(problem,)", "problems=()"), "it loads no problems"),
        ("doubling.py", ('benchmark="doubling"', 'benchmark="humaneval"'), "says benchmark 'humaneval', where"),
        ("doubling.py", ("return Benchmark(", "return dict("), "its load returns dict, not a"),
        (
            "doubling.py",
            ("import hashlib\n", "import no_such_module\n"),
            "line 1: raised ModuleNotFound",
        ),
        (
            "fenced.py",
            ('covers = ("function", "description")', "covers = ()"),
            "Fenced covers nothing; name",
        ),
        ("fenced.py", ('covers = ("function", "description")', 'covers = ("contest",)'), "it covers contest"),
    ],
)
def test_what_cannot_be_graded_is_refused_before_anything_is_asked(
    cli, extend_page, tmp_path, file, change, message
):
    extend_page.write_files(tmp_path)
    text = (tmp_path / file).read_text()
    assert change[0] in text
    (tmp_path / file).write_text(text.replace(*change))
    assert message in refused(cli, *RUN)
    assert not (tmp_path / "r").exists()


def test_runs_under_two_versions_of_a_profile_s_file_are_not_compared(made, tmp_path):
    path = tmp_path / "fenced.py"
    before = find_hash(path)
    path.write_text(path.read_text() + "# changed\n")
    assert made(*RUN[:-1], "other")[0] == 0
    err = refused(made, "compare", "r", "other", "--as", "fenced")
    assert before[:12] in err and find_hash(path)[:12] in err
