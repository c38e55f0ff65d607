"""The prompts that ship: where each comes from, what is filled in, and the hash of its exact bytes.

The text of a prompt is the file ``<id>.txt`` beside this module, byte for byte as its origin has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the index."""

    sha256: str
    """Hash of the file, placeholders in place."""
    source: str
    """Repository path at a version, or ``ours``."""
    placeholders: dict[str, str]
    """Each name and what its ``<name>`` is replaced by."""


PROMPTS: Mapping[str, Entry] = MappingProxyType(
    {
        "cruxeval.input.cot": Entry(
            sha256="193076692eed26f1827b531a29c0375373c9e0067491761ff1644dfcc1418e24",
            source="facebookresearch/cruxeval@190faf1 prompts.py; equal in bytedance/SandboxFusion@469de08",
            placeholders={"code": "field code", "output": "field output"},
        ),
        "cruxeval.input.direct": Entry(
            sha256="5aafb44f9934f15ebe0a540b9fffc4f8bec104521bd6e799d6acba170a958de6",
            source="facebookresearch/cruxeval@190faf1 prompts.py; equal in bytedance/SandboxFusion@469de08",
            placeholders={"code": "field code", "output": "field output"},
        ),
        "cruxeval.output.cot": Entry(
            sha256="b1580244fb483849a92ec9bc4aa88da30152aa76dbb1c5aa667d989aa448eafc",
            source="facebookresearch/cruxeval@190faf1 prompts.py; equal in bytedance/SandboxFusion@469de08",
            placeholders={"code": "field code", "input": "field input"},
        ),
        "cruxeval.output.direct": Entry(
            sha256="7eac29f4ed96c46fad0cff7668533a564e08eaafc4746fd6fce6d359b3013487",
            source="facebookresearch/cruxeval@190faf1 prompts.py; equal in bytedance/SandboxFusion@469de08",
            placeholders={"code": "field code", "input": "field input"},
        ),
        "cruxeval.system.openai": Entry(
            sha256="fe01db3bfe1094201ee3f29d7089accfa28d12b9567c15ef59a09e976b3cdb77",
            source="facebookresearch/cruxeval@190faf1 openai/openai_prompt.py",
            placeholders={},
        ),
        "exec.prediction.one_shot": Entry(
            sha256="cf0dee2aa71044a3826f3551d371c46108496ce4f6a2ad535a01ae7be503364c",
            source="akshsgaur/code-reasoning-repro@6c43fa8 src/models/deepseek-coder-7b.ipynb cell 9",
            placeholders={
                "fn": "function name",
                "args": "argument list of the call as text",
                "program": "source of the shown program, inserted as stored",
            },
        ),
        "exec.prediction.zero_shot": Entry(
            sha256="42fbec3e79e7fdb3e5224982fbe816b5946b9c5f01f132a9a1f80f8571a681da",
            source="akshsgaur/code-reasoning-repro@6c43fa8 src/models/inference.py",
            placeholders={
                "fn": "function name",
                "args": "argument list of the call as text",
                "program": "source of the shown program, inserted as stored",
            },
        ),
        "humaneval.simple_evals.user": Entry(
            sha256="f0e0851fb551822b38cafdb6cd2cc499af8da9ed002dae6ea7c246bb608bd569",
            source="openai/simple-evals@093107e humaneval_eval.py; equal in modelscope/evalscope@fde259d2",
            placeholders={"prompt": "field prompt, as stored"},
        ),
        "mbpp.paper": Entry(
            sha256="5754558762588c3115fa424bdb30560d9b67e34218fc6164db792b8497404414",
            source="google-research/google-research@30adf0e mbpp/README.md",
            placeholders={
                "prompt": "field text",
                "tests": "test_list joined by newlines",
                "code": "field code (shots) or nothing",
            },
        ),
        "strict.description.user": Entry(
            sha256="dfaeeccf9bf7d75aaa19b248af20abb99d827f47949fd1e38bc8d513ab8c8ec7",
            source="ours",
            placeholders={"prompt": "the description, as stored", "tests": "the shown tests joined by newlines"},
        ),
        "strict.function.user": Entry(
            sha256="d2b82876c1855dffff3f2c56e8ba8fa8c0489824ab32656250f6842acc9d88f6",
            source="ours",
            placeholders={"prompt": "the code to complete, as stored"},
        ),
    }
)
"""By id, sorted."""
