"""The numbers of an adapter that are trained: views into one flat vector, beside another for their gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from truegrade.errors import UserError
from truegrade.models.micro.micro_adapters import MODULES, PREFIX
from truegrade.records import sha256_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]

Kind = Literal["lora", "dora"]


class Update(msgspec.Struct, frozen=True):
    """What is trained of one linear layer; the second of each pair is the gradient."""

    down: tuple[Array, Array]
    """``A``: (rank, inputs)."""
    up: tuple[Array, Array]
    """``B``: (outputs, rank)."""
    magnitude: tuple[Array, Array] | None
    """DoRA's ``m``: (outputs,)."""
    scale: float


class FreshAdapter:
    """A fresh adapter, as PEFT begins one: ``A`` uniform, ``B`` zero, ``m`` the lengths of the weights' rows.

    ``A`` is bounded by 1 / sqrt(inputs), which is torch's ``kaiming_uniform_`` with a = sqrt(5)
    (huggingface/peft@v0.21.2 ``tuners/lora/layer.py``, ``reset_lora_parameters``). Each layer draws from a stream
    of its own, so that another choice of layers leaves the rest as it was.

    Args:
        tensors: the model's weights under Hugging Face's names.
        kind: LoRA or DoRA.
        modules: names of the linear layers that get an update, in every block.
        rank: of each.
        alpha: each is scaled by alpha / rank.
        seed: decides ``A``.

    Raises:
        UserError: there is no such module, or the rank is not at least 1.
    """

    def __init__(
        self, tensors: Mapping[str, Array], kind: Kind, modules: Sequence[str], rank: int, alpha: float, seed: int
    ) -> None:
        import numpy as np

        if rank < 1:
            raise UserError(f"an adapter of rank {rank}: a rank must be at least 1")
        targets = _targets(tensors, modules)
        shapes = [tensors[f"{module}.weight"].shape for module in targets]
        dtype = next(iter(tensors.values())).dtype
        size = sum(rank * (outputs + inputs) + (kind == "dora") * outputs for outputs, inputs in shapes)
        self.values: Array = np.zeros(size, dtype)
        self.gradient: Array = np.zeros(size, dtype)
        self.updates: dict[str, Update] = {}
        place = 0

        def take(*extents: int) -> tuple[Array, Array]:
            nonlocal place
            begin, place = place, place + int(np.prod(extents))
            return self.values[begin:place].reshape(extents), self.gradient[begin:place].reshape(extents)

        for module, (outputs, inputs) in zip(targets, shapes, strict=True):
            magnitude = take(outputs) if kind == "dora" else None
            update = Update(take(rank, inputs), take(outputs, rank), magnitude, alpha / rank)
            update.down[0][...] = (stream(seed, "A", module).random((rank, inputs)) * 2 - 1) * inputs**-0.5
            if magnitude is not None:
                magnitude[0][...] = np.linalg.norm(tensors[f"{module}.weight"], axis=1)
            self.updates[module] = update

    def tensors(self) -> dict[str, Array]:
        """The adapter under the names of PEFT's file."""
        named = {}
        for module, update in self.updates.items():
            named[f"{PREFIX}{module}.lora_A.weight"] = update.down[0]
            named[f"{PREFIX}{module}.lora_B.weight"] = update.up[0]
            if update.magnitude is not None:
                named[f"{PREFIX}{module}.lora_magnitude_vector"] = update.magnitude[0]
        return named


def stream(seed: int, *purpose: str | int) -> np.random.Generator:
    """A stream of random numbers of its own for every purpose."""
    import numpy as np

    return np.random.Generator(np.random.PCG64(int(sha256_json([seed, *purpose]), 16)))


def _targets(tensors: Mapping[str, Array], modules: Sequence[str]) -> list[str]:
    """Full names of the modules that get an update, in the model's own order."""
    unknown = sorted(set(modules) - set(MODULES))
    if unknown or not modules:
        problem = f"no module {unknown[0]!r} in a Llama" if unknown else "an adapter of no modules"
        raise UserError(f"{problem}: choose among {', '.join(MODULES)}")
    layers = 1 + max(int(name.split(".")[2]) for name in tensors if name.startswith("model.layers."))
    return [
        f"model.layers.{layer}.{'mlp' if module in MODULES[4:] else 'self_attn'}.{module}"
        for layer in range(layers)
        for module in MODULES
        if module in modules
    ]
