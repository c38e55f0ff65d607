"""Weights, tokenizer and adapter of a transformers model, loaded and checked."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import nullcontext, redirect_stderr
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

from truegrade.errors import UserError
from truegrade.models.adapters import WEIGHTS, check_adapter
from truegrade.models.gguf_options import SHIPPED, gguf_path
from truegrade.models.transformers_options import TransformersOptions

NEEDED = ("torch", "transformers")
GGUF_SUFFIX = ".gguf"
_LIBRARIES = r"(torch|transformers|peft|accelerate|gguf)(\.|$)"


def load(name: str, options: TransformersOptions) -> tuple[Any, Any]:
    """Model and tokenizer, ready to generate.

    The weights of a GGUF file become 32-bit floating-point numbers. What quantisation rounded off stays lost, so
    an adapter that is trained on them is one of the rounded model.

    Args:
        name: ``ORG/NAME`` on the Hub, a folder, or a GGUF file, by its path or by a name of
            `truegrade.models.gguf_options.SHIPPED`.
        options: device, dtype, adapter.

    Raises:
        UserError: a package is missing, there is no such model, or the adapter is missing or does not fit.
    """
    file = gguf_path(name) if name in SHIPPED or name.endswith(GGUF_SUFFIX) else None
    _check_packages(options, gguf=file is not None)
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    _quieten()
    settings: dict[str, Any] = {"revision": options.revision, "trust_remote_code": options.trust_remote_code}
    placed = {"device_map": "auto"} if options.device == "map" else {}
    source = name if file is None else str(file.parent)
    if file is not None:
        settings["gguf_file"] = file.name
    try:
        # Of a GGUF file nothing is downloaded, and its progress bar asks nobody whether it is wanted.
        with nullcontext() if file is None else redirect_stderr(StringIO()):
            tokenizer = AutoTokenizer.from_pretrained(source, **settings)
            model = AutoModelForCausalLM.from_pretrained(source, dtype=options.dtype, **settings, **placed)
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


def _quieten() -> None:
    """Keep the libraries' notes to their own developers off the terminal: deprecations, and a bar for each load.

    Errors stay, and the bars of downloads. Whoever sets TRANSFORMERS_VERBOSITY or Python's -W gets what that asks
    for.
    """
    from huggingface_hub.utils.tqdm import enable_progress_bars
    from transformers.utils import logging

    if "TRANSFORMERS_VERBOSITY" not in os.environ:
        logging.set_verbosity_error()
    logging.disable_progress_bar()
    enable_progress_bars()
    if not sys.warnoptions:
        for category in (FutureWarning, DeprecationWarning, UserWarning):
            warnings.filterwarnings("ignore", category=category, module=_LIBRARIES)


def _check_packages(options: TransformersOptions, *, gguf: bool) -> None:
    needed = [
        *NEEDED,
        *(["peft"] if options.adapter else []),
        *(["accelerate"] if options.device == "map" else []),
        *(["gguf"] if gguf else []),
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
