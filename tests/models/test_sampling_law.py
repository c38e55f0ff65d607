"""The law of a draw: penalty, temperature, top-k, top-p, in the order and with the meaning of Hugging Face."""

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.errors import UserError
from truegrade.models import open_model
from truegrade.models.base import generate_sample
from truegrade.models.micro.decoding import TokenSampler
from truegrade.models.micro.llama import Cache, Llama
from truegrade.records.config import Sampling

GOLDEN = json.loads(Path(__file__).with_name("golden_llama.json").read_text())
HALVES = np.log(np.array([0.5, 0.25, 0.125, 0.125], np.float32))


def shares(sampler, logits):
    """Probability by token."""
    order, cumulative = sampler.law(np.asarray(logits, np.float32))
    return dict(zip(order.tolist(), np.diff(cumulative, prepend=0.0) / cumulative[-1], strict=True))


def ask(model, request):
    return asyncio.run(generate_sample(model, *request))


def test_top_k_keeps_so_many_and_those_equal_to_the_last():
    assert shares(TokenSampler(1.0, 1.0, 0, [], top_k=1), HALVES) == {0: 1.0}
    assert shares(TokenSampler(1.0, 1.0, 0, [], top_k=2), HALVES) == pytest.approx({0: 2 / 3, 1: 1 / 3})
    everything = shares(TokenSampler(1.0, 1.0, 0, []), HALVES)
    assert shares(TokenSampler(1.0, 1.0, 0, [], top_k=3), HALVES) == everything  # 2 and 3 are equal
    assert shares(TokenSampler(1.0, 1.0, 0, [], top_k=99), HALVES) == everything


def test_top_p_counts_within_what_top_k_left():
    # of all tokens three are needed for 0.8, of the two that are left two
    assert set(shares(TokenSampler(1.0, 0.8, 0, []), HALVES)) == {0, 1, 2}
    assert set(shares(TokenSampler(1.0, 0.8, 0, [], top_k=2), HALVES)) == {0, 1}
    assert set(shares(TokenSampler(1.0, 0.6, 0, [], top_k=2), HALVES)) == {0}


def test_the_penalty_divides_above_zero_multiplies_below_and_counts_a_token_once():
    logits = np.array([2.0, -1.0, 0.5, -3.0], np.float32)
    sampler = TokenSampler(1.0, 1.0, 0, [0, 1, 1, 1], repetition_penalty=2.0)
    weights = np.exp([1.0, -2.0, 0.5, -3.0])
    found = shares(sampler, logits)
    assert [found[token] for token in range(4)] == pytest.approx(weights / weights.sum())
    assert logits.tolist() == [2.0, -1.0, 0.5, -3.0]  # the caller's own


def test_a_greedy_reply_is_penalised_by_what_it_wrote_itself():
    logits = np.array([2.0, 1.8, 0.9], np.float32)
    sampler = TokenSampler(0.0, 1.0, 0, [], repetition_penalty=2.0)
    assert [sampler.draw(logits) for _ in range(3)] == [0, 1, 0]
    prompted = TokenSampler(0.0, 1.0, 0, [0], repetition_penalty=2.0)
    assert prompted.draw(logits) == 1


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.lists(st.floats(-20, 20, width=32), min_size=2, max_size=40),
    st.integers(1, 50),
    st.floats(0.1, 2.0),
    st.floats(0.05, 1.0),
)
def test_neutral_settings_change_nothing_and_others_only_narrow(logits, top_k, temperature, top_p):
    row = np.array(logits, np.float32)
    plain = TokenSampler(temperature, top_p, 5, [1])
    neutral = TokenSampler(temperature, top_p, 5, [1], top_k=len(logits), repetition_penalty=1.0)
    assert [plain.draw(row) for _ in range(20)] == [neutral.draw(row) for _ in range(20)]
    narrowed = TokenSampler(temperature, top_p, 5, [1], top_k=top_k)
    allowed = set(narrowed.law(row)[0].tolist())
    assert allowed <= set(plain.law(row)[0].tolist())
    least = np.sort(row / temperature)[::-1][:top_k][-1]
    assert all(row[token] / temperature >= least - 1e-6 for token in allowed)
    assert {narrowed.draw(row) for _ in range(20)} <= allowed


def test_greedy_tokens_under_a_penalty_are_those_of_transformers(llama_folder):
    """By the file that `tests/support/golden_llama.py` wrote."""
    llama = Llama.open(llama_folder)
    prompt, written = GOLDEN["prompt"], []
    sampler = TokenSampler(0.0, 1.0, 0, prompt, repetition_penalty=GOLDEN["penalty"])
    for _ in GOLDEN["greedy_penalised"]:
        written.append(sampler.draw(llama.logits([*prompt, *written], Cache(llama.shape), 0)[-1]))
    assert written == GOLDEN["greedy_penalised"] != GOLDEN["greedy"]


def test_the_embedded_model_follows_what_it_is_asked(llama_folder, make_request):
    model = open_model(f"embedded/{llama_folder}")
    plain = ask(model, make_request("def f(x):", max_tokens=30)).text
    assert ask(model, make_request("def f(x):", max_tokens=30, repetition_penalty=1.0)).text == plain
    assert ask(model, make_request("def f(x):", max_tokens=30, repetition_penalty=1.3)).text != plain
    hot = {"temperature": 1.5, "seed": 3, "max_tokens": 30}
    assert ask(model, make_request("def f(x):", **hot, top_k=1)).text == plain
    assert ask(model, make_request("def f(x):", **hot, top_k=9)).text not in {
        plain,
        ask(model, make_request("def f(x):", **hot)).text,
    }


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"top_k": 0}, "top_k 0: give 1 or more"),
        ({"repetition_penalty": 0.0}, "repetition_penalty 0.0: give a number above 0"),
        ({"repetition_penalty": float("nan")}, "give a number above 0"),
        ({"repetition_penalty": float("inf")}, "give a number above 0"),
    ],
)
def test_numbers_that_mean_nothing(wrong, message):
    with pytest.raises(UserError, match=message):
        Sampling(**wrong)


# -------------------------------------------------------------------------------- beside transformers itself

SETTINGS = [
    {"repetition_penalty": 1.3},
    {"repetition_penalty": 0.7, "temperature": 0.6},
    {"top_k": 5},
    {"top_k": 7, "temperature": 1.7},
    {"repetition_penalty": 1.2, "top_k": 20, "top_p": 0.8, "temperature": 0.5},
    {"repetition_penalty": 1.1, "top_k": 50, "top_p": 0.95, "temperature": 0.8},
]


@pytest.fixture(scope="module")
def transformers():
    pytest.importorskip("torch", reason="torch is not installed")
    return pytest.importorskip("transformers", reason="transformers is not installed")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("asked", SETTINGS, ids=str)
def test_probabilities_are_those_that_generate_draws_from(transformers, llama_folder, asked):
    """Four steps of ``generate``: which tokens it left, and how likely, against the numpy model's own logits."""
    import torch

    theirs = transformers.LlamaForCausalLM.from_pretrained(llama_folder, dtype=torch.float32)
    prompt = GOLDEN["prompt"]
    torch.manual_seed(0)
    out = theirs.generate(
        torch.tensor([prompt]), max_new_tokens=4, do_sample=True, eos_token_id=None, output_scores=True,
        return_dict_in_generate=True, **{"top_k": 0, "top_p": 1.0, "temperature": 1.0, **asked},
    )  # fmt: skip
    context = out.sequences[0].tolist()
    llama = Llama.open(llama_folder)
    rest = {name: asked[name] for name in ("top_k", "repetition_penalty") if name in asked}
    for step, scores in enumerate(out.scores):
        known = context[: len(prompt) + step]
        sampler = TokenSampler(asked.get("temperature", 1.0), asked.get("top_p", 1.0), 0, known, **rest)
        found = shares(sampler, llama.logits(known, Cache(llama.shape), 0)[-1])
        expected = torch.softmax(scores[0].double(), -1)
        assert set(found) == set(torch.isfinite(scores[0]).nonzero()[:, 0].tolist())
        assert all(abs(expected[token] - share) < 1e-4 for token, share in found.items())


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_transformers_back_end_writes_what_generate_and_the_embedded_model_write(
    transformers, llama_folder, make_request
):
    import torch

    from truegrade.models.transformers_local import prompt_tokens

    model = open_model(f"hf/{llama_folder}", args={"dtype": "float32", "batch_size": 1})
    tokenizer, theirs = model.engine._tokenizer, model.engine._model
    request = make_request("def f(x):", max_tokens=24, repetition_penalty=1.3)
    tokens = prompt_tokens(tokenizer, request.prompt, model.name)
    whole = theirs.generate(torch.tensor([tokens]), max_new_tokens=24, do_sample=False, repetition_penalty=1.3)
    text = tokenizer.decode(whole[0, len(tokens) :], skip_special_tokens=True)
    embedded = open_model(f"embedded/{llama_folder}")
    assert ask(model, request).text == text == ask(embedded, request).text
    assert text != ask(model, make_request("def f(x):", max_tokens=24)).text
    drawn = make_request("def f(x):", max_tokens=1, temperature=1.4, seed=9, top_k=4, repetition_penalty=1.2)
    assert ask(model, drawn).text == ask(embedded, drawn).text
