"""What the truth scores under each published rule, written in the form that its own prompt asks for."""

import pytest
from prediction_rows import perfect, reply

from support.thorough import one_in
from truegrade.benchmarks import load_benchmark
from truegrade.profiles import open_profile
from truegrade.records import OutputTask
from truegrade.sandbox import Sandbox

ALL = 800
OUTPUTS = [
    ("paper-tags", "default", ALL),
    ("seed-regex", "default", 771),
    ("code-reasoning", "default", 771),
    ("code-reasoning-notebook", "one-shot", 771),
    ("cruxeval", "default", ALL),
    ("cruxeval", "cot", ALL),
    ("cruxeval", "phind", ALL),
    ("cruxeval-openai", "default", ALL),
    ("cruxeval-openai", "cot", ALL),
    ("livecodebench-exec", "default", ALL),
    ("livecodebench-exec", "base-cot", ALL),
    ("sandboxfusion", "default", ALL),
    ("sandboxfusion", "cot", ALL),
    ("sandboxfusion", "phind", ALL),
]
INPUTS = [
    ("cruxeval", "default", ALL),
    ("cruxeval-openai", "cot", ALL),
    ("sandboxfusion", "default", ALL),
    ("lm-eval", "default", 784),
    ("lm-eval", "cot", 784),
]
EXECUTED = {"lm-eval", "sandboxfusion"}
"""These run the program even where a literal is answered."""


def ceiling(name, benchmark, variant, data_dir):
    """Right answers, and how many problems were graded.

    Where grading executes, what comes out as the truth itself is taken for right: every fortieth is run to see
    that it is, and everything that comes out otherwise.
    """
    profile, right, ran = open_profile(name), 0, 0
    problems = load_benchmark(benchmark, data_dir).problems
    with Sandbox(profile.limits, workers=1, allow_unsafe=True) as sandbox:
        for number, problem in enumerate(problems):
            task, prompt = problem.task, profile.render_prompt(problem, variant)
            answer = profile.extract(problem, reply(perfect(prompt, task), prompt))
            asked_for_value = isinstance(task, OutputTask)
            truths = {task.expected} if asked_for_value else {
                task.reference_arguments, f"f({task.reference_arguments})"}  # fmt: skip
            executes = name in EXECUTED or not asked_for_value
            found = (answer.value or "").strip()
            if executes and found in truths and number % 40:
                right += 1
                continue
            judgement = profile.judgement(problem, answer, sandbox)
            right += judgement.passed
            ran += judgement.cpu_s is not None
            assert judgement.passed or found not in truths, (problem.id, judgement)
    return right, ran


@pytest.mark.parametrize(("name", "variant", "expected"), one_in(2, OUTPUTS))
def test_output_ceilings(name, variant, expected, data_dir):
    right, ran = ceiling(name, "cruxeval-output", variant, data_dir)
    assert right == expected
    assert ran == (20 if name in EXECUTED else 0), "what two literals decide is not executed"


@pytest.mark.slow
@pytest.mark.parametrize("variant", one_in(2, ["default", "cot"]))
def test_lm_eval_loses_nearly_half_of_the_perfect_outputs(variant, data_dir):
    right, _ = ceiling("lm-eval", "cruxeval-output", variant, data_dir)
    assert right == 427
    assert right / ALL == pytest.approx(0.534, abs=5e-4)


@pytest.mark.parametrize(("name", "variant", "expected"), INPUTS)
def test_input_ceilings(name, variant, expected, data_dir):
    right, ran = ceiling(name, "cruxeval-input", variant, data_dir)
    assert right == expected
    assert ran >= 20
