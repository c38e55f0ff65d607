"""How graders of others are called (``call``): an entry of `CALLS` each.

``plain``: ``f(program, tests)`` returns a truth value or a number. Over HTTP ``{"program", "tests"}`` is posted
and a truth value, a number or ``{"score"}`` answered; a command writes it as the last line of its stdout.

``trl``, ``trl-text``: ``f(prompts, completions, completion_ids, **columns, trainer_state, log_extra,
log_metric)`` returns a list of numbers or None, everything by name, in batches of one and of several
(huggingface/trl@f2cd577 ``trl/trainer/grpo_trainer.py`` ``_calculate_rewards``). In conversations a completion is
a list of messages, for ``trl-text`` a plain text. The bytes of the reply stand for the ids of its tokens, as no
tokenizer is known. The tests stand in each column that published reward functions read them from, in those of
`TEXT_COLUMNS` as a text: one assert a line, other shapes as JSON; ``verification_info`` is open-r1's
(huggingface/open-r1@1416fa0 ``src/open_r1/rewards.py``).

``verl``: ``compute_score(data_source, solution_str, ground_truth, extra_info)``, by name, gives a number or a
dictionary, of which ``score`` counts (verl-project/verl@1dda039
``verl/experimental/reward_loop/reward_manager/naive.py``). The ground truth of code is a text of JSON
(``verl/utils/reward_score/prime_code/__init__.py`` reads it so), and for functions an input is a line of JSON an
argument, an output JSON (``testing_util.py`` there, ``verl/utils/reward_score/sandbox_fusion/utils.py``).

``verl-batch``: ``compute_score(data_sources, solution_strs, ground_truths, extra_infos)``, by name, gives a list
of such, in batches (``verl/workers/reward_manager/batch.py`` there).

``verifiers``: ``f(prompt, completion, answer, state, info, task, **columns)``, by name, of a rubric: a number
(PrimeIntellect-ai/verifiers@a60a606 ``verifiers/legacy/rubrics/rubric.py`` ``_call_individual_reward_func``).
Prompt and completion are lists of messages.

``rllm``: ``f(task_info, action)`` returns an object with ``reward`` and ``is_correct`` (rllm-org/rllm@9beb6e0
``rllm/rewards/code_reward.py`` ``RewardCodeFn.__call__``, which chooses its rule by ``data_source``).

``openrlhf``: ``reward_func(queries, prompts, labels)`` returns tensors, numbers or ``{"rewards", "scores"}``
(OpenRLHF/OpenRLHF@3c3be62 ``openrlhf/utils/agent.py``): one reply in a list, a query is the prompt with its
reply. Over HTTP ``{"query", "prompts", "labels"}`` is posted.

``open-instruct``: POST of ``{"program", "tests", "max_execution_time"}`` gives ``{"results", "runtimes"}``
(allenai/open-instruct@e6c3044 ``open_instruct/code_utils/api.py``: ``/test_program``, with tests as ``stdio``
``/test_program_stdio``; ``open_instruct/ground_truth_utils.py`` ``CodeVerifier``: the score is the share of
ones).

``exit-code``: a command whose exit status says it; 0 is passed. In its words ``{program}`` and ``{tests}`` stand
for the paths of two files, ``solution.py`` and ``tests.json`` (or ``test_solution.py`` where the tests are
source).

``sandboxfusion``: POST of ``{"code", "language", "stdin", ...}`` to ``/run_code``, a request a test case
(service: bytedance/SandboxFusion@469de08). The output is compared here, as clients do, without newlines at its
end (verl-project/verl@1dda039 ``verl/utils/reward_score/sandbox_fusion/utils.py``). Tests of functions are
appended to the program, which then passes by exit status 0.

``truegrade``: our own grading service, POST to ``/v1/grade`` (`truegrade.web.client.Client.grade`). The
problem travels with the request, so the tests need no other shape.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import msgspec

from truegrade.errors import UserError
from truegrade.grading.tests_forms import TestsForm
from truegrade.kinds import kind_of
from truegrade.records import BuiltInTask, FunctionTask, Problem, Reason
from truegrade.web.messages import GradeRequest, InlineProblem, Submission

TEXT, RAISED, HUNG, DIED, SCORE = "grader_text:", "grader_raised:", "grader_hung:", "grader_died:", "grader_score:"
"""How `Said.detail` begins where there is no verdict: it answered in words; it raised an exception or an error of
HTTP; it took longer than it may; its process ended; it gave what is no score (None, NaN, a list of several)."""
NOT_PUT, NOT_SENT = "tests_form:", "not_sent:"
"""The same where nothing was sent: the problem's tests have no such shape; the probe is too dangerous."""
OPAQUE = "opaque"
_TRUTHS = ("passed", "is_correct", "correct")
_NUMBERS = ("score", "reward", "scores", "rewards")
MAX_DETAIL = 300


class Reading(msgspec.Struct, frozen=True):
    """What was understood."""

    passed: bool | None
    score: float | None = None
    detail: str = ""


def read(value: Any) -> Reading:
    """The meaning of a plain value: a truth value; a number, of which 1 and more is passed; a list of one of them;
    a dictionary with ``score`` or ``reward``, and perhaps ``passed`` or ``is_correct``, which then decides."""
    match value:
        case bool() | int() | float() if math.isfinite(value):
            found = Reading(value >= 1, float(value))
        case str():
            found = no_verdict(TEXT, value)
        case [one]:
            found = read(one)
        case list():
            found = no_verdict(SCORE, f"a list of {len(value)}")
        case dict():
            found = _of_fields(value)
        case _:
            found = no_verdict(SCORE, value)
    return found


def _of_fields(value: dict[str, Any]) -> Reading:
    if OPAQUE in value:
        return no_verdict(SCORE, f"a value of type {value[OPAQUE]}")
    truth = next((value[name] for name in _TRUTHS if isinstance(value.get(name), bool)), None)
    number = next((read(value[name]) for name in _NUMBERS if name in value), None)
    if number is None:
        if truth is None:
            return no_verdict(SCORE, f"a dictionary with {', '.join(value) or 'nothing'}")
        return Reading(truth, float(truth))
    return number if truth is None else Reading(truth, number.score)


def no_verdict(prefix: str, text: object) -> Reading:
    """That there is no verdict; its detail is the prefix, and the text as one line that a terminal can show."""
    line = " ".join(str(text).split())
    return Reading(None, None, f"{prefix} {''.join(c if c.isprintable() else '?' for c in line)}"[:MAX_DETAIL])


TEST_COLUMNS = ("tests", "test_cases", "test_list")
"""Of ``trl``: in the shape that was asked for."""
TEXT_COLUMNS = ("ground_truth", "answer", "solution", "label")
"""Of ``trl``: as a text, which these columns hold in the data sets of trainers."""
MAX_EXECUTION_S = 6.0
"""Of one test, as open-instruct's verifier asks for."""
MEMORY_MB = 1024
"""Of SandboxFusion."""


class ProbeQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One probe as graders are asked about it."""

    problem: Problem
    program: str
    """The probe as it is."""
    reply: str
    """The probe as a model would have answered: in a fence, unless it is a reply already."""
    turns: list[dict[str, str]] | None = None
    """A reply of several messages; `reply` then is their texts."""
    tests: Any
    """In the shape that was asked for (`truegrade.grading.tests_forms`)."""
    form: TestsForm
    """That shape."""
    timeout_s: float
    fields: dict[str, Any]
    """What the user gives besides, or in place of what is made up here (``data_source``)."""


Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""Those by place, and those by name, of which a function gets what it takes."""
Post = Callable[[dict[str, Any]], Any]
"""Sends a JSON object to the address of a grader and returns the JSON value that it answers."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A way to call graders; None where a grader of that kind is not called so."""

    name: str
    arguments: Callable[[ProbeQuestion], Arguments] | None = None
    """Of a Python function."""
    ask: Callable[[ProbeQuestion, Post], Any] | None = None
    """Over HTTP."""
    command: bool = False
    """Whether commands are."""
    reads: Callable[[Any], Reading] = read
    """What an answer means; may raise where it has another shape."""
    tests_as: TestsForm = "asserts"
    """Shape of the tests where the user asks for none."""
    needs_tests: bool = True
    """Whether they are sent in a shape at all."""
    of_replies: bool = False
    """Whether it is handed the reply, of which a trainer hands over a batch."""
    of_messages: bool = False
    """Whether it is handed a reply as a list of messages."""
    batched: bool = False
    """Whether what it is handed by name are lists with an item a reply, and it takes several at once; what is no
    list is the same for all."""
    of_trainer: tuple[str, ...] = ()
    """Names of arguments that are objects of the trainer: they cannot be sent, so `host.of_trainer` makes them."""

    def payload(self, asked: ProbeQuestion, *, adapted: bool) -> dict[str, Any]:
        """What the host calls a function with: arguments, or for an adapter the problem and the reply.

        Raises:
            UserError: functions are not called so.
        """
        if adapted:
            return {"problem": msgspec.to_builtins(asked.problem), "reply": asked.reply}
        if self.arguments is None:
            raise UserError(f"`call`: {self.name} is no way to call a Python function")
        args, kwargs = self.arguments(asked)
        return {"args": list(args), "kwargs": kwargs, "trainer": list(self.of_trainer)}

    def payload_of_batch(self, asked: Sequence[ProbeQuestion]) -> dict[str, Any]:
        """The same of several replies, for a way that is `batched`."""
        rows = [self.payload(one, adapted=False) for one in asked]
        named = {
            name: [item for row in rows for item in row["kwargs"][name]] if isinstance(one, list) else one
            for name, one in rows[0]["kwargs"].items()
        }
        return rows[0] | {"kwargs": named}

    def readings(self, value: Any) -> list[Reading] | Reading:
        """What the answer to a batch means, one by one; never raises."""
        value = (
            next((value[name] for name in _NUMBERS if name in value), value) if isinstance(value, dict) else value
        )
        return [*map(self.reading, value)] if isinstance(value, list) else no_verdict(SCORE, f"no list: {value}")

    def reading(self, value: Any) -> Reading:
        """What the answer means, of which nothing is known but that it is plain values; never raises."""
        try:
            return self.reads(value)
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            return no_verdict(SCORE, f"an answer that cannot be read ({type(error).__name__})")


_TASK = FunctionTask(prompt="", entry_point="f", tests="", reference="")
EXAMPLE = ProbeQuestion(
    problem=Problem(id="", benchmark="", dataset_sha256="", cluster="", task=_TASK),
    program="",
    reply="",
    tests=[],
    form="asserts",
    timeout_s=1.0,
    fields={},
)
"""Shows how many arguments a way to call hands over, and their names."""


def _sources(asked: ProbeQuestion) -> dict[str, Any]:
    """Fields of data sets that name a problem."""
    return {"task_id": asked.problem.id, "data_source": asked.problem.benchmark}


# ------------------------------------------------------------------------------------------ what is asked


def _words(problem: Problem) -> str:
    """What a model was asked, as the data set words it."""
    kind = kind_of(problem.task)
    return kind.shown(problem.task).text or kind.buggy(problem.task) or problem.id


def _entry_point(problem: Problem) -> str | None:
    return kind_of(problem.task).entry_point(problem.task)


def _trl(asked: ProbeQuestion, *, text: bool = False) -> Arguments:
    prompt: Any = _words(asked.problem)
    completion: Any = asked.reply
    if not text:
        prompt = [{"role": "user", "content": prompt}]
        completion = _messages(asked)
    columns = {
        **dict.fromkeys(TEST_COLUMNS, asked.tests),
        **dict.fromkeys(TEXT_COLUMNS, as_text(asked.tests)),
        "verification_info": {"language": "python", "test_cases": asked.tests},
        "entry_point": _entry_point(asked.problem),
        **_sources(asked),
        **asked.fields,
    }
    batch = {name: [one] for name, one in columns.items()}
    ids = [list(asked.reply.encode("utf-8", "replace"))]
    return (), {"prompts": [prompt], "completions": [completion], "completion_ids": ids, **batch}


def _messages(asked: ProbeQuestion) -> list[dict[str, str]]:
    return asked.turns or [{"role": "assistant", "content": asked.reply}]


def as_text(tests: Any) -> str:
    """Tests as the text that a column of a data set holds: one assert a line, other shapes as JSON."""
    if isinstance(tests, str):
        return tests
    if isinstance(tests, list) and all(isinstance(test, str) for test in tests):
        return "\n".join(tests)
    return json.dumps(tests)


def _verl(asked: ProbeQuestion) -> Arguments:
    given = {
        "data_source": asked.problem.benchmark,
        "solution_str": asked.reply,
        "ground_truth": _ground_truth(asked.tests),
        "extra_info": _sources(asked),
    }
    return (), given | asked.fields


def _verl_batch(asked: ProbeQuestion) -> Arguments:
    _, given = _verl(asked)
    lists = {f"{name}s": [given.pop(name)] for name in _verl(EXAMPLE)[1]}
    return (), lists | given  # what else there is are settings of the manager


def _ground_truth(tests: Any) -> str:
    if isinstance(tests, str):
        return tests
    if isinstance(tests, dict) and "fn_name" in tests:
        inputs = ["\n".join(map(json.dumps, arguments)) for arguments in tests["inputs"]]
        tests = tests | {"inputs": inputs, "outputs": [json.dumps(value) for (value,) in tests["outputs"]]}
    return json.dumps(tests)


def _verifiers(asked: ProbeQuestion) -> Arguments:
    of_rollout = {
        "prompt": [{"role": "user", "content": _words(asked.problem)}],
        "completion": _messages(asked),
        "answer": as_text(asked.tests),
        "info": {"tests": asked.tests, "entry_point": _entry_point(asked.problem)},
        "task": asked.problem.benchmark,
    }
    columns = {**dict.fromkeys(TEST_COLUMNS, asked.tests), **_sources(asked)}
    return (), columns | of_rollout | {"state": of_rollout} | asked.fields


def _rllm(asked: ProbeQuestion) -> Arguments:
    words = _words(asked.problem)
    task_info = {"problem": words, "question": words, "problem_type": "code", "ground_truth": asked.tests}
    return (task_info | _sources(asked) | asked.fields, asked.reply), {}


def _openrlhf(asked: ProbeQuestion) -> Arguments:
    prompt = _words(asked.problem)
    return ([f"{prompt}\n{asked.reply}"], [prompt], [asked.fields.get("label", asked.tests)]), {}


def _ask_openrlhf(asked: ProbeQuestion, post: Post) -> Any:
    return post(dict(zip(("query", "prompts", "labels"), _openrlhf(asked)[0], strict=True)))


def _ask_open_instruct(asked: ProbeQuestion, post: Post) -> Any:
    tests = asked.tests
    if asked.form == "stdio":
        pairs = zip(tests["inputs"], tests["outputs"], strict=True)
        tests = [{"input": given, "output": wanted} for given, wanted in pairs]
    return post({"program": asked.program, "tests": tests, "max_execution_time": MAX_EXECUTION_S, **asked.fields})


def _ask_sandboxfusion(asked: ProbeQuestion, post: Post) -> Any:
    """The answers to all requests, each with the output wanted, up to the first that is no answer."""
    if asked.form == "stdio":
        pairs = zip(asked.tests["inputs"], asked.tests["outputs"], strict=True)
        return [{"wanted": wanted, "answer": post(_body(asked, "", given))} for given, wanted in pairs]
    lines = asked.tests if isinstance(asked.tests, list) else [asked.tests]
    if asked.form == "check":
        lines = [*lines, f"check({_entry_point(asked.problem)})"]
    return [{"wanted": None, "answer": post(_body(asked, "\n\n" + "\n".join(lines) + "\n", ""))}]


def _body(asked: ProbeQuestion, appended: str, stdin: str) -> dict[str, Any]:
    return {
        "compile_timeout": 10,
        "run_timeout": 10,
        "code": asked.program + appended,
        "stdin": stdin,
        "memory_limit_MB": MEMORY_MB,
        "language": "python",
        "files": {},
        "fetch_files": [],
        **asked.fields,
    }


def _ask_truegrade(asked: ProbeQuestion, post: Post) -> Any:
    task = asked.problem.task
    if not isinstance(task, BuiltInTask):
        raise UserError(f"{asked.problem.id}: a service takes no problem of a kind that is not built in")
    problem = InlineProblem(task=task, id=asked.problem.id, benchmark=asked.problem.benchmark)
    request = GradeRequest(completions=[Submission(text=asked.reply)], problem=problem)
    return post(msgspec.to_builtins(request) | asked.fields)


# ---------------------------------------------------------------------------------------- what is answered


def _read_open_instruct(value: Any) -> Reading:
    results = value.get("results") if isinstance(value, dict) else None
    if not isinstance(results, list) or not results or not all(one in {0, 1} for one in results):
        return no_verdict(SCORE, f"no list of 0 and 1 as results: {value}")
    return Reading(all(results), sum(results) / len(results))


def _read_sandboxfusion(value: Any) -> Reading:
    """Passed if every case is; the score is the share."""
    right = 0
    for case in value:
        answer = case["answer"]
        status = answer.get("status") if isinstance(answer, dict) else None
        if status == "SandboxError":
            return no_verdict(DIED, f"SandboxError: {answer.get('message')}")
        if status not in {"Success", "Failed"}:
            return no_verdict(SCORE, f"no answer of SandboxFusion's: {answer}")
        right += status == "Success" and _as_wanted(answer.get("run_result") or {}, case["wanted"])
    if not value:
        return no_verdict(SCORE, "no test case")
    return Reading(right == len(value), right / len(value))


def _as_wanted(run: dict[str, Any], wanted: str | None) -> bool:
    if run.get("status") != "Finished":
        return False
    return wanted is None or str(run.get("stdout") or "").rstrip("\n") == wanted.rstrip("\n")


def _read_truegrade(value: Any) -> Reading:
    verdicts = value.get("verdicts") if isinstance(value, dict) else None
    if not verdicts or not isinstance(verdicts[0].get("passed"), bool):
        return no_verdict(SCORE, f"no verdict of the service: {value}")
    first = verdicts[0]
    if first.get("reason") == Reason.GRADER_ERROR:
        return no_verdict(SCORE, f"grader_error: {first.get('detail')}")
    return Reading(first["passed"], float(first["passed"]))


TRL_OBJECTS = ("trainer_state", "log_extra", "log_metric")
CALLS: Mapping[str, Call] = MappingProxyType(
    {
        call.name: call
        for call in (
            Call(
                name="plain",
                arguments=lambda asked: ((asked.program, asked.tests), dict(asked.fields)),
                ask=lambda asked, post: post({"program": asked.program, "tests": asked.tests, **asked.fields}),
                command=True,
            ),
            Call(
                name="trl",
                arguments=_trl,
                of_replies=True,
                of_messages=True,
                batched=True,
                of_trainer=TRL_OBJECTS,
            ),
            Call(
                name="trl-text",
                arguments=partial(_trl, text=True),
                of_replies=True,
                batched=True,
                of_trainer=TRL_OBJECTS,
            ),
            Call(name="verl", arguments=_verl, of_replies=True, tests_as="taco"),
            Call(name="verl-batch", arguments=_verl_batch, of_replies=True, batched=True, tests_as="taco"),
            Call(name="verifiers", arguments=_verifiers, of_replies=True, of_messages=True),
            Call(name="rllm", arguments=_rllm, of_replies=True, tests_as="lcb"),
            Call(name="openrlhf", arguments=_openrlhf, ask=_ask_openrlhf, of_replies=True),
            Call(name="open-instruct", ask=_ask_open_instruct, reads=_read_open_instruct),
            Call(name="exit-code", command=True),
            Call(name="sandboxfusion", ask=_ask_sandboxfusion, reads=_read_sandboxfusion, tests_as="stdio"),
            Call(name="truegrade", ask=_ask_truegrade, reads=_read_truegrade, of_replies=True, needs_tests=False),
        )
    }
)
"""By name."""
