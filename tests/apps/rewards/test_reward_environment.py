"""Settings of rewards that the environment gives."""

from __future__ import annotations

import inspect
import os

import pytest

from truegrade.apps.rewards.grader import READERS, RewardGrader, reward_grader, settings_of, variable
from truegrade.errors import UserError


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch):
    for name in [name for name in os.environ if name.startswith("TRUEGRADE_REWARD_")]:
        monkeypatch.delenv(name)


def test_each_is_an_argument_of_the_grader():
    assert set(READERS) <= set(inspect.signature(RewardGrader).parameters)


def test_values_are_read_as_their_types():
    given = {
        "TRUEGRADE_REWARD_URL": "http://127.0.0.1:8080",
        "TRUEGRADE_REWARD_SCHEME": "threshold(0.5)",
        "TRUEGRADE_REWARD_ON_ERROR": "-0.5",
        "TRUEGRADE_REWARD_RETRY_S": "30",
        "TRUEGRADE_REWARD_WORKERS": "3",
        "TRUEGRADE_REWARD_TESTS_INSIDE": "1",
        "TRUEGRADE_REWARD_TRUNCATED": "",
        "TRUEGRADE_DATA": "elsewhere",
    }
    assert settings_of(given) == {
        "url": "http://127.0.0.1:8080",
        "scheme": "threshold(0.5)",
        "on_error": -0.5,
        "retry_s": 30.0,
        "workers": 3,
        "tests_inside": True,
    }
    assert settings_of({"TRUEGRADE_REWARD_ON_ERROR": "raise"}) == {"on_error": "raise"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("on_error", "ignore"), ("retry_s", "soon"), ("retry_s", "0"), ("tampering", "much"), ("workers", "2.5"),
        ("workers", "0"), ("scheme", "most"), ("truncated", "pass"), ("tests_inside", "yes"),
    ],
)  # fmt: skip
def test_a_wrong_one_is_named_as_its_variable(monkeypatch, name, text):
    monkeypatch.setenv(variable(name), text)
    with pytest.raises(UserError) as caught:
        reward_grader()
    assert variable(name) in str(caught.value)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_misspelt_one_is_not_passed_over(monkeypatch):
    monkeypatch.setenv("TRUEGRADE_REWARD_SCHEMA", "all")
    with pytest.raises(UserError, match=r"TRUEGRADE_REWARD_SCHEMA: .*TRUEGRADE_REWARD_SCHEME"):
        reward_grader()


def test_what_is_given_goes_before_the_environment(monkeypatch):
    monkeypatch.setenv("TRUEGRADE_REWARD_SCHEME", "share")
    monkeypatch.setenv("TRUEGRADE_REWARD_TAMPERING", "-1")
    with reward_grader(scheme="threshold(0.5)") as grader:
        assert (grader.scheme.name, grader.tampering) == ("threshold", -1.0)
    monkeypatch.setenv("TRUEGRADE_REWARD_TAMPERING", "0.25")
    with reward_grader(scheme="threshold(0.5)") as other:
        assert other.tampering == 0.25


def test_a_wrong_argument_is_named_as_the_argument(monkeypatch):
    monkeypatch.setenv("TRUEGRADE_REWARD_SCHEME", "share")
    with pytest.raises(UserError, match=r"^`scheme`"):
        reward_grader(scheme="most")
