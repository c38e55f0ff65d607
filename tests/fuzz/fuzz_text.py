"""Targets that read what models and other tools wrote: replies, and files of any format that is taken in."""

from __future__ import annotations

import gzip
import io
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import msgspec
from fuzz_target import OPENED, Target

from truegrade.analysis.audit.survey import read_rows
from truegrade.apps.evolve.settings import parse_settings
from truegrade.benchmarks import load_benchmark
from truegrade.datasets.download import locate, parse_json, read_content
from truegrade.errors import UserError
from truegrade.kinds.output_prediction import KIND as OUTPUTS
from truegrade.models.micro.micro_adapters import read_adapter_config, read_metadata, read_tensors
from truegrade.profiles import PROFILES, Profile, open_profile
from truegrade.profiles.base import covered_benchmarks
from truegrade.records import Case, CasesTask, ChoiceTask, Completion, OutputTask, Problem
from truegrade.sandbox.limits import MIB
from truegrade.store import read_journal
from truegrade.store.importers import IMPORTERS

sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("", "profiles")]
from contest_rows import contest
from prediction_rows import choice_problem, input_problem, output_problem
from profile_rows import oracle, problem

from support import execution_files
from support.importing import read_completions, streamed
from support.stand_in_data import MODIFIED, STAND_INS, write_stand_in

FORMS = ("reply", "completion", "program", "answer")


def problems() -> dict[str, tuple[Problem, ...]]:
    """Real problems of every kind, by benchmark."""
    cases = (Case(arguments=(1,), expected=2),)
    repair = CasesTask(
        entry_point="f", buggy="def f(n): return n", reference="def f(n): return n + 1", cases=cases
    )
    words = '"""\nAdd two numbers.\nassert add(1, 2) == 3\n"""\n'
    made: dict[str, tuple[Problem, ...]] = {
        **{name: (problem(name),) for name in ("humaneval", "mbpp", "mbpp-sanitized")},
        "humanevalplus": (oracle(),),
        "mbppplus": (oracle("mbppplus", prompt=words, shown_tests=("assert add(1, 2) == 3",)),),
        "cruxeval-output": (output_problem(),),
        "cruxeval-input": (input_problem(),),
        "livecodebench-execution": (output_problem(benchmark="livecodebench-execution"),),
        "livecodebench-testoutput": (output_problem(benchmark="livecodebench-testoutput", question="Add."),),
        "livecodebench": (contest(), contest(function="f")),
        "quixbugs": (Problem(id="q", benchmark="quixbugs", dataset_sha256="", cluster="q", task=repair),),
        "micro-repair": load_benchmark("micro-repair", args={"size": "2"}).problems,
    }
    with tempfile.TemporaryDirectory() as folder:
        rows = execution_files.write_rows(Path(folder))
        for name in ("dsl-list", "execution-prediction", "execution-choice"):
            made[name] = load_benchmark(name, rows).problems[:2]
        for name in STAND_INS:
            made[name] = load_benchmark(name, write_stand_in(name, Path(folder)), MODIFIED).problems
    return {**made, "execution-choice": (*made["execution-choice"], choice_problem())}


@cache
def asked() -> list[tuple[Profile, Problem, list[str]]]:
    """Every profile with every problem that it covers, and the hashes of the prompts that it has for it."""
    found, known = [], problems()
    for profile in map(open_profile, PROFILES):
        for question in (one for benchmark in covered_benchmarks(profile) for one in known[benchmark]):
            hashes = {""}
            for variant in profile.variants:
                with suppress(UserError, KeyError), patch(f"{locate.__module__}.download", side_effect=UserError):
                    hashes.add(
                        profile.render_prompt(question, variant).sha256
                    )  # the example of some is on the network
            found.append((profile, question, sorted(hashes)))
    return found


_WORDS = (
    *("```", "```python\n", "[ANSWER]", "[/ANSWER]", "[BEGIN]", "[DONE]", "[PYTHON]", "</think>", "<think>", "0x"),
    *("assert f(", ") == ", "def f(x):\n", "class Solution:\n", "    ", "\t", "\r\n", "\\\n", "# done", "'" * 3),
    *("<|channel|>final<|message|>", '{"chosen_program": "A"', "\\ud800", "\0", "\u2028", "import ", "@"),
    *("lambda: ", "f'{", "return ", "1e999", "(((", ";", "\x0c", "add(a, b)", "??", "async ", '"' * 3),
)


_CLAIMS = (
    *("[ANSWER]\nassert {call} == {value}\n[/ANSWER]", "{call} == {value}", "[ANSWER]{value}[/ANSWER]"),
    *("assert f({value}) == 1", "    return {value}", '{{"chosen_program": "B", "value": {value}}}'),
    '{{"chosen_program": "A", "assertion": "assert {call} == {value}"}}',
    "```python\nimport math\ndef add(a, b={value}):\n    return {value}\nassert {call} == {value}\n```",
)
_ITEMS = ("1", "-0.0", "1e400", "'a'", 'b"\\x00"', "None", "...", "x", "f'{1}'", "1j", "set()", "*a", "10**9")
_AROUND = ("[{}]", "({},)", "{{{}}}", "{{1: [{}]}}", "{{{{1: 2}}, {}}}", "frozenset([{}])", "({})")


def literal(rng: Random, depth: int = 4) -> str:
    """A Python literal, or nearly one."""
    if depth == 0 or rng.random() < 0.3:
        return rng.choice(_ITEMS)
    parts = ", ".join(literal(rng, depth - 1) for _ in range(rng.randrange(4)))
    return rng.choice(_AROUND).format(parts)


def claim(rng: Random) -> bytes:
    """An answer to a problem of execution reasoning or of writing code."""
    call = rng.choice(("f('))', 7)", "f(1)", "count('abca')", "pairs([3, True])", "add(1, 2)"))
    return rng.choice(_CLAIMS).format(call=call, value=literal(rng)).encode()


def read_reply(data: bytes) -> None:
    """Every profile takes an answer out of any text, in any form and after any of its prompts, or says why not."""
    text, way = data.decode("utf-8", "replace").replace("\\ud800", "\ud800"), zlib.crc32(data)
    for number, (profile, question, hashes) in enumerate(asked()):
        known = {"problem_id": question.id, "prompt_sha256": hashes[way % len(hashes)], "model": "m"}
        identity = {"benchmark": question.benchmark, "dataset_sha256": "", "sample": 0, "config_sha256": ""}
        form = FORMS[(way + number) % len(FORMS)]
        answer = profile.answer(question, Completion(**known, **identity, text=text, form=form))
        # A choice that states no value has both: it counts as a choice, and the reason says why it is wrong.
        both = isinstance(question.task, ChoiceTask) and answer.value is not None
        assert both or (answer.value is None) == (answer.reason is not None), profile.id
        if isinstance(question.task, OutputTask) and answer.value is not None:
            OUTPUTS.judge(None, question.task, answer, None)


# --------------------------------------------------------------------------------------------------- imports

_KNOWN = [*(f"HumanEval/{number}" for number in range(5)), "sample_0", "r/case0", "r/case0~AB", "a"]
_READERS: tuple[Callable[[Path], Any], ...] = (
    read_tensors,
    read_metadata,
    read_adapter_config,
    lambda path: parse_settings(path.read_bytes(), path),
    lambda path: list(read_journal(path, Completion)),
    lambda path: list(parse_json(path, read_content(path))),
    lambda path: list(streamed(read_rows, path)),
)
_PIECES = (
    *(
        b'"\\ud800"',
        b'{"',
        b'"}',
        b"\n",
        b"\xef\xbb\xbf",
        b"\xff",
        b"\\",
        b'"task_id":',
        b'"sample":1e9',
        b"[[",
        b"\0",
    ),
    *(b'"dtype":[]', b'"shape":[-1]', b'"data_offsets":[0,1e999]', b"[search]\n", b'"resps":', b'"HumanEval/1"'),
    *(b"1" * 5000, b"null,", b"inf", b"PK\x03\x04", b"\x1f\x8b", b"= 1979-05-27", b"\r"),
)


def _completions(path: Path, name: str | None) -> list[bytes]:
    found = read_completions(path, benchmark="humaneval", dataset_sha256="d" * 64, known_ids=_KNOWN, format=name)
    return [msgspec.json.encode(completion) for completion in found]


def _zipped(data: bytes, times: int = 1) -> bytes:
    """A log whose every member is this, so many times over."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for entry in map(zipfile.ZipInfo, ("header.json", "samples/HumanEval/1_epoch_1.json")):
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w") as member:
                for _ in range(times):
                    member.write(data)
    return file.getvalue()


@cache
def _bombs() -> tuple[bytes, bytes]:
    """Archives of hundreds of times their size, with more in them than may be held."""
    piece = b"[" * (16 * MIB)
    return gzip.compress(piece, 1, mtime=0) * 40, _zipped(piece, 40)


def packed(rng: Random, data: bytes) -> bytes:
    """The content as it is, gzipped or in a log; once in 300 a bomb."""
    way = rng.random()
    if way < 0.003:
        return rng.choice(_bombs())
    return gzip.compress(data, 1, mtime=0) if way < 0.1 else _zipped(data) if way < 0.2 else data


@cache
def _path() -> Path:
    return Path(OPENED.enter_context(tempfile.TemporaryDirectory()), "file.raw.jsonl")


def read_file(data: bytes) -> None:
    """Under every format a file is read, as what can be stored, or refused in one line that can be printed.

    An archive, which may be large, is read by one of each way of reading.
    """
    _path().write_bytes(data)
    archive = data[:2] in (b"PK", b"\x1f\x8b")
    names = ("samples-jsonl", "livecodebench", "inspect") if archive else [each.name for each in IMPORTERS]
    readers = [partial(_completions, name=name) for name in (None, *names)]
    for reader in readers + ([] if archive else list(_READERS)):
        try:
            reader(_path())
        except UserError as error:
            assert "\n" not in str(error) and str(error).encode(), "no line that can be printed"


REPLIES = Target(read_reply, tuple(word.encode() for word in _WORDS), claim)
IMPORTS = Target(read_file, _PIECES, finished=packed)
