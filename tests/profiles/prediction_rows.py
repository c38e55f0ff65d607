"""Problems of execution reasoning and awkward replies to them, for the tests of profiles."""

from __future__ import annotations

from truegrade.kinds import CallClaim
from truegrade.models.baseline import claim_in_form
from truegrade.records import ChoiceTask, Completion, InputTask, OutputTask, Problem
from truegrade.sandbox import Sandbox

TEXT = ("def f(text, n):\n    return text + str(n)", "'))', 7", "'))7'")
NESTED = ("def f(x):\n    return [x, {1: 2}]", "1", "[1, {1: 2}]")

_VALUES = (
    *("'))7'", '"))7"', "'))8'", "[1, {1: 2}]", "[1, {1: 2.0}]", "2", "{1: None}", "'a == b'", "'x # y'"),
    *("[\n    1,\n    {1: 2},\n]", "0 or 1", "f (1)", "??", "", "f('))', 7)", "[1, {1: 2}] # done", "(1, {"),
)
_FORMS = (
    "{call} == {value}",
    "assert {call} == {value}",
    "assert {call} == {value}\n[/ANSWER]\n[PYTHON]\nassert f(2) == 3",
    "[ANSWER]\nassert {call} == {value}\n[/ANSWER]",
    "[answer]assert {call} == {value}[/answer]",
    "I use [ANSWER] and [/ANSWER] tags.\n[ANSWER]\nassert {call} == {value}\n[/ANSWER]",
    "x == 3, so\n[ANSWER]\nassert {call} == {value}\n[/ANSWER]",
    "[ANSWER]{value}[/ANSWER]",
    "[ANSWER] {value}",
    "[ANSWER] assert {call} == {value} [",
    " {value} # done\n",
    "```python\nassert {call} == {value}\n```",
    "Thus {call} returns:\n{value}",
    "assert {value} == {call}",
    "assert {call} == ??\n[ANSWER]assert {call} == {value}, 'why'[/ANSWER]",
    "</seed:think>[ANSWER]\nassert {call} == {value}\n[/ANSWER]",
)


def replies(arguments):
    """Every value in every form, 272 in all, as answers to ``f(arguments)``."""
    call = f"f({arguments})"
    return [form.replace("{call}", call).replace("{value}", value) for form in _FORMS for value in _VALUES]


def output_problem(row=TEXT, benchmark="cruxeval-output", **fields):
    program, arguments, expected = row
    task = OutputTask(program=program, function="f", arguments=arguments, expected=expected, **fields)
    return Problem(id="sample_0", benchmark=benchmark, dataset_sha256="", cluster="sample_0", task=task)


def input_problem(row=TEXT):
    program, arguments, expected = row
    task = InputTask(program=program, function="f", expected=expected, reference_arguments=arguments)
    return Problem(id="sample_0", benchmark="cruxeval-input", dataset_sha256="", cluster="sample_0", task=task)


def choice_problem(expected=("1", "2"), original="A"):
    task = ChoiceTask(programs=("def f(x): return x", "def f(x): return -x"), function="f", arguments="1",
                      expected=expected, original=original, item="r", case=0)  # fmt: skip
    return Problem(id="r~AB", benchmark="execution-choice", dataset_sha256="", cluster="r", task=task)


def reply(text, prompt=None, form="reply"):
    return Completion(benchmark="", dataset_sha256="", problem_id="sample_0", sample=0, config_sha256="",
                      prompt_sha256=prompt.sha256 if prompt else "", text=text, model="m", form=form)  # fmt: skip


def value(profile, problem, text, variant=None):
    """What a profile extracts; ``variant`` names its own prompt, else the reply answers another's."""
    prompt = profile.render_prompt(problem, variant) if variant else None
    return profile.extract(problem, reply(text, prompt)).value


def judge(profile, problem, texts, form="answer"):
    """A judgement of each text; None where the profile finds no answer."""
    with Sandbox(profile.limits, workers=1, allow_unsafe=True) as sandbox:
        answers = [profile.extract(problem, reply(text, form=form)) for text in texts]
        return [None if a.value is None else profile.judgement(problem, a, sandbox) for a in answers]


def right(profile, problem, texts, form="answer"):
    return [found is not None and found.passed for found in judge(profile, problem, texts, form)]


def perfect(prompt, task):
    """The truth in the form that a prompt asks for."""
    arguments = task.arguments if isinstance(task, OutputTask) else task.reference_arguments
    claim = CallClaim(f"{task.function}({arguments})", task.expected)
    return claim_in_form(prompt.messages[-1].content, claim)
