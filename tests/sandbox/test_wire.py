import collections
import datetime
import decimal
import enum
import fractions
import itertools
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.sandbox import encode as encoding
from truegrade.sandbox.decode import decode, read
from truegrade.sandbox.encode import MANY, encode
from truegrade.sandbox.frames import Inbox, call_frame, called, pack, value_frame
from truegrade.sandbox.outcome import CallResult
from truegrade.sandbox.wire import MAX_DRAINED, Drained, Unencodable, Unsupported, ValueTooLarge, WireError

MIB = 1 << 20


def travel(value):
    return decode(encode(value, MIB))


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-999, 999).map(lambda n: n * 7**1500)
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text(st.characters(exclude_categories=()))
    | st.binary()
    | st.fractions()
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.datetimes(timezones=st.none() | st.just(datetime.UTC))
    | st.times()
    | st.timedeltas()
)
hashable = st.recursive(
    scalars, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=4), max_leaves=8
)
values = st.recursive(
    hashable | st.binary().map(bytearray) | st.builds(range, st.integers(), st.integers(), st.integers(1, 9)),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.tuples(inner)
        | st.sets(hashable, max_size=4)
        | st.dictionaries(hashable, inner, max_size=4)
        | st.dictionaries(hashable, inner, max_size=4).map(collections.OrderedDict)
        | st.lists(inner, max_size=5).map(collections.deque)
    ),
    max_leaves=20,
)


def same(one, other):
    """Equal and of equal types all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple | collections.deque):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return same(list(one.items()), list(other.items()))
    return one == other


@given(values)
def test_values_arrive_as_they_left(value):
    assert same(travel(value), value)


@given(st.binary(max_size=300))
def test_any_bytes_decode_or_are_refused(data):
    try:
        value = decode(data)
    except WireError:
        return
    # What is accepted is a value like any other; a NaN is equal to nothing, so the bytes are compared.
    assert isinstance(encode(value, MIB), bytes)


@given(values, st.data())
def test_damaged_bytes_decode_or_are_refused(value, data):
    good = bytearray(encode(value, MIB))
    at = data.draw(st.integers(0, len(good) - 1))
    good[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(good)))
    for damaged in (bytes(good), bytes(good[:cut]), bytes(good) + b"N"):
        try:
            decode(damaged)
        except WireError:
            continue


@given(st.lists(st.tuples(st.just("kind"), values), max_size=4), st.integers(1, 50))
def test_messages_survive_any_cutting_of_the_stream(messages, step):
    stream = b"".join(pack(message, MIB) for message in messages)
    inbox, arrived = Inbox(MIB), []
    for at in range(0, len(stream), step):
        inbox.feed(stream[at : at + step])
        while (message := inbox.pop()) is not None:
            arrived.append(message)
    assert same(arrived, messages)


@pytest.mark.parametrize("stream", [struct.pack("<I", 2**31), pack(("x",), MIB)[:4] + b"i" * 14, b"\1\0\0\0N"])
def test_a_stream_that_is_no_message_is_refused(stream):
    inbox = Inbox(MIB)
    inbox.feed(stream)
    with pytest.raises(WireError):
        inbox.pop()


cells = st.sampled_from([0, 1, -129, 2**70, True, None, 0.0, -0.0, 1.5, math.nan, math.inf, "", "ab", "\udc80"])
few = st.lists(cells, min_size=1, max_size=3)


def long(choices):
    """Many items out of a few: what is sent at once."""
    return st.lists(st.sampled_from(choices), min_size=MANY, max_size=3 * MANY)


tables = few.flatmap(long) | st.lists(few | few.map(tuple), min_size=1, max_size=3).flatmap(long)


@given(tables, st.integers(1, 2000))
def test_what_is_sent_at_once_is_what_is_sent_one_by_one(value, bound):
    def sent(max_bytes):
        try:
            return encode(value, max_bytes)
        except ValueTooLarge as error:
            return type(error), str(error)

    together = sent(MIB), sent(bound)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "MANY", 1 << 40)
        assert (sent(MIB), sent(bound)) == together


@pytest.mark.parametrize("rows", [[(1, 2)], ["ab"], [1.5], [[]], [("a", 1.0)]])
def test_the_bound_on_values_is_the_same_at_once_and_one_by_one(rows, monkeypatch):
    monkeypatch.setattr(encoding, "MAX_VALUES", 300)
    for count in (99, 100, 101, 149, 150, 299, 300, 301):
        found = []
        for many in (32, 1 << 40):
            monkeypatch.setattr(encoding, "MANY", many)
            try:
                found.append(encode(rows * count, 3000))
            except ValueTooLarge as error:
                found.append((type(error), str(error)))
        assert found[0] == found[1], count


@given(values | tables)
def test_what_equals_its_like_is_told_without_rebuilding_it(value):
    encoded = encode(value, MIB)
    assert CallResult(encoded).is_solid == read(encoded)[2]


@pytest.mark.parametrize("value", [-0.0, math.inf, -math.inf, math.nan, 5e-324])
def test_floats_keep_their_bits(value):
    assert struct.pack("<d", travel(value)) == struct.pack("<d", value)


def test_large_and_deep_honest_values_travel():
    deep = []
    for _ in range(100):
        deep = [deep]
    assert travel(deep) == deep
    assert travel(10**20000) == 10**20000
    assert decode(encode(list(range(300_000)), 16 * MIB)) == list(range(300_000))


class Always:
    def __eq__(self, other):
        return True

    __hash__ = None


class AlwaysInt(int):
    def __eq__(self, other):
        return True

    def __index__(self):
        return 42

    __hash__ = int.__hash__


class AlwaysStr(str):
    def __eq__(self, other):
        return True

    def __str__(self):
        return "right"

    __hash__ = str.__hash__


class LyingList(list):
    def __iter__(self):
        return iter(["right"])

    def __len__(self):
        return 1

    def __eq__(self, other):
        return True


class LyingDict(dict):
    def items(self):
        return [("right", 1)]


class Colour(enum.IntEnum):
    RED = 1


Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (AlwaysInt(7), 7),
        (AlwaysStr("wrong"), "wrong"),
        (LyingList([1, 2]), [1, 2]),
        (LyingDict(a=1), {"a": 1}),
        (Colour.RED, 1),
        (Point(1, 2), (1, 2)),
        (type("F", (float,), {"__float__": lambda self: 1.0})(2.5), 2.5),
        (type("B", (bytes,), {"__bytes__": lambda self: b"x"})(b"y"), b"y"),
        (type("T", (tuple,), {"__iter__": lambda self: iter(())})((1,)), (1,)),
        (type("S", (set,), {"__iter__": lambda self: iter(())})({1}), {1}),
        (type("Z", (frozenset,), {"__iter__": lambda self: iter(())})({1}), frozenset({1})),
        (type("A", (bytearray,), {})(b"y"), bytearray(b"y")),
        (type("C", (complex,), {"__complex__": lambda self: 0j})(1j), 1j),
    ],
)
def test_a_subclass_is_sent_as_the_base_types_own_value(value, plain):
    assert same(travel(value), plain)


@pytest.mark.parametrize("value", [Always(), object(), len, int, lambda: 0, Always, math])
def test_other_types_are_opaque_and_equal_to_nothing(value):
    arrived = travel([value])[0]
    assert type(arrived) is Unsupported
    assert arrived != arrived
    assert arrived != 5
    assert (arrived == [1]) is False
    assert arrived.type_name == type(value).__name__
    with pytest.raises(Unencodable):
        encode([value], MIB, strict=True)


@pytest.mark.parametrize(
    "value",
    [
        collections.Counter("abca"),
        collections.deque([1, 2], maxlen=3),
        decimal.Decimal("1.10"),
        decimal.Decimal("-Infinity"),
        fractions.Fraction(-3, 7),
        datetime.datetime(2020, 1, 2, 3, 4, 5, 6, datetime.timezone(datetime.timedelta(hours=2))),
        datetime.time(2, 3, fold=1),
        datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=2), "A;=B")),
        datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(0), "UTC5")),
        datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(0), "UTC")),
        ...,
        NotImplemented,
    ],
)
def test_library_types_arrive_as_themselves(value):
    arrived = travel(value)
    assert same(arrived, value)
    assert str(arrived) == str(value)


def test_a_defaultdict_arrives_without_its_factory():
    arrived = travel(collections.defaultdict(list, a=[1]))
    assert type(arrived) is collections.defaultdict
    assert arrived == {"a": [1]}
    assert arrived.default_factory is None


def test_a_signaling_nan_is_opaque_since_comparing_it_raises():
    assert travel([decimal.Decimal("sNaN")]) != [1]


def test_views_of_a_dict_compare_as_views():
    held = collections.OrderedDict(a=1, b=2)
    for made in (dict(held), held):
        assert travel(made.keys()) == made.keys()
        assert travel(made.items()) == made.items()
        assert list(travel(made.values())) == [1, 2]
        assert travel(made.keys()) != ["a", "b"]


@pytest.mark.parametrize(
    "iterator", [(n for n in (1, 2)), map(int, "12"), filter(None, [1, 2]), iter([1, 2]), iter({1: 0, 2: 0})]
)
def test_an_iterator_is_drained_and_is_no_list(iterator):
    arrived = travel(iterator)
    assert type(arrived) is Drained
    assert arrived != [1, 2]
    assert list(arrived) == [1, 2]
    assert list(arrived) == []


def test_an_iterator_fails_behind_what_it_gave():
    arrived = travel(map(int, ["1", "z", "2"]))
    assert next(arrived) == 1
    with pytest.raises(RuntimeError, match="failed"):  # which error, is told where tests run
        next(arrived)
    with pytest.raises(RuntimeError, match="more items"):
        next(arrived)


def test_an_endless_iterator_is_cut_and_says_so():
    arrived = travel(itertools.count())
    assert list(itertools.islice(arrived, MAX_DRAINED)) == list(range(MAX_DRAINED))
    with pytest.raises(RuntimeError, match="more items"):
        next(arrived)


@pytest.mark.parametrize(
    "value",
    [
        np.float64(0.1),
        np.int8(-3),
        np.bool_(True),
        np.str_("é"),
        np.datetime64("2020-01-01"),
        np.arange(6).reshape(2, 3)[:, ::-1],
        np.zeros((0, 4)),
        np.array(3.5),
    ],
)
def test_numpy_values_arrive_as_themselves(value):
    arrived = travel(value)
    assert type(arrived) is type(value)
    assert arrived.dtype == value.dtype
    assert arrived.shape == value.shape
    assert np.array_equal(arrived, value)


@pytest.mark.parametrize(
    ("value", "equal"),
    [
        (np.float16("inf"), 100_000),
        (np.array([np.inf, 1], dtype=np.float16), 100_000),
        (np.float16(0), 1e-9),
        (np.float32("-inf"), -(10**39)),
        (np.complex64(complex("inf")), 1e39),
    ],
)
def test_nothing_of_numpy_is_equal_to_numbers_that_it_cannot_hold(value, equal):
    with np.errstate(all="ignore"):
        assert np.any(value == equal)  # in one process with the test, numpy rounds
    assert not np.any(travel(value) == equal)


def test_numpy_objects_are_opaque():
    assert type(travel(np.array([object()], dtype=object))) is Unsupported


def _cycle():
    inner = []
    inner.append(inner)
    return inner


def _lattice():
    value = []
    for _ in range(100):
        value = [value, value]
    return value


def _collisions(count):
    return {n * (2**61 - 1) for n in range(count)}


@pytest.mark.parametrize(
    "value",
    [
        _cycle(),
        _lattice(),
        1 << 9_000_000,
        "x" * MIB,
        [0] * MIB,
        fractions.Fraction(1, 1 << 40_000),
        np.zeros(MIB),
    ],
    ids=["cycle", "lattice", "integer", "text", "list", "fraction", "array"],
)
def test_values_over_a_bound_are_refused(value):
    with pytest.raises(ValueTooLarge):
        encode(value, MIB)


def test_keys_made_to_collide_are_refused():
    with pytest.raises(WireError, match="collide"):
        decode(encode(_collisions(100), MIB))
    assert travel(_collisions(50)) == _collisions(50)


@pytest.mark.parametrize(
    "data",
    [
        b"l\xff\xff\xff\xff",
        b"s\1\0\0\0\xff",
        b"S\1\0\0\0" + encode([], MIB),
        b"M" + encode("1e", MIB)[1:],
        b"q" + encode(1, MIB) + encode(0, MIB),
        b"r" + encode(0, MIB) + encode(1, MIB) + encode(0, MIB),
        b"x" + encode("2020-13-01", MIB)[1:],
        b"w" + encode(10**12, MIB) * 3,
        b"n" + encode("O8", MIB) + encode((1,), MIB) + encode(b"12345678", MIB),
        b"n" + encode("<f8,O", MIB) + encode((0,), MIB) + encode(b"", MIB),
        b"n" + encode("<f8", MIB) + encode((2,), MIB) + encode(b"12345678", MIB),
        b"n" + encode("<U0", MIB) + encode((10**12,), MIB) + encode(b"", MIB),
        b"n" + encode("<U1", MIB) + encode(None, MIB) + encode(b"\xff" * 4, MIB),
        b"n" + encode(">U2", MIB) + encode((1,), MIB) + encode(b"\0\0\0a\0\x11\0\0", MIB),
        b"l\1\0\0\0" * 300 + b"N",
        b"?",
        b"",
    ],
)
def test_malformed_bytes_are_refused(data):
    with pytest.raises(WireError):
        decode(data)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.tuples(PLAIN, PLAIN), st.dictionaries(st.text(), PLAIN))
def test_a_call_arrives_as_it_was_made(args, kwargs):
    token = bytes(16)
    frame = call_frame(token, "f", args, kwargs)
    assert repr(called(frame[4:])) == repr((token, "f", args, kwargs))


@pytest.mark.parametrize(
    "value",
    [bytearray(b"a"), {1, 2}, [[bytearray(b"a")]], {"a": (1, {2})}, range(3), datetime.date(2026, 1, 2)],
    ids=repr,
)
def test_what_marshal_would_change_travels_as_a_value(value):
    (arrived,) = called(call_frame(bytes(16), "f", (value,), {})[4:])[2]
    assert type(arrived) is type(value)
    assert arrived == value


def test_a_list_that_occurs_twice_arrives_as_two():
    inner = [1]
    for outer in ([inner, inner], [inner, inner, bytearray()]):
        (arrived,) = called(call_frame(bytes(16), "f", (outer,), {})[4:])[2]
        assert arrived[0] is not arrived[1]


def test_a_call_with_what_is_no_value_is_refused():
    with pytest.raises(Unencodable):
        call_frame(bytes(16), "f", ([object()],), {})
    with pytest.raises(ValueTooLarge):
        itself = []
        itself.append(itself)
        call_frame(bytes(16), "f", (itself,), {})


def test_the_short_form_of_a_value_is_that_of_the_message():
    token = bytes(range(16))
    frame = value_frame(token, [1, "a", (None, 2.5)], 100)
    assert frame == pack(("value", token, [1, "a", (None, 2.5)]), 100)
    inbox = Inbox(100)
    inbox.feed(frame)
    assert inbox.pop() == ("value", token, [1, "a", (None, 2.5)])


def test_an_iterator_is_sent_on_as_it_came():
    for cut, raised in ((False, None), (True, None), (True, (("X",), ("ValueError",), ("no",), "X: no"))):
        sent = encode(Drained([1, [2]], cut=cut, raised=raised), 1 << 20)
        assert encode(decode(sent), 1 << 20) == sent
    left = Drained([1, 2])
    assert next(left) == 1 and encode(left, 1 << 20) == encode(iter([2]), 1 << 20) and list(left) == []
