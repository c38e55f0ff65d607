"""A folder of runs in a browser, for one person at one machine: `truegrade view`; writes nothing into it."""

from truegrade.app import App

APP = App(
    name="viewer",
    summary="a folder of runs in a browser",
    commands={"view": "truegrade.apps.viewer.commands:view"},
)
