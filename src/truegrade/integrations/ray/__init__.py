"""Grading on many machines: ``--executor ray[:ADDRESS]``. The only package that imports ray.

`cluster` finds or starts the machines, `crew` has their actors grade batches and survives the loss of some.
`grader` hands out batches and takes back verdicts, `actor` is what stands on each core with a sandbox of its own,
`shipping` takes problems there once, `queueing` decides which samples make the next batch.

Ray schedules, moves objects and restarts actors; what was lost with its machine is done again elsewhere, which
changes nothing, because results are keyed by what they are of. ``docs/service.md``.
"""

from __future__ import annotations

from importlib.util import find_spec

from truegrade.errors import UserError
from truegrade.integrations.ray.cluster import parse_address
from truegrade.integrations.ray.crew import RayGrader

__all__ = ["RayGrader", "open_ray"]


def open_ray(address: str, workers: int | None, allow_unsafe: bool) -> RayGrader:
    """``grade --executor ray[:ADDRESS]``; connects when something is graded.

    Raises:
        UserError: ray is not installed, or no cluster can have such an address.
    """
    if find_spec("ray") is None:
        raise UserError("`executor` ray needs the package ray: pip install 'truegrade[ray]'")
    return RayGrader(parse_address(address), workers=workers, allow_unsafe=allow_unsafe)
