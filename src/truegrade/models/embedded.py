"""``embedded/truegrade-micro``: the included model; ``embedded/PATH``: another small Llama in its layout."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import Future
from multiprocessing import parent_process
from pathlib import Path
from types import MappingProxyType
from typing import Any

from truegrade.errors import UnknownName, UserError
from truegrade.models.local import ARGUMENT, Generated, LocalModel, adapted_name
from truegrade.models.micro import EARLY_WEIGHTS, WEIGHTS
from truegrade.models.micro.decoding import Decoder, DecoderProcess, DecodingJob, TokenSampler, sampler_for
from truegrade.models.micro.llama import ROWS, read_defaults
from truegrade.models.micro.tokenizer import prompt_tokens
from truegrade.records import Prompt, Usage
from truegrade.records.config import RequestPolicy, Sampling

SHIPPED = "truegrade-micro"
"""The name of the weights that come with the package."""

EARLY = "truegrade-micro-early"
"""The name of those of a shorter run, which evolution starts from."""

_FOLDERS = MappingProxyType({SHIPPED: WEIGHTS, EARLY: EARLY_WEIGHTS})


MOST_PROCESSES = 4
LONG = 4 * ROWS
"""Requests behind which further processes are started, which takes half a second each; replies are the same."""


class EmbeddedEngine:
    """A Llama in numpy, in this process; of many requests, in one a further core too.

    Args:
        folder: its files as Hugging Face names them.
        name: what it is called in manifests; the folder otherwise.
        adapter: folder of a LoRA or DoRA adapter, merged into the weights; its hash joins the name.

    Raises:
        UserError: there is no such folder, or no adapter where one is named.
        BadRecord: a file is missing, damaged, or describes something that is not computed here.
    """

    def __init__(self, folder: Path, name: str | None = None, adapter: Path | None = None) -> None:
        if not (folder / "config.json").is_file():
            raise UserError(
                f"no model in {folder}: config.json, model.safetensors and tokenizer.json belong there"
            )
        self._name = adapted_name(f"embedded/{name or folder}", adapter)
        self._defaults = read_defaults(folder / "generation_config.json")
        self._decoder = Decoder.open(folder, adapter)
        self._files, self._asked = (folder, adapter), 0
        # a process that is one of several already leaves the cores to the others
        self._processes = 1 if parent_process() else min(MOST_PROCESSES, os.cpu_count() or 1)
        self._others: list[DecoderProcess] = []

    @property
    def name(self) -> str:
        """``embedded/NAME``, and the hash of the adapter."""
        return self._name

    @property
    def parallel(self) -> int:
        """All rows of all processes."""
        return ROWS * self._processes

    def submit(self, prompt: Prompt, sampling: Sampling, sample: int = 0) -> Future[Generated]:
        """See `truegrade.models.local.Engine`; without a temperature the likeliest token is taken."""
        if sampling.reasoning_effort is not None:
            raise UserError(f"{self.name} does not think before it answers: leave `reasoning_effort` out")
        tokens = prompt_tokens(prompt, self._decoder.tokenizer)
        room = self._decoder.llama.shape.max_position_embeddings - len(tokens)
        if room < 1:
            unanswered: Future[Generated] = Future()
            unanswered.set_result(self._does_not_fit(len(tokens)))
            return unanswered
        wanted = sampling.max_tokens or self._defaults.max_new_tokens or room
        sampler = self._sampler(sampling, sample, tokens)
        self._asked += 1
        return self._free_decoder().submit(
            DecodingJob(tokens, sampler, min(wanted, room), (*prompt.stop, *sampling.stop))
        )

    def close(self) -> None:
        """End the processes that were started; the thread in this one ends with its work."""
        for other in self._others:
            other.close()
        self._others.clear()

    def _free_decoder(self) -> Decoder | DecoderProcess:
        """The first that has a row left, else, of those there are, the one with the least to do."""
        self._others = [other for other in self._others if other.open]
        decoders: list[Decoder | DecoderProcess] = [self._decoder, *self._others]
        for each in decoders:
            if each.unfinished < ROWS:
                return each
        if self._asked > LONG and len(decoders) < self._processes:
            try:
                self._others.append(DecoderProcess(*self._files))
            except OSError:  # no further process: what there is answers
                self._processes = len(decoders)
            else:
                return self._others[-1]
        return min(decoders, key=lambda each: each.unfinished)

    def _sampler(self, sampling: Sampling, sample: int, tokens: list[int]) -> TokenSampler:
        defaults = self._defaults
        usual = (1.0 if defaults.temperature is None else defaults.temperature) if defaults.do_sample else 0.0
        return sampler_for(sampling, sample, tokens, temperature=usual, top_p=defaults.top_p)

    def _does_not_fit(self, tokens: int) -> Generated:
        context = self._decoder.llama.shape.max_position_embeddings
        note = f"the prompt's {tokens} tokens leave no room in a context of {context}"
        return Generated(text="", finish_reason="length", usage=Usage(input_tokens=tokens), note=note)


def open_embedded(model: str, request_policy: RequestPolicy, args: Mapping[str, Any]) -> LocalModel:
    """Open a model of the package by its name, or the one in a folder; its one argument is ``adapter``.

    Raises:
        UserError: there is none of that name, or no such adapter.
        UnknownName: there is no such argument.
        BadRecord: as `EmbeddedEngine`.
    """
    for argument in args:
        if argument != ARGUMENT:
            raise UnknownName("argument of an embedded model", argument, [ARGUMENT])
    adapter = None if args.get(ARGUMENT) is None else Path(str(args[ARGUMENT]))
    name = model if model in _FOLDERS else None
    return LocalModel(EmbeddedEngine(embedded_folder(model), name, adapter), request_policy)


def embedded_folder(model: str) -> Path:
    """Where the files of ``embedded/MODEL`` lie.

    Raises:
        UserError: this installation comes without the shipped weights.
    """
    folder = _FOLDERS.get(model)
    if folder is None:
        return Path(model)
    if not (folder / "config.json").is_file():
        raise UserError(f"this installation comes without the weights of {model}: name a folder, embedded/PATH")
    return folder
