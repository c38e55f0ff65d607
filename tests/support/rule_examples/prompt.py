r"""What the prompts hold that the rules of the step ``prompt`` speak of, and what they would hold otherwise.

Temperatures, numbers of tokens and numbers of samples, which some of these rules name as the harness has them, are
options of a run (``--temperature``, ``--max-tokens``, ``-n``): no profile sets them, so no example shows them.
"""

# ruff: noqa: E501 - keys are the beginnings of rules

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
    "code tasks: complete the code in one fenced block": (
        Asked(
            "humaneval",
            roles=USER,
            begins="Complete this Python function:",
            has=(HEAD, "one ```python code block"),
            stop=(),
        ),
        Asked("mbpp", has=("Add two numbers.", "assert add(1, 2) == 3", "assert add(1, 1) == 2")),
    ),
    "output prediction: exec.prediction.zero_shot": (
        Asked(
            "prediction",
            roles=USER,
            has=(ASKED_CALL, "[ANSWER] and [/ANSWER] tags"),
            lacks=("x9j", "bhihia"),
            ends=f"{ASKED_CALL}\n[/PYTHON]",
        ),
    ),
    "value inside a call: strict.state.user; value_of(...) and runs_of(...) stand for it": (
        Asked(
            "state",
            roles=USER,
            has=("value_of('y', line=2, time=1) stands for", "directly after line 2, `y = x + 1`, has run once"),
            ends="f(1)\nassert value_of('y', line=2, time=1) == ??\n[/PYTHON]",
        ),
        Asked("runs", has=("number of times that line 2, `y = x + 1`,",), ends="runs_of(line=2) == ??\n[/PYTHON]"),
    ),
    "choice: exec.choice.zero_shot": (
        Asked(
            "choice",
            roles=USER,
            has=("[PROGRAM_B]\ndef f(x): return -x\n[/PROGRAM_B]", "chosen_program"),
            lacks=("Example",),
            ends=f"{ASKED_CALL}\n[/ASSERTION]",
        ),
    ),
    "test output prediction: LiveCodeBench's system message": (
        Asked(
            "question",
            roles=WITH_SYSTEM,
            begins="You are a helpful programming assistant and an expert Python",
            ends="```\nassert f(1) == # TODO\n```\n",
        ),
    ),
    "input prediction: CRUXEval's direct prompt": (
        Asked(
            "cruxeval-input",
            roles=USER,
            has=("assert f(??) == 1",),
            lacks=("[THOUGHT]",),
            ends="[/PYTHON]\n[ANSWER]\n",
        ),
    ),
    "repair: quixbugs.repair, the function's name": (
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
    "the data set's prompt, as stored, for a base model": (Asked("humaneval", whole=f"{HEAD}\n", style="text"),),
    "stop at \\nclass \\ndef \\n# \\nif \\nprint": (Asked("humaneval", stop=CODEX),),
    "default: the OpenAI back end's message, no stop strings": (
        Asked(
            "humanevalplus",
            roles=USER,
            begins="Please provide a self-contained Python script",
            ends=f'""" Add. """\n{FENCE}',
            stop=(),
        ),
    ),
    "anthropic: the same and a newline, with stop strings": (
        Asked("humanevalplus", "anthropic", roles=USER, ends=f'""" Add. """\n{FENCE}\n', stop=EOS),
    ),
    "chat: a chat template's turns; the answer's fence is opened": (
        Asked("humanevalplus", "chat", roles=BEGUN, ends=f"{FENCE}python\n", stop=(*EOS, "\n```\n")),
    ),
    "base: the prompt stripped, and a newline; stop": (
        Asked(
            "spaced oracle",
            "base",
            whole=f"{HEAD}\n",
            style="text",
            stop=(*EOS, "\ndef ", "\nclass ", "\nimport ", "\nfrom ", "\nassert "),
        ),
        Asked("mbppplus", "base", stop=(*EOS, '\n"""', "\nassert")),
    ),
    "HumanEval: the prompt stripped; unstripped: as stored": (
        Asked("humaneval", whole=HEAD, style="text"),
        Asked("humaneval", "unstripped", whole=f"{HEAD}\n", style="text"),
    ),
    "MBPP: a docstring of the description and the first test; no shots": (
        Asked("mbpp", whole='"""\nAdd two numbers.\nassert add(1, 2) == 3\n"""\n', style="text", shots=()),
    ),
    "none here: its words are fields of codeparrot": (Asked("humaneval", refused="codeparrot/instructhumaneval"),),
    "the harness' style `instruct`, stripped. HumanEvalFix": (
        Asked(
            "humanevalfix",
            begins="def add(a, b):\n    return a - b\n",
            has=("assert add(1, 2) == 3", "\nFix bugs in add.\n"),
            ends="Add two numbers.",
            style="text",
        ),
        Asked("humanevalsynthesize", whole="Add two numbers.", style="text"),
    ),
    "continue: the head alone, of HumanEvalSynthesize only": (
        Asked("humanevalsynthesize", "continue", whole="def add(a, b):", style="text"),
        Asked("humanevalfix", "continue", refused="no prompt variant 'continue'"),
    ),
    "HumanEvalExplain: the first of two questions": (
        Asked(
            "explained",
            whole="def four(n: int) -> int:\n    return 4 * n\n\nProvide a concise natural language description of the code using at most 27 characters.",
        ),
    ),
    "the field query, as stored, as one message of the user": (
        Asked("leetcode-dataset", whole="Add two numbers.", roles=USER, style="chat"),
    ),
    "default: an instruction and the problem, stripped": (
        Asked(
            "spaced suite",
            roles=USER,
            begins="Please provide a self-contained",
            ends=f"{FENCE}\n{HEAD}\n{FENCE}\n",
            stop=(),
        ),
    ),
    "chat: the same, and the answer's turn begun with": (
        Asked(
            "bigcodebench",
            "chat",
            roles=BEGUN,
            has=("Below is a Python script with a self-contained",),
            ends=f"{FENCE}python\n",
            stop=EOS,
        ),
    ),
    "base: code to complete as it is stored, with stop": (
        Asked(
            "spaced suite",
            "base",
            whole=f"\n{HEAD}\n\n",
            style="text",
            stop=(*EOS, "\ndef ", "\nclass ", "\nimport ", "\nfrom ", "\nassert "),
        ),
        Asked("described suite", "base", refused="base models complete code"),
    ),
    "HumanEval: the data set's prompt as stored, 1024": (
        Asked("humaneval", whole=f"{HEAD}\n", style="text", stop=CODEX),
    ),
    "MBPP: the paper's prompt, tasks 2, 3, 4 as shots, three tests": (
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
    "mbpp-sanitized is asked and graded as mbpp_plus is: field": (
        Asked("mbpp-sanitized", has=("Add two numbers.", "assert add(0, 0) == 0"), ends="[BEGIN]\n", shots=()),
    ),
    "CRUXEval: two shots (default) or CRUXEval's own cot": (
        Asked("crux", style="text", ends="[/PYTHON]", has=("x9j",), lacks=("[THOUGHT]",)),
        Asked("crux", "cot", style="text", ends="[/PYTHON]\n[THOUGHT]\n"),
        Asked("humaneval", "cot", refused="no prompt variant 'cot'"),
    ),
    "HumanEval: the task in a fence; the assistant's turn": (
        Asked(
            "humaneval",
            roles=BEGUN,
            has=(f"{FENCE}python\n{HEAD}\n\n{FENCE}\n",),
            ends=f"Here is the completed function:\n{FENCE}python\n{HEAD}\n\n",
        ),
    ),
    "MBPP: three shots as turns, the assistant's turn": (
        Asked("mbpp", roles=(*BEGUN, *BEGUN, *BEGUN, *BEGUN), ends=f"\n{FENCE}python\n", shots=MBPP_SHOTS),
    ),
    "MBPP+, and sanitized MBPP likewise: no shots, one": (
        Asked(
            "mbpp-sanitized",
            roles=BEGUN,
            has=("assert add(1, 2) == 3",),
            lacks=("assert add(2, 2) == 4",),
            shots=(),
        ),
    ),
    "variant text: without a chat template all turns": (
        Asked(
            "mbpp-sanitized",
            "text",
            roles=USER,
            style="text",
            has=("assert add(1, 2) == 3Here is a solution",),
            ends=f"{FENCE}python\n",
        ),
    ),
    "one sentence and the data set's prompt as stored": (
        Asked("humaneval", roles=USER, begins=SENTENCE, ends=f"{HEAD}\n"),
    ),
    "HumanEval: simple-evals' sentence and the data set's": (
        Asked("humaneval", roles=USER, begins=SENTENCE, ends=f"{HEAD}\n"),
    ),
    "MBPP: tasks 2, 3, 4 as shots (few_shot_num 3)": (
        Asked(
            "mbpp",
            shots=MBPP_SHOTS,
            has=("similar elements", "largest integers"),
            ends="assert add(1, 1) == 2\n[BEGIN]\n",
        ),
        Asked("mbpp", "zero-shot", shots=(), lacks=("similar elements",), ends="assert add(1, 1) == 2"),
    ),
    "mbpp-sanitized is asked and graded as mbpp_plus is: zero": (
        Asked("mbpp-sanitized", shots=(), lacks=("similar elements",), ends="assert add(1, 1) == 2"),
    ),
    "HumanEval: simple-evals' sentence over three lines": (
        Asked(
            "humaneval",
            roles=USER,
            begins="\nRead the following function signature and docstring, and fully implement\nthe function",
            ends=f"this function.\n\n{HEAD}\n",
        ),
    ),
    "MBPP: AgentCoder's layout, tasks 2, 3, 4 as shots": (
        Asked(
            "mbpp-sanitized",
            roles=USER,
            shots=MBPP_SHOTS,
            begins="You are an expert Python programmer. You will be given a task, and the tests",
            has=("similar",),
            ends="## Completion:\n",
        ),
    ),
    "the programmer's: role, chain of thought": (
        Asked(
            "humaneval",
            roles=WITH_SYSTEM,
            begins="You are a software programmer.",
            has=("**Role**", "Chain-of-Thought", "has_close_elements", "separate_paren_groups"),
            ends="## Completion 3:\n",
            shots=HUMANEVAL_SHOTS,
        ),
    ),
    "AgentCoder's text with HumanEval/0 and 1 as shots, indented": (
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
    "direct or cot, for a base model, stop at [/ANSWER]; phind": (
        Asked("crux", style="text", stop=("[/ANSWER]",), ends="[/PYTHON]\n[ANSWER]\n"),
        Asked("crux", "cot", style="text", stop=("[/ANSWER]",), ends="[THOUGHT]\n"),
        Asked("crux", "phind", style="text", stop=("# done",), ends="assert f(1) =="),
    ),
    "direct (max_tokens 100) or cot (1000) behind a system": (
        Asked("crux", roles=WITH_SYSTEM, begins=CRUX_SYSTEM, stop=("[/ANSWER]",), ends="[/PYTHON]\n[ANSWER]\n"),
        Asked("crux", "cot", roles=WITH_SYSTEM, stop=("[/ANSWER]",), ends="[THOUGHT]\n"),
    ),
    "direct or cot, behind a system message; base": (
        Asked(
            "pairs of outputs", roles=WITH_SYSTEM, begins=CRUX_SYSTEM, stop=("###",), ends="[/PYTHON]\n[ANSWER]\n"
        ),
        Asked("pairs of outputs", "cot", roles=WITH_SYSTEM, stop=("###",), ends="[THOUGHT]\n"),
        Asked("pairs of outputs", "base", roles=USER, style="text", stop=("###",), ends="[ANSWER]\n"),
    ),
    "CRUXEval's texts, unchanged, for a base model": (
        Asked("crux", style="text", stop=(), ends="[/PYTHON]\n[ANSWER]\n"),
        Asked("crux", "phind", style="text", stop=(), ends="assert f(1) =="),
    ),
    "the paper's zero-shot prompt, no system message": (
        Asked("prediction", roles=USER, lacks=("bhihia",), ends=f"{ASKED_CALL}\n[/PYTHON]"),
    ),
    "the paper's zero-shot prompts without a system message": (
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
    "zero-shot (gpt-oss; DeepSeek on LeetCode) or one-shot": (
        Asked("prediction", roles=USER, lacks=("bhihia",)),
        Asked("prediction", "one-shot", roles=USER, has=("bhihia",)),
        Asked("choice", "leetcode-notebook", roles=USER, has=('"chosen_program": "A or',)),
        Asked("choice", "dsl-notebook", roles=USER, has=("PROGRAM_A and PROGRAM_B, and an assertion",)),
    ),
    "the paper's zero-shot prompt, or its one-shot prompt": (
        Asked("prediction", roles=USER, lacks=("bhihia",)),
        Asked("prediction", "one-shot", roles=USER, has=("bhihia",)),
    ),
    "quixbugs.repair: name, buggy file and an open": (
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
    "LiveCodeBench: system and user message; starter code": (STDIN, STARTER),
    "system and user message of style OpenAIChat; starter": (STDIN, STARTER),
    "LiveCodeBench's words, system and user message: the reward": (STDIN, STARTER),
    "EvalScope's user message; the system message is": (
        Asked("sums", roles=USER, begins="### Question:\nQC", has=("Read the inputs from stdin",)),
    ),
    "none of its own: the data set's rows hold it; here": (Asked("mbpp|sums", same_as="strict"),),
}
ELSEWHERE = {
    "style GenericBase: one worked example": "its example is a file of LiveCodeBench's that is downloaded; test_livecodebench_prompts compares the prompt with the published hash where there is a checkout",
    "5 completions a task, service defaults; of the first": "of a whole run, not of a prompt: options of the one who asks",
}
"""Rules that no example here can show, and why."""
PROMPT = STRICT | FUNCTIONS | PREDICTIONS | CONTESTS | dict.fromkeys(ELSEWHERE, ())
"""How a rule begins -> prompts that show it."""
