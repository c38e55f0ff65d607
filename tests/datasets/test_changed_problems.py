"""Changed problems: statement, examples and reference change together, and only what holds is kept."""

import ast
from collections import Counter

import pytest

from truegrade.apps.changed.build import Jails, change_problems, operator_rules, worded_by
from truegrade.apps.changed.material import Material
from truegrade.apps.changed.rules import RULES, rules_named
from truegrade.apps.changed.statement import NotChanged, calls_of_tests, read_statement
from truegrade.benchmarks import load_benchmark
from truegrade.errors import UnknownName
from truegrade.grading.functions import grade_by_tests
from truegrade.records import FunctionTask, Problem
from truegrade.sandbox import Limits, Sandbox

HEAD = (
    'def biggest(numbers):\n    """Return the largest of the numbers.\n\n    Examples:\n'
    "    >>> biggest([1, 5])\n    5\n"
    "    biggest([2]) == 2\n    biggest([7, 3]) ➞ 7\n"
    '    """\n'
)
BIGGEST = FunctionTask(
    prompt=HEAD,
    entry_point="biggest",
    prefix=HEAD,
    tests="def check(candidate):\n    assert candidate([1, 5]) == 5\n    assert candidate([4, 9, 2]) == 9\n"
    "    assert candidate([3]) == 3\n\ncheck(biggest)",
    reference=HEAD + "    return max(numbers)\n",
)
WORDS = FunctionTask(
    prompt="Write a function to count the words of a sentence.",
    entry_point="words",
    tests="assert words('a b') == 2\nassert words('a') == 1",
    shown_tests=("assert words('a b') == 2",),
    reference="def words(sentence):\n    return len(sentence.split())\n",
)
QUESTION = (
    "### Question:\nGiven an array nums, return the sum of the numbers.\n \nExample 1:\n\nInput: nums = [1,2]\n"
    "Output: 3\nExplanation: 1 + 2 = 3.\n\nExample 2:\n\nInput: nums = [4]\nOutput: 4\n\nConstraints:\n\n"
    "1 <= nums.length\n\n### Format: complete\n```python\nclass Solution:\n    def total(self, nums):\n```\n"
)
METHOD = FunctionTask(
    prompt=QUESTION,
    entry_point="total",
    prefix="import math\n\n",
    tests="def total(nums):\n    return Solution().total(nums)\n\n\ndef check(candidate):\n"
    "    assert candidate(nums = [1, 2]) == 3\n    assert candidate(nums = [4, 5]) == 9\n\ncheck(total)\n",
    reference="class Solution:\n    def total(self, nums):\n        return sum(nums)\n",
    tests_use=("Solution",),
)


@pytest.fixture(scope="module")
def jails():
    with Sandbox(Limits(cpu_s=5.0), 1) as first, Sandbox(Limits(cpu_s=5.0), 1, hash_seed=1) as second:
        yield Jails(first, second)


def problem(task, name="P/1"):
    return Problem(id=name, benchmark="made", dataset_sha256="0", cluster=name, task=task)


def change(task, jails, *rules, worded=None):
    (made,) = change_problems([problem(task)], rules_named(rules or None), jails, worded=worded)
    return made


def described(text, reference, *tests):
    name = ast.parse(reference).body[-1].name
    return FunctionTask(prompt=text, entry_point=name, tests="\n".join(tests), reference=reference)


def proposed(rule, task):
    """What a rule makes of a task of which nothing is run: the new text and the new reference."""
    calls = calls_of_tests(task.tests, task.entry_point)
    values = [ast.literal_eval(ast.parse(line).body[0].test.comparators[0]) for line in task.tests.splitlines()]
    statement = read_statement(task.prompt, task.entry_point, "text")
    material = Material(statement, task.entry_point, ast.parse(task.reference), calls, values)
    made = rules_named([rule])[0].propose(material)
    if made is None:
        return None
    text = task.prompt
    for begin, end, new in sorted(made.edits, reverse=True):
        text = text[:begin] + new + text[end:]
    return text, made.reference.rstrip().splitlines()[-1].strip(), made.entry_point


# --------------------------------------------------------------------------------------------- statements


def test_every_form_of_example_is_found_with_its_value():
    found = read_statement(HEAD, "biggest", "docstring")
    assert [(one.case.args, one.shown) for one in found.examples] == [
        (([1, 5],), "5"),
        (([2],), "2"),
        (([7, 3],), "7"),
    ]
    assert "biggest" not in found.prose and "largest" in found.prose


@pytest.mark.parametrize(
    "more",
    ["For [1, 2] it is 2.", ">>> other(1)\n    2", "biggest([1]) is the number itself", "e.g. one", "x == 3"],
)
def test_a_statement_with_an_example_that_is_not_read_is_refused(more):
    with pytest.raises(NotChanged, match="not read"):
        read_statement(HEAD.replace("Examples:", more), "biggest", "docstring")


def test_the_explanations_of_leetcode_are_no_part_of_the_prose():
    found = read_statement(QUESTION, "total", "method")
    assert [one.shown for one in found.examples] == ["3", "4"]
    assert "1 + 2" not in found.prose and "Constraints" not in found.prose
    assert QUESTION[found.insertion :].startswith("Example 1")


# -------------------------------------------------------------------------------------------------- rules


@pytest.mark.parametrize(
    ("rule", "text", "reference", "test", "becomes"),
    [
        ("extreme", "Find the smallest item.", "def f(x):\n    return min(x)", "f([1, 2]) == 1",
         ("Find the largest item.", "return max(x)", "f")),
        ("extreme", "Find the largest number.", "def find_Max(x):\n    return max(x)", "find_Max([1]) == 1",
         ("Find the smallest number.", "return min(x)", "find_Min")),
        ("order", "Sort in descending order.", "def f(x):\n    return sorted(x, reverse=True)", "f([1]) == [1]",
         ("Sort in ascending order.", "return sorted(x)", "f")),
        ("parity", "Count the even ones.", "def f(x):\n    return len([i for i in x if i % 2 == 0])",
         "f([1]) == 0",
         ("Count the odd ones.", "return len([i for i in x if i % 2 != 0])", "f")),
        ("boundary", "Whether x is less than 5.", "def f(x):\n    return x < 5", "f(1) == True",
         ("Whether x is less than or equal to 5.", "return x <= 5", "f")),
        ("boundary", "Whether x is at least 5.", "def f(x):\n    return x >= 5", "f(1) == False",
         ("Whether x is more than 5.", "return x > 5", "f")),
        ("number", "Whether x is divisible by 7.", "def f(x):\n    return x % 7 == 0", "f(1) == False",
         ("Whether x is divisible by 8.", "return x % 8 == 0", "f")),
        ("combination", "Find the sum of the items.", "def f(x):\n    return sum(x)", "f([1]) == 1",
         ("Find the product of the items.", "return math.prod(x)", "f")),
        ("letter-case", "Make an uppercase text.", "def f(x):\n    return x.upper()", "f('a') == 'A'",
         ("Make a lowercase text.", "return x.lower()", "f")),
        ("affix", "Does it start with a?", "def f(x):\n    return x.startswith('a')", "f('a') == True",
         ("Does it end with a?", "return x.endswith('a')", "f")),
        ("quantifier", "Check if all the items are true.", "def f(x):\n    return all(x)", "f([1]) == True",
         ("Check if at least one of the items are true.", "return any(x)", "f")),
        ("truth", "Return True if x equals one.", "def f(x):\n    return x == 1", "f(1) == True",
         ("Return False if x equals one.", "return not x == 1", "f")),
        ("skipped-first", "Find the total of the list", "def f(x):\n    return sum(x)", "f([1]) == 1",
         ("Find the total of the list. Ignore the first element of the given list.", "return sum(x)", "f")),
        ("doubled", "Find the number of items.", "def f(x, y):\n    return x + y",
         "f(1, 2) == 3\nassert f(2, 2) == 4",
         ("Find the number of items. What is returned is twice the number asked for.", "return 2 * (x + y)", "f")),
    ],
)  # fmt: skip
def test_a_rule_changes_statement_and_reference_together(rule, text, reference, test, becomes):
    assert proposed(rule, described(text, reference, f"assert {test}")) == becomes


@pytest.mark.parametrize(
    ("rule", "text", "reference", "test"),
    [
        # two places, of which nobody knows the right one
        ("extreme", "Find the smallest item.", "def f(x):\n    return min(x) + min(x)", "f([1]) == 2"),
        # the statement speaks of both
        ("parity", "Sum even minus odd.", "def f(x):\n    return sum(i for i in x if i % 2 == 0)", "f([1]) == 0"),
        # a total that begins with 0 has no smallest
        ("extreme", "Find the largest sum.", "def f(x):\n    b = 0\n    for i in x: b = max(b, i)\n    return b",
         "f([1]) == 1"),
        # the sort is a means, not what is returned
        ("order", "In ascending order.", "def f(x):\n    y = sorted(x)\n    n = len(y)\n    return n",
         "f([1]) == 1"),
        # a word that stands in the program: nothing should be done to it
        ("upper-text", "Say what it is.", "def f(x):\n    return 'Even'", "f(2) == 'Even'"),
        # a list shorter by one no longer has this length
        ("skipped-first", "The list and its size.", "def f(x, n):\n    return sum(x) + n", "f([1, 2], 2) == 5"),
        # a function that calls itself would change its result at every call
        ("doubled", "The number of items.", "def f(x):\n    return x and 1 + f(x - 1)", "f(2) == 2"),
    ],
)  # fmt: skip
def test_a_rule_keeps_away_from_what_it_cannot_tell(rule, text, reference, test):
    assert proposed(rule, described(text, reference, f"assert {test}")) is None


def test_rules_go_by_name_and_have_names_of_their_own():
    assert len({rule.name for rule in RULES}) == len(RULES)
    with pytest.raises(UnknownName, match="change rule"):
        rules_named(["oder"])


# --------------------------------------------------------------------------------------------- what is kept


def test_a_changed_problem_shows_new_values_and_its_tests_refuse_the_old_answer(jails):
    made = change(BIGGEST, jails, "extreme")
    task, told = made.task, made.change
    assert "Return the smallest of the numbers." in task.prompt and task.entry_point == "lowest"
    assert ">>> lowest([1, 5])\n    1\n    lowest([2]) == 2\n    lowest([7, 3]) ➞ 3" in task.prompt
    assert (told.old, told.new, told.differing, told.tests) == ("5", "1", 2, 3)
    assert grade_by_tests(task, task.reference, jails.first).passed
    assert not grade_by_tests(task, task.prefix + "    return max(numbers)\n", jails.first).passed


def test_shown_tests_are_made_anew(jails):
    made = change(WORDS, jails, "case-ignored", "doubled")
    assert made.change.rule == "doubled"  # the other gives the same number
    assert made.task.shown_tests == ("assert words('a b') == 4",)
    assert made.task.prompt.endswith("What is returned is twice the number asked for.")
    assert made.refused == Counter({"case-ignored: equal to the original on every input": 1})


def test_a_method_is_changed_without_the_explanations_of_its_examples(jails):
    made = change(METHOD, jails, "combination")
    assert "return the product of the numbers" in made.task.prompt
    assert "Output: 2\n\nExample 2" in made.task.prompt and "Explanation" not in made.task.prompt
    assert "Output: 4\n\nConstraints" in made.task.prompt
    assert grade_by_tests(made.task, made.task.prefix + made.task.reference, jails.first).passed


@pytest.mark.parametrize(
    ("task", "why"),
    [
        (described("Do it.", "def f(x):\n    return x", "assert f(1) == 1"), "its tests hold too few calls"),
        (described("Do it.", "def f(x):\n    return x", "assert f(1) == 1", "assert f(2) == 2"), "no rule fits"),
        (described("The sum of x.", "def f(x):\n    return sum(x)", "assert f([1]) == 1", "assert f([2]) == 2"),
         "combination: equal to the original on every input"),
        (described("The smallest.", "def f(x):\n    import random\n    return min(x) + random.random()",
                   "assert f([1]) == 1", "assert f([2]) == 2"), "a call does not always return the same value"),
    ],
)  # fmt: skip
def test_what_cannot_be_changed_has_a_reason_that_is_counted(task, why, jails):
    made = change(task, jails, "combination", "extreme")
    assert made.task is None and made.change is None
    assert any(reason.startswith(why) for reason in made.refused)


def test_an_example_that_the_reference_contradicts_is_not_repeated(jails):
    prompt = HEAD.replace("    5\n", "    6\n")
    task = FunctionTask(
        prompt=prompt, entry_point="biggest", prefix=prompt, tests=BIGGEST.tests,
        reference=prompt + "    return max(numbers)\n",
    )  # fmt: skip
    assert (
        "extreme: an example of the original shows another value than its reference returns"
        in change(task, jails, "extreme").refused
    )


# ----------------------------------------------------------------------------------------------- with a model

NEW = "Write a function to count the words of a sentence, less one."
RIGHT = "```python\ndef words(sentence):\n    return len(sentence.split()) - 1\n```"


def worded(wording, solution, jails):
    asked = []

    def ask(question):
        asked.append(question)
        return wording

    def check(question):
        asked.append(question)
        return solution

    rules = [rule for rule in operator_rules() if rule.name in {"arithmetic", "number"}]
    task = described(
        WORDS.prompt, "def words(sentence):\n    n = len(sentence.split())\n    return n + 0 - 1 + 1\n",
        "assert words('a b') == 2", "assert words('a') == 1",
    )  # fmt: skip
    (made,) = change_problems([problem(task)], rules[:1], jails, worded=worded_by(ask, check, jails))
    return made, asked


def test_a_statement_of_a_model_is_kept_if_it_can_be_solved_from_it_alone(jails):
    made, asked = worded(f"Here:\n```\n{NEW}\n```", RIGHT.replace("- 1", "- 2"), jails)
    assert made.task.prompt == NEW and made.change.family == "model"
    assert "Second program" in asked[0] and WORDS.prompt in asked[0]
    assert NEW in asked[1] and "n + 0" not in asked[1] and WORDS.prompt not in asked[1]


@pytest.mark.parametrize(
    ("wording", "solution", "why"),
    [
        (f"```\n{NEW}\n```", RIGHT, "a second reply could not solve the new statement"),
        (f"```\n{NEW}\n```", "I cannot.", "a second reply could not solve the new statement"),
        (f"```\n{WORDS.prompt}\n```", RIGHT, "the model left the statement as it was"),
        ("```\n\n```", RIGHT, "the model wrote no statement"),
        (f"```\n{NEW} words('a b') == 2\n```", RIGHT, "an example of the model's statement is wrong"),
    ],
)
def test_a_statement_of_a_model_that_does_not_hold_is_thrown_away(wording, solution, why, jails):
    made, _ = worded(wording, solution, jails)
    assert made.task is None
    assert [reason.partition(": ")[2] for reason in made.refused] == [why]


@pytest.mark.slow
@pytest.mark.thorough
def test_problems_of_the_real_sets_are_changed_the_same_way_each_time(data_dir, jails):
    problems = [one for name in ("humaneval", "mbpp") for one in load_benchmark(name, data_dir).problems[:20]]
    first, again = (list(change_problems(problems, RULES, jails)) for _ in range(2))
    assert first == again
    made = [one for one in first if one.task is not None]
    assert len(made) >= 10 and all(one.change.differing for one in made)
    assert all(one.task.prompt != one.original.task.prompt for one in made)
