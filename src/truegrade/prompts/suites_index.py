"""The prompts of harnesses that judge by suites of unit tests: origin, placeholders, hash of the exact bytes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from truegrade.prompts.entry import PromptEntry

SUITE_PROMPTS: Mapping[str, PromptEntry] = MappingProxyType(
    {
        "aider.failures": PromptEntry(
            sha256="2b553bdfbc5f66ddc086099d47adb354147ce718f9663b705002513997908b15",
            source="Aider-AI/aider@5dc9490 benchmark/prompts.py test_failures",
            placeholders={"errors": "what pytest printed", "file": "name of the file to fill in"},
        ),
        "aider.files": PromptEntry(
            sha256="6a4dcc8127036051395ee41ab6f993f3874b7e87a32b6aa83d08bdf7b6c56910",
            source="Aider-AI/aider@5dc9490 aider/coders/base_prompts.py files_content_prefix, base_coder.py",
            placeholders={"file": "name of the file to fill in", "content": "what it holds"},
        ),
        "aider.task": PromptEntry(
            sha256="0e9d0136bd5daa10a542b38be3c8fec4976e58ca1d539704fbe792d19e73b7c3",
            source="Aider-AI/aider@5dc9490 benchmark/prompts.py instructions_addendum",
            placeholders={
                "instructions": "the exercise's texts, one behind the other",
                "file": "name of the file to fill in",
            },
        ),
        "aider.whole.example": PromptEntry(
            sha256="39d55ff92d71f6485080ad5c1a5458a02514ee966d2facf98071fd5b0d56f036",
            source="Aider-AI/aider@5dc9490 aider/coders/wholefile_prompts.py example_messages",
            placeholders={},
        ),
        "aider.whole.reminder": PromptEntry(
            sha256="b22b8d4cdbabfead6c2412c2f328f61157a186ea95be96d332573764fbc319ea",
            source="Aider-AI/aider@5dc9490 aider/coders/wholefile_prompts.py system_reminder",
            placeholders={},
        ),
        "aider.whole.system": PromptEntry(
            sha256="c980c4ef5686b79638977b1c62b216f07c18d4162b55bd76348634c2b63537fe",
            source="Aider-AI/aider@5dc9490 aider/coders/wholefile_prompts.py main_system",
            placeholders={},
        ),
        "bigcodebench.complete.user": PromptEntry(
            sha256="fad88a8f052e0c97584a5589985b0c5526f568e52c8a522a9dcd18a68fd72b91",
            source="bigcode-project/bigcodebench@47eff25 bigcodebench/{generate,provider/utility}.py",
            placeholders={"prompt_stripped": "field prompt or instruction, stripped"},
        ),
        "bigcodebench.instruct.user": PromptEntry(
            sha256="7794be6dcf6dd8acc6ae5a052a580d6436b838924996f8334ed398f987adcbbd",
            source="bigcode-project/bigcodebench@47eff25 bigcodebench/{generate,provider/utility}.py",
            placeholders={"prompt_stripped": "field prompt or instruction, stripped"},
        ),
        "classeval.alpaca.user": PromptEntry(
            sha256="2db244282dce18d0c9d944ba6a79be7e39ad9ccabcc74d39edb3640d65158ebc",
            source="FudanSELab/ClassEval@eaeac44 generation/inference_util.py generate_prompt",
            placeholders={"class_name": "name of the class", "skeleton": "the skeleton, as stored"},
        ),
        "classeval.magicoder.user": PromptEntry(
            sha256="2da2ac89bf363478eea33ba15119d66cecab83aebcbc1c819df2e76204c67efa",
            source="FudanSELab/ClassEval@eaeac44 generation/inference_util.py generate_prompt",
            placeholders={"class_name": "name of the class", "skeleton": "the skeleton, as stored"},
        ),
        "classeval.plain.user": PromptEntry(
            sha256="09bb6a359353d6bc48bed690895793ad766d383532c13259c8f07f95f39c7c5d",
            source="FudanSELab/ClassEval@eaeac44 generation/inference_pipeline.py construct_prompt",
            placeholders={"class_name": "name of the class", "skeleton": "the skeleton, as stored"},
        ),
        "classeval.system": PromptEntry(
            sha256="75357d685f238b6afd7738be9786fdafde641eb6ca9a3be7471939715a68a4de",
            source="FudanSELab/ClassEval@eaeac44 generation/inference_pipeline.py model_generate",
            placeholders={},
        ),
        "cweval.compl.prompt": PromptEntry(
            sha256="9a527a1cf84e54a8f575d82a638fbfa71500f07b4a78105813b27c9b5a054adb",
            source="Co1lin/CWEval@e9a2a12 cweval/ppt/__init__.py DirectCompletionPrompt",
            placeholders={"prompt": "the code to complete, stripped"},
        ),
        "cweval.direct.user": PromptEntry(
            sha256="acf7373d01a4816c304580fcc7840056680dcd5c99283591a4ce98bd5221dd77",
            source="Co1lin/CWEval@e9a2a12 cweval/ppt/__init__.py DirectPrompt",
            placeholders={"prompt": "the code to complete, stripped"},
        ),
        "cweval.secure.user": PromptEntry(
            sha256="5049e7afda7fd1f402d5e48348d06a57871a429dbd52b04f664d39a053e884dd",
            source="Co1lin/CWEval@e9a2a12 cweval/ppt/__init__.py SecurePrompt",
            placeholders={"prompt": "the code to complete, stripped"},
        ),
    }
)
"""By id, sorted."""
