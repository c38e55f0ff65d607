"""The pinned data sets: where each file comes from and the hashes of what it must hold."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from truegrade.datasets import leetcode_numbers
from truegrade.errors import UnknownName, UserError

# ------------------------ Data sets that nobody can pin: where a user gets them, and what to do with the copy.


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


class PinnedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One upstream file at one version."""

    name: str
    file: str
    """Its name, upstream and in every folder that is searched."""
    url: str
    checkout: bool = False
    """The address is that of a repository whose files the rows are made from: checked out, not downloaded."""
    sha256: str
    """Of the file as it is downloaded."""
    content_sha256: str
    """Of the uncompressed bytes; stored with every result."""
    rows_sha256: str | None = None
    """Of the rows in canonical JSON (`truegrade.records.sha256_json`), for a file whose layout is not fixed:
    the same rows in another layout are recognised."""
    id_field: str
    """Field that names a row."""
    id_prefix: str
    """What stands before the number in `ids`, as upstream writes it; empty where ids are numbers or names."""
    id_numbers: str = ""
    """Numbers of all rows, in order, as ranges: ``2-4,6``; empty where rows have names."""
    id_names: tuple[str, ...] = ()
    """Names of all rows, in order, where they have no numbers."""
    licence: str
    citation: str

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.ids)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all rows, in order."""
        if self.id_names:
            return self.id_names
        spans = [span.partition("-") for span in self.id_numbers.split(",")]
        return tuple(
            f"{self.id_prefix}{number}"
            for first, _, last in spans
            for number in range(int(first), int(last or first) + 1)
        )


def source(name: str) -> PinnedFile:
    """The source of that name.

    Raises:
        UserError: it is one that every user brings; the sentence says from where.
        UnknownName: there is none.
    """
    if name in UNPINNED:
        raise UserError(f"{name} {UNPINNED[name]}")
    if name not in SOURCES:
        raise UnknownName("data set", name, SOURCES, hint="`truegrade data list` shows them all")
    return SOURCES[name]


_SANITIZED_NUMBERS = (
    "2-4,6-9,11-12,14,16-20,56-59,61-72,74-75,77,79-80,82-106,108-109,111,113,115-120,123-133,135,137-143,145,"
    "160-168,170-172,222-224,226-230,232-235,237-240,242,244-253,255-257,259-262,264-274,276-287,290-297,"
    "299-301,304-312,388-401,404-415,417-422,424-448,450-465,468,470-479,554-560,562-569,572-574,576-600,"
    "602-608,610-612,614-620,622-633,635,637-641,643-644,720-726,728,730-760,762-767,769-773,775-788,790-794,"
    "796-809"
)
_MBPPPLUS_NUMBERS = (
    "2-4,6-9,11-12,14,16-20,56-59,61-72,74-75,77,79-80,82,84-106,108-109,111,113,116,118-120,123-133,135,137-142,"
    "145,160-162,165-168,170-172,222-224,226-227,230,232-235,237-240,242,244-245,247,250-253,255-257,259-262,"
    "264-274,276-287,290,292-294,296-297,299-301,305-306,308-312,388-392,394-395,397-398,404-406,409-410,412-415,"
    "418-422,424-430,432-433,435-437,439-441,445-448,450-451,453-460,462-463,465,468,470-479,554-560,562-569,"
    "572-573,576-581,583,585-594,596-600,602-608,610-612,614-616,618-620,622-624,626,628-633,635,637-639,641,"
    "643-644,720-726,728,730-737,739-745,748-755,757-760,762-767,769-773,775,777-778,780-782,784-788,790-794,"
    "796-801,803-809"
)
_QUIXBUGS_NAMES = (
    *("bitcount", "breadth_first_search", "bucketsort", "depth_first_search", "detect_cycle"),
    *("find_first_in_sorted", "find_in_sorted", "flatten", "gcd", "get_factors", "hanoi"),
    *("is_valid_parenthesization", "kheapsort", "knapsack", "kth", "lcs_length", "levenshtein", "lis"),
    *("longest_common_subsequence", "max_sublist_sum", "mergesort", "minimum_spanning_tree"),
    *("next_palindrome", "next_permutation", "pascal", "possible_change", "powerset", "quicksort"),
    *("reverse_linked_list", "rpn_eval", "shortest_path_length", "shortest_path_lengths"),
    *("shortest_paths", "shunting_yard", "sieve", "sqrt", "subsequences", "to_base"),
    *("topological_ordering", "wrap"),
)
_EXERCISES = (
    *("affine-cipher", "beer-song", "book-store", "bottle-song", "bowling", "connect", "dominoes", "dot-dsl"),
    *("food-chain", "forth", "go-counting", "grade-school", "grep", "hangman", "list-ops", "paasio"),
    *("phone-number", "pig-latin", "poker", "pov", "proverb", "react", "rest-api", "robot-name"),
    *("scale-generator", "sgf-parsing", "simple-linked-list", "transpose", "tree-building", "two-bucket"),
    *("variable-length-quantity", "wordy", "zebra-puzzle", "zipper"),
)
_CWEVAL_NAMES = (
    *("cwe_020_0", "cwe_022_0", "cwe_022_2", "cwe_078_0", "cwe_079_0", "cwe_095_0"),
    *("cwe_113_0", "cwe_117_0", "cwe_1333_0", "cwe_326_0", "cwe_326_1", "cwe_327_0"),
    *("cwe_327_1", "cwe_327_2", "cwe_329_0", "cwe_347_0", "cwe_377_0", "cwe_400_0"),
    *("cwe_502_0", "cwe_643_0", "cwe_732_2", "cwe_760_0", "cwe_918_0", "cwe_918_1"),
    *("cwe_943_0",),
)
_MBPP_CITATION = "Austin et al., Program Synthesis with Large Language Models, arXiv:2108.07732"
_EVALPLUS_CITATION = "Liu et al., Is Your Code Generated by ChatGPT Really Correct?, arXiv:2305.01210"
_LEETCODE_URL = "https://github.com/newfacade/LeetCodeDataset/raw/182cd19fd53161efd70a1ef074fe1056b659bfa3/data"
_LEETCODE_CITATION = (
    "Xia et al., LeetCodeDataset: A Temporal Dataset for Robust Evaluation and Efficient Training of Code LLMs,"
    " arXiv:2504.14655"
)

_TABLE = (
    PinnedFile(
        name="humaneval",
        file="HumanEval.jsonl.gz",
        url=(
            "https://github.com/openai/human-eval/raw/6d43fb980f9fee3c892a914eda09951f772ad10d"
            "/data/HumanEval.jsonl.gz"
        ),
        sha256="b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef",
        content_sha256="1d49078ba3e2b196b9344535bef34a43021f038fad9561d6ee7c53450609a6a2",
        id_field="task_id",
        id_prefix="HumanEval/",
        id_numbers="0-163",
        licence="MIT",
        citation="Chen et al., Evaluating Large Language Models Trained on Code, arXiv:2107.03374",
    ),
    PinnedFile(
        name="humanevalplus",
        file="HumanEvalPlus.jsonl.gz",
        url="https://github.com/evalplus/humanevalplus_release/releases/download/v0.1.10/HumanEvalPlus.jsonl.gz",
        sha256="272720b90ac375502c8ed23cd791c2a93dfb22a911641a494da74a426c09f101",
        content_sha256="42526ec0e7d5f3ee0b06d6ced98f8c8bae3d76519151bfb3d36f79010645bd7f",
        id_field="task_id",
        id_prefix="HumanEval/",
        id_numbers="0-163",
        licence="Apache-2.0",
        citation=_EVALPLUS_CITATION,
    ),
    PinnedFile(
        name="mbpp",
        file="mbpp.jsonl",
        url=(
            "https://github.com/google-research/google-research/raw/2251e8c67a7fe7d6348714967ee101080b28e956"
            "/mbpp/mbpp.jsonl"
        ),
        sha256="ccf64ceae9c5403bf50a044cb6d505bfd2a2963ee58338ba268fd65beab92a9f",
        content_sha256="ccf64ceae9c5403bf50a044cb6d505bfd2a2963ee58338ba268fd65beab92a9f",
        id_field="task_id",
        id_prefix="",
        id_numbers="1-974",
        licence="CC-BY-4.0",
        citation=_MBPP_CITATION,
    ),
    PinnedFile(
        name="mbpp-sanitized",
        file="sanitized-mbpp.json",
        url=(
            "https://github.com/google-research/google-research/raw/dec705a28fea05552916c0b83c52f5f23609e8ee"
            "/mbpp/sanitized-mbpp.json"
        ),
        sha256="ca95deaa9a01ef0a6f439f88bcf0dd3db3563d22f22aad6cae04ebb9a8d8c8e9",
        content_sha256="ca95deaa9a01ef0a6f439f88bcf0dd3db3563d22f22aad6cae04ebb9a8d8c8e9",
        rows_sha256="0a16f33d2b664db4e3a55acceaf7aad487e1841828174a7ee91734501e9de00f",
        id_field="task_id",
        id_prefix="",
        id_numbers=_SANITIZED_NUMBERS,
        licence="CC-BY-4.0",
        citation=_MBPP_CITATION,
    ),
    PinnedFile(
        name="mbppplus",
        file="MbppPlus.jsonl.gz",
        url="https://github.com/evalplus/mbppplus_release/releases/download/v0.2.0/MbppPlus.jsonl.gz",
        sha256="af43697e8791c4c149bdfd6b489d8b5412507551ac20e28a439f650b8225db63",
        content_sha256="b54e762755248ca411b523c917fa9f93c07b5ff2966bf60b3917b853926a3dad",
        id_field="task_id",
        id_prefix="Mbpp/",
        id_numbers=_MBPPPLUS_NUMBERS,
        licence="Apache-2.0",
        citation=_EVALPLUS_CITATION,
    ),
    PinnedFile(
        name="cruxeval",
        file="cruxeval.jsonl",
        url=(
            "https://github.com/facebookresearch/cruxeval/raw/190faf16d175b5847b0af05d937872b1fb395942"
            "/data/cruxeval.jsonl"
        ),
        sha256="8368b81047dc5014e4caf5a2f97604eff7644e0ecd7415e3ceeb184bbc2e0c96",
        content_sha256="8368b81047dc5014e4caf5a2f97604eff7644e0ecd7415e3ceeb184bbc2e0c96",
        id_field="id",
        id_prefix="sample_",
        id_numbers="0-799",
        licence="MIT",
        citation="Gu et al., CRUXEval: Code Reasoning, Understanding, and Execution Evaluation, arXiv:2401.03065",
    ),
    PinnedFile(
        name="humanevalpack",
        file="humanevalpack.jsonl",
        url=(
            "https://github.com/bigcode-project/octopack/raw/e17a8f6470264286bc6a52eb8263582083bf3bf6"
            "/evaluation/create/humaneval-x/data/python/data/humanevalpack.jsonl"
        ),
        sha256="b1376d72be4bd016a62ad043d9de3846edb8d63edf1222da802a31330c14c3a7",
        content_sha256="b1376d72be4bd016a62ad043d9de3846edb8d63edf1222da802a31330c14c3a7",
        id_field="task_id",
        id_prefix="Python/",
        id_numbers="0-163",
        licence="MIT",
        citation="Muennighoff et al., OctoPack: Instruction Tuning Code Large Language Models, arXiv:2308.07124",
    ),
    PinnedFile(
        name="leetcode-dataset-test",
        file="LeetCodeDataset-v0.3.1-test.jsonl.gz",
        url=f"{_LEETCODE_URL}/LeetCodeDataset-v0.3.1-test.jsonl.gz",
        sha256="3ae536cb41342076691730b72424fdfb9264f233e05c81bf37b5f7e227ea1853",
        content_sha256="aec951945feb555b4c72783519452a7a0437ca8c6e5624a83d0ae888718fa4ed",
        id_field="question_id",
        id_prefix="",
        id_numbers=leetcode_numbers.TEST,
        licence="MIT",
        citation=_LEETCODE_CITATION,
    ),
    PinnedFile(
        name="leetcode-dataset-train",
        file="LeetCodeDataset-v0.2.0-train.jsonl.gz",
        url=f"{_LEETCODE_URL}/LeetCodeDataset-v0.2.0-train.jsonl.gz",
        sha256="7c3e4221572920a9e6c822083a327d2238ea70b5b3ba18459bee6855ef93e2c7",
        content_sha256="56ccd4b5160b9102e125a586ed8017edd140929582bb9e856795a99f4d218304",
        id_field="question_id",
        id_prefix="",
        id_numbers=leetcode_numbers.TRAIN,
        licence="MIT",
        citation=_LEETCODE_CITATION,
    ),
    PinnedFile(
        name="classeval",
        file="ClassEval_data.json",
        url=(
            "https://github.com/FudanSELab/ClassEval/raw/eaeac44d0d5dcd8a95feec50726d66fedc73a98f"
            "/data/ClassEval_data.json"
        ),
        sha256="50a1ac0e4d0c238573c10c0ab11feae00b14a80ae9e4c9cc28148707ecf0b6a2",
        content_sha256="50a1ac0e4d0c238573c10c0ab11feae00b14a80ae9e4c9cc28148707ecf0b6a2",
        id_field="task_id",
        id_prefix="ClassEval_",
        id_numbers="0-99",
        licence="MIT; upstream's README says CC-BY-NC-4.0 of the data",
        citation="Du et al., ClassEval: A Manually-Crafted Benchmark for Evaluating LLMs on Class-level Code"
        " Generation, arXiv:2308.01861",
    ),
    PinnedFile(
        name="cweval",
        file="cweval.jsonl",
        url="https://github.com/Co1lin/CWEval/tree/e9a2a124c8c53679b6d8d27adfd2f6c40e7576d7",
        checkout=True,
        sha256="1bfe7b8ced3fb8d3cbe66d8e2454ba1d8ed4b5ddb0f3b8f061b1513b31b45cae",
        content_sha256="1bfe7b8ced3fb8d3cbe66d8e2454ba1d8ed4b5ddb0f3b8f061b1513b31b45cae",
        id_field="name",
        id_prefix="",
        id_names=_CWEVAL_NAMES,
        licence="Apache-2.0",
        citation="Peng et al., CWEval: Outcome-driven Evaluation on Functionality and Security of LLM Code"
        " Generation, arXiv:2501.08200",
    ),
    PinnedFile(
        name="bigcodebench",
        file="BigCodeBench.jsonl.gz",
        url=(
            "https://github.com/bigcode-project/bigcodebench-annotation/raw/a3b89850db670d7302571142b881e4f85eef18e3"
            "/data/BigCodeBench.jsonl.gz"
        ),
        sha256="720f1378fa4bed69a67432b0e5aa14684e60cd7e7a69fa12ebac1d1a592d6e2a",
        content_sha256="c31f7f526ff135fec2624f0b4cb4355a6787b82211231041e6f67a11ea32870c",
        id_field="task_id",
        id_prefix="BigCodeBench/",
        id_numbers="0-1139",
        licence="Apache-2.0",
        citation=(
            "Zhuo et al., BigCodeBench: Benchmarking Code Generation with Diverse Function Calls and Complex"
            " Instructions, arXiv:2406.15877"
        ),
    ),
    PinnedFile(
        name="quixbugs",
        file="quixbugs.jsonl",
        url="https://github.com/jkoppel/QuixBugs/tree/4257f44b0ff1181dedaedee6a447e133219fcebf",
        checkout=True,
        sha256="58e1e762d7cf88584e03ab4d667b0b3dcd083f7241b8f6251936ded3fe020545",
        content_sha256="58e1e762d7cf88584e03ab4d667b0b3dcd083f7241b8f6251936ded3fe020545",
        id_field="name",
        id_prefix="",
        id_names=_QUIXBUGS_NAMES,
        licence="MIT",
        citation="Lin et al., QuixBugs: a multi-lingual program repair benchmark set, doi:10.1145/3135932.3135941",
    ),
    PinnedFile(
        name="polyglot-python",
        file="polyglot-python.jsonl",
        url="https://github.com/Aider-AI/polyglot-benchmark/tree/7e0611e77b54e2dea774cdc0aa00cf9f7ed6144f",
        checkout=True,
        sha256="321c20650e76f6281e5d2b0a814b96c4411efe553abb4c606fe59ff40cf0fc7c",
        content_sha256="321c20650e76f6281e5d2b0a814b96c4411efe553abb4c606fe59ff40cf0fc7c",
        id_field="name",
        id_prefix="",
        id_names=_EXERCISES,
        licence="MIT",
        citation="Gauthier, Aider's polyglot set, https://aider.chat/2024/12/21/polyglot.html; exercism/python",
    ),
)

SOURCES: Mapping[str, PinnedFile] = MappingProxyType({entry.name: entry for entry in _TABLE})
"""Every pinned data set by name."""
