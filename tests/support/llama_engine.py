"""A real OpenAI-protocol engine (llama.cpp) on this machine, serving the tiny random model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def llama_server(tmp_dir: Path) -> Iterator[str]:
    """Write the model into ``tmp_dir``, serve it, and yield the base URL, which ends in ``/v1``.

    Eight requests run at once, more wait; a reply without a token limit ends after 64 tokens.
    """
    import xllamacpp

    from support.tiny_gguf import write_tiny_gguf

    model = write_tiny_gguf(tmp_dir / "tiny.gguf")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model)
    parameters.model_alias = {"tiny-random"}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = 8192
    parameters.n_parallel = 8
    parameters.n_predict = 64
    parameters.n_gpu_layers = 0
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.cache_prompt = False  # a reused prefix is computed in other batches, and so is not bit-equal
    parameters.ui = False
    parameters.verbosity = -1
    server = xllamacpp.Server(parameters)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server  # its destructor stops the engine
