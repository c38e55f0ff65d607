"""The final channel: thinking and stop tokens go, the answer stays."""

import pytest

from truegrade.extraction.thinking import final_channel


@pytest.mark.parametrize(
    "reply",
    [
        "<think>no [ANSWER]</think>ANSWER",
        "no opening tag in the reply</think>ANSWER",
        "<think>a</think>wait<think>b</think>ANSWER",
        "<seed:think>x</seed:think>ANSWER",
        "[THINK]x[/THINK]ANSWER",
        "◁think▷x◁/think▷ANSWER",
        "analysisWe add one.assistantfinalANSWER",
        "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>ANSWER<|return|>",
        "<|channel|>final <|constrain|>json<|message|>ANSWER",
        "<think>x</think>ANSWER<|im_end|>\n<|im_start|>user",
        "<think>x</think>ANSWER</s>",
        "<think>x</think>ANSWER</s>\n<eos>\n",
    ],
)
def test_only_the_final_channel_is_kept(reply):
    channel = final_channel(reply)
    assert (channel.text, channel.found, channel.truncated) == ("ANSWER", True, False)
    assert reply[channel.offset :].startswith("ANSWER")


@pytest.mark.parametrize(
    "text", ["", "plain", "a < b and c > d", "s = '</s>' + x", "the <think> tag in the middle"]
)
def test_a_reply_without_thinking_is_its_own_final_channel(text):
    channel = final_channel(text)
    assert (channel.text, channel.offset, channel.found, channel.truncated) == (text, 0, False, False)


@pytest.mark.parametrize(
    "reply",
    ["<think>def f(): pass", "\n <thinking>x", "<|channel|>analysis<|message|>x", "<think>a</think><think>b"],
)
def test_thinking_that_never_ends_leaves_nothing(reply):
    channel = final_channel(reply)
    assert (channel.text, channel.truncated) == ("", True)
    assert channel.offset == len(reply)
