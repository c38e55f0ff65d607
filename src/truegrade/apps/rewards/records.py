"""What a reward is asked of, and what it says."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import msgspec

from truegrade.benchmarks.ground_truths.ground_truth import read_ground_truth
from truegrade.errors import TruegradeError, UnknownName, UserError
from truegrade.files.json_text import encode
from truegrade.kinds import kind_of
from truegrade.records import Form, Reason
from truegrade.web.messages import InlineProblem

OnError = Literal["retry", "raise"] | float
"""Where the grader fails: ask again until `retry_s` is over and then say None; raise at once; or this number."""
Truncated = Literal["fail", "none"]
"""What a reply gets that the model was cut off in: that of a wrong one, or None."""


class RewardError(TruegradeError):
    """Nothing is known of a reply: the grader failed, or its ground truth cannot be read. A trainer that would be
    told 0 would learn from a wrong label."""


class RewardLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What programs may use, in place of the profile's limits; None keeps those."""

    cpu_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """CPU seconds of a program, a call or a test."""
    memory_bytes: Annotated[int, msgspec.Meta(gt=0)] | None = None


class PolicyReply(msgspec.Struct, frozen=True, kw_only=True):
    """A reply of the model in training, and how it is to be judged: by its ground truth, or as a benchmark's."""

    text: str = ""
    """Of several turns, what others say in it is left out; see `truegrade.extraction.conversations`."""
    messages: Any = None
    """In place of the text: the rollout's messages, of which the model's own are read."""
    ground_truth: Any = None
    """As the trainer's data set holds it; see `truegrade.benchmarks.ground_truths.ground_truth`."""
    problem_id: str | None = None
    """Of the grader's benchmark, instead of a ground truth; else a name for logs."""
    entry_point: str | None = None
    """Name of the function, where the ground truth does not say it."""
    form: Form = "reply"
    reasoning: str | None = None
    finish_reason: str | None = None
    """``length`` where the model was cut off."""


class Reward(msgspec.Struct, frozen=True, kw_only=True):
    """What a reply earns, and why."""

    value: float | None
    """None where nothing is known, so that no model is trained on it."""
    passed: bool | None
    """Whether every test passed; None where nothing is known."""
    reason: Reason
    """``grader_error`` where the grader failed or the ground truth cannot be read."""
    detail: str = ""
    pass_rate: float | None = None
    """Share of the tests that passed; None where they were not counted."""
    marks: tuple[str, ...] = ()
    """Of the verdict."""
    truncated: bool = False
    tampering: bool = False
    """Whether the program set out to change its own verdict."""

    def known(self) -> float:
        """The value, for trainers that cannot leave a reply out.

        Raises:
            RewardError: there is none.
        """
        if self.value is None:
            raise RewardError(f"no reward: {self.detail or self.reason}")
        return self.value

    @property
    def numbers(self) -> dict[str, float]:
        """Always the same keys, all numbers, for trainers that log what comes with a reward.

        ``score`` and ``acc`` are 0 where nothing is known, and ``grader_error`` is 1 then.
        """
        return {
            "score": float(self.value or 0.0),
            "acc": float(bool(self.passed)),
            "pass_rate": float(self.passed or 0.0) if self.pass_rate is None else self.pass_rate,
            "tampering": float(self.tampering),
            "grader_error": float(self.reason is Reason.GRADER_ERROR),
            "truncated": float(self.truncated),
        }


class AnswerGiven(NamedTuple):
    """What the service says of a reply."""

    reason: Reason
    pass_rate: float | None
    marks: tuple[str, ...]
    detail: str


class ShadowAsker(Protocol):
    """Has replies graded once more, beside the training; never waits."""

    def __call__(self, replies: Sequence[PolicyReply], profile: str | None) -> Sequence[Future[AnswerGiven]]:
        """Ask.

        Args:
            replies: to be graded, all of which have a problem.
            profile: whose rules are asked; None looks, by the grader's own, for attempts to be paid for nothing:
                ``tampering``, the marks are the channels.
        """


class RewardObserver(Protocol):
    """Watches what is paid. One with a method ``watch`` is given a `ShadowAsker` first."""

    def observe(self, replies: Sequence[PolicyReply], rewards: Sequence[Reward]) -> None:
        """Called once for each `RewardGrader.grade`, in any thread; what it raises is logged alone."""


class Scheme(msgspec.Struct, frozen=True):
    """How tests become a number: ``all``, ``share``, ``share-after-all(K)``, ``threshold(T)``."""

    name: Literal["all", "share", "share-after-all", "threshold"] = "all"
    argument: float = 0.0
    """K: tests at the front of which the share is taken. T: the least share that pays 1.0."""

    @classmethod
    def parse(cls, scheme: str) -> Scheme:
        """The scheme of that name.

        Raises:
            UserError: there is none.
        """
        name, bracket, rest = scheme.partition("(")
        if name in {"all", "share"} and not bracket:
            return cls(name)  # type: ignore[arg-type]
        if name in {"share-after-all", "threshold"} and rest.endswith(")"):
            try:
                argument = float(rest[:-1])
            except ValueError:
                argument = -1.0
            if argument > 0 and (argument <= 1 if name == "threshold" else argument == int(argument)):
                return cls(name, argument)  # type: ignore[arg-type]
        raise UserError(
            f"`scheme`: {scheme!r} is none of all, share, share-after-all(K) with a whole number of tests, and"
            " threshold(T) with a share above 0"
        )

    @property
    def counts(self) -> bool:
        """Whether the tests of a wrong reply have to be counted."""
        return self.name != "all"

    @property
    def first_tests(self) -> int | None:
        """How many tests are counted, from the first one on; None for all."""
        return int(self.argument) if self.name == "share-after-all" else None

    def value(self, passed: bool, pass_rate: float | None) -> float:
        """What a reply earns.

        Args:
            passed: whether every test passed.
            pass_rate: share of the counted tests that passed; None where none could be counted.
        """
        if passed or pass_rate is None or not self.counts:
            return float(passed)
        return float(pass_rate >= self.argument) if self.name == "threshold" else pass_rate


# ----------------- Where data sets keep tests, and messages keep a reply: what the adapters to trainers share.


TRUTHS = ("ground_truth", "verification_info", "unit_tests", "test_cases", "tests", "answer", "solution", "label")
"""Columns that hold tests, the first that a row has counts: verl and SkyRL, open-r1, NeMo Gym, and data sets of
the Hub under the other names."""
NAMES = ("problem_id", "task_id", "question_id", "id")
"""Columns that name a problem."""


def reply_to(row: Mapping[str, Any], completion: Any, **given: Any) -> PolicyReply:
    """A reply, and what its row says of the problem.

    Args:
        row: of the trainer's data set.
        completion: the reply, a text or messages.
        given: fields of `PolicyReply` that are known otherwise; those that are None are looked for in the row.

    Raises:
        UserError: the completion is neither a text nor messages.
    """
    if not isinstance(completion, str | Sequence | Mapping):
        raise UserError(f"a completion is a text or a list of messages, and {completion!r} is neither")
    found: dict[str, Any] = {
        "ground_truth": next((row[name] for name in TRUTHS if row.get(name) is not None), None),
        "problem_id": next((str(row[name]) for name in NAMES if row.get(name) is not None), None),
        "entry_point": row.get("entry_point") or row.get("fn_name"),
    }
    found |= {name: value for name, value in given.items() if value is not None}
    return PolicyReply(
        **found | ({"text": completion} if isinstance(completion, str) else {"messages": completion})
    )


def rows_of_batch(
    completions: Sequence[Any], columns: Mapping[str, Any], column: str | None
) -> list[dict[str, Any]]:
    """The rows of a batch, of which a trainer hands the columns; what is no list of that length is none.

    Args:
        completions: one a row.
        columns: by name, and whatever else the trainer hands.
        column: that is to hold the tests; None for the first of `TRUTHS`.

    Raises:
        UnknownName: there is no such column.
        UserError: completions are a text, or a column of tests is, or is of another length.
    """
    if isinstance(completions, str):
        raise UserError("`completions` is a text; a list of them is needed, one a row")
    asked = len(completions)
    for name in (column, *TRUTHS):
        values = columns.get(name or "")
        if isinstance(values, str):
            raise UserError(f"column {name!r} is a text; a list of them is needed, one a row")
        if isinstance(values, list) and len(values) != asked:
            raise UserError(f"column {name!r} has {len(values)} rows, and there are {asked} completions")
    whole = {name: values for name, values in columns.items() if isinstance(values, list) and len(values) == asked}
    if asked and column is not None and column not in whole:
        raise UnknownName("column of the data set", column, whole, "`column` names it")
    return [{name: values[at] for name, values in whole.items()} for at in range(asked)]


# --------- Ground truths as the service is sent them: read once for all replies to a prompt, and written once.


KEPT = 4096
"""Ground truths that are kept."""
KEPT_BYTES = 256 * 2**20
"""Bytes of tests that are kept, as they are sent; a contest problem may have megabytes."""


class SentProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem as a request holds it."""

    id: str
    """Goes by its tests, so that equal ones are sent once."""
    body: bytes
    """JSON; empty where the ground truth has no test."""
    why_not: str = ""
    """Why it has none."""
    entry_point: str | None = None
    """The function that its tests call, where they call one."""


class TruthCache:
    """Reads ground truths and keeps the last; safe to use from several threads."""

    def __init__(self, kept: int = KEPT, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept, self._kept_bytes = kept, kept_bytes
        self._known: OrderedDict[object, SentProblem] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return TruthCache, (self._kept, self._kept_bytes)

    def __len__(self) -> int:
        return len(self._known)

    def problem(self, value: Any, entry_point: str | None) -> SentProblem:
        """The problem that a ground truth states; what cannot be read is said, not raised."""
        key = _key(value, entry_point)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        made = _read(value, entry_point)
        with self._lock:
            if key is not None and key not in self._known:
                self._known[key] = made
                self._size += len(made.body)
            while self._known and (len(self._known) > self._kept or self._size > self._kept_bytes):
                self._size -= len(self._known.popitem(last=False)[1].body)
        return made


def _key(value: Any, entry_point: str | None) -> bytes | None:
    """Equal for equal ground truths alone: a list may be changed in place, so that its identity says nothing."""
    try:
        return hashlib.sha256(encode((type(value).__name__, value, entry_point), enc_hook=_plain)).digest()
    except (TypeError, ValueError, RecursionError):
        return None


def _plain(value: Any) -> Any:
    """What a table of Parquet gives for a list: arrays of numpy."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(type(value).__name__)


def _read(value: Any, entry_point: str | None) -> SentProblem:
    try:
        found = read_ground_truth(value, entry_point=entry_point)
    except Exception as error:  # one odd row of a data set must not cost a training run its step
        return SentProblem(id="", body=b"", why_not=f"{type(error).__name__}: {error}")
    if found.task is None:
        return SentProblem(id="", body=b"", why_not=found.why_not)
    name = f"truth-{hashlib.sha256(encode(found.task)).hexdigest()[:32]}"
    called = kind_of(found.task).entry_point(found.task)
    return SentProblem(id=name, body=encode(InlineProblem(task=found.task, id=name)), entry_point=called)
