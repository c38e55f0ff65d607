"""The prompts of LiveCodeBench's code generation and self-repair: origin, placeholders, hash of the exact bytes.

The worked example of base models is a contest's text and is not shipped; its place in the prompt is a placeholder.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from truegrade.prompts.entry import PromptEntry

_OFFICIAL = "LiveCodeBench/LiveCodeBench@28fef95 lcb_runner/prompts"

_QUESTION = {"question": "field question_content"}
_STARTER = {**_QUESTION, "starter": "field starter_code, as stored"}
_REPAIR = {
    **_QUESTION,
    "code": "the failing code",
    "check": "one of lcb.self_repair.check.*, or nothing when metadata holds no error_code",
}

LIVECODEBENCH_PROMPTS: Mapping[str, PromptEntry] = MappingProxyType(
    {
        "lcb.evalscope.system": PromptEntry(
            sha256="41b9af0ebedb936e74e0996175f76f0116c334375ec3a7c914166f126c02f489",
            source="modelscope/evalscope@fde259d2 evalscope/benchmarks/live_code_bench/prompts.py",
            placeholders={},
        ),
        "lcb.evalscope.user.functional": PromptEntry(
            sha256="55a512e1abb45f63691fd7bfb8ce1a53ed330c8570af146db1b9d1610107cfbc",
            source="modelscope/evalscope@fde259d2 evalscope/benchmarks/live_code_bench; so does the fork af0ac9f7",
            placeholders=_STARTER,
        ),
        "lcb.evalscope.user.stdin": PromptEntry(
            sha256="791bf10c494f8783d416bbaf7640d3e624e25c90b747d3c1bf3cd8113826993a",
            source="modelscope/evalscope@fde259d2 evalscope/benchmarks/live_code_bench; so does the fork af0ac9f7",
            placeholders=_QUESTION,
        ),
        "lcb.official.chat.user.functional": PromptEntry(
            sha256="d0d1f7e9647e9746f2dc63156f8413cc8a3ab6091e1dcaf5800645f6b4aca0ea",
            source=f"{_OFFICIAL}/code_generation.py style OpenAIChat and its likes (system + user)",
            placeholders=_STARTER,
        ),
        "lcb.official.chat.user.stdin": PromptEntry(
            sha256="73b44e8f06a461fc1830567d5b468d9554d9badb1f989971b9ee115117eb558f",
            source=f"{_OFFICIAL}/code_generation.py style OpenAIChat and its likes (system + user)",
            placeholders=_QUESTION,
        ),
        "lcb.official.claude3.user.functional": PromptEntry(
            sha256="1178399f48451cc50ac1b0c65357db0c5699d062136a8a9f6cf1e37c6f64bb8f",
            source=f"{_OFFICIAL}/code_generation.py style Claude3, Claude3Thinking",
            placeholders=_STARTER,
        ),
        "lcb.official.claude3.user.stdin": PromptEntry(
            sha256="6d1f5bf88cc7fb3b2f29a4b346f88867dae90451a6fc1252b1798f59edff5c20",
            source=f"{_OFFICIAL}/code_generation.py style Claude3, Claude3Thinking",
            placeholders=_QUESTION,
        ),
        "lcb.official.codeqwen_instruct.functional": PromptEntry(
            sha256="cf0b4ebf8b03ffe1ad3af04774e53124cf5632fa20d0a00cccb759c1c0208424",
            source=f"{_OFFICIAL}/code_generation.py style CodeQwenInstruct",
            placeholders=_STARTER,
        ),
        "lcb.official.codeqwen_instruct.stdin": PromptEntry(
            sha256="ac173538acac5153d9ca2abe74437d02cfc4e51882cd70dccab8d4a92aab4e68",
            source=f"{_OFFICIAL}/code_generation.py style CodeQwenInstruct",
            placeholders=_QUESTION,
        ),
        "lcb.official.deepseek_code_instruct.functional": PromptEntry(
            sha256="05b5677a9e06c57600c38f383a3212c198ecfb8a27130c30def102ee9a625c1a",
            source=f"{_OFFICIAL}/code_generation.py style DeepSeekCodeInstruct",
            placeholders=_STARTER,
        ),
        "lcb.official.deepseek_code_instruct.stdin": PromptEntry(
            sha256="e7142b90232ce7164ba6d7d3a5f3a3816a96073d399d4b9d9144ceef7ec77cac",
            source=f"{_OFFICIAL}/code_generation.py style DeepSeekCodeInstruct",
            placeholders=_QUESTION,
        ),
        "lcb.official.deepseek_r1.functional": PromptEntry(
            sha256="0ab1b38f1cd6c45c60bf0494b6802e4b984bd5980e74207d8099c3817498546f",
            source=f"{_OFFICIAL}/code_generation.py style DeepSeekR1",
            placeholders=_STARTER,
        ),
        "lcb.official.deepseek_r1.stdin": PromptEntry(
            sha256="ae4eeb71c814f8072aedc74682efd8493bf024ba4c0ff41c23b6b0c22e5a6180",
            source=f"{_OFFICIAL}/code_generation.py style DeepSeekR1",
            placeholders=_QUESTION,
        ),
        "lcb.official.gemini.functional": PromptEntry(
            sha256="05e5454aa450cfd026d8f090d3a49f3830fba8ad0bcfbb0ee65602735ec01ec2",
            source=f"{_OFFICIAL}/code_generation.py style Gemini",
            placeholders=_STARTER,
        ),
        "lcb.official.gemini.stdin": PromptEntry(
            sha256="28d25d374d308ca455cd30a4eb041a6d452ffe2ae43f9d367b4202c75f478567",
            source=f"{_OFFICIAL}/code_generation.py style Gemini",
            placeholders=_QUESTION,
        ),
        "lcb.official.gemini_thinking.functional": PromptEntry(
            sha256="3b0bc3a04c0dc1d968ed781d038c3d85b81cfd9160e9d76e2e0f996d028749d8",
            source=f"{_OFFICIAL}/code_generation.py style GeminiThinking",
            placeholders=_STARTER,
        ),
        "lcb.official.gemini_thinking.stdin": PromptEntry(
            sha256="b68b683dc5f751f1d8ea42c4ae81c060f245d1b479d069efeed8ca346e9a7f7f",
            source=f"{_OFFICIAL}/code_generation.py style GeminiThinking",
            placeholders=_QUESTION,
        ),
        "lcb.official.qwq.functional": PromptEntry(
            sha256="e2f80b158bba6191a9c5db7eea0621a7a2308570690977197e2f56d844642086",
            source=f"{_OFFICIAL}/code_generation.py style QwQ",
            placeholders=_STARTER,
        ),
        "lcb.official.qwq.stdin": PromptEntry(
            sha256="6ee48f2babaf6d4ed31ea40143c767d6402f0a85d7d22856eb2d10b2eae2f26a",
            source=f"{_OFFICIAL}/code_generation.py style QwQ",
            placeholders=_QUESTION,
        ),
        "lcb.official.reason.user.functional": PromptEntry(
            sha256="363b73e36508482c67180601bfd817be28c236ae0fab392f2df9851a90984871",
            source=f"{_OFFICIAL}/code_generation.py style OpenAIReason",
            placeholders=_STARTER,
        ),
        "lcb.official.reason.user.stdin": PromptEntry(
            sha256="e9ef291e88ad96577d014d46a708d6ab2677603a8cb50ff4dc44b4f1f32c5869",
            source=f"{_OFFICIAL}/code_generation.py style OpenAIReason",
            placeholders=_QUESTION,
        ),
        "lcb.official.reason_preview.user.functional": PromptEntry(
            sha256="363b73e36508482c67180601bfd817be28c236ae0fab392f2df9851a90984871",
            source=f"{_OFFICIAL}/code_generation.py style OpenAIReasonPreview, Grok",
            placeholders=_STARTER,
        ),
        "lcb.official.reason_preview.user.stdin": PromptEntry(
            sha256="0750be252a6c5be44acc2502d403e9603798af34b55a0d09a1f2c9093e44a235",
            source=f"{_OFFICIAL}/code_generation.py style OpenAIReasonPreview, Grok",
            placeholders=_QUESTION,
        ),
        "lcb.official.system": PromptEntry(
            sha256="d39e6e9b11d2ac7e84a6a85ebf4cfb10489b414e74f0b52e3394eb5375bdd9ac",
            source=f"{_OFFICIAL}/code_generation.py SYSTEM_MESSAGE_GENERIC",
            placeholders={},
        ),
        "lcb.official_before_264e841.chat.user.stdin": PromptEntry(
            sha256="87fd2f910dde2cacef8575d13a62f9ec8f8039e4e010c762d46ee525a115bbee",
            source="LiveCodeBench/LiveCodeBench@f05cda2 lcb_runner/prompts/code_generation.py",
            placeholders=_QUESTION,
        ),
        "lcb.official_before_264e841.system": PromptEntry(
            sha256="41b9af0ebedb936e74e0996175f76f0116c334375ec3a7c914166f126c02f489",
            source="LiveCodeBench/LiveCodeBench@f05cda2 lcb_runner/prompts/code_generation.py",
            placeholders={},
        ),
        "lcb.self_repair.check.1": PromptEntry(
            sha256="589c5dfd1bec7d846c6258d6c77291e70bbe94bdcc2623db0d97cb4018a4edda",
            source=f"{_OFFICIAL}/self_repair.py error_code -1",
            placeholders={"error": "metadata['error']"},
        ),
        "lcb.self_repair.check.2": PromptEntry(
            sha256="b2cfaa86e029750374bcef4afe2495f2970b7995c0ba903fcad06acbed8b0fbf",
            source=f"{_OFFICIAL}/self_repair.py error_code -2",
            placeholders={
                "inputs": "metadata['inputs']",
                "output": "metadata['output']",
                "expected": "metadata['expected']",
            },
        ),
        "lcb.self_repair.check.3": PromptEntry(
            sha256="6fe3347d20e1cc1bedef18a1260e4f38f3b24f66aaf4deb2e7ca78805c411b8f",
            source=f"{_OFFICIAL}/self_repair.py error_code -3",
            placeholders={
                "error": "metadata['error']",
                "inputs": "metadata['inputs']",
                "expected": "metadata['expected']",
            },
        ),
        "lcb.self_repair.check.4": PromptEntry(
            sha256="8a4d735db43c303895ca1c54f3d0e2e28dae66983fe089fd2616d490dd64c94d",
            source=f"{_OFFICIAL}/self_repair.py error_code -4",
            placeholders={
                "inputs": "metadata['inputs']",
                "expected": "metadata['expected']",
                "error": "metadata['error']",
            },
        ),
        "lcb.self_repair.formatting_repeat": PromptEntry(
            sha256="c165b2eaa619397559206048ebe2bdc993852a61f810cf64e9c5ef630012c4e6",
            source=f"{_OFFICIAL}/self_repair.py",
            placeholders={},
        ),
        "lcb.self_repair.system": PromptEntry(
            sha256="36a4254ea60a36a5e90465c6be8e28283f8d9e5cd3f61c0f464cb3b20820afb4",
            source=f"{_OFFICIAL}/self_repair.py",
            placeholders={},
        ),
        "lcb.self_repair.user": PromptEntry(
            sha256="fd0413dd177f4846817db82ef5851dd50102e5539be72002b2133b474977f477",
            source=f"{_OFFICIAL}/self_repair.py",
            placeholders=_REPAIR,
        ),
        "lcb_base.functional": PromptEntry(
            sha256="53ea1de0238937a0c70cc5c72f2a88bda66cea845d709ce74aeff1f33dd19d4f",
            source=f"{_OFFICIAL}/code_generation.py style GenericBase; the example is not shipped",
            placeholders={
                "example_question": "question of few_shot_examples/generation/func.json [0]",
                "example_starter": "its sample_code",
                "example_answer": "its answer",
                "question": "field question_content",
                "starter": "field starter_code, as stored",
            },
        ),
        "lcb_base.stdin": PromptEntry(
            sha256="da307b437a842bf8f97d600a81cf086ec06b48e20f85cf6fd1fa0364c3b4efbc",
            source=f"{_OFFICIAL}/code_generation.py style GenericBase; the example is not shipped",
            placeholders={
                "example_question": "question of few_shot_examples/generation/stdin.json [0]",
                "example_answer": "its answer",
                "question": "field question_content",
            },
        ),
        "lcb_llama3.template": PromptEntry(
            sha256="4bc6861a60b57824b6e7b1981c828a8172eb0e11494c923c2763688dfc50bc9f",
            source=f"{_OFFICIAL}/code_generation.py style LLaMa3, which applies the chat template of"
            " meta-llama/Meta-Llama-3-8B-Instruct with add_generation_prompt",
            placeholders={"system": "the system text, stripped", "user": "the user text, stripped"},
        ),
        "lcb_claude.completion": PromptEntry(
            sha256="3c4739727b8202c5fa0e3ad8f07311d383d6c1ccf9c9cc6deb24048a6e30ade9",
            source=f"{_OFFICIAL}/code_generation.py, self_repair.py style Claude; HUMAN_PROMPT, AI_PROMPT",
            placeholders={
                "system": "lcb.official.system or lcb.self_repair.system",
                "user": "the user text, right-stripped",
            },
        ),
        "lcb_repair.code_llama_instruct": PromptEntry(
            sha256="8cbdeca3ee390ea40a24a4d2649f5e4bd0340869df37597c6b1afabbc2ee5597",
            source=f"{_OFFICIAL}/self_repair.py style CodeLLaMaInstruct",
            placeholders=_REPAIR,
        ),
        "lcb_repair.deepseek_code_instruct": PromptEntry(
            sha256="20339b5650385f241abf51788598010d72daabb05c86f7aeecffb42cfbb9b053",
            source=f"{_OFFICIAL}/self_repair.py style DeepSeekCodeInstruct",
            placeholders=_REPAIR,
        ),
    }
)
"""By id, sorted."""
