"""Many adapters, one after another, on one base model.

A second `PeftModel` around a base that already has one leaves the first adapter's layers at work wherever the two
adapt different modules. And subtracting a merged update does not give back the weights it was added to. So the
base's own layers are put back, with copies of their weights that were taken before the first change.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from truegrade.errors import UserError
from truegrade.models.transformers_loading import attach


class AdapterSwap:
    """What a base model wears: one adapter merged into its weights, or none.

    The copies lie in main memory, not the accelerator's, and only of layers that were ever adapted.

    Args:
        model: the base; changed in place.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._originals: dict[str, Any] = {}
        self._worn: set[str] = set()

    def wear(self, adapter: Path | None) -> None:
        """Put on an adapter, or none. Merged before anything is generated: DoRA is slow otherwise.

        Raises:
            UserError: it is missing, damaged, or made for another model; the base then wears none.
        """
        self._bare()
        if adapter is None:
            return
        _check_plain(adapter)
        adapted = attach(self._model, adapter, f"adapter {adapter}")
        for name, layer in _wrapped(self._model).items():
            if name not in self._originals:
                self._originals[name] = layer.weight.detach().to("cpu", copy=True)
            self._worn.add(name)
        adapted.merge_and_unload()

    def _bare(self) -> None:
        """Exactly the weights that the base came with."""
        import torch

        with torch.no_grad():
            for name in self._worn:
                self._model.get_submodule(name).weight.copy_(self._originals[name])
        self._worn.clear()


def _check_plain(adapter: Path) -> None:
    """Refuse an adapter that changes more than the weights of linear layers: that would outlast it."""
    try:
        config = json.loads((adapter / "adapter_config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        return  # `attach` says what is wrong with it
    if config.get("bias", "none") != "none" or config.get("modules_to_save"):
        raise UserError(
            f"adapter {adapter}: it trains biases or whole modules, which cannot be swapped;"
            " load the model with `model_args` adapter=FOLDER instead"
        )


def _wrapped(model: Any) -> dict[str, Any]:
    """The base's own layers that adapters stand around, by name."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    return {
        name: module.get_base_layer()
        for name, module in model.named_modules()
        if isinstance(module, BaseTunerLayer)
    }
