"""The embedded back end: batches, seeds, stops, limits; asked as the pipeline asks."""

import asyncio
import hashlib
import json

import msgspec
import pytest

from support import tiny_llama
from truegrade import prompts
from truegrade.benchmarks import load_benchmark
from truegrade.errors import BadRecord, UserError
from truegrade.models import open_model
from truegrade.models.base import generate_sample
from truegrade.models.embedded import LONG, MOST_PROCESSES, EmbeddedEngine
from truegrade.models.micro.decoding import DecoderProcess, DecodingJob, TokenSampler
from truegrade.models.micro.llama import ROWS
from truegrade.profiles.strict import Strict
from truegrade.records import Message, Prompt
from truegrade.records.config import RequestPolicy, Sampling


@pytest.fixture(scope="module")
def model(llama_folder):
    return open_model(f"embedded/{llama_folder}")


def ask(model, *requests):
    async def run():
        return await asyncio.gather(*(generate_sample(model, *request) for request in requests))

    return asyncio.run(run())


def test_it_answers_and_counts(model, make_request, llama_folder):
    (reply,) = ask(model, make_request("def f(x):", max_tokens=12))
    assert model.base_url is None
    assert reply.model == model.name == f"embedded/{llama_folder}"
    assert (reply.form, reply.finish_reason) == ("reply", "length")
    assert reply.usage.output_tokens == 12
    # def, the space and f, (, x, ), : are eight tokens of this vocabulary; two more frame them
    assert reply.usage.input_tokens == 2 + 7
    assert [attempt.outcome for attempt in reply.attempts] == ["ok"]


def test_many_at_once_are_what_each_is_alone(model, make_request):
    kinds = ({}, {"temperature": 1.0, "seed": 4}, {"temperature": 0.7, "top_p": 0.8, "seed": 1})
    requests = [
        make_request("x = " + "1 + " * (7 * i % 40), sample=i, max_tokens=5 + i % 30, **kinds[i % 3])
        for i in range(3 * ROWS)
    ]
    together = ask(model, *requests)
    assert [reply.text for reply in ask(model, *reversed(requests))] == [r.text for r in reversed(together)]
    for place in (0, 7, 20, 3 * ROWS - 1):
        assert ask(model, requests[place])[0].text == together[place].text


CALLS = (
    ("([2] + a1[1:])[1:]", "a1=[3, 2, 2]"),
    ("list(range((a1 + [0])[min(2, 1)]))", "a1=[3, 0, 3, 0, 5]"),
    ("list(map(lambda x: x * x, a1[1:]))", "a1=[4, 3, 2]"),
    ("list(filter(lambda x: 3 - x <= 0, a1))", "a1=[5, 2, 5]"),
)


def test_the_shipped_model_writes_what_it_always_wrote(make_request):
    """Where the likeliest token is far ahead of the next, so that no order of a sum decides."""
    problems = load_benchmark("micro-repair", None, {"size": "12"}).problems
    repairs = [Strict().render_prompt(problem).messages[0].content for problem in problems]
    predictions = [
        prompts.render("exec.prediction.zero_shot", program=f"def f(a1):\n    return {body}", fn="f", args=args)
        for body, args in CALLS
    ]
    model = open_model("embedded/truegrade-micro")
    replies = ask(model, *map(make_request, (*repairs, *predictions)))
    assert [reply.finish_reason for reply in replies] == ["stop"] * 16
    written = hashlib.sha256("\0".join(reply.text for reply in replies).encode())
    assert written.hexdigest() == "969dd83de66cb36612bef0dba8c308e42b08a34ee08fd72f4f985ff3e888bf7f"


def test_samples_of_one_prompt_share_its_reading_and_nothing_else(model, make_request):
    requests = [make_request("def f(x):", sample=i, max_tokens=20, temperature=1.0, seed=i) for i in range(8)]
    together = ask(model, *requests)
    assert len({reply.text for reply in together}) == 8
    assert [ask(model, request)[0].text for request in requests] == [reply.text for reply in together]


def test_a_seed_decides_the_text_and_its_absence_means_the_sample(model, make_request):
    def text(**sampling):
        return ask(model, make_request("def f(x):", max_tokens=24, temperature=1.0, **sampling))[0].text

    assert text(seed=7) == text(seed=7) != text(seed=8)
    assert text(sample=3) == text(seed=3)


def test_temperature_zero_is_the_default_and_ignores_seeds(model, make_request):
    texts = [
        ask(model, make_request("y", max_tokens=16, **kind))[0].text
        for kind in ({}, {"temperature": 0.0}, {"seed": 9})
    ]
    assert len(set(texts)) == 1


def test_a_stop_string_cuts_even_across_tokens(model, make_request):
    sampling = {"max_tokens": 60, "temperature": 1.0, "seed": 3}
    (whole,) = ask(model, make_request("def f(x):", **sampling))
    pairs = (whole.text[place : place + 2] for place in range(8, 50))
    stop = next(pair for pair in pairs if pair.isascii() and pair.isprintable())
    (cut,) = ask(model, make_request("def f(x):", stop=("never there", stop, ""), **sampling))
    assert (whole.finish_reason, cut.finish_reason) == ("length", "stop")
    assert cut.text == whole.text[: whole.text.index(stop)]
    assert cut.usage.output_tokens < 60


def test_the_end_token_ends(tmp_path, make_request):
    folder = tiny_llama.write_llama(tmp_path)
    (whole,) = ask(open_model(f"embedded/{folder}"), make_request("a", max_tokens=12))
    last = EmbeddedEngine(folder)._decoder.tokenizer.encode(whole.text)[-1]
    defaults = json.loads((folder / "generation_config.json").read_text()) | {"eos_token_id": [3, last]}
    (folder / "generation_config.json").write_text(json.dumps(defaults))
    (ended,) = ask(open_model(f"embedded/{folder}"), make_request("a", max_tokens=12))
    assert ended.finish_reason == "stop"
    assert whole.text.startswith(ended.text)
    assert len(ended.text) < len(whole.text)


def test_limits_come_from_the_request_the_model_and_the_context(tmp_path, make_request):
    def tokens(context, default, **sampling):
        folder = tiny_llama.write_llama(
            tmp_path / f"{context}-{default}", max_position_embeddings=context, max_new_tokens=default
        )
        (reply,) = ask(open_model(f"embedded/{folder}"), make_request("x" * 100, **sampling))
        assert reply.finish_reason == "length"
        return reply.usage.output_tokens

    assert tokens(200, 30) == 30
    assert tokens(200, 30, max_tokens=50) == 50
    assert tokens(110, 30) == 110 - 102
    assert tokens(110, None) == 110 - 102


def test_a_prompt_that_does_not_fit_is_a_cut_reply(model, make_request):
    (reply,) = ask(model, make_request("q " * 600))
    assert (reply.text, reply.finish_reason) == ("", "length")
    assert "1202 tokens leave no room in a context of 512" in reply.attempts[0].error


def test_layouts(llama_folder):
    engine = EmbeddedEngine(llama_folder)
    encode, special = engine._decoder.tokenizer.encode, engine._decoder.tokenizer.special

    def tokens(*turns, style="chat"):
        messages = tuple(Message(role=role, content=content) for role, content in turns)
        prompt = Prompt(messages=messages, style=style, source="test")
        return engine_tokens(prompt, engine)

    user, assistant = special["<|user|>"], special["<|assistant|>"]
    assert tokens(("system", "a"), ("user", "b")) == [user, *encode("a\n\nb"), assistant]
    assert tokens(("user", "b"), ("assistant", "c")) == [user, *encode("b"), assistant, *encode("c")]
    assert tokens(("user", "def"), style="text") == [user, *encode("def")]


def engine_tokens(prompt, engine):
    from truegrade.models.micro.tokenizer import prompt_tokens

    return prompt_tokens(prompt, engine._decoder.tokenizer)


def test_a_cancelled_request_frees_its_row(llama_folder, make_request):
    engine = EmbeddedEngine(llama_folder)
    request = make_request("x", max_tokens=400)
    futures = [engine.submit(request.prompt, request.sampling, i) for i in range(ROWS * MOST_PROCESSES)]
    for future in futures:
        future.cancel()
    after = engine.submit(request.prompt, Sampling(max_tokens=3))
    assert after.result(timeout=180).usage.output_tokens == 3


def test_many_requests_are_answered_in_processes_too_and_alike(llama_folder, make_request, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    request = make_request("x", max_tokens=12)
    alone, together = EmbeddedEngine(llama_folder), EmbeddedEngine(llama_folder)
    assert together.parallel == 2 * ROWS
    sampling = msgspec.structs.replace(request.sampling, temperature=1.0)
    many = [together.submit(request.prompt, sampling, sample) for sample in range(LONG + 4 * ROWS)]
    (other,) = together._others
    assert ROWS <= other.unfinished < len(many)
    said = [future.result(timeout=180) for future in many]
    for sample in range(LONG, len(many), 7):
        assert alone.submit(request.prompt, sampling, sample).result(timeout=180) == said[sample]
    assert not alone._others
    together.close()
    assert other._process.returncode == 0


def test_who_waits_for_a_process_that_is_killed_is_told(llama_folder, make_request):
    request = make_request("x", max_tokens=400)
    tokens = engine_tokens(request.prompt, EmbeddedEngine(llama_folder))
    process = DecoderProcess(llama_folder, None)
    waiting = process.submit(DecodingJob(tokens, TokenSampler(0.0, 1.0, 0, tokens), 400, ()))
    process._process.kill()
    with pytest.raises(RuntimeError, match="has ended"):
        waiting.result(timeout=180)
    assert not process.open and process.unfinished == 0
    process.close()


def test_a_failure_reaches_everyone_who_waits(llama_folder, make_request, monkeypatch):
    engine = EmbeddedEngine(llama_folder)

    def fail(*_):
        raise MemoryError("no room for the prompt")

    monkeypatch.setattr(engine._decoder.llama, "read", fail)
    request = make_request("x")
    future = engine.submit(request.prompt, request.sampling)
    with pytest.raises(MemoryError, match="no room"):
        future.result(timeout=180)
    monkeypatch.undo()
    assert engine.submit(request.prompt, Sampling(max_tokens=2)).result(timeout=180).usage.output_tokens == 2


def test_the_batch_is_filled_whatever_the_number_of_connections(llama_folder):
    model = open_model(f"embedded/{llama_folder}", request_policy=RequestPolicy(max_connections=1))
    assert model.request_policy.max_connections == model.engine.parallel >= ROWS
    assert (
        open_model(
            f"embedded/{llama_folder}", request_policy=RequestPolicy(max_connections=999)
        ).request_policy.max_connections
        == 999
    )


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("embedded/no/such/folder", {}, "no model in no/such/folder"),
        ("embedded/x", {"base_url": "http://localhost:1/v1"}, "not served anywhere"),
        ("embedded/x", {"args": {"top_k": 3}}, "no argument of an embedded model 'top_k'"),
    ],
)
def test_mistakes_are_named(name, settings, message):
    with pytest.raises(UserError, match=message):
        open_model(name, **settings)


def test_effort_and_foreign_layouts_are_refused(model, make_request, tmp_path):
    with pytest.raises(UserError, match="leave `reasoning_effort` out"):
        ask(model, make_request(reasoning_effort="low"))
    folder = tiny_llama.write_llama(tmp_path)
    tokenizer = (folder / "tokenizer.json").read_text().replace("<|user|>", "<|human|>")
    (folder / "tokenizer.json").write_text(tokenizer)
    with pytest.raises(UserError, match=r"no token <\|user\|>"):
        ask(open_model(f"embedded/{folder}"), make_request())
    (folder / "generation_config.json").unlink()
    with pytest.raises(BadRecord, match=r"generation_config\.json"):
        open_model(f"embedded/{folder}")


def test_draws_follow_the_probabilities():
    import numpy as np

    logits = np.log(np.array([0.5, 0.3, 0.15, 0.05], np.float32))

    def shares(temperature, top_p, draws=3000):
        drawn = [TokenSampler(temperature, top_p, seed, [1, 2]).draw(logits) for seed in range(draws)]
        return np.bincount(drawn, minlength=4) / draws

    assert np.abs(shares(1.0, 1.0) - [0.5, 0.3, 0.15, 0.05]).max() < 0.03
    # two tokens reach 0.75; with half the temperature probabilities are squared
    assert np.abs(shares(1.0, 0.75) - [0.625, 0.375, 0, 0]).max() < 0.03
    assert np.abs(shares(0.5, 1.0) - np.array([0.25, 0.09, 0.0225, 0.0025]) / 0.365).max() < 0.03
    assert shares(1.0, 0.0, 300)[0] == 1.0
    assert shares(0.0, 1.0, 300)[0] == 1.0
