"""``vllm/ORG/NAME`` or ``vllm/PATH`` without an address: vLLM's asynchronous engine in this process.

Written against vLLM 0.32's documented classes (`AsyncEngineArgs`, `AsyncLLMEngine`, `SamplingParams`,
`LoRARequest`; docs.vllm.ai/en/v0.32.0). Requests are handed over one by one and vLLM batches them. Each sample has
its own seed, mixed with its prompt. vLLM does not promise that a text is independent of what else is under way,
unless VLLM_BATCH_INVARIANT=1 is set.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from truegrade.errors import UserError
from truegrade.files.extras import require
from truegrade.files.json_text import read_json
from truegrade.models.local import CONFIG, Generated, adapted_name, check_adapter, read_arguments
from truegrade.models.transformers_local import prompt_tokens
from truegrade.records import Prompt, Usage, sha256_json
from truegrade.records.config import Sampling

# ---------------- Model arguments (``-M key=value``) of the vLLM back end, and what an adapter must be for it.


RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Values that ``max_lora_rank`` may have (vllm/config/lora.py, `MaxLoRARanks`, at v0.26.0)."""

_Count = Annotated[int, msgspec.Meta(ge=1)]


class VllmOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every argument, each with its meaning; those but ``adapter`` and ``batch_size`` are vLLM's own."""

    dtype: Literal["auto", "float32", "float16", "bfloat16"] = "auto"
    """Kind of number to compute with; ``auto`` is what vLLM chooses for the weights."""
    tensor_parallel_size: _Count = 1
    """GPUs that the weights are spread over."""
    gpu_memory_utilization: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    """Share of a GPU's memory that vLLM may take; None for its default."""
    max_model_len: _Count | None = None
    """Tokens of prompt and reply together; None for what the model's configuration says."""
    enforce_eager: bool = False
    """Skip compilation: it starts in seconds instead of minutes and runs slower."""
    adapter: str | None = None
    """Folder of a LoRA adapter, as PEFT writes it."""
    revision: str | None = None
    """Branch, tag or commit on the Hub."""
    trust_remote_code: bool = False
    """Whether Python code that comes with the weights may run here, outside the sandbox."""
    batch_size: _Count = 256
    """Requests handed to vLLM at once; it decides itself how many of them run together."""


class _AdapterConfig(msgspec.Struct):
    r: Annotated[int, msgspec.Meta(ge=1)]
    use_dora: bool = False
    modules_to_save: Any = None


def read_options(args: Mapping[str, Any]) -> VllmOptions:
    """The arguments of a vLLM model; raises as `read_arguments` does."""
    return read_arguments(args, VllmOptions, "vLLM")


def adapter_rank(folder: Path) -> int:
    """The smallest ``max_lora_rank`` that an adapter fits.

    vLLM refuses DoRA and whole saved modules (vllm/lora/peft_helper.py), and only at the first request: here they
    are refused before the weights are loaded.

    Raises:
        UserError: a file is missing, or vLLM cannot run the adapter.
        BadRecord: its configuration is none.
    """
    check_adapter(folder)
    config = read_json(folder / CONFIG, _AdapterConfig, "is it the configuration of an adapter?")
    if config.use_dora or config.modules_to_save:
        kind = "DoRA" if config.use_dora else "modules_to_save"
        raise UserError(f"`model_args` adapter={folder}: vLLM does not run {kind}; hf/NAME does")
    if config.r > RANKS[-1]:
        raise UserError(
            f"`model_args` adapter={folder}: rank {config.r} is more than vLLM's {RANKS[-1]}; hf/NAME runs it"
        )
    return next(rank for rank in RANKS if rank >= config.r)


_QUIET = {"VLLM_LOGGING_LEVEL": "WARNING", "VLLM_LOGGING_STREAM": "ext://sys.stderr"}
"""vLLM tells what it does on stdout, where results go; who wants to know sets the level."""


class VllmEngine:
    """A model and its tokenizer in vLLM; its event loop runs in a thread of its own.

    Args:
        name: ``ORG/NAME`` on the Hub, or a folder.
        options: the user's arguments.

    Raises:
        UserError: vLLM is not installed, cannot load the model, or cannot run the adapter.
    """

    def __init__(self, name: str, options: VllmOptions) -> None:
        _check_package(name)
        adapter = None if options.adapter is None else Path(options.adapter)
        self._name, self._options = adapted_name(f"vllm/{name}", adapter), options
        arguments = _engine_arguments(name, options)
        for variable, value in _QUIET.items():
            os.environ.setdefault(variable, value)
        from vllm import AsyncEngineArgs, AsyncLLMEngine
        from vllm.lora.request import LoRARequest

        self._lora = None if adapter is None else LoRARequest("adapter", 1, str(adapter.resolve()))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vllm", daemon=True)
        self._thread.start()

        async def start() -> Any:
            return AsyncLLMEngine.from_engine_args(AsyncEngineArgs(**arguments))

        try:
            self._engine = asyncio.run_coroutine_threadsafe(start(), self._loop).result()
        except (ValueError, OSError, RuntimeError) as error:
            self._end_loop()
            first_line = str(error).strip().partition("\n")[0]
            raise UserError(f"vllm/{name} cannot be loaded: {first_line}") from error
        self._tokenizer = self._engine.get_tokenizer()
        self._context: int = self._engine.model_config.max_model_len
        self._defaults: Mapping[str, Any] = self._engine.model_config.get_diff_sampling_param()
        self._numbers = count()

    @property
    def name(self) -> str:
        """``vllm/NAME``, and the hash of the adapter."""
        return self._name

    @property
    def parallel(self) -> int:
        """As many as vLLM is handed at once."""
        return self._options.batch_size

    def submit(self, prompt: Prompt, sampling: Sampling, sample: int = 0) -> Future[Generated]:
        """See `truegrade.models.local.Engine`; what the request leaves open follows ``generation_config.json``."""
        tokens = prompt_tokens(self._tokenizer, prompt, self.name, sampling.reasoning_effort)
        room = self._context - len(tokens)
        if room < 1:
            note = f"the prompt's {len(tokens)} tokens leave no room in a context of {self._context}"
            unanswered: Future[Generated] = Future()
            usage = Usage(input_tokens=len(tokens))
            unanswered.set_result(Generated(text="", finish_reason="length", usage=usage, note=note))
            return unanswered
        stops = list(dict.fromkeys(stop for stop in (*prompt.stop, *sampling.stop) if stop))
        seed = _mixed(sample if sampling.seed is None else sampling.seed, tokens)
        settings = {**self._settings(sampling, room), "seed": seed, "stop": stops or None}
        return asyncio.run_coroutine_threadsafe(self._answer(tokens, settings), self._loop)

    def close(self) -> None:
        """End the engine's processes; safe to call twice."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._shut_down(), self._loop).result()
            self._end_loop()

    def _settings(self, sampling: Sampling, room: int) -> dict[str, Any]:
        """The request's parameters over the model's own defaults."""
        asked = {"temperature": sampling.temperature, "top_p": sampling.top_p, **sampling.in_process_only}
        usual = dict(self._defaults)
        limit = sampling.max_tokens or usual.pop("max_tokens", None) or room
        return {
            **usual,
            **{key: value for key, value in asked.items() if value is not None},
            "max_tokens": min(limit, room),
        }

    async def _answer(self, tokens: list[int], settings: Mapping[str, Any]) -> Generated:
        """One request; vLLM itself cuts at stop strings and leaves them out of the text."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        number = f"truegrade-{next(self._numbers)}"
        try:
            wanted = SamplingParams(**settings, output_kind=RequestOutputKind.FINAL_ONLY)
            stream = self._engine.generate({"prompt_token_ids": tokens}, wanted, number, lora_request=self._lora)
            outputs = [output async for output in stream]
        except Exception as error:  # vLLM's own exceptions have no base in common
            raise RuntimeError(f"vLLM: {error or type(error).__name__}") from error
        written = outputs[-1].outputs[0]
        if written.finish_reason not in {"stop", "length"}:
            raise RuntimeError(f"vLLM ended a request with finish_reason {written.finish_reason!r}")
        usage = Usage(input_tokens=len(tokens), output_tokens=len(written.token_ids))
        return Generated(text=written.text, finish_reason=written.finish_reason, usage=usage)

    async def _shut_down(self) -> None:
        if self._engine.output_handler is not None:
            self._engine.output_handler.cancel()  # or it reports, with a traceback, that the engine is gone
            await asyncio.sleep(0)
        self._engine.shutdown()
        del self._engine  # whose end would otherwise wait for the interpreter's, and fail there

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _engine_arguments(name: str, options: VllmOptions) -> dict[str, Any]:
    """Fields of `AsyncEngineArgs`; what is not said is left to vLLM's defaults."""
    arguments: dict[str, Any] = {
        "model": name,
        "dtype": options.dtype,
        "tensor_parallel_size": options.tensor_parallel_size,
        "gpu_memory_utilization": options.gpu_memory_utilization,
        "max_model_len": options.max_model_len,
        "revision": options.revision,
        "trust_remote_code": options.trust_remote_code,
        "enforce_eager": options.enforce_eager,
        "disable_log_stats": True,
    }
    if options.adapter is not None:
        arguments |= {"enable_lora": True, "max_lora_rank": adapter_rank(Path(options.adapter))}
    return {key: value for key, value in arguments.items() if value is not None}


def _mixed(seed: int, tokens: list[int]) -> int:
    """The seed of one request: with one seed for all, samples of different problems would draw the same noise."""
    return int(sha256_json([seed, tokens])[:15], 16)


def _check_package(name: str) -> None:
    server = f"ask a server (vllm serve {name}) and give `base_url` http://localhost:8000/v1"
    require("vllm", f"vllm/{name} runs in this process and", instead=server)
