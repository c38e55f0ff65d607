"""What cannot be graded is refused before anything is asked."""

import json

import pytest

import truegrade
from truegrade.benchmarks import load_benchmark
from truegrade.errors import TruegradeError, UserError
from truegrade.profiles import PROFILES, open_profile, open_stored
from truegrade.profiles.refusals import refuse_uncovered
from truegrade.records import Answer


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
            profile.grade(problem, Answer(value="x = 1", found="x"), NoExecutor())
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


def test_nothing_is_asked_where_a_profile_does_not_cover_the_benchmark(scripted, tmp_path):
    with scripted.scripted_server([scripted.Answer(scripted.chat("text"))]) as server:
        with pytest.raises(UserError, match="'human-eval' has no rules for 'micro-repair'"):
            truegrade.run("micro-repair", model="openai-compatible/x", base_url=server.url, limit=1,
                          profiles=("strict", "human-eval"), out=tmp_path / "run")  # fmt: skip
        assert server.requests == []
    assert not (tmp_path / "run").exists()


def test_a_run_graded_by_an_earlier_version_of_a_profile_is_resumed_and_graded_anew(cli, tmp_path, monkeypatch):
    """Its verdicts stay in their own column; its replies are not asked for again: the prompt is the same."""
    monkeypatch.chdir(tmp_path)
    command = ("run", "micro-repair", "--model", "baseline/reference", "--limit", "2", "--out", "r")
    assert cli(*command)[0] == 0
    now, before = open_profile("strict").id, "strict@1"
    assert now != before and open_stored(before).id == before and open_stored(now).id == now
    for name in (f"verdicts.{now}.jsonl", "manifest.json", "summary.json"):
        path = tmp_path / "r" / name
        path.with_name(name.replace(now, before)).write_text(path.read_text().replace(now, before))
    (tmp_path / "r" / f"verdicts.{now}.jsonl").unlink()
    assert before in (tmp_path / "r" / "manifest.json").read_text()
    code, out, err = cli(*command, "--json")
    assert code == 0, err
    assert [profile["profile"] for profile in json.loads(out)["profiles"]] == [now, before]
    assert len((tmp_path / "r" / "completions.jsonl").read_text().splitlines()) == 2
    code, _, err = cli("compare", "r", "--as", now, "--as", before)
    assert code == 0, err
