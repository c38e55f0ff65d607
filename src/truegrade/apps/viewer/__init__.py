"""A web page over a folder of runs, for one person at one machine: `truegrade view`. Writes nothing into it."""

from truegrade.app import App

APP = App(
    name="viewer",
    summary="a folder of runs in a browser",
    commands={"view": "truegrade.apps.viewer.commands:view"},
)
