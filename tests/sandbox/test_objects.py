# ruff: noqa: E501, ISC004 - programs, one a line
"""Objects that tests and programs hand each other: honest uses, and what a hostile program makes of them."""

import random
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.cpu import cpu_within
from support.thorough import one_in
from truegrade.sandbox import objects, stand_ins
from truegrade.sandbox.objects import Held
from truegrade.sandbox.stand_ins import StandIns
from truegrade.sandbox.wire import WireError

OWN = """
class Node:
    def __init__(self, value=None, next=None, others=()):
        self.value, self.next, self.others = value, next, list(others)
    def __eq__(self, other): return isinstance(other, Node) and self.value == other.value
    __hash__ = object.__hash__
    def total(self): return self.value + (self.next.total() if self.next else 0)
class Leaf(Node):
    pass
"""
THEIRS = """
class Node:
    made = 0
    def __init__(self, value, left=None):
        type(self).made += 1
        self.value, self.left = value, left
    def add(self, amount):
        self.value += amount
        return self
    def __eq__(self, other): return True
    @property
    def worst(self): raise KeyError("worst")
def f(node): return node
"""


@pytest.fixture
def with_own(judged):
    """Judge with the tests' own classes."""
    return lambda program, tests, **more: judged(program, tests, trusted=OWN, classes=(), **more)


@pytest.fixture
def with_theirs(judged):
    """Judge with the program's class ``Node``."""
    return lambda program, tests, **more: judged(program, tests, classes=("Node",), **more)


# --------------------------------------------------------------------------------- the tests' own classes


@pytest.mark.parametrize(
    ("body", "tests"),
    [
        ("return x", "n = Node(1)\nassert f(n) is n"),
        ("return [x, {x: (x,)}]", "n = Node(1)\na = f(n)\nassert a[0] is n and a[1] == {n: (n,)}"),
        ("x.value = 5; x.next = None", "n = Node(1, Node(2))\nf(n)\nassert n.value == 5 and n.next is None"),
        ("return x.value", "n = Node(1)\nassert f(n) == 1\nn.value = 2\nassert f(n) == 2"),
        ("x.next.others.append(x)", "n = Node(1, Node(2))\nf(n)\nassert n.next.others == [n]"),
        ("return x.next.next is x", "n = Node(1)\nn.next = Node(2, n)\nassert f(n)"),
        (
            "return type(x)(3, x)",
            "n = Node(1)\na = f(n)\nassert type(a) is Node and a.next is n and a.total() == 4",
        ),
        ("return type(x).__name__, x.next", "n = Leaf(1)\nm = Node(2, n)\nassert f(m) == ('Node', n)"),
        (
            "return [x[0] is x[1], x[0].next is x[2]]",
            "n = Node(1, Node(2))\nassert f([n, n, n.next]) == [True] * 2",
        ),
        ("return x(3.7), x is int", "assert f(int) == (3, True)"),
        ("return x([3, 1])", "assert f(sorted) == [1, 3]\nassert f(len) == 2"),
        ("return x(1).total()", "assert f(Node) == 1"),
        ("return x", "assert f([1, 'a', {2: None}, {3}]) == [1, 'a', {2: None}, {3}]"),
        ("return len({x.value, x.next.value}) + x.extra", "n = Node(1, Leaf(2))\nn.extra = 2\nassert f(n) == 4"),
        ("raise KeyError(x)", "try:\n    f(Node(1))\nexcept KeyError: pass\nelse: assert False"),
    ],
)
def test_objects_of_the_tests_cross_and_stay_themselves(with_own, body, tests):
    outcome = with_own(f"class Node: pass\nadd = 0\ndef f(x):\n    {body}", tests)
    assert outcome.status == "passed", outcome


def test_a_list_longer_than_any_nesting_crosses(with_own):
    program = "def f(n):\n    back = None\n    while n: n.next, back, n = back, n, n.next\n    return back"
    tests = (
        "n = None\nfor i in range(3000): n = Node(i, n)\nn = f(n)\nfor i in range(3000):\n"
        "    assert n.value == i\n    n = n.next\nassert n is None"
    )
    outcome = with_own(program, tests)
    assert outcome.status == "passed", outcome


@pytest.mark.parametrize(
    ("program", "tests"),
    [
        # a comparison, a method, a class attribute of the tests' class say what the tests' process says
        ("def f(n):\n    type(n).__eq__ = lambda *a: True\n    return n", "assert f(Node(1)) == Node(2)"),
        ("def f(n):\n    type(n).total = lambda *a: 9\n    return n", "assert f(Node(1)).total() == 9"),
        ("def f(n):\n    n.total = lambda *a: 9\n    return n", "assert f(Node(1)).total() == 9"),
        (
            "def f(n):\n    n.__class__ = Y\n    return n\nclass Y:\n    def total(s): return 9",
            "assert f(Node(1)).total() == 9",
        ),
        # an object that looks like one of theirs is none
        (
            "class Y:\n    value = 9\n    def total(s): return 9\ndef f(n): return Y()",
            "assert f(Node(1)).value == 9",
        ),
        (
            "class Y:\n    def __getattr__(s, n): return lambda *a: 9\ndef f(n): return Y()",
            "assert f(Node(1)).total() == 9",
        ),
        (
            "def f(n):\n    class Y(type(n)):\n        def total(s): return 9\n    return Y(1)",
            "assert f(Node(1)).total() == 9",
        ),
        ("class Y:\n    def __eq__(s, o): return True\ndef f(n): return Y()", "n = Node(1)\nassert f(n) == n"),
        (
            "class Y:\n    def __eq__(s, o): return True\ndef f(n):\n    n.value = Y()",
            "n = Node(1)\nf(n)\nassert n.value == 9",
        ),
        ("def f(n): return None", "assert f(Node(1))"),
    ],
)
def test_a_program_has_no_say_in_what_the_tests_objects_do(with_own, program, tests):
    outcome = with_own(program, tests)
    assert outcome.status == "wrong_answer", outcome


def test_what_the_tests_hand_to_nobody_stays_with_them(with_own):
    program = (
        "import gc\ndef f(n):\n    held = [o for o in gc.get_objects() if type(o) is type(n)]\n"
        "    return next((o for o in held if o.value == 1 and o is not n), n)"
    )
    outcome = with_own(program, "want = Node(86420, Node(1))\nassert f(Node(1)) is want.next")
    assert outcome.status == "wrong_answer", outcome
    search = "import gc\ndef f(n): return sum(getattr(o, 'value', 0) == 86419 + 1 for o in gc.get_objects())"
    assert with_own(search, "want = Node(86420)\nassert f(Node(1)) == 0 and want.value").status == "passed"


@pytest.mark.parametrize(
    "tests",
    [
        "class Other: pass\nassert f(Other())",
        "assert f(lambda: 1)",
        "class Slots:\n    __slots__ = ()\nassert f(Slots())",
    ],
)
def test_objects_that_cannot_cross_are_not_the_programs_fault(with_own, tests):
    outcome = with_own("def f(x): return x", tests)
    assert outcome.status == "grader_error" and "cannot be sent" in outcome.detail


def test_own_classes_that_do_not_run_are_not_the_programs_fault(judged):
    outcome = judged("def f(x): return x", "assert f(1)", trusted="class A(B): pass", classes=())
    assert outcome.status == "grader_error", outcome


# ---------------------------------------------------------------------------------- the program's classes


@pytest.mark.parametrize(
    "tests",
    [
        "n = Node(1, left=Node(2))\nassert n.left.value == 2 and n.left is n.left and f(n) is n",
        "n = Node(1)\nn.left = Node(2)\nn.left.left = [Node(3)]\nassert n.left.left[0].value == 3",
        "n = Node(1)\nassert f([n, {'a': (n,)}]) == [n, {'a': (n,)}]",
        "n = Node(1)\nassert n.add(2) is n and n.value == 3 and Node.made == 1",
        "a, b = Node(1), Node(1)\nassert a == a and a != b and a != 1 and len({a, b}) == 2",
        "n = Node(1)\nassert not hasattr(n, 'right') and getattr(n, 'right', 4) == 4",
        "n = Node(1)\ntry: n.worst\nexcept KeyError as e: assert e.args == ('worst',)\nelse: assert False",
        "n = Node(int)\nassert n.value('3') == 3",
        "assert f(Node)(5).value == 5",
    ],
)
def test_objects_of_the_program_stay_where_they_are(with_theirs, tests):
    outcome = with_theirs(THEIRS, tests)
    assert outcome.status == "passed", outcome


@pytest.mark.parametrize(
    "definition",
    [
        "from collections import namedtuple\nPair = namedtuple('Pair', 'a b')",
        "from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: int\n    b: int",
        "from dataclasses import dataclass\n@dataclass(frozen=True, slots=True)\nclass Pair:\n    a: int\n    b: int",
        "class Pair(list):\n    a = property(lambda s: s[0])\n    b = property(lambda s: s[1])\n"
        "    def __init__(self, a, b): super().__init__((a, b))",
        "class Pair:\n    __slots__ = ('a', 'b')\n    def __init__(self, a, b): self.a, self.b = a, b",
        "class P:\n    def __init__(self, a, b): self.a, self.b = a, b\ndef Pair(a, b): return P(a, b)",
    ],
)
def test_a_class_may_be_written_in_many_ways(judged, definition):
    tests = "assert f([Pair(1, 2), Pair(b=4, a=3)]) == 10\np = Pair(5, 6)\nassert (p.a, p.b) == (5, 6)"
    outcome = judged(definition + "\ndef f(ps): return sum(p.a + p.b for p in ps)", tests, classes=("Pair",))
    assert outcome.status == "passed", outcome


@pytest.mark.parametrize(
    ("program", "tests", "status"),
    [
        ("def f(n): return 1", "assert f(Node(1))", "runtime_error"),
        ("class Node: pass\ndef f(n): return 1", "assert f(Node(1))", "runtime_error"),
        ("def Node(v): return [v]\ndef f(n): return 1", "n = Node(1)\nn.left = 2", "wrong_answer"),
        ("Node = 3\ndef f(n): return 1", "assert f(Node(1))", "runtime_error"),
        (THEIRS, "assert f(Node(1)) == 1", "wrong_answer"),
        (THEIRS, "assert Node(1) == Node(2)", "wrong_answer"),
        (THEIRS, "assert sorted([Node(1), Node(2)])", "wrong_answer"),
        (THEIRS, "assert len(Node(1)) == 1", "runtime_error"),
        (THEIRS, "assert Node(1).worst", "runtime_error"),
        (THEIRS, "assert Node(lambda: 1)", "grader_error"),
        (THEIRS, "assert Node(1) and no_such_name", "grader_error"),
    ],
)
def test_verdicts_about_objects_of_the_program(with_theirs, program, tests, status):
    outcome = with_theirs(program, tests)
    assert outcome.status == status, outcome


# -------------------------------------------------------------------------------------------- limits


WALK = "x = f(Node(0))\nseen = []\nwhile x:\n    seen.append(x.value)\n    x = x.next\nassert seen == [1]"


@pytest.mark.parametrize(
    "program",
    one_in(
        6,
        [
            "class Node:\n    value = 1\n    def __init__(s, v): s.next = s\ndef f(n): return n",
            "class Node:\n    value = 1\n    def __init__(s, v): pass\n    next = property(lambda s: Node(1))\ndef f(n): return n",
            "class Node:\n    def __init__(s, v): pass\n    def __getattribute__(s, n): return s\ndef f(n): return n",
            "class Node:\n    value = 'x' * 10**6\n    def __init__(s, v): s.next = s\ndef f(n): return n",
            "class Node:\n    def __init__(s, v): pass\ndef f(n): return [object() for _ in range(200_000)]",
            "class Node:\n    value = 1\n    def __init__(s, v): pass\n    @property\n    def next(s):\n        while True: pass\ndef f(n): return n",
        ],
    ),
)
def test_a_list_without_an_end_ends_by_limits_of_the_program(with_theirs, program):
    outcome = with_theirs(program, WALK, cpu_s=0.4)
    assert outcome.status in {"output_limit", "time_limit", "memory_limit", "runtime_error"}, outcome


def test_an_endless_list_of_the_tests_class_is_the_programs_fault(with_own):
    outcome = with_own("def f(n):\n    n.next = n\n    return n", WALK, cpu_s=0.4)
    assert outcome.status in {"time_limit", "memory_limit"}, outcome
    many = "def f(n):\n    n.others = [type(n)(1) for _ in range(200_000)]\n    return n"
    assert with_own(many, WALK).status == "output_limit"
    deep = "def f(n):\n    for _ in range(500): n.others = [n.others]\n    return n"
    assert with_own(deep, WALK).status == "output_limit"


# ------------------------------------------------------------------------------------------- forged messages


TABLE = """
import gc
def table(): return next(o for o in gc.get_objects() if type(o).__name__ == "Held")
"""


@pytest.mark.parametrize(
    "forge",
    [
        "t._objects.clear()",
        "t._objects[7] = object()",
        "t._keys[id(n)] = 77",
        "t._keys[id(n)] = 'f'",
        "t._keys[id(n)] = -1",
        "type(t).encode = lambda *a: b''",
        "type(t).encode = lambda *a: None",
        "type(t).encode = lambda *a: b'l\\0\\0\\0\\0NT'[:6]",
        "type(t).encode = lambda *a: b'l\\1\\0\\0\\0t\\2\\0\\0\\0Fs\\1\\0\\0\\0ANi\\1\\0\\0\\0\\1'",
        "type(t).encode = lambda *a: b'l\\1\\0\\0\\0t\\2\\0\\0\\0Ts\\5\\0\\0\\0ClassNT'",
        "type(t).encode = lambda *a: b'l\\0\\0\\0\\0No' + b'N'",
        "type(t).encode = lambda *a: b'l\\0\\0\\0\\0oi\\1\\0\\0\\0\\0d\\1\\0\\0\\0NTNT'",
    ],
)
@pytest.mark.parametrize("mode", ["own", "theirs"])
def test_a_spoiled_table_spoils_the_programs_verdict_alone(with_own, with_theirs, mode, forge):
    program = f"{TABLE}{THEIRS}\ndef f(n):\n    t = table()\n    {forge}\n    return n"
    tests = "n = Node(1)\nm = Node(2)\nassert f(n) == 5\nassert f(m) == 6"
    outcome = (with_own if mode == "own" else with_theirs)(program, tests)
    assert outcome.status in {"tampering", "runtime_error", "wrong_answer"}, outcome


class Wire:
    """The stream between the two sides, in one process."""

    def __init__(self, held):
        self.held, self.returned = held, None
        self.lock = threading.RLock()

    def call(self, _, args, __):
        return self.change(self.held.perform(*args))

    def change(self, answer):
        return answer

    def end(self, status, detail):
        return WireError(f"{status}: {detail}")


class Node:
    __module__ = objects.TESTS_MODULE


def sides(*, remote=True):
    """The tests' side, and the program's; each has a class ``Node`` of its own."""
    copy = type("Node", (), {"__module__": objects.TESTS_MODULE})
    held = Held({"Node": copy}, {"f": lambda x: x, "g": lambda: print}, 1 << 20, remote=remote)
    wire = Wire(held)
    return StandIns(wire, {"Node": Node}, remote=remote), wire


SHAPES = st.recursive(
    st.none() | st.integers() | st.text(max_size=3) | st.integers(0, 4).map(lambda n: ("node", n)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40)
@given(st.lists(SHAPES, min_size=5, max_size=5), st.lists(SHAPES, min_size=1, max_size=3))
def test_any_structure_comes_back_as_the_same_objects(attributes, values):
    nodes = [Node() for _ in attributes]

    def built(shape):
        if type(shape) is tuple:
            return nodes[shape[1]]
        if type(shape) is list:
            return [built(part) for part in shape]
        return {key: built(part) for key, part in shape.items()} if type(shape) is dict else shape

    for node, shape in zip(nodes, attributes, strict=True):
        node.held = built(shape)
    table, _ = sides()
    f = table.named("f")
    for value in map(built, values):
        assert f(value) == value  # `Node` compares by identity
    for node, shape in zip(nodes, attributes, strict=True):
        assert node.held == built(shape)


def test_a_mutated_answer_is_refused_or_says_plain_data():
    numbers = random.Random(7)
    for _ in range(1500):
        table, wire = sides()
        f, node, other = table.named("f"), Node(), Node()
        node.held = [other, 1, "a", {"b": other}]
        f(node)

        def changed(answer):
            data = bytearray(answer)
            for _ in range(numbers.randint(1, 3)):
                data[numbers.randrange(len(data))] = numbers.choice([*data, *b"ontTNi\0\1\2\377"])
            return bytes(data[: numbers.choice([len(data), numbers.randrange(len(data) + 1)])])

        wire.change = changed
        try:
            f([node, other, table.named("g")])
        except WireError as error:
            assert str(error).startswith("tampering: ")
        assert type(node) is Node and all(type(name) is str for name in vars(node))


def test_objects_of_the_program_are_refused_where_no_test_names_its_classes():
    table, wire = sides(remote=False)
    assert repr(table.named("g")()) == "<builtin_function_or_method object>"
    answers, _ = sides()
    wire.change = lambda _: answers._link.held.encode(print, 100)
    with pytest.raises(WireError, match="an object of the program"):
        table.named("g")()


def test_a_method_is_called_by_one_request_and_comes_from_where_two_would():
    table, wire = sides()
    wire.held._scopes[""]["Theirs"] = type("Theirs", (), {"add": lambda self, *given, **named: (given, named)})
    one = table.named("Theirs")()
    before = table._requests_left
    assert table.invoke(one, "add", 1, [2.5, "a"], b=None) == ((1, [2.5, "a"]), {"b": None})
    assert table._requests_left == before - 1
    once = table._origin
    assert one.add(1) == ((1,), {}) and table._origin == once == "Theirs|get add()"
    node = Node()
    assert table.invoke(one, "add", node) == ((node,), {})
    assert table.invoke(one, "add", 3) == ((3,), {})  # a message: it has the attributes of the tests' object
    assert table.invoke([2, 1], "index", 1) == 1
    with pytest.raises(AttributeError):
        table.invoke(one, "none", 1)


def test_messages_take_no_longer_for_the_objects_that_have_crossed():
    table, wire = sides()
    wire.held._scopes[""]["Theirs"] = type("Theirs", (), {})
    theirs = table.named("Theirs")
    with cpu_within(2.5):
        assert len({id(one) for one in [theirs() for _ in range(6000)]}) == 6000


def test_requests_are_bounded(monkeypatch):
    monkeypatch.setattr(stand_ins, "MAX_REQUESTS", 3)
    table, _ = sides()
    f = table.named("f")
    assert [f(1), f(2), f(3)] == [1, 2, 3]
    with pytest.raises(WireError, match=r"output_limit: .* more than 3 times"):
        f(4)
