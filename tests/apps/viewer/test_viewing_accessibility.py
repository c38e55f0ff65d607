"""The pages of the viewer under axe-core, narrow and light, wide and dark."""

import pytest

from support.accessibility import findings, unguarded_window

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("page", "shown"),
    [
        ("#/", "#runs tr"),
        ("#/run?run=parrot", "#sample h3"),
        ("#/compare?run=parrot&run=magpie", ".contender .value"),
    ],
)
def test_a_page_is_accessible(chromium, viewer, page, shown):
    with unguarded_window(chromium) as window:
        window.goto(f"{viewer.server.url}{page}")
        window.wait_for_selector(shown)
        assert findings(window) == []


def test_the_dialog_of_keys_is_accessible(chromium, viewer):
    with unguarded_window(chromium) as window:
        window.goto(f"{viewer.server.url}#/run?run=parrot")
        window.wait_for_selector("#sample h3")
        window.keyboard.press("?")
        window.wait_for_selector("#keys-shown[open]")
        assert findings(window) == []
