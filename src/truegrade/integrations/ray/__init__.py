"""Grading and evolving on many machines: ``--executor ray[:ADDRESS]``. The only package that imports ray.

`cluster` finds or starts the machines, `crew` has their actors do tasks and survives the loss of some.

Grading: `grader` hands out batches and takes back verdicts, `actor` is what stands on each core with a sandbox of
its own, `shipping` takes problems there once, `queueing` decides which samples make the next batch.

Anything else: `machines` takes a function there once and then orders for it, one by one, to a `worker` on each
core or accelerator. It knows nothing of evolution, which employs it.

Ray schedules, moves objects and restarts actors; what was lost with its machine is done again elsewhere, which
changes nothing, because results are keyed by what they are of. ``docs/scale.md``.
"""

from __future__ import annotations

from importlib.util import find_spec

from truegrade.errors import UserError
from truegrade.integrations.ray.cluster import parse_address
from truegrade.integrations.ray.grader import RayGrader
from truegrade.integrations.ray.ray_machines import RayMachines

__all__ = ["RayGrader", "RayMachines", "open_machines", "open_ray"]


def open_ray(address: str, workers: int | None, allow_unsafe: bool) -> RayGrader:
    """``grade --executor ray[:ADDRESS]``; connects when something is graded.

    Raises:
        UserError: ray is not installed, or no cluster can have such an address.
    """
    return RayGrader(_checked(address), workers=workers, allow_unsafe=allow_unsafe)


def open_machines(address: str, workers: int | None, accelerated: bool) -> RayMachines:
    """``evolve --executor ray[:ADDRESS]``; connects when something is evaluated.

    Raises:
        UserError: ray is not installed, or no cluster can have such an address.
    """
    return RayMachines(_checked(address), workers=workers, accelerated=accelerated)


def _checked(address: str) -> str:
    if find_spec("ray") is None:
        raise UserError("`executor` ray needs the package ray: pip install 'truegrade[ray]'")
    return parse_address(address)
