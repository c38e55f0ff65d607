"""Data sets that nobody can pin: where a user gets them, and what to do with the copy."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

UNPINNED: Mapping[str, str] = MappingProxyType(
    {
        "livecodebench": (
            "reads your copy of the data set, which has no fixed checksum: its files grow with every release and"
            " publish no hashes, so a copy is identified by what was read. Get it with `hf download"
            " livecodebench/code_generation_lite --repo-type dataset --local-dir FOLDER` (test.jsonl to"
            " test6.jsonl) or `modelscope download --dataset evalscope/livecodebench_code_generation_lite_parquet"
            " --local_dir FOLDER` (Parquet, by release), then give `data` FOLDER, with `task_args`"
            " release=release_v6 or another for a part of it"
        ),
        "livecodebench-execution": (
            "reads your copy of livecodebench/execution-v2: give the path of its JSON Lines file with `data`"
        ),
        "livecodebench-testoutput": (
            "reads your copy of livecodebench/test_generation: give the path of its JSON Lines file with `data`"
        ),
    }
)
"""By benchmark: what follows its name in a sentence."""
