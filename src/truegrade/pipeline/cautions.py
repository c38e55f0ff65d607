"""The warnings of a run: one list with stable codes, which `summary.json` stores and everything else reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import msgspec


class Caution(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a reader of a run's numbers must know."""

    code: str
    """A key of `CODES`."""
    sentence: str
    profiles: tuple[str, ...] = ()
    """Ids of the profiles that it holds for; empty where it holds for all of the run."""
    count: int | None = None
    """How many problems, samples or replies are concerned, where that can be counted."""
    of: int | None = None
    """How many there are of them."""

    @property
    def line(self) -> str:
        """The sentence as a list prints it: profiles are named where it does not hold for all."""
        return f"{', '.join(self.profiles)}: {self.sentence}" if self.profiles else self.sentence


class CodeMeaning(NamedTuple):
    """What a code stands for."""

    means: str
    advice: str
    """What to do about it."""


CODES: Mapping[str, CodeMeaning] = MappingProxyType(
    {
        "modified-data": CodeMeaning(
            "the data file is not the pinned one, so the number is not the benchmark's",
            "get the pinned file with `truegrade data pull NAME`, or report the number under a name of its own",
        ),
        "missing-replies": CodeMeaning(
            "samples without a reply are not scored",
            "run the same command again; for an imported file, find the missing rows",
        ),
        "stopped": CodeMeaning(
            "samples were not asked for, or replies have no verdict, because the run was stopped; they are not"
            " counted",
            "run the same command again",
        ),
        "failed-requests": CodeMeaning(
            "samples whose request failed count as wrong, as they do in the harness that a profile reproduces",
            "request them again, or quote the profile's number with theirs; the profile strict leaves them out",
        ),
        "stopped-when-decided": CodeMeaning(
            "an earlier version stopped the run once its comparison with another one was decided",
            "run the same command again, without the option that stopped it: it asks the rest",
        ),
        "grader-errors": CodeMeaning(
            "the grader failed on problems, which are excluded from all estimates",
            "read the error, mend its cause, and grade the run again",
        ),
        "tests-inside": CodeMeaning(
            "passes under strict rest on tests that share the program's process, where a program can forge them",
            "say so beside the number; docs/benchmarks.md says which are judged outside, and what was tried",
        ),
        "reads-tests": CodeMeaning(
            "programs that pass tests in their own process may read expected values there, and count as failures",
            "read these samples, which have the mark `reads-tests` in the report and in the file of verdicts",
        ),
        "joined-tests": CodeMeaning(
            "passes rest on tests that the end of the program changed, because the harness puts them behind it",
            "do not count these passes: grade under strict, which runs the tests apart; the samples have the mark"
            " `joined-tests` in the report and in the file of verdicts",
        ),
        "missing-packages": CodeMeaning(
            "programs import a package that they may not import here",
            "install it and name it in `packages`",
        ),
        "reply-form": CodeMeaning(
            "replies have another form than the profile takes, and fail whatever program they hold",
            "grade under a profile that takes this form, generate with the prompts of this profile, or read the"
            " file in the format that the warning names (`file_format`)",
        ),
        "tool-calls": CodeMeaning(
            "replies hold calls of tools, which are not read",
            "serve the model without its tools and without a parser of tool calls",
        ),
        "identical-samples": CodeMeaning(
            "samples of one problem are the same text, so pass@k counts one draw several times",
            "sample at a temperature above 0, without a cache; look for copied rows in an imported file",
        ),
        "near-duplicates": CodeMeaning(
            "samples of one problem hold the same program, white space apart",
            "as for identical-samples; quote pass@1 rather than pass@k",
        ),
        "pooled-populations": CodeMeaning(
            "pass@1 is a mean over originals, mutants and rewritings together",
            "quote OC and MC, which keep them apart",
        ),
        "constant-answer": CodeMeaning(
            "one and the same value is the right answer to many of the questions",
            "quote the score beside that of `baseline/constant`, which gives this answer to all",
        ),
        "subset": CodeMeaning(
            "the run covers a part of its benchmark", "say so beside the number, or run all problems"
        ),
        "unscored": CodeMeaning(
            "problems whose solution the prompts show are not scored", "say so beside the number"
        ),
        "agent": CodeMeaning(
            "an agent stood before the model", "report the number as the agent's, not as the model's pass@1"
        ),
        "reused-samples": CodeMeaning("samples were taken from a file", "say where they come from"),
        "cached-replies": CodeMeaning(
            "replies come from the response cache",
            "do not count this run as a second draw; switch the cache off for one",
        ),
        "uneven-samples": CodeMeaning(
            "problems have fewer graded samples than others", "complete the run; any-of-N favours the others"
        ),
        "truncated": CodeMeaning("replies were cut at the token limit", "raise `max_tokens`"),
        "time-limit": CodeMeaning(
            "verdicts were decided by a time limit, or nearly so",
            "`truegrade grade RUN --timeout SECONDS` settles them",
        ),
        "not-exchangeable": CodeMeaning(
            "the pass rate depends on the position of a sample", "find out how the samples were chosen or ordered"
        ),
        "trained-on": CodeMeaning(
            "the model was trained on programs of this data set", "use the data that was held out"
        ),
        "training-data-unknown": CodeMeaning(
            "the adapter does not say what it was trained on, so problems that it saw cannot be told",
            "train it with `truegrade evolve`, or see to it that none of the problems was trained on",
        ),
        "seen": CodeMeaning(
            "problems were left out, because the adapter learned from their programs",
            "say so beside the number; it is about the other problems",
        ),
        "not-trained": CodeMeaning("the model was not trained for this kind of problem", "use another model"),
        "reasoning": CodeMeaning(
            "a metric of execution reasoning needs a remark", "see the definitions in reasoning.md"
        ),
        "profile": CodeMeaning("the rules of a profile need a remark", "see `truegrade list profiles NAME`"),
        "one-sample": CodeMeaning(
            "one sample per problem was drawn at a temperature above 0",
            "draw several (`n`) to tell a repeated run's variation from that between problems",
        ),
    }
)
"""Every code, what weighs more first: lists are printed in this order."""

_RANK = {code: place for place, code in enumerate(CODES)}


def caution(code: str, sentence: str, count: int | None = None, of: int | None = None) -> Caution:
    """A warning about the whole run; its code must be one of `CODES`."""
    if code not in CODES:
        raise KeyError(code)
    return Caution(code=code, sentence=sentence, count=count, of=of)


def folded(by_profile: Mapping[str, Iterable[Caution]]) -> list[Caution]:
    """Each warning once, ordered by `CODES`; one that does not hold for every profile names those it holds for."""
    holders: dict[Caution, list[str]] = {}
    for profile, found in by_profile.items():
        for one in found:
            holders.setdefault(one, []).append(profile)
    named = [
        one if len(of) == len(by_profile) else msgspec.structs.replace(one, profiles=tuple(of))
        for one, of in holders.items()
    ]
    return sorted(named, key=lambda one: _RANK.get(one.code, len(_RANK)))


def sentences_for(found: Sequence[Caution], profile: str) -> list[str]:
    """The sentences that hold for one profile."""
    return [one.sentence for one in found if not one.profiles or profile in one.profiles]
