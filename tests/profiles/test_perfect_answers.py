"""Perfect answers in every prompt's own format score 100 % under `strict`."""

from functools import cache

import pytest
from peer_replies import FENCE
from profile_rows import completion

from support.thorough import one_in
from truegrade.benchmarks import load_benchmark
from truegrade.errors import UserError
from truegrade.profiles import PROFILES, open_profile
from truegrade.profiles.base import covered_benchmarks
from truegrade.prompts.making import before_stop
from truegrade.sandbox import Sandbox

STRICT = open_profile("strict")
DATA = {"humaneval": "humaneval", "mbpp": "mbpp", "humanevalplus": "humaneval", "mbppplus": "mbpp-sanitized"}
"""Benchmarks that are asked, and those by whose tests the answers are graded: the plus sets' take minutes."""
CASES = [
    (name, variant, benchmark)
    for name in PROFILES
    for variant in open_profile(name).variants
    for benchmark in DATA
    if benchmark in covered_benchmarks(open_profile(name)) and not (name == "strict" and "plus" in benchmark)
]
STRICTS = {"humaneval": {"default", "base"}, "mbpp": {"default", "paper"}}
"""The prompts that strict has for code; its others word programs to read."""
REFUSED = {
    ("bigcode-instruct", "default", "humaneval"), ("bigcode", "default", "mbppplus"),
    ("bigcode", "unstripped", "mbppplus"),
    *(("lm-eval", "cot", data) for data in DATA),
    *(("strict", name, data) for data, own in STRICTS.items() for name in STRICT.variants if name not in own),
}  # fmt: skip
"""Prompts that do not exist for a data set."""


def perfect(prompt, task):
    """The reference as a model would write it in answer to this prompt, cut where the prompt has it stopped."""
    shown = prompt.messages[-1].content
    program = task.reference.replace("\r\n", "\n")
    body = program.removeprefix(task.prefix)
    opened = shown.count(FENCE) % 2 == 1
    if task.prefix and shown.rstrip().endswith(task.prefix.strip()) and (opened or prompt.style == "text"):
        # The answer goes on where the prompt ends, with or without the newline behind its docstring.
        text = body if shown.endswith("\n") else f"\n{body}"
        text += FENCE if opened else ""
    elif shown.endswith("[BEGIN]\n"):
        text = f"{program}\n[DONE]"
    elif shown.endswith(f"{FENCE}python\n"):
        text = f"{program}\n{FENCE}\n"
    elif prompt.style == "text":
        text = program
    elif "## Completion 3:" in shown:
        text = f"{FENCE}python\n{body}\n{FENCE}"  # as the worked examples answer
    else:
        text = f"{FENCE}python\n{program}\n{FENCE}"
    return completion(before_stop(text, prompt.stop), "completion" if prompt.style == "text" else "reply")


@pytest.fixture(scope="module")
def loaded(data_dir):
    """Problems of a benchmark by id."""
    return cache(lambda name: load_benchmark(name, data_dir).by_id())


@pytest.fixture(scope="module")
def judged():
    """The verdict of `strict`; a program that answers several prompts is run once."""
    with Sandbox(STRICT.limits, workers=1) as sandbox:
        verdicts = {}

        def judge(problem, answer):
            key = (problem.benchmark, problem.id, answer.form, answer.value)
            if key not in verdicts:
                verdicts[key] = STRICT.judgement(problem, answer, sandbox)
            return verdicts[key]

        yield judge


@pytest.fixture
def failures(loaded, judged):
    """What `strict` does not pass of the perfect answers to every ``every``-th prompt."""

    def of(name, variant, benchmark, every):
        profile, problems = open_profile(name), loaded(benchmark)
        graded = {key.split("/")[1]: found for key, found in loaded(DATA[benchmark]).items()}
        wrong = []
        for key, asked in list(problems.items())[::every]:
            reply = perfect(profile.render_prompt(asked, variant, problems), asked.task)
            answer = STRICT.extract(asked, reply)
            judgement = judged(graded[key.split("/")[1]], answer) if answer.value is not None else None
            if judgement is None or not judgement.passed:
                wrong.append((key, judgement or answer.found, reply.text))
        return wrong

    return of


@pytest.mark.parametrize(
    ("name", "variant", "benchmark"), one_in(4, [case for case in CASES if case not in REFUSED])
)
def test_some_perfect_answers_pass(name, variant, benchmark, failures):
    assert failures(name, variant, benchmark, every=40) == []


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(("name", "variant", "benchmark"), [case for case in CASES if case not in REFUSED])
def test_all_perfect_answers_pass(name, variant, benchmark, failures):
    assert failures(name, variant, benchmark, every=1 if "humaneval" in benchmark else 5) == []


@pytest.mark.parametrize(("name", "variant", "benchmark"), sorted(REFUSED & set(CASES)))
def test_what_has_no_prompt_is_refused(name, variant, benchmark, loaded):
    problems = loaded(benchmark)
    with pytest.raises(UserError):
        open_profile(name).render_prompt(next(iter(problems.values())), variant, problems)
