"""micro-repair: drawn from a seed, split as it says, graded by calls, worded as QuixBugs' prompt."""

from collections import Counter

import pytest

from truegrade.benchmarks import load_benchmark, micro_repair
from truegrade.errors import UnknownName, UserError
from truegrade.grading.functions import grade_by_tests
from truegrade.profiles.strict import Strict
from truegrade.prompts import render
from truegrade.records import Completion
from truegrade.sandbox import Limits, Sandbox


def loaded(**args):
    return load_benchmark("micro-repair", args=args)


def test_the_same_seed_gives_the_same_set_and_another_seed_another():
    one, other = loaded(size="12"), loaded(size="12", seed="1")
    micro_repair._problems.cache_clear()  # or it would be the same object
    same = loaded(size="12")
    assert one.problems is not same.problems
    assert one == same
    assert one.dataset_sha256 != other.dataset_sha256
    assert not {p.task.buggy for p in one.problems} & {p.task.buggy for p in other.problems}


def test_a_larger_set_begins_with_the_smaller():
    few, many = loaded(size="8").problems, loaded(size="16").problems
    assert [p.task for p in few] == [p.task for p in many[:8]]


def test_the_four_splits_take_turns():
    tags = Counter((p.tags["program"], p.tags["bug"]) for p in loaded(size="20").problems)
    assert set(tags.values()) == {5} and len(tags) == 4


@pytest.mark.parametrize("split", ["seen-seen", "seen-unseen", "unseen-seen", "unseen-unseen"])
def test_a_split_holds_nothing_else(split):
    for problem in loaded(split=split, size="6").problems:
        assert f"{problem.tags['program']}-{problem.tags['bug']}" == split


@pytest.mark.parametrize(
    ("args", "said"),
    [({"size": "0"}, "size=0"), ({"size": "many"}, "size=many"), ({"seed": "-1"}, "seed=-1"),
     ({"split": "none"}, "split=none")],
)  # fmt: skip
def test_arguments_out_of_range_are_refused(args, said):
    with pytest.raises(UserError, match=said):
        loaded(**args)


def test_unknown_arguments_and_files_are_refused(tmp_path):
    with pytest.raises(UnknownName, match="size"):
        loaded(sise="3")
    with pytest.raises(UserError, match="reads no file"):
        load_benchmark("micro-repair", tmp_path)


def test_the_prompt_is_quixbugs_own():
    problem = loaded(size="4").problems[3]
    asked = Strict().render_prompt(problem)
    assert [message.role for message in asked.messages] == ["user"]
    name = problem.task.entry_point
    assert asked.messages[0].content == render("quixbugs.repair", name=name, buggy=problem.task.buggy)
    assert asked.messages[0].content.startswith(f"Fix the buggy Python function in {name}.py\n\n")
    assert problem.task.reference not in asked.messages[0].content


def test_correct_programs_pass_and_buggy_ones_fail():
    profile = Strict()
    with Sandbox(Limits(cpu_s=10), workers=1, allow_unsafe=True) as jail:
        for problem in loaded(size="8").problems:
            for code, passes in ((problem.task.reference, True), (problem.task.buggy, False)):
                reply = Completion(
                    benchmark=problem.benchmark, dataset_sha256="", problem_id=problem.id, sample=0,
                    config_sha256="", prompt_sha256="", text=f"```python\n{code}\n```", model="",
                )  # fmt: skip
                answer = profile.extract(problem, reply)
                assert answer.value is not None and answer.value.strip() == code
                assert grade_by_tests(problem.task, answer.value, jail).passed is passes
