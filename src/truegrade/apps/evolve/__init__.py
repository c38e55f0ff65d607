"""Adapters that improve on what was measured: their training, their scores, and the search over them.

    genome ──▶ adapter ──▶ replies ──▶ verdicts ──▶ scores ──▶ archive
               training    a run                    objectives

It calls `truegrade.api`, as any user does. The system CORAL-X is the profile ``coralx`` of each
part; ours is ``direct`` for genomes and ``measured`` for objectives.
"""

from truegrade.app import App, FolderKind

APP = App(
    name="evolve",
    summary="a search over adapters of a model, with baselines",
    commands={"evolve": "truegrade.apps.evolve.commands:evolve"},
    kinds={"searcher": "truegrade.apps.evolve.searchers:REGISTRY"},
    folders=(
        FolderKind(
            name="an evolution",
            marker="evolution.json",
            report="truegrade.apps.evolve.reporting.summary_text:report_files",
        ),
    ),
)
