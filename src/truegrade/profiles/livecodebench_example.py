"""The worked example that LiveCodeBench shows to base models (style GenericBase).

It is a contest's text, which is not ours to ship: it is read from the checkout's own file, found as data sets are
(``TRUEGRADE_DATA``, the cache, else the pinned address), and checked against its hash.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from truegrade.datasets.content import read_content, sha256
from truegrade.datasets.download import locate
from truegrade.datasets.sources import PinnedFile
from truegrade.errors import BadRecord

Kind = Literal["stdin", "functional"]

_FOLDER = (
    "https://github.com/LiveCodeBench/LiveCodeBench/raw/28fef95ea8c9f7a547c8329f2cd3d32b92c1fa24"
    "/lcb_runner/prompts/few_shot_examples/generation"
)
_FILES: dict[Kind, tuple[str, str]] = {
    "stdin": ("stdin.json", "28a3a50b79869aa9cc5cc2e3c611c8b39e1ab2d192f6b2b9ce0f6a4b014ee726"),
    "functional": ("func.json", "75b50ffef185c71aa702499b015da50b03d7732195332186c759dfa0304bf1aa"),
}


class SolvedProblem(msgspec.Struct, frozen=True):
    """One solved problem."""

    question: str
    answer: str
    sample_code: str = ""
    """Starter code; not shown for stdin."""


@cache
def worked_example(kind: Kind) -> SolvedProblem:
    """The first example of upstream's file for this kind of problem.

    Raises:
        UserError: the file is not at hand and cannot be downloaded.
        BadRecord: it is another file.
    """
    file, digest = _FILES[kind]
    located = locate(
        PinnedFile(
            name=f"livecodebench-example-{kind}",
            file=file,
            url=f"{_FOLDER}/{file}",
            sha256=digest,
            content_sha256=digest,
            id_field="question",
            id_prefix="",
            id_numbers="0-1",
            licence="the contests' own",
            citation="Jain et al., arXiv:2403.07974",
        )
    )
    content = read_content(located.path)
    if sha256(content) != digest:
        raise BadRecord(located.path, f"is not LiveCodeBench's {file} at 28fef95; remove it, and it is downloaded")
    return msgspec.json.decode(content, type=list[SolvedProblem])[0]
