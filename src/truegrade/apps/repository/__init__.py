"""A repository's functions as problems, decided by calls or by its own tests; and how strong these tests are."""

from truegrade.app import App

APP = App(
    name="repository",
    summary="a repository's functions as problems, and how strong its tests are",
    commands={
        "data build repository": "truegrade.apps.repository.commands:build_repository",
        "assay repository": "truegrade.apps.repository.commands:assay_repository",
    },
    things={
        "agent": {"edit": "truegrade.apps.repository.agent:EditAgent"},
    },
)
