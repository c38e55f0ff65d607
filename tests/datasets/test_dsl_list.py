"""DSL-List: what is written reads back, what is drawn obeys the rules, what is built repeats to the byte."""

import ast
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.builders.dsl_list import DslListOptions, build, degenerate
from truegrade.builders.list_language import (
    GRAMMARS,
    TermSampler,
    Type,
    default_weights,
    fit,
    nonterminals,
    read_program,
    read_weights,
    source,
)
from truegrade.builders.mutation.file import check_rows
from truegrade.datasets.download import sha256
from truegrade.datasets.executions import encode_rows
from truegrade.datasets.identity import identity
from truegrade.errors import BadRecord, UnknownName, UserError
from truegrade.sandbox import Limits, Sandbox


@pytest.fixture(scope="module")
def jail():
    with Sandbox(Limits(cpu_s=10), workers=2, allow_unsafe=True) as opened:
        yield opened


@st.composite
def terms(draw, grammar="extended", max_depth=5):
    rng = random.Random(draw(st.integers(0, 10**9)))
    operations = GRAMMARS[grammar]
    wanted = draw(st.sampled_from(list(Type)))
    return TermSampler(operations, default_weights(operations)).draw(wanted, max_depth, rng)


@given(terms())
def test_a_program_reads_back_as_one_that_writes_the_same(term):
    code = source(term, "f")
    read = read_program(code, GRAMMARS["extended"])
    assert read is not None
    assert source(read, "f") == code
    assert term.depth <= 5 and read.depth <= term.depth + 1


@given(terms())
def test_programs_are_one_line_and_laid_out_as_ast_does_it(term):
    code = source(term, "f")
    assert code.endswith("\n") and code.split("def ")[1].count("\n") == 2
    assert ast.unparse(ast.parse(code)).split() == code.split()


def test_published_programs_are_read_whatever_their_parentheses_and_names():
    code = "def dsl_prog_9(a1):\n    return list(map(lambda elem_0: ((4) * (4)) + (elem_0), (a1)[1:]))\n"
    assert str(read_program(code, GRAMMARS["published"])) == "(map (lambda (x) (+ (* 4 4) x)) (cdr a1))"
    assert read_program("def f(a1):\n    return a1.copy()\n", GRAMMARS["published"]) is None
    assert read_program("not python", GRAMMARS["published"]) is None


@pytest.mark.parametrize(
    ("expression_text", "broken"),
    [
        ("[1] + []", "parameter"),
        ("a1 + a1", "equal parts"),
        ("a1 if 1 > len(a1) else []", "left of a comparison"),
        ("a1 if len(a1) > len(a1) else []", "equal parts"),
        ("a1 if len(a1) > 2 else a1", "equal parts"),
        ("a1 if 3 * 0 > 2 else []", "constant"),
        ("a1 + [len([])]", "empty list"),
        ("a1 + list(map(lambda x: x + 1, []))", "empty list"),
        ("a1 + [[][0]]", "taken out of the empty list"),
        ("list(map(lambda x: 3, a1))", "does not use"),
        ("list(map(lambda x: x, a1))", "gives back"),
        ("a1 + [-1]", "negative literal"),
        ("a1[:-1]", "negative literal"),
        ("a1 + [max(a1[0], a1[0])]", "equal parts"),
        ("a1[-1:][0] if a1 == [] or a1 == [] else 1", "equal parts"),
        ("a1[-1]", None),
        ("list(map(lambda x: x * x, a1))", None),
    ],
)
def test_degenerate_programs_are_refused(expression_text, broken):
    found = degenerate(ast.parse(expression_text, mode="eval").body)
    assert found is None if broken is None else broken in found


def test_a_set_is_the_same_to_the_byte_whatever_the_number_of_workers(jail):
    options = DslListOptions(size=20, seed=7)
    first = encode_rows(build(options, jail, workers=2))
    assert first == encode_rows(build(options, jail, workers=1))
    assert first != encode_rows(build(DslListOptions(size=20, seed=8), jail, workers=2))
    # the very bytes, so that an accidental change of the generator is seen
    assert sha256(first)[:16] == "286f02df2c87b5dd"


@pytest.mark.parametrize(
    ("grammar", "returns"), [("published", Type.LIST), ("extended", Type.INT), ("extended", Type.BOOL)]
)
def test_rows_keep_the_rules(jail, grammar, returns, tmp_path):
    rows = list(build(DslListOptions(size=15, grammar=grammar, returns=returns), jail, workers=2))
    assert len({identity(row.code) for row in rows}) == 15
    for number, row in enumerate(rows):
        assert row.function_name == f"dsl_prog_{number}" and row.code.endswith("\n") and row.depth <= 4
        assert len(row.input) == len(row.output) == 3 and len(set(row.output)) > 1 and len(set(row.input)) == 3
        kinds = {type(ast.literal_eval(text)) for text in row.output}
        assert kinds == {{"list[int]": list, "int": int, "bool": bool}[returns]}
        for call, output, condition in zip(row.input, row.output, row.correct_condition, strict=True):
            values = ast.literal_eval(call.removeprefix(f"dsl_prog_{number}(a1=").removesuffix(")"))
            assert 3 <= len(values) <= 5 and all(0 <= value <= 5 for value in values)
            assert condition == f"{call} == {output}"
    checked = list(check_rows(tmp_path / "x", rows, jail))
    assert sum(one.outputs for one in checked) == 45 and not any(one.differences for one in checked)


def test_keys_stand_in_the_order_of_the_published_schema(jail):
    row = json.loads(encode_rows(build(DslListOptions(size=1), jail)))
    assert list(row) == ["id", "function_name", "code", "input", "output", "correct_condition", "dsl", "arity",
                         "depth", "metrics", "metadata"]  # fmt: skip


def test_an_exhausted_grammar_and_bad_options_are_said(jail):
    few = {name: dict.fromkeys((each.name for each in choices), 1e-9) for name, choices in
           nonterminals(GRAMMARS["published"])}  # fmt: skip
    few["list[int]/0"] |= {"cdr": 1.0, "a1": 1.0}
    with pytest.raises(UserError, match=r"gave only .*`max_depth`"):
        list(build(DslListOptions(size=4, weights=few, max_depth=3), jail, workers=2))
    with pytest.raises(UnknownName, match="did you mean extended"):
        list(build(DslListOptions(grammar="extend"), jail))
    with pytest.raises(UserError, match="`max_depth`"):
        list(build(DslListOptions(max_depth=2), jail))
    with pytest.raises(UserError, match="`inputs`"):
        list(build(DslListOptions(inputs=1), jail))


def test_fitted_weights_are_counts_plus_one():
    grammar = GRAMMARS["published"]
    fitted = fit(["def f(a1):\n    return [2] + a1[1:]\n", "def f(a):\n    return a.copy()\n"], grammar)
    assert (fitted.read, fitted.unread) == (1, 1)
    lists, integers = fitted.weights["list[int]/0"], fitted.weights["int/0"]
    assert lists["cons"] == lists["cdr"] == lists["a1"] == integers["2"] == 2
    assert lists["append"] == integers["3"] == 1
    assert {name: set(choices) for name, choices in fitted.weights.items()} == {
        name: set(choices) for name, choices in default_weights(grammar).items()
    }


def test_weights_fitted_to_a_sample_bring_its_operations_back(jail):
    grammar = GRAMMARS["extended"]
    fitted = fit(["def f(a1):\n    return sorted(a1[1:])\n"] * 400, grammar)
    rows = list(build(DslListOptions(size=10, grammar="extended", weights=fitted.weights), jail, workers=2))
    assert sum("sorted" in row.code for row in rows) >= 5
    assert rows[0].metadata["weights"] != "default"


def test_weights_from_a_file_are_checked(tmp_path):
    path = tmp_path / "weights.json"
    path.write_text(json.dumps({"int/0": {"+": 5}}))
    weights = read_weights(path, GRAMMARS["published"])
    assert weights["int/0"]["+"] == 5 and weights["int/0"]["-"] == 1
    for text, error, words in (
        ('{"int/0": {"plus": 1}}', UnknownName, "plus"),
        ('{"integer": {}}', UnknownName, "integer"),
        ('{"int/0": {"+": -1}}', BadRecord, "positive"),
        ('{"int/0": 3}', BadRecord, "object of weights"),
        ("[", BadRecord, "object of weights"),
    ):
        path.write_text(text)
        with pytest.raises(error, match=words):
            read_weights(path, GRAMMARS["published"])
