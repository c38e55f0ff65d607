r"""What the prompts hold that the rules of the step ``prompt`` speak of, and what they would hold otherwise.

Temperatures, numbers of tokens and numbers of samples, which some of these rules name as the harness has them, are
options of a run (``--temperature``, ``--max-tokens``, ``-n``): no profile sets them, so no example shows them.
"""

from __future__ import annotations

from dataclasses import dataclass

HEAD = 'def add(a, b):\n    """ Add. """'
FENCE = "```"
CODEX = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
EOS = ("<|endoftext|>", "<|endofmask|>", "</s>", "\nif __name__", "\ndef main(", "\nprint(")
MBPP_SHOTS = ("MBPP/2", "MBPP/3", "MBPP/4")
HUMANEVAL_SHOTS = ("HumanEval/0", "HumanEval/1")
USER, WITH_SYSTEM, BEGUN = ("user",), ("system", "user"), ("user", "assistant")
ASKED_CALL = "assert f(1) == ??"
LCB_SYSTEM = "You are an expert Python programmer. You will be given a question (problem specification)"
CRUX_SYSTEM = "You are an expert at Python programming, code execution, test case generation, and fuzzing."
SENTENCE = "Read the following function signature and docstring, and fully implement the function described."


@dataclass(frozen=True)
class Asked:
    """The prompt of a problem in one variant; what is None is not looked at."""

    task: str
    variant: str | None = None
    begins: str = ""
    """Of the first message."""
    has: tuple[str, ...] = ()
    """Texts of which each stands in some message."""
    lacks: tuple[str, ...] = ()
    ends: str = ""
    """Of the last message."""
    whole: str | None = None
    """The one message that there is."""
    roles: tuple[str, ...] | None = None
    stop: tuple[str, ...] | None = None
    style: str | None = None
    shots: tuple[str, ...] | None = None
    same_as: str | None = None
    """Profile whose prompt it is."""
    refused: str | None = None
    """What the refusal says, where there is no such prompt."""


STDIN = Asked("sums", roles=WITH_SYSTEM, begins=LCB_SYSTEM, has=("Read the inputs from stdin", "QC"))
STARTER = Asked(
    "starter",
    roles=WITH_SYSTEM,
    begins=LCB_SYSTEM,
    has=("class Solution:\n    def f(self, a):",),
    lacks=("Read the inputs from stdin",),
)
STRICT = {
    "strict-code": (
        Asked(
            "humaneval",
            roles=USER,
            begins="Complete this Python function:",
            has=(HEAD, "one ```python code block"),
            stop=(),
        ),
        Asked("mbpp", has=("Add two numbers.", "assert add(1, 2) == 3", "assert add(1, 1) == 2")),
    ),
    "strict-output-prediction": (
        Asked(
            "prediction",
            roles=USER,
            has=(ASKED_CALL, "[ANSWER] and [/ANSWER] tags"),
            lacks=("x9j", "bhihia"),
            ends=f"{ASKED_CALL}\n[/PYTHON]",
        ),
    ),
    "strict-state": (
        Asked(
            "state",
            roles=USER,
            has=("value_of('y', line=2, time=1) stands for", "directly after line 2, `y = x + 1`, has run once"),
            ends="f(1)\nassert value_of('y', line=2, time=1) == ??\n[/PYTHON]",
        ),
        Asked("runs", has=("number of times that line 2, `y = x + 1`,",), ends="runs_of(line=2) == ??\n[/PYTHON]"),
    ),
    "strict-choice": (
        Asked(
            "choice",
            roles=USER,
            has=("[PROGRAM_B]\ndef f(x): return -x\n[/PROGRAM_B]", "chosen_program"),
            lacks=("Example",),
            ends=f"{ASKED_CALL}\n[/ASSERTION]",
        ),
    ),
    "strict-test-output": (
        Asked(
            "question",
            roles=WITH_SYSTEM,
            begins="You are a helpful programming assistant and an expert Python",
            ends="```\nassert f(1) == # TODO\n```\n",
        ),
    ),
    "strict-input-prediction": (
        Asked(
            "cruxeval-input",
            roles=USER,
            has=("assert f(??) == 1",),
            lacks=("[THOUGHT]",),
            ends="[/PYTHON]\n[ANSWER]\n",
        ),
    ),
    "strict-repair": (
        Asked(
            "repair",
            roles=USER,
            begins="Fix the buggy Python function in f.py",
            has=("return x + 2",),
            lacks=("return x + 1",),
        ),
    ),
}
FUNCTIONS = {
    "stored-prompt": (Asked("humaneval", whole=f"{HEAD}\n", style="text"),),
    "codex-stops": (Asked("humaneval", stop=CODEX),),
    "evalplus-openai": (
        Asked(
            "humanevalplus",
            roles=USER,
            begins="Please provide a self-contained Python script",
            ends=f'""" Add. """\n{FENCE}',
            stop=(),
        ),
    ),
    "evalplus-anthropic": (
        Asked("humanevalplus", "anthropic", roles=USER, ends=f'""" Add. """\n{FENCE}\n', stop=EOS),
    ),
    "evalplus-chat": (
        Asked("humanevalplus", "chat", roles=BEGUN, ends=f"{FENCE}python\n", stop=(*EOS, "\n```\n")),
    ),
    "evalplus-base": (
        Asked(
            "spaced oracle",
            "base",
            whole=f"{HEAD}\n",
            style="text",
            stop=(*EOS, "\ndef ", "\nclass ", "\nimport ", "\nfrom ", "\nassert "),
        ),
        Asked("mbppplus", "base", stop=(*EOS, '\n"""', "\nassert")),
    ),
    "humaneval-stripped-prompt": (
        Asked("humaneval", whole=HEAD, style="text"),
        Asked("humaneval", "unstripped", whole=f"{HEAD}\n", style="text"),
    ),
    "mbpp-docstring": (
        Asked("mbpp", whole='"""\nAdd two numbers.\nassert add(1, 2) == 3\n"""\n', style="text", shots=()),
    ),
    "words-not-carried": (Asked("humaneval", refused="codeparrot/instructhumaneval"),),
    "humanevalpack-instruct": (
        Asked(
            "humanevalfix",
            begins="def add(a, b):\n    return a - b\n",
            has=("assert add(1, 2) == 3", "\nFix bugs in add.\n"),
            ends="Add two numbers.",
            style="text",
        ),
        Asked("humanevalsynthesize", whole="Add two numbers.", style="text"),
    ),
    "head-to-continue": (
        Asked("humanevalsynthesize", "continue", whole="def add(a, b):", style="text"),
        Asked("humanevalfix", "continue", refused="no prompt variant 'continue'"),
    ),
    "explain-first-question": (
        Asked(
            "explained",
            whole="def four(n: int) -> int:\n    return 4 * n\n\n"
            "Provide a concise natural language description of the code using at most 27 characters.",
        ),
    ),
    "leetcode-query": (Asked("leetcode-dataset", whole="Add two numbers.", roles=USER, style="chat"),),
    "bigcodebench-default": (
        Asked(
            "spaced suite",
            roles=USER,
            begins="Please provide a self-contained",
            ends=f"{FENCE}\n{HEAD}\n{FENCE}\n",
            stop=(),
        ),
    ),
    "bigcodebench-chat": (
        Asked(
            "bigcodebench",
            "chat",
            roles=BEGUN,
            has=("Below is a Python script with a self-contained",),
            ends=f"{FENCE}python\n",
            stop=EOS,
        ),
    ),
    "bigcodebench-base": (
        Asked(
            "spaced suite",
            "base",
            whole=f"\n{HEAD}\n\n",
            style="text",
            stop=(*EOS, "\ndef ", "\nclass ", "\nimport ", "\nfrom ", "\nassert "),
        ),
        Asked("described suite", "base", refused="base models complete code"),
    ),
    "lm-eval-humaneval": (Asked("humaneval", whole=f"{HEAD}\n", style="text", stop=CODEX),),
    "lm-eval-mbpp": (
        Asked(
            "mbpp",
            style="text",
            stop=("[DONE]",),
            shots=MBPP_SHOTS,
            has=("similar elements", "non-prime", "largest integers"),
            ends="assert add(0, 0) == 0\n[BEGIN]\n",
            lacks=("assert add(1, 1) == 2",),
        ),
    ),
    "lm-eval-mbpp-sanitized": (
        Asked("mbpp-sanitized", has=("Add two numbers.", "assert add(0, 0) == 0"), ends="[BEGIN]\n", shots=()),
    ),
    "lm-eval-cruxeval": (
        Asked("crux", style="text", ends="[/PYTHON]", has=("x9j",), lacks=("[THOUGHT]",)),
        Asked("crux", "cot", style="text", ends="[/PYTHON]\n[THOUGHT]\n"),
        Asked("humaneval", "cot", refused="no prompt variant 'cot'"),
    ),
    "lm-eval-instruct-humaneval": (
        Asked(
            "humaneval",
            roles=BEGUN,
            has=(f"{FENCE}python\n{HEAD}\n\n{FENCE}\n",),
            ends=f"Here is the completed function:\n{FENCE}python\n{HEAD}\n\n",
        ),
    ),
    "lm-eval-instruct-mbpp": (
        Asked("mbpp", roles=(*BEGUN, *BEGUN, *BEGUN, *BEGUN), ends=f"\n{FENCE}python\n", shots=MBPP_SHOTS),
    ),
    "lm-eval-instruct-mbppplus": (
        Asked(
            "mbpp-sanitized",
            roles=BEGUN,
            has=("assert add(1, 2) == 3",),
            lacks=("assert add(2, 2) == 4",),
            shots=(),
        ),
    ),
    "joined-turns": (
        Asked(
            "mbpp-sanitized",
            "text",
            roles=USER,
            style="text",
            has=("assert add(1, 2) == 3Here is a solution",),
            ends=f"{FENCE}python\n",
        ),
    ),
    "simple-evals-sentence": (Asked("humaneval", roles=USER, begins=SENTENCE, ends=f"{HEAD}\n"),),
    "evalscope-humaneval": (Asked("humaneval", roles=USER, begins=SENTENCE, ends=f"{HEAD}\n"),),
    "evalscope-mbpp": (
        Asked(
            "mbpp",
            shots=MBPP_SHOTS,
            has=("similar elements", "largest integers"),
            ends="assert add(1, 1) == 2\n[BEGIN]\n",
        ),
        Asked("mbpp", "zero-shot", shots=(), lacks=("similar elements",), ends="assert add(1, 1) == 2"),
    ),
    "evalscope-mbpp-sanitized": (
        Asked("mbpp-sanitized", shots=(), lacks=("similar elements",), ends="assert add(1, 1) == 2"),
    ),
    "inspect-humaneval": (
        Asked(
            "humaneval",
            roles=USER,
            begins="\nRead the following function signature and docstring, and fully implement\nthe function",
            ends=f"this function.\n\n{HEAD}\n",
        ),
    ),
    "inspect-mbpp": (
        Asked(
            "mbpp-sanitized",
            roles=USER,
            shots=MBPP_SHOTS,
            begins="You are an expert Python programmer. You will be given a task, and the tests",
            has=("similar",),
            ends="## Completion:\n",
        ),
    ),
    "agentcoder-programmer": (
        Asked(
            "humaneval",
            roles=WITH_SYSTEM,
            begins="You are a software programmer.",
            has=("**Role**", "Chain-of-Thought", "has_close_elements", "separate_paren_groups"),
            ends="## Completion 3:\n",
            shots=HUMANEVAL_SHOTS,
        ),
    ),
    "agentcoder-text": (
        Asked(
            "humaneval",
            roles=WITH_SYSTEM,
            begins="You are a software programmer.",
            has=("        **Role**", "shown_0", "shown_1"),
            shots=HUMANEVAL_SHOTS,
        ),
    ),
}
PREDICTIONS = {
    "cruxeval-direct-cot-phind": (
        Asked("crux", style="text", stop=("[/ANSWER]",), ends="[/PYTHON]\n[ANSWER]\n"),
        Asked("crux", "cot", style="text", stop=("[/ANSWER]",), ends="[THOUGHT]\n"),
        Asked("crux", "phind", style="text", stop=("# done",), ends="assert f(1) =="),
    ),
    "cruxeval-openai-direct-cot": (
        Asked("crux", roles=WITH_SYSTEM, begins=CRUX_SYSTEM, stop=("[/ANSWER]",), ends="[/PYTHON]\n[ANSWER]\n"),
        Asked("crux", "cot", roles=WITH_SYSTEM, stop=("[/ANSWER]",), ends="[THOUGHT]\n"),
    ),
    "livecodebench-execution": (
        Asked(
            "pairs of outputs", roles=WITH_SYSTEM, begins=CRUX_SYSTEM, stop=("###",), ends="[/PYTHON]\n[ANSWER]\n"
        ),
        Asked("pairs of outputs", "cot", roles=WITH_SYSTEM, stop=("###",), ends="[THOUGHT]\n"),
        Asked("pairs of outputs", "base", roles=USER, style="text", stop=("###",), ends="[ANSWER]\n"),
    ),
    "words-of-cruxeval": (
        Asked("crux", style="text", stop=(), ends="[/PYTHON]\n[ANSWER]\n"),
        Asked("crux", "phind", style="text", stop=(), ends="assert f(1) =="),
    ),
    "paper-zero-shot": (Asked("prediction", roles=USER, lacks=("bhihia",), ends=f"{ASKED_CALL}\n[/PYTHON]"),),
    "paper-zero-shot-or-bedrock": (
        Asked("prediction", roles=USER, lacks=("bhihia",), ends=f"{ASKED_CALL}\n[/PYTHON]"),
        Asked(
            "prediction", "inference-py", roles=WITH_SYSTEM, begins="You are an expert Python programmer. Generate"
        ),
        Asked(
            "choice",
            "bedrock",
            roles=WITH_SYSTEM,
            begins="You are a meticulous Python execution reasoning",
            lacks=("You are given two Python programs below",),
        ),
    ),
    "notebook-zero-or-one-shot": (
        Asked("prediction", roles=USER, lacks=("bhihia",)),
        Asked("prediction", "one-shot", roles=USER, has=("bhihia",)),
        Asked("choice", "leetcode-notebook", roles=USER, has=('"chosen_program": "A or',)),
        Asked("choice", "dsl-notebook", roles=USER, has=("PROGRAM_A and PROGRAM_B, and an assertion",)),
    ),
    "paper-zero-or-one-shot": (
        Asked("prediction", roles=USER, lacks=("bhihia",)),
        Asked("prediction", "one-shot", roles=USER, has=("bhihia",)),
    ),
    "quixbugs-repair": (
        Asked(
            "repair",
            roles=USER,
            style="chat",
            begins="Fix the buggy Python function in f.py",
            has=("return x + 2",),
            ends=f"{FENCE}python\n",
            stop=(),
        ),
        Asked("repair", "base", style="text", ends=f"{FENCE}python\n", stop=()),
    ),
}
CONTESTS = {
    "evalscope-livecodebench": (STDIN, STARTER),
    "livecodebench-openai-chat": (STDIN, STARTER),
    "words-of-livecodebench": (STDIN, STARTER),
    "evalscope-user-message": (
        Asked("sums", roles=USER, begins="### Question:\nQC", has=("Read the inputs from stdin",)),
    ),
    "words-of-strict": (Asked("mbpp|sums", same_as="strict"),),
}
ELSEWHERE = {
    "livecodebench-generic-base": "its example is a file of LiveCodeBench's that is downloaded;"
    " test_livecodebench_prompts compares the prompt with the published hash where there is a checkout",
    "five-completions": "of a whole run, not of a prompt: options of the one who asks",
}
"""Rules that no example here can show, and why."""
PROMPT = STRICT | FUNCTIONS | PREDICTIONS | CONTESTS | dict.fromkeys(ELSEWHERE, ())
"""Id of a rule -> prompts that show it."""
