"""Replies from the response cache: equal requests only, never one draw twice in a run, honest accounts."""

import asyncio
import json
import subprocess
import sys
from types import SimpleNamespace

import msgspec
import pytest
from click.testing import CliRunner

from support import scripted_server as scripted
from truegrade.cli import main
from truegrade.models import open_model
from truegrade.models.base import Reply, generate_sample
from truegrade.models.replay import CachedModel, cacheable
from truegrade.records import Attempt, Usage
from truegrade.records.config import RequestPolicy
from truegrade.store.responses import ResponseCache


class Counting:
    """A model that says how often it was asked; ``answers`` gives other texts."""

    base_url = "https://api.example/v1"
    request_policy = RequestPolicy()
    adaptations = ("seed left out: HTTP 400",)

    def __init__(self, name="mine/x", answers=()):
        self.name, self.answers, self.asked = name, list(answers), 0

    async def generate(self, prompt, sampling):
        self.asked += 1
        text = self.answers.pop(0) if self.answers else f"answer {self.asked}"
        usage = Usage(input_tokens=3, output_tokens=7)
        attempt = Attempt(outcome="ok", latency_s=2.5, usage=usage, cost_usd=0.25)
        return Reply(text=text, model="served", usage=usage, latency_s=2.5, attempts=(attempt,), cost_usd=0.25)

    async def close(self):
        pass


@pytest.fixture
def cache(tmp_path):
    cache = ResponseCache(tmp_path / "r.sqlite", notice=pytest.fail)
    yield cache
    cache.close()


def ask(model, request):
    return asyncio.run(generate_sample(model, *request))


def test_a_cached_reply_is_marked_and_costs_nothing(cache, make_request):
    inner = Counting()
    first = ask(CachedModel(inner, cache, {}), make_request())
    again = CachedModel(inner, cache, {})
    second = ask(again, make_request())
    assert inner.asked == 1
    assert (first.cost_usd, first.attempts[0].outcome) == (0.25, "ok")
    assert (second.text, second.usage, second.latency_s) == (first.text, first.usage, 2.5)
    assert second.cost_usd == 0.0
    (attempt,) = second.attempts
    assert (attempt.outcome, attempt.usage, attempt.cost_usd) == ("cached", None, None)
    assert attempt.latency_s < 1
    assert attempt.asked == again.oldest
    assert again.found == 1


def test_adaptations_of_the_time_come_along(cache, make_request):
    ask(CachedModel(Counting(), cache, {}), make_request())
    fresh = Counting()
    fresh.adaptations = ()
    model = CachedModel(fresh, cache, {})
    assert model.adaptations == ()
    ask(model, make_request())
    assert model.adaptations == ("seed left out: HTTP 400",)


@pytest.mark.parametrize(
    "other",
    [{"content": "Else."}, {"sample": 1}, {"problem": "Toy/2"}, {"style": "text"}, {"seed": 1},
     {"temperature": 1.0}, {"max_tokens": 9}, {"top_p": 0.5}, {"stop": ("x",)}, {"reasoning_effort": "low"},
     {"top_k": 5}, {"repetition_penalty": 1.1}],
    ids=lambda other: next(iter(other)),
)  # fmt: skip
def test_whatever_decides_the_text_decides_the_key(cache, make_request, other):
    inner = Counting()
    model = CachedModel(inner, cache, {})
    assert ask(model, make_request()).text != ask(model, make_request(**other)).text
    assert inner.asked == 2


def test_model_address_and_arguments_belong_to_the_key_but_prices_do_not(cache, make_request):
    elsewhere = Counting()
    elsewhere.base_url = "https://other.example/v1"
    models = [(Counting(), {}), (Counting("mine/y"), {}), (elsewhere, {}), (Counting(), {"top_k": 3})]
    for inner, args in models:
        ask(CachedModel(inner, cache, args), make_request())
        assert inner.asked == 1
    cheaper = Counting()
    ask(CachedModel(cheaper, cache, {"input_price": 1, "output_price": 2, "api_key_env": "K"}), make_request())
    assert cheaper.asked == 0


def test_what_an_earlier_version_stored_is_found(make_request):
    keys = []
    model = CachedModel(Counting(), SimpleNamespace(get=keys.append, put=lambda *_, **__: None), {"top_k": 3})
    ask(model, make_request(sample=2, seed=7, temperature=0.5))
    assert keys == ["d8a8653af7f15aef1b0091df3f4a1b03ed0c2465c76458e72d9fc8cf2b7719e6"]


@pytest.mark.parametrize("text", [None, "", " \n"])
def test_failures_and_empty_replies_are_asked_again(cache, make_request, text):
    inner = Counting(answers=[text])
    model = CachedModel(inner, cache, {})
    assert ask(model, make_request()).text == text
    assert ask(model, make_request()).text == "answer 2"


def test_an_entry_that_cannot_be_read_is_asked_again(cache, make_request, monkeypatch):
    monkeypatch.setattr(cache, "get", lambda key: b"{]")
    assert ask(CachedModel(Counting(), cache, {}), make_request()).text == "answer 1"


@pytest.mark.parametrize(
    ("name", "base_url", "args", "wanted", "expected"),
    [
        ("openai/x", None, {}, None, True),
        ("openai/x", None, {}, False, False),
        ("openai/x", None, {"batch_n": True}, True, False),
        ("openai/x", "https://gateway.example/v1", {}, None, False),
        ("openai/x", "https://gateway.example/v1", {}, True, True),
        ("openai-compatible/x", "http://localhost:1/v1", {}, None, False),
        ("ollama/x", None, {}, None, False),
        ("ollama/x", None, {}, True, True),
        ("baseline/lookup", None, {}, True, False),
        ("embedded/truegrade-micro", None, {}, True, False),
    ],
)
def test_what_is_cached(monkeypatch, name, base_url, args, wanted, expected):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", "k")
    assert cacheable(open_model(name, base_url=base_url, args=args), wanted) is expected


# ---------------------------------------------------------------------------------------------- in a run


@pytest.fixture
def service():
    """A service that never says the same twice."""
    numbers = iter(range(10_000))
    with scripted.scripted_server(lambda body: scripted.Answer(scripted.chat(f"reply {next(numbers)}"))) as server:
        yield server


def generate(service, out, *options):
    result = CliRunner().invoke(
        main,
        ["run", "micro-repair", "--no-grade", "-T", "size=3", "--limit", "3", "-n", "2", "--temperature", "1",
         "--model", "openai/m", "--base-url", service.url, "--out", str(out),
         "-M", "input_price=1", "-M", "output_price=1", *options],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in (out / "completions.jsonl").read_text().splitlines()], result.stderr


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRUEGRADE_CACHE", str(tmp_path / "cache"))


def by_key(rows):
    return {(row["problem_id"], row["sample"]): row["text"] for row in rows}


def test_another_run_asks_for_what_is_new_only(service, tmp_path):
    first, notes = generate(service, tmp_path / "a", "--cache")
    assert (len(service.requests), "response cache" in notes) == (6, False)
    assert len({row["text"] for row in first}) == 6  # no two samples of a run are one draw
    second, notes = generate(service, tmp_path / "b", "--cache", "-n", "3")
    assert len(service.requests) == 9
    assert "6 replies come from the response cache" in notes and "--no-cache" in notes
    assert by_key(first).items() <= by_key(second).items()
    assert len(set(by_key(second).values())) == 9
    assert sorted(row["cost_usd"] for row in second) == [0.0] * 6 + [pytest.approx(3e-05)] * 3
    marked = {a["outcome"] for row in second if row["cost_usd"] == 0 for a in row["attempts"]}
    assert marked == {"cached"}


def test_no_cache_and_a_server_of_ones_own(service, tmp_path):
    generate(service, tmp_path / "a", "--cache")
    for options in (("--no-cache",), ()):
        generate(service, tmp_path / f"b{len(options)}", *options)
    assert len(service.requests) == 18


def test_a_graded_run_says_that_it_is_no_second_draw(service, tmp_path):
    generate(service, tmp_path / "a", "--cache")
    generate(service, tmp_path / "b", "--cache")
    result = CliRunner().invoke(main, ["grade", str(tmp_path / "b"), "-T", "size=3", "--json"])
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert (summary["usage"]["attempts"], summary["usage"]["cost_usd"]) == (0, 0.0)
    assert any("6 of 6 replies come from the response cache" in warning
               for profile in summary["profiles"] for warning in profile["warnings"])  # fmt: skip


def test_an_agent_is_not_answered_from_the_cache(service, tmp_path, humaneval_file):
    for out in "ab":
        result = CliRunner().invoke(
            main, ["run", "humaneval", "--no-grade", "--data", str(humaneval_file), "--limit", "1", "--cache",
                   "--agent", "agentcoder", "--model", "openai/m", "--base-url", service.url,
                   "--out", str(tmp_path / out)])  # fmt: skip
        assert result.exit_code == 0, result.output
    assert not (tmp_path / "cache" / "responses.sqlite").exists()


@pytest.mark.slow
def test_a_killed_run_starts_anew_elsewhere_without_paying_twice(tmp_path):
    """The first process dies in the middle; a run in another folder takes over what it had paid for."""
    count = iter(range(10_000))

    def answer(body):
        number = next(count)
        return scripted.Answer(scripted.chat(f"reply {number}"), hold=number == 7)

    with scripted.scripted_server(answer) as server:
        arguments = ["run", "micro-repair", "--no-grade", "-T", "size=12", "--limit", "12", "--model", "openai/m",
                     "--base-url", server.url, "--cache", "--max-connections", "1"]  # fmt: skip
        command = [sys.executable, "-m", "truegrade", *arguments, "--out", str(tmp_path / "a"), "--timeout", "60"]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        while len(server.requests) < 8 and process.poll() is None:
            try:
                process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
        process.kill()
        process.wait()
        result = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path / "b")])
        assert result.exit_code == 0, result.output
        assert len(server.requests) == 8 + 5
        assert "7 replies come from the response cache" in result.stderr


def test_the_attempt_on_disk_reads_back():
    attempt = Attempt(outcome="cached", latency_s=0.0, asked="2026-01-01T00:00:00+00:00")
    assert msgspec.json.decode(msgspec.json.encode(attempt), type=Attempt) == attempt
    assert msgspec.json.decode(b'{"outcome":"ok","latency_s":1}', type=Attempt).asked is None  # earlier runs
