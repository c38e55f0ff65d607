"""``hf/ORG/NAME`` or ``hf/PATH``: any causal language model that transformers loads, in this process.

Tokens are drawn here and not by ``generate``, because each sample of a batch has a seed of its own: a sample can
be repeated alone. Temperature and top_p follow the request, else the model's ``generation_config.json``; top_k and
repetition penalty follow the request alone. Padding a batch changes logits in their last bits.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext, redirect_stderr
from inspect import signature
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from truegrade.errors import UserError
from truegrade.files.extras import require
from truegrade.models.gguf_local import SHIPPED, gguf_path
from truegrade.models.local import (
    WEIGHTS,
    Gatherer,
    Generated,
    adapted_name,
    check_adapter,
    read_arguments,
)
from truegrade.models.micro.decoding import TokenSampler, sampler_for
from truegrade.records import Prompt, Usage
from truegrade.records.config import Sampling

# -------------------------------------------- Model arguments (``-M key=value``) of the transformers back end.


class TransformersOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every argument, each with its meaning."""

    device: str = "auto"
    """``cpu``, ``cuda``, ``cuda:1``, ``mps``; ``auto`` takes CUDA where there is some; ``map`` spreads the weights
    over what there is (accelerate's ``device_map="auto"``)."""
    dtype: Literal["auto", "float32", "float16", "bfloat16"] = "auto"
    """Kind of number to compute with; ``auto`` is what the weights are stored as."""
    batch_size: Annotated[int, msgspec.Meta(ge=1)] = 8
    """Requests that are answered together; 1 makes a sample independent of others to the last bit."""
    adapter: str | None = None
    """Folder of a LoRA or DoRA adapter, as PEFT writes it; it is merged into the weights."""
    revision: str | None = None
    """Branch, tag or commit on the Hub."""
    trust_remote_code: bool = False
    """Whether Python code that comes with the weights may run here, outside the sandbox."""


def read_options(args: Mapping[str, Any]) -> TransformersOptions:
    """The arguments of a transformers model; raises as `read_arguments` does."""
    return read_arguments(args, TransformersOptions, "transformers")


# --------------------------------- Weights, tokenizer and adapter of a transformers model, loaded and checked.


NEEDED = ("torch", "transformers")
GGUF_SUFFIX = ".gguf"
_LIBRARIES = r"(torch|transformers|peft|accelerate|gguf)(\.|$)"


def load(name: str, options: TransformersOptions) -> tuple[Any, Any]:
    """Model and tokenizer, ready to generate.

    The weights of a GGUF file become 32-bit floating-point numbers. What quantisation rounded off stays lost, so
    an adapter that is trained on them is one of the rounded model.

    Args:
        name: ``ORG/NAME`` on the Hub, a folder, or a GGUF file, by its path or by a name of
            `truegrade.models.gguf_local.SHIPPED`.
        options: device, dtype, adapter.

    Raises:
        UserError: a package is missing, there is no such model, or the adapter is missing or does not fit.
    """
    check_packages(name, options)
    file = gguf_path(name) if _is_gguf(name) else None
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


def _is_gguf(name: str) -> bool:
    return name in SHIPPED or name.endswith(GGUF_SUFFIX)


def check_packages(name: str, options: TransformersOptions, *others: str) -> None:
    """Refuse, before any other work, where a package is not installed that a model needs; raises UserError."""
    needed = (
        *NEEDED,
        *(["peft"] if options.adapter else []),
        *(["accelerate"] if options.device == "map" else []),
        *(["gguf"] if _is_gguf(name) else []),
        *others,
    )
    elsewhere = "serve the model elsewhere and name it openai-compatible/NAME with `base_url`"
    require("local", "a model in this process", *needed, instead=elsewhere)


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


# -------------------------------------------------------- Many adapters, one after another, on one base model.
# A second `PeftModel` around a base that already has one leaves the first adapter's layers at work wherever the
# two adapt different modules. And subtracting a merged update does not give back the weights it was added to. So
# the base's own layers are put back, with copies of their weights that were taken before the first change.


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


# -------- How a prompt becomes text and tokens for a transformers model; the same for asking and for training.


def prompt_tokens(tokenizer: Any, prompt: Prompt, name: str, effort: str | None = None) -> list[int]:
    """The tokens after which the model writes its reply; raises as `prompt_text`."""
    return text_tokens(tokenizer, prompt, prompt_text(tokenizer, prompt, name, effort))


def text_tokens(tokenizer: Any, prompt: Prompt, text: str) -> list[int]:
    """The tokens of a prompt's text, or of one that goes on; a chat template has set its special tokens itself."""
    if prompt.style == "text":
        return list(tokenizer(text)["input_ids"])
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def prompt_text(tokenizer: Any, prompt: Prompt, name: str, effort: str | None = None) -> str:
    """A text as it stands; messages through the model's own chat template.

    Raises:
        UserError: the model has no template, or it knows no reasoning effort.
    """
    if prompt.style == "text":
        return prompt.messages[0].content
    if not tokenizer.chat_template:
        raise UserError(f"{name} has no chat template: it is a base model, ask it with `task_args` prompt=base")
    if effort is not None and "reasoning_effort" not in str(tokenizer.chat_template):
        raise UserError(f"{name} knows no reasoning effort: leave `reasoning_effort` out")
    begun = prompt.messages[-1].role == "assistant"
    text: str = tokenizer.apply_chat_template(
        [{"role": message.role, "content": message.content} for message in prompt.messages],
        tokenize=False,
        add_generation_prompt=not begun,
        continue_final_message=begun,
        **({"reasoning_effort": effort} if effort else {}),
    )
    return text


BATCHES_AHEAD = 4
"""Batches' worth of requests that are asked at once, so that there are similar lengths to choose from."""


class TransformersJob:
    """One request, and what it has written so far."""

    def __init__(self, prompt: list[int], sampler: TokenSampler, limit: int, stops: Sequence[str]) -> None:
        self.prompt, self.sampler, self.limit = prompt, sampler, limit
        self.stops = tuple(stop for stop in stops if stop)
        self.tokens: list[int] = []
        self.future: Future[Generated] = Future()

    @property
    def length(self) -> int:
        """Tokens of its prompt."""
        return len(self.prompt)


class TransformersEngine:
    """A model and its tokenizer.

    Args:
        name: ``ORG/NAME`` on the Hub, or a folder.
        options: the user's arguments.
        loaded: model and tokenizer of that name, already in memory; None to load them.

    Raises:
        UserError: as `load`.
    """

    def __init__(self, name: str, options: TransformersOptions, loaded: tuple[Any, Any] | None = None) -> None:
        adapter = None if options.adapter is None else Path(options.adapter)
        self._name, self._options = adapted_name(f"hf/{name}", adapter), options
        self._model, self._tokenizer = loaded or load(name, options)
        self._swap = AdapterSwap(self._model)
        self._defaults = self._model.generation_config
        ends = self._defaults.eos_token_id
        self._ends = set(ends) if isinstance(ends, list) else {ends}
        self._context = getattr(self._model.config, "max_position_embeddings", None) or 2**31
        self._gatherer = Gatherer(self._answer, options.batch_size)

    @property
    def name(self) -> str:
        """``hf/NAME``, and the hash of the adapter."""
        return self._name

    @property
    def parallel(self) -> int:
        """A few batches."""
        return self._options.batch_size * BATCHES_AHEAD

    def submit(self, prompt: Prompt, sampling: Sampling, sample: int = 0) -> Future[Generated]:
        """See `truegrade.models.local.Engine`."""
        tokens = prompt_tokens(self._tokenizer, prompt, self.name, sampling.reasoning_effort)
        room = self._context - len(tokens)
        if room < 1:
            note = f"the prompt's {len(tokens)} tokens leave no room in a context of {self._context}"
            unanswered: Future[Generated] = Future()
            usage = Usage(input_tokens=len(tokens))
            unanswered.set_result(Generated(text="", finish_reason="length", usage=usage, note=note))
            return unanswered
        limit = min(sampling.max_tokens or self._defaults.max_new_tokens or room, room)
        stops = (*prompt.stop, *sampling.stop)
        return self._gatherer.submit(
            TransformersJob(tokens, self._sampler(sampling, sample, tokens), limit, stops)
        )

    def wear(self, adapter: Path | None) -> None:
        """Put another adapter on the same base, or none; never while a request is under way.

        Raises:
            UserError: the adapter is missing, damaged or made for another model, or one was merged at loading.
        """
        if self._options.adapter is not None:
            raise UserError(
                f"{self.name} was loaded with an adapter merged in: load it without the model argument adapter"
            )
        self._swap.wear(adapter)

    def close(self) -> None:
        """Nothing to release while the model may be asked again."""

    def _sampler(self, sampling: Sampling, sample: int, tokens: list[int]) -> TokenSampler:
        usual = (self._defaults.temperature or 1.0) if self._defaults.do_sample else 0.0
        return sampler_for(sampling, sample, tokens, temperature=usual, top_p=self._defaults.top_p)

    def _answer(self, batch: Sequence[TransformersJob]) -> None:
        """Answer a batch: prompts padded on the left, one token a step for every request that has not ended."""
        import torch

        device = next(self._model.parameters()).device
        longest = max(ask.length for ask in batch)
        pad = next(iter(self._ends - {None}), 0)
        ids = torch.tensor([[pad] * (longest - ask.length) + ask.prompt for ask in batch], device=device)
        mask = torch.tensor([[0] * (longest - a.length) + [1] * a.length for a in batch], device=device)
        cache: Any = None
        kept = "cache" if "cache" in signature(self._model.forward).parameters else "past_key_values"
        with torch.inference_mode():
            while True:
                places = (mask.cumsum(-1) - 1).clamp(min=0)[:, -ids.shape[1] :]
                out = self._model(
                    input_ids=ids, attention_mask=mask, position_ids=places, use_cache=True, **{kept: cache}
                )
                cache = out[kept]
                logits = out.logits[:, -1].float().cpu().numpy()
                drawn = [self._advance(ask, row) for ask, row in zip(batch, logits, strict=True)]
                if all(ask.future.done() for ask in batch):
                    return
                ids = torch.tensor([[pad if token is None else token] for token in drawn], device=device)
                mask = torch.cat((mask, torch.ones_like(ids)), dim=1)

    def _advance(self, ask: TransformersJob, logits: Any) -> int | None:
        """The next token of a request; None where it has ended."""
        if ask.future.done():
            return None
        token = ask.sampler.draw(logits)
        ask.tokens.append(token)
        ended = token in self._ends
        kept = ask.tokens[:-1] if ended else ask.tokens
        full = len(ask.tokens) == ask.limit
        if not (ended or full or ask.stops):
            return token
        text = self._tokenizer.decode(kept, skip_special_tokens=True)
        cuts = [place for stop in ask.stops if (place := text.find(stop)) >= 0]
        if not (ended or full or cuts):
            return token
        finish: Literal["stop", "length"] = "stop" if ended or cuts else "length"
        usage = Usage(input_tokens=ask.length, output_tokens=len(ask.tokens))
        if ask.future.set_running_or_notify_cancel():
            ask.future.set_result(
                Generated(text=text[: min(cuts, default=len(text))], finish_reason=finish, usage=usage)
            )
        return token
