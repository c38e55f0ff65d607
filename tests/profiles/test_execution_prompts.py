"""The words of execution tasks: every variant is its text with the task filled in, and nothing else."""

import pytest

from truegrade import prompts
from truegrade.errors import UnknownName
from truegrade.kinds.execution_choice import KIND as CHOICES
from truegrade.kinds.input_prediction import KIND as INPUTS
from truegrade.kinds.output_prediction import output_prompts
from truegrade.profiles import open_profile
from truegrade.profiles.strict import Strict
from truegrade.records import ChoiceTask, InputTask, OutputTask, Problem

PROGRAM = "def f(x):\n    return x\n"
OUTPUT = OutputTask(program=PROGRAM, function="f", arguments="x=['<fn>']", expected="['<fn>']")
LONGEST = OutputTask(program="def longest(x): ...", function="longest", arguments="1", expected="1")
QUESTION = OutputTask(
    program="def f(x):\n    pass", function="f", arguments="[1], 2", expected="3", question="Add.\n"
)
CHOICE = ChoiceTask(
    programs=(PROGRAM, "def f(x): return <args>"),
    function="f",
    arguments="1",
    expected=("1", "2"),
    original="A",
    item="r",
    case=0,
)
INPUT = InputTask(program=PROGRAM, function="f", expected="[3]", reference_arguments="[3]")

CUT = ("[/ANSWER]",)
SEED = {"program": PROGRAM, "fn": "f", "args": OUTPUT.arguments}
CRUX = {"code": PROGRAM, "input": OUTPUT.arguments}
WHOLE = {"code": PROGRAM, "call": "f(x=['<fn>'])"}
PAIR = {"program": PROGRAM, "program2": CHOICE.programs[1], "fn": "f", "args": "1"}
GOAL = {"code": PROGRAM, "output": "[3]"}

OUTPUT_TEXTS = {  # variant: text, values, system message, style, stop strings
    "default": ("exec.prediction.zero_shot", SEED, None, "chat", ()),
    "one-shot": ("exec.prediction.one_shot", SEED, None, "chat", ()),
    "base": ("exec.prediction.zero_shot", SEED, None, "text", CUT),
    "one-shot-base": ("exec.prediction.one_shot", SEED, None, "text", CUT),
    "inference-py": ("exec.prediction.zero_shot", SEED, "exec.system.inference_py", "chat", ()),
    "bedrock": ("exec.prediction.zero_shot", SEED, "exec.system.bedrock", "chat", ()),
    "livecodebench": ("lcb.execution.direct", WHOLE, "lcb.execution.system", "chat", ()),
    "livecodebench-cot": ("lcb.execution.cot", WHOLE, "lcb.execution.system", "chat", ()),
    "cruxeval": ("cruxeval.output.direct", CRUX, None, "text", CUT),
    "cruxeval-cot": ("cruxeval.output.cot", CRUX, None, "text", CUT),
    "cruxeval-phind": ("cruxeval.output.phind", CRUX, None, "text", ("# done",)),
    "cruxeval-openai": ("cruxeval.output.direct", CRUX, "cruxeval.system.openai", "chat", CUT),
    "cruxeval-openai-cot": ("cruxeval.output.cot", CRUX, "cruxeval.system.openai", "chat", CUT),
}
CHOICE_TEXTS = {
    "default": ("exec.choice.zero_shot", PAIR, None, "chat", ()),
    "one-shot": ("exec.choice.one_shot", PAIR, None, "chat", ()),
    "base": ("exec.choice.zero_shot", PAIR, None, "text", ()),
    "one-shot-base": ("exec.choice.one_shot", PAIR, None, "text", ()),
    "bedrock": ("exec.choice.bedrock", PAIR, "exec.system.bedrock", "chat", ()),
    "leetcode-notebook": ("exec.choice.leetcode_notebook", PAIR, None, "chat", ()),
    "dsl-notebook": ("exec.choice.dsl_notebook", PAIR, None, "chat", ()),
}
INPUT_TEXTS = {
    "default": ("cruxeval.input.direct", GOAL, None, "chat", ()),
    "cruxeval": ("cruxeval.input.direct", GOAL, None, "text", CUT),
    "cruxeval-cot": ("cruxeval.input.cot", GOAL, None, "text", CUT),
    "cruxeval-openai": ("cruxeval.input.direct", GOAL, "cruxeval.system.openai", "chat", CUT),
    "cruxeval-openai-cot": ("cruxeval.input.cot", GOAL, "cruxeval.system.openai", "chat", CUT),
}


def problem(task, benchmark="execution-prediction"):
    return Problem(id="p", benchmark=benchmark, dataset_sha256="", cluster="p", task=task)


CASES = [
    *((OUTPUT, variant, *text) for variant, text in OUTPUT_TEXTS.items()),
    *((CHOICE, variant, *text) for variant, text in CHOICE_TEXTS.items()),
    *((INPUT, variant, *text) for variant, text in INPUT_TEXTS.items()),
]


@pytest.mark.parametrize(("task", "variant", "text", "values", "system", "style", "stop"), CASES)
def test_variants_are_their_texts(task, variant, text, values, system, style, stop):
    prompt = open_profile("strict").render_prompt(problem(task), variant)
    *before, user = prompt.messages
    assert user.content == prompts.render(text, **values)
    assert [message.content for message in before] == ([prompts.load(system).text] if system else [])
    assert [message.role for message in prompt.messages] == (["system"] if system else []) + ["user"]
    assert (prompt.style, prompt.stop) == (style, stop)
    assert prompt.source.startswith(text)


def test_every_variant_is_tested_and_listed():
    assert list(output_prompts(OUTPUT)) == list(OUTPUT_TEXTS)
    assert list(CHOICES.prompts(CHOICE, {})) == list(CHOICE_TEXTS)
    assert list(INPUTS.prompts(INPUT, {})) == list(INPUT_TEXTS)
    assert {*OUTPUT_TEXTS, *CHOICE_TEXTS, *INPUT_TEXTS} <= set(Strict.variants)


def test_the_programs_are_inserted_as_stored_and_the_call_once():
    shown = open_profile("strict").render_prompt(problem(OUTPUT)).messages[0].content
    assert shown.endswith("[PYTHON]\ndef f(x):\n    return x\n\nassert f(x=['<fn>']) == ??\n[/PYTHON]")
    pair = open_profile("strict").render_prompt(problem(CHOICE)).messages[0].content
    assert "[PROGRAM_B]\ndef f(x): return <args>\n[/PROGRAM_B]\n[ASSERTION]\nassert f(1) == ??\n" in pair


def test_test_output_prediction_has_the_official_words():
    prompt = open_profile("strict").render_prompt(problem(QUESTION, "livecodebench-testoutput"))
    assert prompt.messages[0].content.startswith("You are a helpful programming assistant and an expert Python")
    assert prompt.messages[1].content == (
        "Problem:\nAdd.\nFunction:\n```\ndef f(x):\n    pass\n```\n"
        "Please complete the following test case:\n\n```\nassert f([1], 2) == # TODO\n```\n"
    )
    with pytest.raises(UnknownName, match="no prompt variant 'one-shot'"):
        open_profile("strict").render_prompt(problem(QUESTION), "one-shot")


def test_cruxevals_words_are_only_for_functions_called_f():
    with pytest.raises(UnknownName, match="no prompt variant 'cruxeval'"):
        open_profile("strict").render_prompt(problem(LONGEST), "cruxeval")


@pytest.mark.parametrize(
    ("task", "variant", "text", "values"),
    [
        (OUTPUT, None, "cruxeval.output.direct", CRUX),
        (OUTPUT, "cot", "cruxeval.output.cot", CRUX),
        (OUTPUT, "phind", "cruxeval.output.phind", CRUX),
        (INPUT, None, "cruxeval.input.direct", GOAL),
        (INPUT, "cot", "cruxeval.input.cot", GOAL),
    ],
)
def test_the_profile_cruxeval_has_its_own_words(task, variant, text, values):
    benchmark = "cruxeval-output" if task is OUTPUT else "cruxeval-input"
    prompt = open_profile("cruxeval").render_prompt(problem(task, benchmark), variant)
    assert [message.content for message in prompt.messages] == [prompts.render(text, **values)]
    assert prompt.stop == (("# done",) if variant == "phind" else CUT)


def test_cruxeval_has_no_phind_words_for_inputs():
    with pytest.raises(UnknownName, match="no prompt variant 'phind'"):
        open_profile("cruxeval").render_prompt(problem(INPUT, "cruxeval-input"), "phind")
