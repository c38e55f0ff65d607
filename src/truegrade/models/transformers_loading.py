"""Weights, tokenizer and adapter of a transformers model, loaded and checked."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from truegrade.errors import UserError
from truegrade.models.adapters import WEIGHTS, check_adapter
from truegrade.models.transformers_options import TransformersOptions

NEEDED = ("torch", "transformers")


def load(name: str, options: TransformersOptions) -> tuple[Any, Any]:
    """Model and tokenizer, ready to generate.

    Args:
        name: ``ORG/NAME`` on the Hub, or a folder.
        options: device, dtype, adapter.

    Raises:
        UserError: a package is missing, there is no such model, or the adapter is missing or does not fit.
    """
    _check_packages(options)
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    settings = {"revision": options.revision, "trust_remote_code": options.trust_remote_code}
    placed = {"device_map": "auto"} if options.device == "map" else {}
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, **settings)
        model = AutoModelForCausalLM.from_pretrained(name, dtype=options.dtype, **settings, **placed)
    except (OSError, ValueError, KeyError) as error:
        first_line = str(error).strip().partition("\n")[0]
        raise UserError(f"hf/{name} cannot be loaded: {first_line}") from error
    if options.adapter is not None:
        model = attach(model, Path(options.adapter), f"`model_args` adapter={options.adapter}").merge_and_unload()
    if options.device != "map":
        automatic = "cuda" if torch.cuda.is_available() else "cpu"
        try:
            model = model.to(automatic if options.device == "auto" else options.device)
        except (RuntimeError, AssertionError) as error:
            raise UserError(f"`model_args` device={options.device}: {str(error).partition(chr(10))[0]}") from None
    model.eval()
    return model, tokenizer


def _check_packages(options: TransformersOptions) -> None:
    needed = [
        *NEEDED,
        *(["peft"] if options.adapter else []),
        *(["accelerate"] if options.device == "map" else []),
    ]
    missing = [package for package in needed if find_spec(package) is None]
    if missing:
        raise UserError(
            f"{' and '.join(missing)} not installed: pip install 'truegrade[local]', "
            "or serve the model elsewhere and name it openai-compatible/NAME with `base_url`"
        )


def attach(model: Any, folder: Path, named: str) -> Any:
    """The model with an adapter's layers in place and its weights in them; if that fails, the model as it was.

    PEFT itself only warns of weights that do not fit, and then evaluates a model that is not the one asked for. So
    the names in the file are compared with those that the adapter should have.

    Args:
        model: whose linear layers are replaced in place.
        folder: as PEFT writes it.
        named: how a message calls the adapter.

    Raises:
        UserError: it is missing, damaged, or made for another model.
    """
    from peft import PeftConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    check_adapter(folder)
    adapted = None
    try:
        config = PeftConfig.from_pretrained(str(folder))
        config.inference_mode = True
        stored = load_file(folder / WEIGHTS)
        adapted = get_peft_model(model, config)
        odd = sorted(stored.keys() ^ get_peft_model_state_dict(adapted).keys())
        if odd:
            raise UserError(f"{named}: {odd[0]} is on one side only, so it was made for another model")
        set_peft_model_state_dict(adapted, stored)
    except (UserError, SafetensorError, OSError, ValueError, RuntimeError, TypeError, KeyError) as error:
        if adapted is not None:
            adapted.unload()
        if isinstance(error, UserError):
            raise
        first_line = str(error).strip().partition("\n")[0]
        raise UserError(f"{named}: damaged, or made for another model ({first_line})") from error
    return adapted
