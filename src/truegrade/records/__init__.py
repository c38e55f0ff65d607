"""The six records that one completion passes through, and nothing else.

    Problem ──▶ Prompt ──▶ Completion ──▶ Answer ──▶ Verdict ──▶ Estimate

Every record is a frozen, validated `msgspec.Struct`; those on disk have JSON Schemas (``docs/formats.md``).
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Any, Literal

import msgspec

from truegrade.files.json_text import encode


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked, and what decides about an answer: of each kind (`truegrade.kinds`) a struct with a tag."""


# ------------------------------------- Variants of one item: programs and mutants, problems and changed ones.


class Covariates(msgspec.Struct, frozen=True, kw_only=True):
    """What else than a mutation may make a program hard to execute."""

    unfamiliar: tuple[str, ...]
    """Kinds of syntax that are rare among the originals of the data set (`truegrade.datasets.identity`)."""
    length: int
    """Nodes of the syntax tree."""
    depth: int
    """Levels of the syntax tree."""
    steps: int | None = None
    """Lines that the original executes on this call; None where the data set does not say."""


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """Where a program, or a problem to solve, stands among the variants of one item."""

    item: str
    """Row of the data set; its variants share it."""
    case: int
    """0-based test input of that row."""
    shown: Literal["original", "mutant", "preserved"]
    """``preserved``: rewritten so that it means the same."""
    other: str | None = None
    """What the other program, the original's mutant or the mutant's original, returns on this call; a literal.
    Of a function to write: the tests of the other problem."""
    mutation: str = ""
    """Operator or change rule that made this variant, or for an original its mutant."""
    covariates: Covariates | None = None
    """Of this variant; None where its source does not parse."""


# ------------------------------- Problems whose answers are compared with a reference program on given inputs.


class OracleTask(Task, frozen=True, kw_only=True, tag="oracle"):
    """Write a function; its outputs are compared with those of a reference program on given inputs."""

    prompt: str
    entry_point: str
    prefix: str = ""
    reference: str
    """Complete program that defines ``entry_point`` and is right on every input."""
    base_inputs: tuple[tuple[Any, ...], ...]
    """Argument tuples of the original benchmark."""
    plus_inputs: tuple[tuple[Any, ...], ...] = ()
    """Argument tuples added by the extended benchmark."""
    comparator: str = "equal"
    """Name of the rule in `truegrade.grading.functions` that decides whether an output is right."""
    atol: float = 0.0
    """Absolute tolerance for floats; 0 asks for equality unless the reference returns floats."""
    shown_tests: tuple[str, ...] = ()
    cpu_s: float | None = None


# ------------------------------------------------- Problems whose answers are judged by a suite of unit tests.


class SuiteTask(Task, frozen=True, kw_only=True, tag="suite"):
    """Write a function, class or module; the tests are a suite of unit tests that runs in its process."""

    prompt: str
    """The task as the data set words it: code to continue, or a description."""
    entry_point: str
    """The function or class that is asked for."""
    prefix: str = ""
    """Trusted code that stands before a body-only completion; else empty."""
    tests: str
    """Source of a module of `unittest` cases, or of functions that pytest collects."""
    framework: Literal["unittest", "pytest"] = "unittest"
    module: str = ""
    """Name by which the tests import the program; empty where both share one namespace, the program first."""
    files: dict[str, str] = {}
    """Text files that lie in the working directory, by relative path."""
    packages: tuple[str, ...] = ()
    """Third-party modules that tests or reference import."""
    skipped: tuple[str, ...] = ()
    """Tests, as ``Class.test``, that the reference fails elsewhere than at its authors': left out, and marked, but
    by a harness that runs them."""
    processes: int = 0
    """Processes that the program may start where a profile allows none."""
    reference: str
    """A right program, complete."""
    cpu_s: float | None = None
    """CPU seconds this problem needs where a profile's ordinary limit is too low for the reference."""


SCHEMA_VERSION = 1
"""Version of the records on disk; a change that an old reader cannot read raises it."""


class Reason(StrEnum):
    """Why a verdict is what it is: a closed set, documented in ``docs/formats.md``."""

    PASSED = "passed"
    WRONG_ANSWER = "wrong_answer"
    RUNTIME_ERROR = "runtime_error"
    SYNTAX_ERROR = "syntax_error"
    NO_CODE = "no_code"
    NO_ANSWER = "no_answer"
    TRUNCATED = "truncated"
    EXTRACTION_LIMIT = "extraction_limit"
    NOT_LITERAL = "not_literal"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    KILLED = "killed"
    TAMPERING = "tampering"
    GRADER_ERROR = "grader_error"


UNANSWERED = frozenset({Reason.NO_CODE, Reason.NO_ANSWER, Reason.TRUNCATED, Reason.EXTRACTION_LIMIT})
"""Reasons that say the reply held nothing to grade."""


# ---------------------------------------------------------------------------------------------- Problem


class FunctionTask(Task, frozen=True, kw_only=True, tag="function"):
    """Write a function; the tests are Python source that calls it."""

    prompt: str
    """The task as the data set words it: code to continue (HumanEval) or a description (MBPP)."""
    entry_point: str
    prefix: str = ""
    """Trusted code that stands before a body-only completion; HumanEval's prompt, else empty."""
    tests: str
    """Source that raises unless the solution is right."""
    setup: str = ""
    """Trusted code that runs after the solution and before the tests (MBPP's setup and imports)."""
    shown_tests: tuple[str, ...] = ()
    """Tests that a prompt may show, one statement each."""
    reference: str
    """A right program, complete: what a perfect model would answer."""
    tests_use: tuple[str, ...] = ()
    """Names other than the entry point that the tests need and only the solution defines: modules, or classes
    whose objects the tests then use where they are, in the solution's process."""
    plain_arguments: bool = True
    """Whether the tests pass plain values only; else also built-in types and functions, and objects of classes
    that `setup` defines, which the solution's process then gets: no expected value may stand in them."""
    buggy: str = ""
    """The program to repair; empty where a function is to be written from words or a signature."""
    cpu_s: float | None = None
    """CPU seconds this problem needs where a profile's ordinary limit is too low for the reference."""
    pairing: Pairing | None = None
    """Set where the problem is a changed one, or the original of one."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One call and what it should return, as plain values."""

    arguments: tuple[Any, ...]
    expected: Any


class CasesTask(Task, frozen=True, kw_only=True, tag="cases"):
    """Repair a function; the tests are calls with plain values (QuixBugs)."""

    entry_point: str
    buggy: str
    """The program to repair."""
    reference: str
    cases: tuple[Case, ...]
    comparator: str = "eq"
    """Name of the rule in `truegrade.grading.repairs` that decides whether an output is right."""
    skipped: tuple[int, ...] = ()
    """0-based cases that are not run: the reference itself takes minutes, or never ends."""
    slow: tuple[int, ...] = ()
    """0-based cases on which the reference takes more than a second of CPU; includes ``skipped``."""
    cpu_s: float | None = None


class AskedState(msgspec.Struct, frozen=True, kw_only=True):
    """A value inside a call, as papers on execution reasoning ask for it (RE2-Bench, CodeSense, RepoReason)."""

    line: int
    """Of the program, from 1."""
    variable: str = ""
    """Empty where it is asked how often the line runs."""
    time: int = 1
    """How often the line has run when the variable holds the value."""

    @property
    def claimed(self) -> tuple[str, str]:
        """Name and arguments of the call that stands for the value in question and answer."""
        if not self.variable:
            return "runs_of", f"line={self.line}"
        return "value_of", f"{self.variable!r}, line={self.line}, time={self.time}"


class OutputTask(Task, frozen=True, kw_only=True, tag="output_prediction"):
    """Read a program and a call; predict the value that the call returns."""

    program: str
    """Source shown to the model, as stored."""
    function: str
    arguments: str
    """Text between the parentheses of the call."""
    expected: str
    """The true value as a Python literal (``repr``)."""
    question: str = ""
    """What the function is to do, in words, where no program that does it is shown (test output prediction);
    ``program`` is then only its signature."""
    pairing: Pairing | None = None
    """Set where programs may have several calls, and mutants."""
    state: AskedState | msgspec.UnsetType = msgspec.UNSET
    """Set where a value inside the call is asked for, not what it returns."""

    @property
    def claimed(self) -> tuple[str, str]:
        """Name and arguments of the call whose value a reply states."""
        return self.state.claimed if self.state else (self.function, self.arguments)


class ChoiceTask(Task, frozen=True, kw_only=True, tag="execution_choice"):
    """Read two programs and a call; name the one you are surer of and predict what *it* returns."""

    programs: tuple[str, str]
    """A, then B."""
    function: str
    arguments: str
    expected: tuple[str, str]
    """What A and what B return, as Python literals."""
    original: Literal["A", "B"]
    """Which of them is the original; the other is its mutant."""
    item: str
    case: int
    """Row and case of the data set: the two orders of one pair share both."""
    mutation: str = ""


class InputTask(Task, frozen=True, kw_only=True, tag="input_prediction"):
    """Read a program and an output; find arguments for which the program returns it."""

    program: str
    function: str
    expected: str
    """The output to reach, as a Python literal."""
    reference_arguments: str
    """Arguments known to give it."""


class FileSpan(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a JSON Lines file, left where it is: encoded tests are too large to be held for every problem."""

    path: str
    offset: int
    """Byte at which the line begins."""
    length: int
    """Bytes of the line."""
    sha256: str
    """Of these bytes, so that a file changed since is noticed."""


class ContestTask(Task, frozen=True, kw_only=True, tag="contest"):
    """Solve a programming-contest problem: a program on stdin and stdout, or a method (LiveCodeBench)."""

    title: str
    question: str
    starter_code: str = ""
    """Decides how the problem is *worded*: with a starter or for stdin."""
    function: str | None = None
    """``metadata.func_name``; decides how the problem is *graded*: None means stdin."""
    public_tests: str
    """JSON text as stored: a list of ``{"input", "output", "testtype"}``."""
    private_tests: str | FileSpan
    """As stored: JSON text, or base64 of a zlib-compressed pickle of JSON text; decoded only for grading. A span
    is a row whose field ``private_test_cases`` holds it. Read it with `truegrade.grading.contests.tests`."""
    reference: str | msgspec.UnsetType = msgspec.UNSET
    """A right program, where the data set has one."""


BuiltInTask = FunctionTask | OracleTask | CasesTask | OutputTask | ChoiceTask | InputTask | ContestTask | SuiteTask
"""The tasks that may come with a request."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One item of a benchmark."""

    id: str
    benchmark: str
    dataset_sha256: str
    """Hash of the bytes the problem was read from; stored with every result."""
    cluster: str
    """Items that share a question share a cluster; intervals are clustered by it."""
    task: Task
    tags: dict[str, str] = {}
    """Facts to group reports by, e.g. ``{"split": "test"}``."""
    packages: tuple[str, ...] = ()
    """Installed packages that programs may import besides those of the profile's limits."""
    place: str = ""
    """Of a benchmark of one's own, the row: ``mine.jsonl, line 2``."""
    wrong: tuple[str, ...] = ()
    """Programs that the tests must refuse, which is looked at before a run."""


# ----------------------------------------------------------------------------------------------- Prompt


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is sent."""

    messages: tuple[Message, ...]
    style: Literal["chat", "text"] = "chat"
    """``text``: the one message is text to continue, for base models."""
    stop: tuple[str, ...] = ()
    source: str
    """Where its exact words come from: prompt id and origin."""
    shots: tuple[str, ...] = ()
    """Ids of problems whose solution the prompt shows; these are never scored."""

    @property
    def sha256(self) -> str:
        """Hash of everything the model sees: style, messages, stop strings."""
        return sha256_json([self.style, self.messages, self.stop])


# ------------------------------------------------------------------------------------------- Completion


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one request, as the service counted them."""

    input_tokens: int = 0
    output_tokens: int = 0
    """All generated tokens, thinking included."""
    reasoning_tokens: int | None = None


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One request, whatever came of it; of one in a batch the latency is not known."""

    outcome: Literal["ok", "empty", "error", "cached"]
    """``cached``: nothing was asked, an equal request had been answered before."""
    latency_s: float | None = None
    error: str | None = None
    status: int | None = None
    """HTTP status, where there was one."""
    usage: Usage | None = None
    cost_usd: float | None = None
    asked: str | None = None
    """When a cached reply was really given; UTC, ISO 8601."""


TOOL_CALLS = "tool_calls"
"""``finish_reason`` of a reply that holds calls of tools, which nothing reads; OpenAI's word for all services."""

Form = Literal["reply", "completion", "program", "answer"]
"""What a completion's text is: a chat ``reply`` to extract from, a ``completion`` that continues the prompt,
a self-contained ``program``, or an ``answer`` that somebody already extracted."""


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """What came back from the model, untouched."""

    benchmark: str
    dataset_sha256: str
    problem_id: str
    sample: int
    """0-based."""
    config_sha256: str
    """Hash of what decides the text: model, sampling parameters, prompt rule."""
    prompt_sha256: str
    text: str | None
    """None only where every attempt failed; such a sample is asked for again on resume."""
    form: Form = "reply"
    reasoning: str | None = None
    """Thinking that the service delivered apart from the reply."""
    finish_reason: str | None = None
    usage: Usage | None = None
    """Of the attempt that answered."""
    latency_s: float | None = None
    model: str
    """Id as the service returned it."""
    seed: int | None = None
    attempts: tuple[Attempt, ...] = ()
    cost_usd: float | None = None
    """Of all attempts together; None where no price is known."""
    schema: int = SCHEMA_VERSION

    @property
    def key(self) -> SampleKey:
        """Identity: a second record with this key is the same sample."""
        return SampleKey(self.problem_id, self.sample)

    @property
    def truncated(self) -> bool:
        """Whether the service stopped the reply at a token limit."""
        return self.finish_reason in {"length", "max_tokens"}

    @property
    def sha256(self) -> str:
        """Hash of the text; ties a verdict to exactly this reply."""
        return hashlib.sha256((self.text or "").encode("utf-8", "surrogatepass")).hexdigest()


class SampleKey(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Which answer to which problem, inside one run."""

    problem_id: str
    sample: int


# ----------------------------------------------------------------------------------------------- Answer


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule took out of a completion, or why it took nothing."""

    value: str | None
    found: str
    """How it was found, e.g. ``"fence:entry_point"``; or what was looked for in vain."""
    reason: Reason | None = None
    """Set when ``value`` is None, and when a choice names a program but states no value."""
    form: Form = "program"
    """What ``value`` is: a ``program``, a ``completion`` to put behind the prefix, or an ``answer``."""


# ---------------------------------------------------------------------------------------------- Verdict


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One grading of one completion under one profile."""

    benchmark: str
    dataset_sha256: str
    problem_id: str
    sample: int
    config_sha256: str
    completion_sha256: str
    profile: str
    """Name and version, ``strict@6``."""
    passed: bool
    reason: Reason
    detail: str = ""
    """One line: the failing test, the exception, expected and got."""
    answer: str | None = None
    found: str = ""
    cpu_s: float | None = None
    """CPU seconds of the candidate; None where nothing was executed."""
    wall_s: float | None = None
    time_sensitive: bool = False
    """A time limit ended the run, or it used half of one or more: on another machine the verdict may differ."""
    truncated: bool = False
    """The reply was cut at a token limit, whatever the verdict."""
    marks: tuple[str, ...] = ()
    """Notes such as ``tests-inside``: the tests had to run in the candidate's process."""
    level: int | None = None
    """Protection level under which the candidate ran; None where nothing was executed."""
    harness: dict[str, Any] | None = None
    """What the harness itself would have written of this sample, where that is more than right or wrong:
    LiveCodeBench's ``results`` and ``metadata``; of a repair ``tests``, ``passed`` and ``results``."""
    schema: int = SCHEMA_VERSION

    @property
    def key(self) -> SampleKey:
        """Identity inside one run and profile."""
        return SampleKey(self.problem_id, self.sample)

    @property
    def explanation(self) -> str:
        """Reason and detail in one line, as other tools show them."""
        return f"{self.reason}: {self.detail}" if self.detail else str(self.reason)


# --------------------------------------------------------------------------------------------- Estimate


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A number with its uncertainty. ``value``, ``low`` and ``high`` are fractions in [0, 1]."""

    metric: str
    """``pass@1``, ``any_correct``, ..."""
    value: float
    low: float | None
    high: float | None
    """None where no interval can be had, e.g. from a single cluster."""
    confidence: float = 0.95
    method: str
    """How the interval was made, e.g. ``"cluster-robust t"``."""
    samples: int
    tasks: int
    """Tasks that the value averages over."""
    clusters: int
    left_out: int = 0
    """Tasks with too few samples for the metric: named, never averaged in."""
    unanswered: int = 0
    """Samples that held nothing to grade (see `UNANSWERED`)."""
    truncated: int = 0
    """Samples cut at a token limit."""


# ---------------------------------------------------------------------------------------------- hashing


def sha256_json(value: object) -> str:
    """Hash of the canonical JSON of a value: keys sorted, no spaces, UTF-8."""
    return hashlib.sha256(encode(value, order="sorted")).hexdigest()
