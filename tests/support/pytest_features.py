"""A module of tests that uses what suites use of pytest, and the program that it tests."""

FEATURES = """
import os
import unittest

import numpy as np
import pytest
from pytest import approx, raises

from subject import Counter, double

LOG = []


@pytest.fixture(scope="module")
def shared():
    LOG.append("made")
    yield LOG
    LOG.clear()


@pytest.fixture(params=[1, pytest.param(2, id="two"), 3])
def number(request):
    return request.param


@pytest.fixture
def factor(request):
    return getattr(request, "param", 10)


@pytest.fixture(autouse=True)
def around(monkeypatch):
    monkeypatch.setenv("AROUND", "yes")
    yield
    assert os.environ["AROUND"] == "yes"


@pytest.fixture
def broken():
    raise LookupError("broken on purpose")


@pytest.fixture
def ends_badly():
    yield 1
    raise RuntimeError("ends badly")


def setup_module(module):
    module.PREPARED = 5


def test_shared_passes_first(shared):
    assert shared == ["made"]


def test_shared_passes_again(shared):
    assert shared == ["made"] and PREPARED == 5


def test_params_pass(number):
    assert double(number) == 2 * number


def test_params_fail_once(number):
    assert double(number) != 4


@pytest.mark.parametrize("a", [1, 2])
@pytest.mark.parametrize("b, c", [(3, 4), pytest.param(5, 6, id="more")], ids=["one", "other"])
def test_stacked_pass(a, b, c):
    assert b + 1 == c


@pytest.mark.parametrize("factor", [2, 3], indirect=True)
def test_indirect_passes(factor):
    assert factor in (2, 3)


def test_not_indirect_passes(factor):
    assert factor == 10


@pytest.mark.parametrize(
    "x", [1, pytest.param(2, marks=pytest.mark.skip), pytest.param(3, marks=pytest.mark.xfail)]
)
def test_marked_sets_pass(x):
    assert x == 1


@pytest.mark.skip(reason="never")
def test_skipped():
    raise AssertionError


@pytest.mark.skipif(double(1) == 2, reason="always")
def test_skipif_skipped():
    raise AssertionError


@pytest.mark.skipif("double(1) == 3", reason="never")
def test_skipif_text_passes():
    assert True


def test_skips_itself():
    pytest.skip("now")


def test_importorskip_skipped():
    pytest.importorskip("there_is_no_such_module")


@pytest.mark.xfail
def test_xfail_is_expected():
    assert double(1) == 3


@pytest.mark.xfail(strict=True)
def test_xfail_strict_fails():
    assert double(1) == 2


@pytest.mark.xfail
def test_xfail_passes():
    assert double(1) == 2


@pytest.mark.xfail(raises=ValueError)
def test_xfail_of_another_kind_is_an_error():
    raise KeyError("other")


@pytest.mark.xfail(raises=ValueError)
def test_xfail_of_this_kind_is_expected():
    raise ValueError("this")


@pytest.mark.xfail(run=False)
def test_xfail_is_not_run():
    raise SystemExit


def test_xfail_itself():
    pytest.xfail("now")


def test_raises_passes():
    with raises(TypeError, match="un.*ported"):
        double(None)
    with raises((KeyError, ValueError)) as caught:
        int("x")
    assert caught.type is ValueError and "x" in str(caught.value) and caught.match("literal")
    raises(ZeroDivisionError, lambda: 1 / 0)


def test_raises_nothing_fails():
    with raises(TypeError):
        double(1)


def test_raises_match_fails():
    with raises(TypeError, match="^other"):
        double(None)


def test_raises_another_is_an_error():
    with raises(KeyError):
        double(None)


def test_fails():
    pytest.fail("on purpose")


def test_warns_passes():
    import warnings
    with pytest.warns(UserWarning, match="care"):
        warnings.warn("take care")


def test_warns_nothing_fails():
    with pytest.warns(UserWarning):
        pass


def test_approx_passes():
    assert 0.1 + 0.2 == approx(0.3) and 1.05 == approx(1, abs=0.1) and 110 == approx(100, rel=0.1)
    assert [0.1 + 0.2, 1] == approx([0.3, 1]) and (0.3,) == approx((0.1 + 0.2,))
    assert {"a": 0.1 + 0.2, "b": None} == approx({"a": 0.3, "b": None})
    assert np.array([0.1 + 0.2, 1.0]) == approx(np.array([0.3, 1.0])) and np.array([1.0, 1.0]) == approx(1.0)
    assert float("nan") == approx(float("nan"), nan_ok=True) and float("nan") != approx(float("nan"))
    assert float("inf") == approx(float("inf")) and 1e300 != approx(float("inf"))
    assert 1 + 1e-9j == approx(1 + 0j) and "text" == approx("text") and 1.0 != approx(True + 1)
    assert 1.0000001 != approx(1, rel=0, abs=0) and np.float32(0.1) == approx(0.1)


@pytest.mark.parametrize(
    "wrong", [approx(0.30001), approx([0.3]), approx({"a": 0.3}), approx(np.array([0.3, 0.4]))]
)
def test_approx_fails(wrong):
    assert 0.1 + 0.2 == wrong


def test_approx_of_nested_is_an_error():
    assert [[1.0]] == approx([[1.0]])


def test_monkeypatch_passes(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sep", "x")
    monkeypatch.setattr("os.curdir", "y")
    monkeypatch.setitem(os.environ, "A", "1")
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as inner:
        inner.delenv("A")
    assert (os.sep, os.curdir, os.environ["A"], os.getcwd()) == ("x", "y", "1", str(tmp_path))


def test_monkeypatch_is_undone_passes():
    assert os.sep == "/" and os.curdir == "." and "A" not in os.environ


def test_monkeypatch_of_nothing_is_an_error(monkeypatch):
    monkeypatch.setattr(os, "no_such_name", 1)


def test_capsys_passes(capsys):
    print("said")
    out, err = capsys.readouterr()
    assert (out, err) == ("said\\n", "")


def test_capfd_passes(capfd):
    os.write(1, b"said")
    assert capfd.readouterr().out == "said"


def test_caplog_passes(caplog):
    import logging
    logging.getLogger("x").warning("care")
    assert "care" in caplog.text


def test_tmp_path_passes(tmp_path, tmp_path_factory):
    (tmp_path / "a").write_text("b")
    assert [one.name for one in tmp_path.iterdir()] == ["a"] and tmp_path_factory.mktemp("other").is_dir()


def test_recwarn_passes(recwarn):
    assert len(recwarn) == 0


def test_getfixturevalue_passes(request):
    assert request.getfixturevalue("factor") == 10 and request.node.name == "test_getfixturevalue_passes"


@pytest.mark.usefixtures("broken")
def test_usefixtures_is_an_error():
    assert True


def test_setup_fails_as_an_error(broken):
    assert True


def test_teardown_fails_as_an_error(ends_badly):
    assert ends_badly == 1


def test_of_no_fixture_is_an_error(mocker):
    assert True


def test_leaves_as_an_error():
    raise SystemExit(0)


class TestClass:
    made = 0

    @classmethod
    def setup_class(cls):
        cls.made += 1

    def setup_method(self, method):
        self.name = method.__name__

    def teardown_method(self):
        assert self.name

    @pytest.fixture
    def own(self):
        return self.made

    def test_method_passes(self, own):
        assert own in (1, 2) and self.name == "test_method_passes"

    @pytest.mark.parametrize("x", [1, 2])
    def test_method_fails(self, x):
        assert x == 1

    @staticmethod
    def test_static_passes():
        assert True

    class TestInner:
        def test_inner_is_an_error(self):
            assert True


@pytest.mark.skip
class TestSkipped:
    def test_skipped(self):
        raise AssertionError


class TestHeir(TestClass):
    def test_own_passes(self):
        assert Counter().add(2).total == 2


class TestWithInit:
    def __init__(self):
        pass

    def test_is_not_collected(self):
        raise AssertionError


class Unit(unittest.TestCase):
    def setUp(self):
        self.value = double(2)

    def test_unit_passes(self):
        self.assertEqual(self.value, 4)

    def test_unit_fails(self):
        self.assertEqual(self.value, 5)

    def test_unit_subtests_fail(self):
        for number in (1, 2):
            with self.subTest(number):
                self.assertEqual(number, 1)

    @unittest.skip("never")
    def test_unit_skipped(self):
        self.fail()

    @unittest.expectedFailure
    def test_unit_expected(self):
        self.fail()

    @unittest.expectedFailure
    def test_unit_unexpected_fails(self):
        pass


async def test_async_is_an_error():
    assert True


def test_after_all_passes():
    assert double(2) == 4
"""
SUBJECT = """
def double(number):
    return number * 2


class Counter:
    def __init__(self):
        self.total = 0

    def add(self, number):
        self.total += number
        return self
"""
