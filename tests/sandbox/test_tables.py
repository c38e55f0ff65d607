"""Frames, series, indexes and scalars of pandas cross by value."""

from datetime import datetime

import pytest

from truegrade.sandbox.decode import decode
from truegrade.sandbox.encode import encode
from truegrade.sandbox.tables import make_again
from truegrade.sandbox.wire import Unsupported, WireError

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
testing = pandas.testing
BYTES = 1 << 24
WIDE = pandas.DataFrame(
    {
        "whole": [1, 2],
        "text": ["x", None],
        "part": [1.5, float("nan")],
        "day": pandas.to_datetime(["2020-01-01", "2021-01-01"]),
        "zone": pandas.to_datetime(["2020-01-01", "2021-01-01"]).tz_localize("Europe/Berlin"),
        "held": [[1], {"k": 2}],
        "kind": pandas.Categorical(["u", "v"], ordered=True),
        "gap": pandas.array([1, None], dtype="Int64"),
        "yes": [True, False],
        "long": pandas.to_timedelta([1, 2], unit="h"),
    }
)
TEXTS = pandas.Series(["a", None], dtype=object)
FRAMES = [
    WIDE,
    WIDE.set_index("whole"),
    WIDE.set_index(["whole", "text"]),
    WIDE[["whole", "part"]].T,
    WIDE[["whole", "part"]].describe(),
    pandas.DataFrame({"a": TEXTS, "b": pandas.Series(["a", None])}),
    pandas.DataFrame({"a": TEXTS}, index=["x", "x"]),
    pandas.DataFrame(),
    pandas.DataFrame(columns=["x", "y"]),
    pandas.DataFrame([[1, 2], [3, 4]], columns=["x", "x"]),
    pandas.DataFrame({"a": [1]}, index=pandas.date_range("2020", periods=1, freq="D", name="day")),
]
SERIES = [*(WIDE[name] for name in WIDE), WIDE.groupby("text").size(), pandas.Series(dtype=object), TEXTS]
SERIES.append(pandas.Series([1, 2], index=pandas.Index(["a", "b"], dtype=object)))
INDEXES = [
    pandas.Index([1, 2], name="n"),
    pandas.Index(["a"]),
    pandas.Index(["a"], dtype=object),
    pandas.RangeIndex(4),
    pandas.date_range("2020", periods=3, freq="D", tz="Europe/Berlin"),
    pandas.CategoricalIndex(["a"]),
    pandas.MultiIndex.from_product([[1], [2, 3]], names=["p", None]),
]
SCALARS = [
    pandas.Timestamp("2020-01-02 03:04"),
    pandas.Timestamp("2020", tz="Europe/Berlin"),
    pandas.Timedelta("3h"),
]


@pytest.mark.parametrize("frame", FRAMES, ids=range(len(FRAMES)))
def test_frames(frame):
    testing.assert_frame_equal(decode(encode(frame, BYTES)), frame)


@pytest.mark.parametrize("series", SERIES, ids=range(len(SERIES)))
def test_series(series):
    testing.assert_series_equal(decode(encode(series, BYTES)), series)


@pytest.mark.parametrize("index", INDEXES, ids=range(len(INDEXES)))
def test_indexes(index):
    testing.assert_index_equal(decode(encode(index, BYTES)), index)


def test_a_frequency_with_holidays_is_left_out():
    index = pandas.date_range("2020", periods=3, freq=pandas.offsets.CustomBusinessDay(holidays=["2020-01-02"]))
    got = decode(encode(index, BYTES))
    assert got.equals(index) and got.freq is None


def test_scalars():
    assert [decode(encode(one, BYTES)) for one in SCALARS] == SCALARS
    assert decode(encode(pandas.NA, BYTES)) is pandas.NA
    assert decode(encode(pandas.NaT, BYTES)) is pandas.NaT


def test_subclasses_and_other_types_are_opaque():
    class Mine(pandas.DataFrame):
        def equals(self, other):
            return True

    columns = [
        pandas.period_range("2020", periods=2, freq="M"),
        pandas.interval_range(0, 2),
        pandas.arrays.SparseArray([0, 1]),
    ]
    held = [made(values) for values in columns for made in (pandas.Series, pandas.Index)]
    held += [pandas.DataFrame({"a": values, "b": [1, 2]}) for values in columns]
    held += [pandas.DataFrame([[1, 2]], columns=columns[0]), pandas.Series([1, 2], pandas.Categorical(columns[1]))]
    held += [pandas.MultiIndex.from_arrays([columns[0], [1, 2]]), pandas.Series(pandas.Categorical(columns[1]))]
    held += [pandas.Timestamp("2020", tz="dateutil/Europe/Berlin"), pandas.Timestamp(datetime(5000, 1, 1))]
    for value in (Mine({"a": [1]}), pandas.Period("2020"), pandas.Interval(0, 1), [Mine()], *held):
        got = decode(encode(value, BYTES))
        got = got[0] if isinstance(got, list) else got
        assert type(got) is Unsupported
        assert got != got


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("nothing", ()),
        ("frame", ()),
        ("frame", (1, 2, 3)),
        ("frame", (pandas.Index(["a"]), pandas.RangeIndex(2), [])),
        ("frame", (pandas.Index(["a"]), pandas.RangeIndex(2), [("list", "object", [1])])),
        ("series", (pandas.RangeIndex(1), ("list", "arrow", [1]), None)),
        ("series", (pandas.RangeIndex(1), ("list", "object", (1,)), None)),
        ("series", (pandas.RangeIndex(10**12), ("list", "object", [1]), None)),
        ("index", (("codes", [5], pandas.Index(["a"]), True), None)),
        ("index", (("array", [1]), None)),
        ("range", ("0", 1, 1, None)),
        ("time", (10**40, None)),
        ("time", (1, "no/such")),
        ("time", (1, "../etc")),
        ("levels", ([(1,), (1, 2)], ["a"])),
    ],
)
def test_parts_of_nothing_are_refused(name, parts):
    with pytest.raises(WireError):
        make_again(name, parts, pandas)
