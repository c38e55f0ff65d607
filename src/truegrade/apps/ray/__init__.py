"""Grading on many machines: ``--executor ray[:ADDRESS]``; the only package that imports ray.

`crew` finds or starts the machines, has their actors grade batches, and survives the loss of some.

Ray schedules, moves objects and restarts actors; what was lost with its machine is done again elsewhere, which
changes nothing, because results are keyed by what they are of. ``docs/service.md``.
"""

from truegrade.app import App

APP = App(
    name="ray",
    summary="grading on several machines",
    things={"executor": {"ray": "truegrade.apps.ray.crew:open_ray"}},
)
