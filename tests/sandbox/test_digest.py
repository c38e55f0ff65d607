"""Values of too many values to send come back as a digest, from `call` only."""

import hashlib
import marshal

import pytest

from truegrade.sandbox import Digest, Limits, Sandbox

MANY = "def f(n=2_100_000): return {}"


@pytest.fixture(scope="module")
def roomy():
    with Sandbox(Limits(cpu_s=20, wall_s=60), workers=1, allow_unsafe=True) as opened:
        yield opened


def value_of(sandbox, program):
    results = []
    outcome = sandbox.call(program, "f", [()], lambda _, result: results.append(result) or True)
    return outcome, results[0].value if results else None


def test_a_digest_is_of_the_marshalled_value(roomy):
    expression = "((0,) * (n // 2), {'x': ['é'] * (n // 2)})"
    outcome, value = value_of(roomy, MANY.format(expression))
    expected = eval(expression, {"n": 2_100_000})
    assert outcome.status == "passed", outcome
    assert type(value) is Digest
    assert value.sha256 == hashlib.sha256(marshal.dumps(expected, 2)).digest()
    assert value == Digest.of(expected)
    assert value != Digest.of(expected[1:])
    assert value != expected


def test_what_cannot_be_marshalled_is_over_the_limit(roomy):
    outcome, _ = value_of(roomy, "class C: pass\n" + MANY.format("[C()] + [0] * n"))
    assert (outcome.status, "returned more values" in outcome.detail) == ("output_limit", True)


def test_the_judge_gets_no_digest(roomy):
    assert roomy.judge(MANY.format("[0] * n"), "f()", ["f"]).status == "output_limit"


def test_a_program_cannot_claim_a_digest_without_the_value(roomy):
    program = (
        "class Digest(list):\n    sha256 = b'0' * 32\n    __eq__ = lambda a, b: True\ndef f(): return Digest()"
    )
    assert value_of(roomy, program)[1] == []
