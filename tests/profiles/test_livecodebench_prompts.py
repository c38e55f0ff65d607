"""LiveCodeBench's prompts: the published hashes, and the peers' own functions where they are present."""

from __future__ import annotations

import hashlib
import json

import pytest
from peer_process import ask, peers

from truegrade.errors import UnknownName, UserError
from truegrade.extraction import contest_programs
from truegrade.profiles import livecodebench as words
from truegrade.profiles import livecodebench_repair as repair
from truegrade.profiles import open_profile
from truegrade.profiles.evalscope import contest_prompt
from truegrade.profiles.lm_eval import LmEvalFork
from truegrade.records import Completion, ContestTask, Problem

STARTER = "class Solution:\n    def f(self, a: int) -> int:\n        "
HASHES = {
    "OpenAIChat": ("d590c792f5b1", "7ce07e696534"),
    "DeepSeekAPI": ("d590c792f5b1", "7ce07e696534"),
    "TogetherAI": ("d590c792f5b1", "7ce07e696534"),
    "CohereCommand": ("d590c792f5b1", "7ce07e696534"),
    "MistralWeb": ("d590c792f5b1", "7ce07e696534"),
    "OpenAIReasonPreview": ("c87e47bad69f", "19f35b7914a9"),
    "Grok": ("c87e47bad69f", "19f35b7914a9"),
    "OpenAIReason": ("942d5f82ee06", "19f35b7914a9"),
    "Claude3": ("61077f69c5c9", "9162d9e0d94e"),
    "Claude3Thinking": ("61077f69c5c9", "9162d9e0d94e"),
    "Gemini": ("d7e7c31ff155", "0052ea48fd14"),
    "GeminiThinking": ("4ad8230db167", "0d5c59b421cf"),
    "DeepSeekCodeInstruct": ("77b9e0493226", "a912447352a1"),
    "CodeQwenInstruct": ("35d52f6d85a4", "406422c61eda"),
    "QwQ": ("16f1be8fa205", "8b1c0b8a9372"),
    "DeepSeekR1": ("979f3bceceaa", "dd1371555933"),
    "GenericBase": ("7ab19480aa77", "3e522e40e230"),
}
"""sha256[:12] of the prompt (as JSON if it is no text) for the question "QC": on stdin, and with `STARTER`."""

CLAUDE3 = {"Claude3", "Claude3Thinking"}
ONE_TEXT = {"Gemini", "GeminiThinking", "Claude", "StarCoderInstruct"}


def task(question="QC", starter=""):
    return ContestTask(title="t", question=question, starter_code=starter, public_tests="[]", private_tests="[]")


def official_shape(style, prompt):
    """A prompt as upstream's functions return it."""
    messages = [{"role": m.role, "content": m.content} for m in prompt.messages]
    if style in CLAUDE3:
        return [messages[0]["content"], messages[1:]]
    return messages[0]["content"] if prompt.style == "text" or style in ONE_TEXT else messages


def short_hash(value):
    text = value if isinstance(value, str) else json.dumps(value)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@pytest.mark.parametrize("style", sorted(HASHES.keys() - {"GenericBase"}))
def test_prompts_have_the_published_hashes(style):
    found = [words.official_prompt(task(starter=starter), style) for starter in ("", STARTER)]
    assert [short_hash(official_shape(style, prompt)) for prompt in found] == list(HASHES[style])


def test_the_worked_example_is_upstreams_own_file(monkeypatch):
    folder = peers() / "LiveCodeBench+LiveCodeBench/lcb_runner/prompts/few_shot_examples/generation"
    monkeypatch.setenv("TRUEGRADE_DATA", str(folder))
    found = [words.official_prompt(task(starter=starter), "GenericBase") for starter in ("", STARTER)]
    assert [short_hash(prompt.messages[0].content) for prompt in found] == list(HASHES["GenericBase"])
    assert found[0].style == "text" and found[0].stop == ("###",)


def test_another_file_is_no_worked_example(monkeypatch, tmp_path):
    from truegrade.profiles.livecodebench import worked_example

    worked_example.cache_clear()
    (tmp_path / "func.json").write_text('[{"question": "other", "answer": "a", "sample_code": "s"}]')
    monkeypatch.setenv("TRUEGRADE_DATA", str(tmp_path))
    with pytest.raises(UserError, match=r"not LiveCodeBench's func\.json"):
        words.official_prompt(task(starter=STARTER), "GenericBase")


def test_evalscopes_words():
    texts = [LmEvalFork().render_contest(task(starter=starter)).messages[0].content for starter in ("", STARTER)]
    assert [short_hash(text) for text in texts] == ["da624ce1775d", "4bc701c4a9ac"]
    both = contest_prompt(task())
    assert [m.role for m in both.messages] == ["system", "user"]
    assert both.messages[0].content.endswith("You will NOT return anything except for the program.")
    assert both.messages[1].content == texts[0]


def problem(benchmark_task):
    return Problem(id="q", benchmark="livecodebench", dataset_sha256="d", cluster="q", task=benchmark_task)


def test_profiles_offer_the_styles_that_their_version_has():
    newest, january = open_profile("livecodebench"), open_profile("livecodebench-2025-01")
    asked = problem(task())
    assert newest.render_prompt(asked) == words.official_prompt(task(), "OpenAIChat")
    assert newest.render_prompt(asked, "QwQ") == words.official_prompt(task(), "QwQ")
    assert "QwQ" not in january.variants and "Gemini" in january.variants
    with pytest.raises(UnknownName, match="QwQ"):
        january.render_prompt(asked, "QwQ")
    before = newest.render_prompt(asked, "before-264e841")
    assert before.messages[0] == contest_prompt(task()).messages[0]


def test_llama3_is_asked_by_messages_or_by_the_text_that_its_template_makes_of_them():
    text = [words.official_prompt(task(starter=starter), "LLaMa3-text") for starter in ("", STARTER)]
    assert [short_hash(prompt.messages[0].content) for prompt in text] == ["ceb95f4c712f", "2d6dd2c80045"]
    assert {(prompt.style, prompt.stop) for prompt in text} == {("text", ("###",))}
    messages = words.official_prompt(task(), "LLaMa3").messages
    assert [message.content for message in messages] == [m.content for m in words.official_prompt(task()).messages]


def test_a_base_models_whole_text_is_the_program():
    reply = Completion(
        benchmark="livecodebench", dataset_sha256="d", problem_id="q", sample=0, config_sha256="c",
        prompt_sha256="p", text="\n```\nx\n```\n", model="m",
    )  # fmt: skip
    answer = open_profile("livecodebench-base").extract(problem(task()), reply)
    assert (answer.value, answer.found) == ("```\nx\n```", "the whole text, stripped")


def test_styles_without_words_are_refused():
    with pytest.raises(UserError, match="NotImplementedError"):
        words.official_prompt(task(), "StarCoderInstruct")
    with pytest.raises(UnknownName, match="OpenAIChat"):
        words.official_prompt(task(), "OpenAIChatt")


WRONG = {"error_code": -2, "inputs": "i", "output": "o", "expected": "e"}


def test_repair_has_the_published_hashes():
    prompt = repair.repair_prompt("QC", "c", WRONG)
    assert short_hash(official_shape("OpenAIChat", prompt)) == "43bd5742c109"
    assert short_hash(repair.repair_prompt("QC", "c", WRONG, "LLaMa3").messages[1].content) == "f6d7420c4301"


@pytest.mark.parametrize(
    ("metadata", "style", "named"),
    [
        ({"error_code": -4, "error_message": "Error during testing: x"}, "OpenAIChat", "KeyError"),
        ({"error_code": -5, "error_message": "TestRunnerError"}, "OpenAIChat", "NotImplementedError"),
        (WRONG, "OpenAIReason", "AttributeError"),
    ],
)
def test_what_aborts_upstream_is_an_error_of_one_sample(metadata, style, named):
    with pytest.raises(repair.PublishedCrash, match=named):
        repair.repair_prompt("q", "c", metadata, style)


REPAIRS = [
    ["print(1)", WRONG],
    ["x <question> <check>", {"error_code": -1, "error": "boom <code>"}],
    ["c", {"error_code": -3, "error": "e", "inputs": [[1, 2], "x"], "expected": None}],
    ["c", {"error_code": -4, "error": "e", "inputs": 1.5, "expected": {"a": 1}}],
    ["c", {"execution time": 1.0}],
    ["c", {"error_code": -4, "error": "e"}],
    ["c", {"error_code": -5, "error": "e"}],
]
REPLIES = [
    "",
    "no code",
    "```python\nprint(1)\n```",
    "a\n```python\nx = 1\n```\nwords\n```\nsample\n```",
    "```\none\n```\nprose\n```python\nopen = 1",
    "code\n```python\nx\n```\nuse ```y``` here",
    "  1. item\n     ```py\n     print(1)\n     ```\r\n",
    "[PYTHON]\nx = 1\n[/PYTHON]",
    "~~~python\nx\n~~~\u2028```\u2028```",
]
UNTOKENISED = {"LLaMa3"}
"""Styles that need a tokenizer from a hub."""


@pytest.mark.slow
def test_the_peers_own_functions_give_the_same(monkeypatch):
    folder = peers() / "LiveCodeBench+LiveCodeBench/lcb_runner/prompts/few_shot_examples/generation"
    monkeypatch.setenv("TRUEGRADE_DATA", str(folder))
    cases = [
        ("QC", ""),
        ("QC", STARTER),
        ("Ends in blanks  \n\n", ""),
        ("<starter> <question> {x}\r\nü", "def f(x):"),
    ]
    requests = [{"question": q, "starter": s, "repairs": REPAIRS, "replies": REPLIES} for q, s in cases]
    for (question, starter), said in zip(cases, ask("livecodebench_prompts", {"requests": requests}), strict=True):
        problem = task(question, starter)
        for style in said["prompts"].keys() - UNTOKENISED:
            theirs = said["prompts"][style]
            if style in words.UNWORDED:
                assert theirs == {"raised": "NotImplementedError"}, style
            else:
                assert official_shape(style, words.official_prompt(problem, style)) == theirs, style
        ours = contest_prompt(problem)
        assert [message.content for message in ours.messages] == said["evalscope"]
        for (code, metadata), theirs in zip(REPAIRS, said["repairs"], strict=True):
            for style in theirs.keys() - UNTOKENISED:
                assert repaired(question, code, metadata, style) == theirs[style], style
        for reply, theirs in zip(REPLIES, said["extracted"], strict=True):
            assert {style: extracted(reply, style) for style in theirs["official"]} == theirs["official"]
            assert contest_programs.last_pair(reply) == theirs["evalscope"]


def extracted(reply, style):
    """Its branch for CodeLLaMaInstruct finds the tags and returns nothing, and the grader then asserts."""
    if style == "CodeLLaMaInstruct":
        return None
    return contest_programs.base_reply(reply) if style == "GenericBase" else contest_programs.last_pair(reply)


def repaired(question, code, metadata, style):
    try:
        return official_shape(style, repair.repair_prompt(question, code, metadata, style))
    except repair.PublishedCrash as error:
        names = ("KeyError", "NotImplementedError", "AttributeError")
        return {"raised": next(name for name in names if name in str(error))}
