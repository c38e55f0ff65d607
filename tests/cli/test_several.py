"""Several models and benchmarks in one command: checked before anything is asked, one run a pair, resumed."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import truegrade
from support import scripted_server as scripted
from truegrade.errors import UserError
from truegrade.records.config import RequestPolicy
from truegrade.settings import Silent

RIGHT = "```python\ndef inc(x):\n    return x + 1\n```"
PATIENCE = ("--max-attempts", "1", "--max-connections", "1")


@pytest.fixture(autouse=True)
def two_benchmarks(tmp_path, monkeypatch):
    """``one.jsonl`` and ``two.jsonl``: two problems each, and `RIGHT` answers the first."""
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        rows = [
            {"id": number, "prompt": f'def {function}(x):\n    """{name}"""\n', "entry_point": function,
             "reference": f"    return {body}\n", "tests": f"assert {function}(1) == {result}"}
            for number, (function, body, result) in enumerate((("inc", "x + 1", 2), ("dec", "x - 1", 0)))
        ]  # fmt: skip
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def by_model(body):
    if body["model"] == "absent":
        return scripted.error(404, "no such model", code="model_not_found")
    if body["model"] == "flagged":
        return scripted.error(400, "the prompt was flagged")
    return scripted.Answer(scripted.chat(RIGHT))


def of_service(server, *models):
    named = [word for model in models for word in ("--model", f"openai-compatible/{model}")]
    return ("one.jsonl", "two.jsonl", *named, "--base-url", server.url, *PATIENCE)


def asked(server):
    return Counter(json.dumps(seen.body, sort_keys=True) for seen in server.requests)


def test_every_pair_is_a_run_of_its_own_and_a_run_made_before_is_taken_up(cli):
    alone = truegrade.run("one.jsonl", model="baseline/reference")
    command = ("run", "one.jsonl", "two.jsonl", "-m", "baseline/reference", "-m", "baseline/empty")
    code, out, err = cli(*command, "--json")
    assert code == 0, err
    pairs = json.loads(out)
    assert [(pair["benchmark"], pair["model"]) for pair in pairs] == [
        ("one", "baseline/reference"), ("two", "baseline/reference"),
        ("one", "baseline/empty"), ("two", "baseline/empty"),
    ]  # fmt: skip
    assert [pair["standings"][0]["headline"]["value"] for pair in pairs] == [1, 1, 0, 0]
    assert pairs[0]["run"] == str(alone.path) and len(list(Path("runs").glob("*/"))) == 4
    assert "4 of 4 runs complete" in Path("runs/suite.html").read_text()
    stored = {path: path.read_bytes() for path in Path("runs").glob("*/*.jsonl")}
    code, out, err = cli(*command)
    assert code == 0, err
    assert {path: path.read_bytes() for path in Path("runs").glob("*/*.jsonl")} == stored
    assert "pass@1 with 95 % confidence intervals, under strict@" in out and out.count("100.0 % [34.2") == 2
    assert all(f"{pair['benchmark']} with {pair['model']}: {pair['run']}" in out for pair in pairs)
    assert "runs: suite.html, suite.json" in out
    assert "1/4 one.jsonl with baseline/reference: generate: 2 in total, 2 already done" in err


def test_out_holds_the_folders_of_the_runs(cli):
    code, _, err = cli("run", "one.jsonl", "two.jsonl", "-m", "baseline/empty", "--out", "here")
    assert code == 0, err
    assert sorted(path.name[:12] for path in Path("here").glob("*/")) == ["one-baseline", "two-baseline"]
    assert sorted(path.name for path in Path("here").glob("suite.*")) == ["suite.html", "suite.json"]
    assert not Path("runs").exists()


def test_a_pair_that_fails_stops_no_other_and_is_tried_again(cli):
    with scripted.scripted_server(by_model) as server:
        words = of_service(server, "good", "absent", "flagged", "fine")
        command = ("run", *words[:1], *words[2:], "--limit", "1", "--json")
        code, out, err = cli(*command)
        assert code == 1
        pairs = json.loads(out)
        ended = {pair["model"].partition("/")[2]: pair["failure"] for pair in pairs}
        assert ended["good"] is ended["fine"] is None
        assert "HTTP 404: no such model" in ended["absent"]
        assert "1 sample has no reply: 1 × HTTP 400: the prompt was flagged" in ended["flagged"]
        assert "note: one.jsonl with openai-compatible/flagged: 1 sample has failed so far" in err
        assert [len(pair["standings"]) for pair in pairs] == [1, 0, 0, 1]
        before = len(server.requests)
        assert cli(*command)[0] == 1
        again = {seen.body["model"] for seen in server.requests[before:]}
        assert again == {"absent", "flagged"}
        code, out, _ = cli(*command[:-1])
    assert code == 1 and "! one with openai-compatible/flagged is not complete: 1 sample has no reply" in out


REFUSED = {
    "an argument of no benchmark": (("-T", "x=y"), "one.jsonl x=y with baseline/reference: no one argument"),
    "a model that is none": (("-m", "nowhere/x"), "no model provider 'nowhere'"),
    "a model without its key": (("-m", "openai/gpt-4o-mini"), "OPENAI_API_KEY"),
    "a benchmark that is none": (("humanevil",), "no benchmark 'humanevil'"),
    "a benchmark that the profile has no rules for": (("cruxeval.jsonl",), "cruxeval.jsonl"),
    "a folder that cannot be made": (("--out", "one.jsonl/runs"), "one.jsonl: is a file, not a folder"),
    "a price that nobody knows": (("--max-cost", "1", "-m", "openai-compatible/x"), "needs the price of"),
    "an address of one provider": (("-m", "baseline/empty"), "--base-url can only be true of one provider"),
    "a price of one model": (("-m", "openai-compatible/x", "-M", "input_price=1"), "-M input_price can only be"),
    "a key of one provider": (("-m", "openai/x", "-M", "api_key_env=K"), "--base-url and -M api_key_env can only"),
    "one file for two": (("two.jsonl", "--data", "one.jsonl"), "--data one.jsonl is one file"),
    "replies of one model": (("two.jsonl", "--reuse", "one.jsonl"), "--reuse one.jsonl holds one model's replies"),
    "a pair named twice": (("one.jsonl",), "one.jsonl with openai-compatible/first is named twice"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_nothing_is_asked_where_any_pair_cannot_end_well(cli, monkeypatch, case):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    options, message = REFUSED[case]
    with scripted.scripted_server(by_model) as server:
        service = ("-m", "openai-compatible/first", "--base-url", server.url)
        served = case.startswith(("an address", "a price", "a key of", "a pair"))
        first = service if served else ("-m", "baseline/reference")
        code, out, err = cli("run", "one.jsonl", *options, *first, *(("two.jsonl",) if "argument" in case else ()))
        assert (code, out) == (2, "") and message in err, err
        assert server.requests == [] and not Path("runs").exists()


def test_a_cost_limit_holds_for_all_pairs_together_and_for_later_calls():
    policy = RequestPolicy(max_connections=1, max_cost_usd=2.5)
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    body = {**scripted.chat(RIGHT), "usage": usage}
    with scripted.scripted_server([scripted.Answer(body)]) as server:
        asked_for = {
            "models": ["openai-compatible/x"], "base_url": server.url, "request_policy": policy,
            "model_args": {"input_price": 1e6, "output_price": 0},
        }  # fmt: skip
        for _ in range(2):
            one, two = truegrade.run_all(["one.jsonl", "two.jsonl"], **asked_for)
            assert (one.cost_usd, one.failure, two.cost_usd) == (2.0, None, 1.0)
            assert "1 × not asked, because `max_cost_usd` is spent" in two.failure
            assert len(server.requests) == 3


def test_what_a_check_told_is_told_once_and_names_its_pair():
    told = []
    truegrade.run_all(["one.jsonl", "two.jsonl"], models=["baseline/empty"], limit=1, notice=told.append)
    assert len(told) == len(set(told))
    assert all(sentence.startswith(("one.jsonl with ", "two.jsonl with ")) for sentence in told)


def test_weights_of_one_pair_are_in_memory_at_a_time():
    Path("counting.py").write_text(
        "from truegrade.models.base import Reply\n"
        "from truegrade.models.providers import Provider\n"
        "from truegrade.records.config import RequestPolicy\n"
        "there = []\n"
        "class Model:\n"
        "    base_url, request_policy = None, RequestPolicy()\n"
        "    def __init__(self, name, policy, args):\n"
        "        self.name = f'counting/{name}'\n"
        "        there.append(self)\n"
        "        assert there == [self]\n"
        "    async def generate(self, prompt, sampling):\n"
        "        return Reply(text='', model=self.name)\n"
        "    async def close(self):\n"
        "        there.clear()\n"
        "counting = Provider(notes='weights', open=Model)\n"
    )
    pairs = truegrade.run_all(["one.jsonl", "two.jsonl"], models=["counting.py/x", "counting.py/y"])
    assert [pair.failure for pair in pairs] == [None] * 4


def test_nothing_to_run_is_refused():
    with pytest.raises(UserError, match="at least one benchmark"):
        truegrade.run_all([], progress=Silent())


@pytest.mark.slow
@pytest.mark.thorough
def test_kill_9_in_the_middle_then_the_same_command_asks_only_what_is_missing(cli):
    with scripted.scripted_server(lambda body: scripted.Answer(scripted.chat(RIGHT), delay_s=0.05)) as server:
        command = ["run", *of_service(server, "a", "b"), "-n", "3", "--json"]
        process = subprocess.Popen([sys.executable, "-m", "truegrade", *command], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while len(server.requests) < 15:  # in the third of four pairs
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        code, out, err = cli(*command)
        assert code == 0, err
        # equal requests are the three samples of a problem; one connection has at most one request under way
        assert len(asked(server)) == 8 and 24 <= len(server.requests) <= 25
    for pair in json.loads(out):
        keys = Counter(completion.key for completion in truegrade.load(pair["run"]).completions())
        assert len(keys) == 6 and set(keys.values()) == {1}
        assert pair["standings"][0]["headline"]["value"] == 0.5


class Stopping(Silent):
    """Stops the command, as Ctrl-C does, at the given step."""

    def __init__(self, step):
        self.left = step

    def advance(self, *_, **__):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_what_was_stopped_is_counted_and_called_partial(cli):
    from truegrade.api.pairs import run_all

    with pytest.raises(KeyboardInterrupt):  # two replies, then the first verdict
        run_all(["one.jsonl", "two.jsonl"], models=["baseline/reference"], progress=Stopping(3))
    said = "2 of 2 samples have a reply, 1 a verdict under strict@"
    assert said in Path("runs/suite.html").read_text() and "no estimate" in Path("runs/suite.html").read_text()
    assert cli("report", "runs")[0] == 0 and said in Path("runs/suite.html").read_text()
    assert cli("report", "runs", "--format", "csv")[0] == 0
    assert said in Path("runs/report/not-complete.csv").read_text()
    (run,) = Path("runs").glob("one-*")
    assert not (run / "summary.json").exists()
    code, out, err = cli("report", str(run))
    assert code == 0, err
    assert "2 of 2 samples have a reply; 1 of 2 have a verdict under strict@" in " ".join(err.split())
    page = (run / "report.html").read_text()
    assert "Partial result: " in page and " so far, " in page and "To go on: the command that began it." in page
    assert "1 of 2 replies have no verdict, and are not counted" in page
    assert cli("report", str(run), "--format", "latex")[0] == 0
    assert "so far" in (run / "report" / "estimates.tex").read_text()
    assert not (run / "summary.json").exists()
    code, out, err = cli("run", "one.jsonl", "two.jsonl", "-m", "baseline/reference")
    assert code == 0 and "Partial" not in out and "partial" not in (run / "estimates.tex").name
    assert cli("report", str(run))[0] == 0 and "Partial result" not in (run / "report.html").read_text()


def test_a_run_asked_for_more_and_stopped_is_counted_anew(cli):
    run = truegrade.run("one.jsonl", model="baseline/reference", out="run")
    assert "Partial" not in (run.path / "report.html").read_text()
    with pytest.raises(KeyboardInterrupt):  # one more reply of two
        truegrade.run("one.jsonl", model="baseline/reference", out="run", n=2, progress=Stopping(1))
    code, _, err = cli("report", "run")
    assert code == 0 and "3 of 4 samples have a reply" in " ".join(err.split()), err
    assert "Partial result: " in (run.path / "report.html").read_text()
