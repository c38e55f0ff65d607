"""`strict` says which problems of a data set no reply can answer, since their own outputs are not read."""

from truegrade.profiles import open_profile
from truegrade.records import ChoiceTask, OutputTask, Problem

STRICT = open_profile("strict")


def problem(*outputs):
    if len(outputs) == 2:
        task = ChoiceTask(
            programs=("a", "b"), function="f", arguments="1", expected=outputs, original="A", item="", case=0
        )
    else:
        task = OutputTask(program="a", function="f", arguments="1", expected=outputs[0])
    return Problem(id=repr(outputs)[:9], benchmark="b", dataset_sha256="d" * 64, cluster="", task=task)


def test_outputs_beyond_a_limit_are_counted_in_one_line():
    long, deep = problem("'" + "a" * 100_001 + "'"), problem("1", "[" * 201 + "]" * 201)
    counter, readable = problem("Counter({'a': 1})"), [problem("9" * 5000), problem("nan", "[1]")]
    causes = (
        "the value has over 100,000 characters (1); the value is nested deeper than 200 (1); a function call (1)"
    )
    said = f"3 of 5 problems have an output that strict reads in no reply: {causes}"
    assert STRICT.warnings([long, deep, counter, *readable]) == [said]
    assert STRICT.warnings(readable) == []
    assert open_profile("code-reasoning").warnings([long]) == []
