"""The published rules for predictions against the harnesses themselves, and where a trick passes."""

import hashlib
import sys

import pytest
from peer_process import ask
from prediction_rows import NESTED, TEXT, input_problem, judge, output_problem, replies, reply, right, value

from support.thorough import one_in
from truegrade import prompts
from truegrade.errors import UnknownName, UserError
from truegrade.profiles import open_profile
from truegrade.profiles.cruxeval import SKIPPED, literal_verdict
from truegrade.records import Reason

CRUXEVAL, OPENAI, LIVECODEBENCH, LM_EVAL, FUSION = (
    open_profile(name)
    for name in ("cruxeval", "cruxeval-openai", "livecodebench-exec", "lm-eval", "sandboxfusion")
)
OWN_PROMPT = {"direct": "default", "cot": "cot"}

ALWAYS = "type('E', (), {'__eq__': lambda s, o: True})()"
GENERATIONS = (
    *(
        "[1, {1: 2}]",
        "[1, {1: 2.0}]",
        "[1, {1: 3}]",
        "[True, {1: 2}]",
        "0 or 1",
        "f(1)",
        "f (1)",
        "f(x=1)",
        ALWAYS,
    ),
    *("[1, {1: 2}] # done", "(1, {", "", "??", "None", "__import__('os')._exit(0)", "exit()", "1 + 1"),
    *("[1, {1: 2}]\nraise ValueError", "[1, {1: 2}], 1 / 0", "'a' == 'b'", "1)!=0 or (1", "1", "\0"),
)
"""Texts in the place of an extracted prediction, awkward and hostile."""


# ------------------------------------------------------------------------------------------------- parity


@pytest.fixture(scope="module")
def peer():
    code, arguments, expected = NESTED
    doc = {"code": code, "input": arguments, "output": expected}
    row, call = [code, arguments, expected], [code, f"f({arguments})", expected]
    programs = [f"{code}\nassert f({arguments})=={text}" for text in GENERATIONS]
    programs += [f"{code}\nassert f({text})=={expected}" for text in GENERATIONS]
    graded = {
        "cruxeval": [([text, "f(1)"], row, mode) for mode in ("output", "input") for text in GENERATIONS],
        "livecodebench": [([text, "f(1)"], call) for text in GENERATIONS],
        "lm_eval": programs,
    }
    texts = [text for cut in CUTS.values() for text in cut]
    return ask("predictions", {"replies": texts, "doc": doc, "graded": graded})


def present(peer, profile):
    if peer[profile.name] is None:
        pytest.skip(f"the checkout for {profile.name} is not among the peers")
    return peer[profile.name]


def before(text, *stops):
    for stop in stops:
        text = text.split(stop)[0]
    return text


TEXTS = replies("1")
CUTS = {
    "whole": TEXTS,
    "at [/ANSWER]": [before(text, "[/ANSWER]") for text in TEXTS],
    "at both": [before(text, "[/ANSWER]", "</seed:think>[ANSWER]") for text in TEXTS],
}
"""Replies as a service delivers them that ignores stop strings, and as one does that honours them."""
OWN_CUT = {CRUXEVAL: "at [/ANSWER]", OPENAI: "at [/ANSWER]", LM_EVAL: "at both", LIVECODEBENCH: "whole"}


def of_cut(theirs, name):
    """The peer's answers to the replies cut in that way."""
    start = len(TEXTS) * list(CUTS).index(name)
    return theirs[start : start + len(TEXTS)]


def problems():
    return {"output": output_problem(NESTED), "input": input_problem(NESTED)}


@pytest.mark.slow
@pytest.mark.parametrize("profile", [CRUXEVAL, OPENAI, LIVECODEBENCH, LM_EVAL], ids=lambda profile: profile.name)
def test_parity_of_extraction(profile, peer):
    for rule, theirs in present(peer, profile).items():
        kind, _, prompt = rule.partition(" ")
        problem = problems()[kind]
        program, arguments, expected = NESTED
        start, end = (f"f({arguments})==", "") if kind == "output" else ("f(", f")=={expected}")
        # A profile that sets stop strings cuts for itself what was not cut.
        for delivered in {"whole", OWN_CUT[profile]}:
            found = [value(profile, problem, text, OWN_PROMPT[prompt]) for text in CUTS[delivered]]
            if profile is LM_EVAL:
                found = [f"{program}\nassert {start}{text}{end}" for text in found]
            assert found == of_cut(theirs, OWN_CUT[profile]), rule


@pytest.mark.slow
def test_parity_of_sandboxfusion(peer):
    code, arguments, expected = NESTED
    for kind, theirs in present(peer, FUSION).items():
        other = f"f({arguments})" if kind == "output" else expected
        found = [f"{code}\nassert {value(FUSION, problems()[kind], text)} == {other}" for text in TEXTS]
        assert found == of_cut(theirs, "whole")


@pytest.mark.slow
def test_parity_of_verdicts(peer):
    """A list's verdicts, the echo behind every generation included: what is skipped is not in it."""
    theirs, texts = peer["verdicts"], list(GENERATIONS)
    output, given = problems()["output"], problems()["input"]
    ours = {
        "cruxeval": lambda: listed(CRUXEVAL, output, texts) + listed(CRUXEVAL, given, texts),
        "livecodebench": lambda: listed(LIVECODEBENCH, output, texts),
        "lm_eval": lambda: right(LM_EVAL, output, texts) + right(LM_EVAL, given, texts),
    }
    if not theirs:
        pytest.skip("no checkout of these harnesses is among the peers")
    for name, verdicts in theirs.items():
        assert ours[name]() == verdicts, name


def listed(profile, problem, texts):
    """The list that the harness would store for each text and an echo."""
    echo, *found = judge(profile, problem, ["f(1)", *texts])
    made = []
    for judgement in found:
        outcomes = [(one.passed, one.marks) for one in (judgement, echo)]
        n, c = profile.tally(outcomes)
        kept = [passed for passed, marks in outcomes if SKIPPED not in marks]
        made.append(kept if len(kept) == n else [False] * n)
        assert sum(made[-1]) == c
    return made


# --------------------------------------------------------------------------------- what passes, and what does not


PASSING = {  # trick: profiles that grant it on every item of output prediction
    "0 or 1": {"cruxeval", "cruxeval-openai", "livecodebench-exec", "lm-eval"},
    "f('))', 7)": {"lm-eval", "sandboxfusion"},
    "f ('))', 7)": {"cruxeval", "cruxeval-openai", "livecodebench-exec", "lm-eval", "sandboxfusion"},
    ALWAYS: {"cruxeval", "cruxeval-openai", "livecodebench-exec", "lm-eval", "sandboxfusion"},
    "1 or 1": {"cruxeval", "cruxeval-openai", "livecodebench-exec", "lm-eval", "sandboxfusion"},
    "__import__('os')._exit(0)": {"sandboxfusion"},
    "__import__('sys').exit(0)": {"sandboxfusion"},
}
NAMES = ("cruxeval", "cruxeval-openai", "livecodebench-exec", "lm-eval", "sandboxfusion", "seed-regex",
         "code-reasoning", "code-reasoning-notebook", "paper-tags", "strict")  # fmt: skip


@pytest.mark.parametrize("name", one_in(2, NAMES))
def test_tricks_pass_only_where_the_profile_says(name):
    profile, problem = open_profile(name), output_problem(TEXT)
    found = right(profile, problem, PASSING)
    assert {trick for trick, passed in zip(PASSING, found, strict=True) if passed} == {
        trick for trick, granting in PASSING.items() if name in granting
    }
    assert bool(profile.executes(problem)) == (name in PASSING[ALWAYS])


def test_input_tricks():
    problem = input_problem(TEXT)
    assert right(LM_EVAL, problem, ["'))', 7", "'', 1)!=0 or (1", "'', ''"]) == [True, True, False]
    assert right(CRUXEVAL, problem, ["f('))', 7)", f"{ALWAYS} or f(", "'))7'"]) == [True, False, False]
    assert right(FUSION, problem, ["f('))', 7)", "f(')', ')7')", "exit() or f(1)"]) == [True, True, True]


@pytest.mark.parametrize(
    ("assertion", "truth"),
    [
        ("assert [1, 2] == [1,2]", True),
        ("assert 1 == 2, f(1)", False),
        ("assert 1.0 == True", True),
        ("assert 1 == 0 or 1", None),
        ("assert 1 == 1 == 1", None),
        ("assert set() == set()", None),
        ("assert 1 == 1\nf(1)", None),
        ("assert 1 == {[1]: 2}", None),
        ("assert 1 == ", None),
        ("assert 1 == " + "1" * 200_000, None),
        ("assert 1 == " + "[" * 5_000, None),
        ("print(1 == 1)", None),
    ],
)
def test_only_two_literals_are_decided_without_running(assertion, truth):
    assert literal_verdict(assertion) is truth


# ------------------------------------------------------------------------------------------------ LiveCodeBench


def test_base_imports_are_the_published_bytes():
    text = prompts.render("livecodebench.base_imports")
    assert len(text) == 1384
    assert hashlib.sha256(text.encode()).hexdigest().startswith("9b479c36db6e0322")


def test_bisect_is_the_module_and_pandas_is_there():
    row = ("def f(x):\n    return bisect([1], x)", "1", "1")
    called, module = judge(
        LIVECODEBENCH, output_problem(row), ["1 + f (1)", "(bisect.bisect([1], 1) if pd else 0)"]
    )
    assert (called.reason, module.passed) == (Reason.RUNTIME_ERROR, True)
    assert "not callable" in called.detail


def test_without_pandas_only_literals_are_graded(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    problem = output_problem(TEXT)
    assert right(LIVECODEBENCH, problem, ["'))7'", "2"]) == [True, False]
    with pytest.raises(UserError, match=r"to run sample_0 it needs pandas, .* pip install 'truegrade\[pandas\]'"):
        right(LIVECODEBENCH, problem, ["0 or 1"])


def test_denominators():
    kept, lost, echo = (True, ()), (False, ()), (False, (SKIPPED,))
    assert LIVECODEBENCH.tally([lost, echo, echo]) == (1, 0)
    assert CRUXEVAL.tally([lost, echo, echo]) == (3, 0)
    for profile in (LIVECODEBENCH, CRUXEVAL, OPENAI):
        assert profile.tally([kept, lost, echo]) == (2, 1)
        assert profile.tally([echo, echo]) == (2, 0)
    assert LM_EVAL.tally([kept, lost, echo]) == FUSION.tally([kept, lost, echo]) == (3, 1)


# ------------------------------------------------------------------------------------------- prompts decide rules


def test_the_prompt_that_is_answered_decides_the_rule():
    text = "a == 3\n[ANSWER]\nassert f(1) == 4\n[/ANSWER]"
    problem = output_problem(NESTED)
    taken = {name: [value(open_profile(name), problem, text, prompt) for prompt in ("default", "cot", None)]
             for name in ("cruxeval", "cruxeval-openai", "livecodebench-exec", "lm-eval")}  # fmt: skip
    direct = "3\n[ANSWER]\nassert f(1)"
    assert taken == {
        "cruxeval": [direct, "4", "4"],
        "cruxeval-openai": [direct, "4", "4"],
        "livecodebench-exec": ["3", "4", "4"],
        "lm-eval": ["3", "4", "4"],
    }
    assert value(CRUXEVAL, problem, " 5 # done [/ANSWER]", "phind") == "5"
    assert value(CRUXEVAL, problem, " 5 # done [/ANSWER]", "default") == "5 # done"
    assert value(OPENAI, problem, "Let me see.\n4", "cot") == "4"


def test_prompts():
    output, given = output_problem(NESTED), input_problem(NESTED)
    assert OPENAI.render_prompt(output).messages[0].role == "system"
    assert OPENAI.render_prompt(given, "cot").stop == ("[/ANSWER]",)
    assert FUSION.render_prompt(output, "phind").messages == CRUXEVAL.render_prompt(output, "phind").messages
    assert FUSION.render_prompt(output).stop == ()
    assert LIVECODEBENCH.render_prompt(output).stop == ("###",)
    assert LIVECODEBENCH.render_prompt(output, "base-cot").messages[0].content.endswith("[THOUGHT]\n")
    shots = LM_EVAL.render_prompt(output).messages[0].content
    assert "assert f(x9j) == x9ja" in shots and shots.endswith(f"{NESTED[0]}\nassert f(1) == ??\n[/PYTHON]")
    assert LM_EVAL.render_prompt(given).messages[0].content.endswith("assert f(??) == [1, {1: 2}]\n[/PYTHON]")
    assert LM_EVAL.render_prompt(output, "cot").messages == CRUXEVAL.render_prompt(output, "cot").messages
    for profile in (CRUXEVAL, FUSION):
        with pytest.raises(UnknownName, match="phind"):
            profile.render_prompt(given, "phind")
    with pytest.raises(UserError, match="no rules for 'dsl-list'"):
        LM_EVAL.render_prompt(output_problem(NESTED, "dsl-list"))
    assert LIVECODEBENCH.render_prompt(output_problem(NESTED, "dsl-list"))


def test_rules_and_defects_are_listed():
    """Every profile of predictions lists its rules, with a source each, and the defects that it reproduces."""
    for name in NAMES[:-1]:
        shown = open_profile(name).describe()
        assert {"prompt", "extraction", "comparison"} <= {rule.step for rule in shown["rules"]}, name
        assert all(rule.source for rule in shown["rules"])
        assert len(shown["defects"]) >= 3, name


def test_what_others_extracted_is_taken_as_it_is():
    text = "x == [ANSWER] 3"
    for profile in (CRUXEVAL, OPENAI, LIVECODEBENCH, LM_EVAL, FUSION):
        assert profile.extract(output_problem(NESTED), reply(text, form="answer")).value == text
