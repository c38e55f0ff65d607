"""A repository's functions as problems, decided by calls that its tests make, or by the tests."""

from truegrade.app import App

APP = App(
    name="repository",
    summary="a repository's functions as problems",
    commands={"data build repository": "truegrade.apps.repository.commands:build_repository"},
)
