"""What cannot be graded is refused before anything is asked."""

import json
import re

import pytest

import truegrade
from support import scripted_server as scripted
from truegrade.api import check
from truegrade.benchmarks import load_benchmark
from truegrade.errors import TruegradeError, UserError
from truegrade.profiles import PROFILES, open_profile, open_stored
from truegrade.profiles.base import refuse_uncovered
from truegrade.records import Answer
from truegrade.records.config import RequestPolicy


class Reached(Exception):
    """A program would have been run."""


class NoExecutor:
    def __getattr__(self, name):
        raise Reached


@pytest.mark.parametrize("name", PROFILES)
def test_what_grading_would_refuse_is_refused_before(name):
    """Reading an empty reply refuses exactly the benchmarks that grading refuses."""
    profile = open_profile(name)
    problems = [load_benchmark(benchmark).problems[0] for benchmark in ("micro-repair", "humaneval")]
    for problem in problems:
        try:
            profile.judgement(problem, Answer(value="x = 1", found="x"), NoExecutor())
            late = None
        except TruegradeError as error:
            late = str(error)
        except Exception:  # the empty executor, or a text that is no answer of this kind
            late = None
        try:
            refuse_uncovered([profile], [problem])
            early = None
        except UserError as error:
            early = str(error)
        assert late is None or early is not None, late


REFUSED = {
    "a profile without rules": ({"profiles": ("strict", "human-eval")}, ("--as", "strict", "--as", "human-eval"),
                                "'human-eval' has no rules for 'micro-repair'"),
    "a k above n": ({"ks": [3], "n": 2}, ("-k", "3", "-n", "2"), "pass@3 needs at least 3 samples"),
    "a folder below a file": ({"out": "file/run"}, ("--out", "file/run"), "file: is a file, not a folder"),
    "a package not there": ({"packages": ["nowhere"]}, ("--packages", "nowhere"), "nowhere: not installed"),
    "a profile misspelt": ({"profiles": ["stirct"]}, ("--as", "stirct"), "no profile 'stirct'"),
    "a folder to reuse that is not there": ({"reuse": "gone"}, ("--reuse", "gone"), "gone: cannot be read"),
    "a file to reuse that is none": ({"reuse": "file"}, ("--reuse", "file"), "file, line 1: not JSON"),
    "a cost limit without a price": (
        {"request_policy": RequestPolicy(max_cost_usd=1.0)}, ("--max-cost", "1"),
        "needs the price of openai-compatible/x, which is not known; give it in dollars per million tokens: "
    ),
    "a day that is none": ({"cutoff": "june"}, ("--cutoff", "june"), "june: must be a day"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_nothing_is_asked_where_a_run_cannot_end_well(cli, tmp_path, case):
    """Not even the probe, which comes before the run."""
    (tmp_path / "file").touch()
    arguments, options, message = REFUSED[case]
    with scripted.scripted_server([scripted.Answer(scripted.chat("text"))]) as server:
        asked = {"model": "openai-compatible/x", "base_url": server.url, "limit": 1, "probe": True}
        with pytest.raises(UserError, match=message):
            truegrade.run("micro-repair", **asked, **arguments)
        code, out, err = cli("run", "micro-repair", "-m", "openai-compatible/x", "--base-url", server.url,
                             "--limit", "1", "--probe", *options)  # fmt: skip
        assert (code, out, err.count("\n")) == (2, "", 1) and message in err
        assert server.requests == []
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_price_that_is_not_known_is_asked_for_by_its_options(cli):
    with scripted.scripted_server([scripted.Answer(scripted.chat("text"))]) as server:
        service = ("-m", "openai-compatible/x", "--base-url", server.url, "--max-cost", "1")
        for command in (("run", "micro-repair"), ("data", "build", "llm-list")):
            code, _, err = cli(*command, *service)
            assert code == 2 and "-M input_price=… -M output_price=…" in err, err
        assert server.requests == []


def test_nothing_is_generated_where_the_profile_has_no_words_or_the_folder_cannot_be_made(cli, tmp_path):
    (tmp_path / "file").touch()
    with scripted.scripted_server([scripted.Answer(scripted.chat("text"))]) as server:
        service = ("-m", "openai-compatible/x", "--base-url", server.url, "--limit", "1", "--probe")
        for arguments, options in (({"profiles": ["human-eval"]}, ("--as", "human-eval")),
                                   ({"profiles": ["strict"] * 2}, ("--as", "strict", "--as", "strict")),
                                   ({"adapter": "a", "model_args": {"adapter": "b"}},
                                    ("--adapter", "a", "-M", "adapter=b")),
                                   ({"out": "file/run"}, ("--out", "file/run"))):  # fmt: skip
            with pytest.raises(UserError):
                truegrade.generate("micro-repair", model="openai-compatible/x", base_url=server.url, limit=1,
                                   probe=True, **arguments)  # fmt: skip
            assert cli("run", "micro-repair", "--no-grade", *service, *options)[0] == 2
        assert server.requests == []
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_nothing_is_graded_where_it_cannot_end_well(cli, tmp_path):
    (tmp_path / "file").touch()
    made = truegrade.generate("micro-repair", model="baseline/reference", limit=2, out="made")
    rows = [{"task_id": f"HumanEval/{n}", "completion": "    pass"} for n in range(2)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for source, more, arguments, options, message in (
        ("made", (), {"profiles": ["human-eval"]}, ("--as", "human-eval"), "has no rules for 'micro-repair'"),
        ("made", (), {"ks": [2]}, ("-k", "2"), "pass@2 needs at least 2 samples"),
        ("rows.jsonl", ("-b", "humaneval"), {"ks": [2]}, ("-k", "2"), "pass@2 needs at least 2 samples"),
        ("rows.jsonl", ("-b", "humaneval"), {"out": "file/r"}, ("--out", "file/r"), "file/r: cannot be written"),
        ("rows.jsonl", ("-b", "humaneval"), {"profiles": ["cruxeval"]}, ("--as", "cruxeval"), "has no rules for"),
    ):
        with pytest.raises(UserError, match=message):
            truegrade.grade(source, benchmark="humaneval" if more else None, **arguments)
        code, _, err = cli("grade", source, *more, *options)
        assert code == 2 and message in err, err
    assert list(tmp_path.rglob("verdicts.*")) == [] and not list(made.path.glob("summary.json"))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ({"samples": 0}, ("--samples", "0"), "samples"),
        ({"tolerance_points": -1.0}, ("--tolerance", "-1"), "percentage points from 0 up are needed"),
        ({"metric": "pas@1"}, ("--metric", "pas@1"), "no metric 'pas@1'"),
        ({"profile": "cruxeval"}, ("--as", "cruxeval"), "has no rules for"),
        ({"out": "file/r"}, ("--out", "file/r"), "file/r: cannot be written"),
        ({"path": "lists.json"}, (), "its rows name no problems, so it cannot be audited"),
    ],
)
def test_a_claim_is_not_checked_where_it_cannot_be(cli, tmp_path, arguments, options, message):
    (tmp_path / "file").touch()
    (tmp_path / "rows.jsonl").write_text(json.dumps({"task_id": "HumanEval/0", "completion": "    pass"}) + "\n")
    (tmp_path / "lists.json").write_text(json.dumps([["def f():\n    pass\n"]]))
    given = {"path": "rows.jsonl", **arguments}
    with pytest.raises(UserError, match=message):
        check("50.0", benchmark="humaneval", **given)
    code, _, err = cli("check", "50.0", given["path"], "--benchmark", "humaneval", *options)
    assert code == 2 and message in err, err
    assert list(tmp_path.rglob("verdicts.*")) == [] and not (tmp_path / "runs").exists()


def test_a_run_graded_by_an_earlier_version_of_a_profile_is_resumed_and_graded_anew(cli, tmp_path, monkeypatch):
    """Its verdicts stay in their own column; its replies are not asked for again: the prompt is the same."""
    monkeypatch.chdir(tmp_path)
    command = ("run", "micro-repair", "--model", "baseline/reference", "--limit", "2", "--out", "r")
    assert cli(*command)[0] == 0
    now, before = open_profile("strict").id, "strict@1"
    assert now != before and open_stored(before).id == before and open_stored(now).id == now
    for name in (f"verdicts.{now}.jsonl", "manifest.json", "summary.json"):
        path = tmp_path / "r" / name
        written = re.sub(r',"crc32":"[0-9a-f]{8}"', "", path.read_text())  # an earlier version wrote no checksums
        path.with_name(name.replace(now, before)).write_text(written.replace(now, before))
    (tmp_path / "r" / f"verdicts.{now}.jsonl").unlink()
    assert before in (tmp_path / "r" / "manifest.json").read_text()
    code, out, err = cli(*command, "--json")
    assert code == 0, err
    assert [profile["profile"] for profile in json.loads(out)["profiles"]] == [now, before]
    assert len((tmp_path / "r" / "completions.jsonl").read_text().splitlines()) == 2
    code, _, err = cli("compare", "r", "--as", now, "--as", before)
    assert code == 0, err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("micro-repair", "-k", "5"), "-k is about grading, and --no-grade does none"),
        (("micro-repair", "--workers", "2"), "--workers is about grading"),
        (("micro-repair", "humaneval"), "one model about one benchmark"),
        (("quick",), "one model about one benchmark"),
        (("micro-repair", "-m", "baseline/empty", "-m", "baseline/reference"), "one model about one benchmark"),
    ],
)
def test_what_a_run_without_grading_cannot_do_is_refused(cli, words, why):
    code, _, err = cli("run", *words, "--no-grade")
    assert code == 2 and why in err and err.count("\n") == 1, err
