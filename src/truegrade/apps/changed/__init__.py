"""Changed problems: another specification, whose tests refuse the original's answer."""

from truegrade.app import App

APP = App(
    name="changed",
    summary="problems of benchmarks, changed so that the known answer is wrong",
    commands={"data change": "truegrade.apps.changed.commands:change"},
)
