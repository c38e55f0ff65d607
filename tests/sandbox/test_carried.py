"""Values that can change and that tests and program hold: what either does to one, the other sees."""

import copy
import itertools
import random
import threading
from collections import Counter, OrderedDict, defaultdict, deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.sandbox.decode import _READERS
from truegrade.sandbox.encode import describe
from truegrade.sandbox.frames import MARSHALLED
from truegrade.sandbox.objects import NEW, OBJECT, Held
from truegrade.sandbox.stand_ins import StandIns
from truegrade.sandbox.wire import WireError


class Wire:
    """The stream between the two sides, in one process."""

    def __init__(self, held):
        self.held, self.returned, self.raised, self.namespace, self.given = held, None, None, {}, ()
        self.lock = threading.RLock()

    def call(self, _, args, __):
        return self.change(self.held.perform(*args))

    def change(self, answer):
        return answer

    def end(self, status, detail):
        return WireError(f"{status}: {detail}")

    def refusal(self, _, error):
        return error


def sides(**program):
    """The tests' side, with the functions of the program's."""
    wire = Wire(Held({}, program, 1 << 24, remote=False, describe=describe))
    return StandIns(wire, {}, remote=False, carries=True), wire


PLAIN = st.none() | st.integers(-2, 300) | st.text(max_size=2) | st.integers(0, 3).map(lambda n: ("again", n))
SHAPES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=1), inner, max_size=3)
        | st.tuples(inner, inner)
        | st.sets(st.integers(0, 5), max_size=3)
        | st.lists(inner, max_size=2).map(deque)
    ),
    max_leaves=8,
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "drop", "tie", "keep", "give", "raise"]), st.integers(0, 9)), max_size=4
)


def containers(value, found):
    """Those that can change in a value, each once, in the order in which they are met."""
    if isinstance(value, list | dict | set | deque) and not any(value is one for one in found):
        found.append(value)
    for part in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple | deque) else ()
    ):
        if not isinstance(part, list | dict | set | deque) or not any(part is one for one in found):
            containers(part, found)
    return found


def form(value, met):
    """A value in one text that says which containers are one."""
    if isinstance(value, list | dict | set | deque):
        for number, one in enumerate(met):
            if one is value:
                return f"#{number}"
        met.append(value)
    if isinstance(value, set):
        return f"set{sorted(value)}"
    parts = (
        value.items() if isinstance(value, dict) else value if isinstance(value, list | tuple | deque) else None
    )
    return (
        repr(value) if parts is None else f"{type(value).__name__}[{', '.join(form(one, met) for one in parts)}]"
    )


def built(shape, pool):
    """A value in which ``("again", n)`` is a container that stands before it as well."""
    if type(shape) is tuple and shape and shape[0] == "again":
        return pool[shape[1] % len(pool)] if pool else None
    if type(shape) is tuple:
        return tuple(built(part, pool) for part in shape)
    made = copy.copy(shape)
    if isinstance(made, list | dict | set | deque):
        pool.append(made)
    if isinstance(made, dict):
        made.update({key: built(part, pool) for key, part in shape.items()})
    elif isinstance(made, list | deque):
        for place, part in enumerate(shape):
            made[place] = built(part, pool)
    return made


def acting():
    """A function that does to its argument what it is told, and remembers some of it."""
    kept = []

    def act(value, steps):
        given = containers(value, [])
        answer = None
        for what, number in steps:
            one = given[number % len(given)] if given else kept
            if what == "add":
                one.add(number) if type(one) is set else one.update(z=[number]) if type(
                    one
                ) is dict else one.append([number])
            elif what == "drop" and one:
                one.popitem() if type(one) is dict else one.pop()
            elif what == "tie" and type(one) in {list, deque}:
                one.append(given[0] if given else kept)
            elif what == "keep":
                kept.append(one)
            elif what == "give":
                answer = [one, kept]
            elif what == "raise" and "..." not in repr(one):  # arguments of an exception are also its message
                raise ValueError(one, number)
        return answer

    return act


def outcome(function, *args):
    try:
        return function(*args)
    except ValueError as error:
        return error.args


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(SHAPES, STEPS), min_size=1, max_size=4), st.booleans())
def test_two_processes_show_what_one_shows(calls, forgetting):
    table, _ = sides(act=acting())
    there, here = table.named("act"), acting()
    held, due = [], []
    for shape, steps in calls:
        mine, theirs = built(shape, []), built(shape, [])
        if forgetting:
            held.clear()
            due.clear()
        held += [mine, outcome(there, mine, steps)]
        due += [theirs, outcome(here, theirs, steps)]
        assert form(held, []) == form(due, [])
        for values in (held, due):  # and the tests change what they hold
            if found := [one for one in containers(values, []) if type(one) is list][1:]:
                found[-1].append("more")
    assert not table.doubts


@pytest.mark.parametrize(
    ("value", "change"),
    [
        (bytearray(b"ab"), lambda x: x.append(1)),
        (OrderedDict(a=1, b=2), lambda x: x.move_to_end("a")),
        (Counter("aab"), lambda x: x.update("ac")),
        (defaultdict(list, a=[1]), lambda x: x["b"].append(2)),
        (deque([1, 2], 2), lambda x: x.append(3)),
        ({1, 2}, lambda x: x.discard(1)),
    ],
)
def test_each_kind_changes_in_place(value, change):
    due = copy.deepcopy(value)
    change(due)
    table, _ = sides(f=change, same=lambda x: x)
    table.named("f")(value)
    assert value == due and list(value) == list(due)
    assert table.named("same")(value) is value and table.tied != ""


def test_a_defaultdict_makes_the_values_that_the_programs_makes():
    made = [
        lambda: 0,
        lambda: "a?",
        lambda: [0, 1],
        lambda: None,
        lambda: defaultdict(lambda: deque(maxlen=2)),
        int,
    ]
    table, _ = sides(f=lambda: [defaultdict(one) for one in made])
    for one, factory in zip(table.named("f")(), made, strict=True):
        assert one["k"] == factory() and type(one["k"]) is type(factory())
    lists = table.named("f")()[2]
    assert lists["k"] is not lists["l"]
    assert table.named("f")()[4]["k"]["l"].maxlen == 2
    assert not table.doubts


COUNT = itertools.count()


@pytest.mark.parametrize(
    "factory", [itertools.count().__next__, object, lambda: float("nan"), lambda: 1 / 0, lambda: next(COUNT)]
)
def test_what_makes_other_values_each_time_or_none_that_crosses_is_a_doubt(factory):
    table, _ = sides(f=lambda: defaultdict(factory, a=1))
    assert table.named("f")() == {"a": 1} and table.doubts


@pytest.mark.filterwarnings("ignore")
def test_arrays_and_frames_change_in_place():
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")

    def f(array, frame, series):
        array[0] = 9
        frame["b"] = frame["a"] * 2
        frame.index = ["x", "y"]
        series.iloc[1] = 7

    array, frame, series = numpy.array([1, 2, 3]), pandas.DataFrame({"a": [1, 2]}), pandas.Series([1, 2])
    view = array[:2]
    table, _ = sides(f=f)
    table.named("f")(view, frame, series)
    assert array.tolist() == [9, 2, 3] and series.tolist() == [1, 7]
    assert frame.to_dict("list") == {"a": [1, 2], "b": [2, 4]} and list(frame.index) == ["x", "y"]


def test_what_the_tests_let_go_of_is_known_no_more():
    table, wire = sides(f=lambda x: [x])
    f = table.named("f")
    for number in range(50):
        assert f([number]) == [[number]]
    f(0)
    f(0)
    assert len(table._carried) <= 2 and len(wire.held._carried) <= 2
    kept = [f([number]) for number in range(20)]
    f(0)
    assert len(table._carried) >= 40 and kept[3] == [[3]]


def test_a_mutated_answer_is_refused_or_says_plain_data():
    numbers = random.Random(7)
    for _ in range(1500):
        table, wire = sides(f=lambda x: (x.append([1]), x, {"a": x})[1:])
        f, value = table.named("f"), [1, [2]]
        f(value)

        def changed(answer):
            data = bytearray(answer)
            for _ in range(numbers.randint(1, 3)):
                data[numbers.randrange(len(data))] = numbers.choice([*data, *b"owlNTdi\0\1\2\377"])
            return bytes(data[: numbers.choice([len(data), numbers.randrange(len(data) + 1)])])

        wire.change = changed
        try:
            f(value)
        except WireError as error:
            assert str(error).startswith("tampering: ")
        except Exception as error:  # one that the answer says was raised
            assert table.told.get("raised") is True, error
        assert type(value) is list


def test_no_answer_makes_the_tests_forget():
    table, wire = sides(f=lambda x: x)
    value = [1]
    table.named("f")(value)
    wire.held._gone = [0]
    with pytest.raises(WireError, match="tampering"):
        table.named("f")(value)


def test_no_two_kinds_of_values_begin_alike():
    assert not {OBJECT, NEW, MARSHALLED} & {*_READERS}
