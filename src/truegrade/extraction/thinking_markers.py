"""The markers between which models think, and where each is documented: the one table that every extraction reads.

A repository is given with the commit at which a file of it was read. Families that write markers of others need no
row: Qwen 3, GLM 4.5 to 4.7, Kimi K2 Thinking, MiniMax M1 and M2, DeepSeek V3.1 to V4, Nemotron, OLMo 3, ERNIE 4.5,
EXAONE 4, Phi-4-reasoning, Step 3, MiMo and Granite 4 think between the tags of DeepSeek-R1. Granite 3.2 says
"Here is my thought process:", which any model may say in prose, so it is not read as a marker.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SGLANG = "sgl-project/sglang@002e9bf python/sglang/srt/parser/reasoning_parser.py"
_VLLM = "vllm-project/vllm"
_OPEN_WEBUI = "open-webui/open-webui@000032e backend/open_webui/utils/middleware.py DEFAULT_REASONING_TAGS"


class Family(NamedTuple):
    """How models of one family mark what they think."""

    begin: str
    """Pattern of what opens a thought."""
    end: str
    """Pattern of what closes it."""
    source: str


def _between(begin: str, end: str, source: str) -> Family:
    return Family(re.escape(begin), re.escape(end), source)


_TAGS = {
    "think": f"DeepSeek-R1 and most others: {_SGLANG} DeepSeekR1Detector",
    "thinking": f"models told to think so in their prompt: {_OPEN_WEBUI}",
    "thought": f"EXAONE Deep: {_OPEN_WEBUI}",
    "reason": f"fine-tunes: {_OPEN_WEBUI}",
    "reasoning": f"Reka Flash 3: {_OPEN_WEBUI}",
    "seed:think": f"Seed-OSS: {_VLLM}@7a3bde4 vllm/reasoning/seedoss_reasoning_parser.py",
    "mm:think": f"MiniMax-M3: {_SGLANG} MiniMaxM3Detector",
    "longcat_think": f"LongCat: {_VLLM}@86c6857 vllm/reasoning/longcat_reasoning_parser.py",
    "think:opensource": f"Hunyuan: {_SGLANG} HunyuanDetector, which takes the name from the tokenizer",
    "ifm|think": f"K2 Horizon: {_VLLM}@90fb4ad vllm/reasoning/k2_horizon_reasoning_parser.py",
    "ifm|think_fast": "K2 Horizon, as above",
    "ifm|think_faster": "K2 Horizon, as above",
}
_NAMES = "|".join(map(re.escape, sorted(_TAGS, key=len, reverse=True)))

FAMILIES: tuple[Family, ...] = (
    # One family: a thought that one of these tags opens, a model may close with another of them.
    Family(f"(?i:<(?:{_NAMES})>)", f"(?i:</(?:{_NAMES})>)", "; ".join(_TAGS.values())),
    Family(
        r"(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)(?:[^<\n]|<\|constrain\|>){0,200}<\|message\|>"
        r"|(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)"
        r"|(?:\A\s*|assistant)(?:analysis|commentary)(?=[A-Za-z\"'`*#])",
        r"(?:<\|start\|>assistant)?<\|channel\|>final\s*(?:<\|constrain\|>[^<\n]{0,200})?<\|message\|>"
        r"|assistantfinal",
        "gpt-oss: openai/harmony@20cd04c docs/format.md; decoded without its special tokens the same channels read"
        " analysis...assistantfinal...",
    ),
    Family(
        r"<\|channel>(?:thought\b)?",
        r"<channel\|>",
        f"Gemma 4: ggml-org/llama.cpp@75f1ba7 models/templates/gemma4.jinja; {_SGLANG} Gemma4Detector",
    ),
    _between(
        "<|START_THINKING|>",
        "<|END_THINKING|>",
        f"Cohere Command: {_VLLM}@01e4fce vllm/reasoning/cohere_command_reasoning_parser.py",
    ),
    _between("[THINK]", "[/THINK]", f"Magistral and later Mistral models: {_SGLANG} MistralDetector"),
    _between("◁think▷", "◁/think▷", f"Kimi-VL, Kimi-Dev: {_SGLANG} KimiDetector"),
    Family(
        r"<\|open\|>think<\|sep\|>",
        r"<\|close\|>think<\|sep\|>(?:\s*<\|open\|>response<\|sep\|>)?|<\|open\|>response<\|sep\|>",
        f"Kimi K3: {_SGLANG} KimiK3Detector",
    ),
    _between(
        "<|inner_prefix|>",
        "<|inner_suffix|>",
        f"Apertus: {_VLLM}@23232cf vllm/reasoning/apertus_reasoning_parser.py",
    ),
    _between(
        "<|think:start|>",
        "<|think:end|>",
        f"Solar Open 2: {_VLLM}@c6cdf91 vllm/reasoning/solar_open2_reasoning_parser.py",
    ),
    _between(
        "<|think|>",
        "<|content|>",
        "Solar Open: its chat template, see ggml-org/llama.cpp@8056196 common/chat-diff-analyzer.cpp",
    ),
    _between("<|content_thinking|>", "<|content_text|>", f"Inkling: {_SGLANG} InklingDetector"),
    _between(
        "<|plamo:begin_think:plamo|>",
        "<|plamo:end_think:plamo|>",
        f"PLaMo 3: {_VLLM}@3febd52 vllm/reasoning/plamo3_reasoning_parser.py",
    ),
    Family(
        r"(?:<\|start\|>\s*assistant[ \t]*)?to=self<\|message\|>",
        r"(?:<\|start\|>\s*assistant[ \t]*)?to=user<\|message\|>",
        f"Muse Glimmer: {_VLLM}@451e84d vllm/reasoning/muse_glimmer_utils.py",
    ),
    _between("[unused16]", "[unused17]", f"Pangu: {_VLLM}@4ade7b8 vllm/reasoning/pangu_reasoning_parser.py"),
    _between("<|begin_of_thought|>", "<|end_of_thought|>", f"OpenThoughts: {_OPEN_WEBUI}"),
)
