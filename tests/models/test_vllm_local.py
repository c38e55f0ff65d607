"""vLLM in this process, as far as it can be tested without vLLM; `test_vllm_real.py` runs it.

The module below is a STAND-IN: a few lines that take the arguments, and give the objects, that vLLM 0.32 documents
for `AsyncEngineArgs`, `AsyncLLMEngine`, `SamplingParams`, `RequestOutputKind` and `LoRARequest`. It shows what we
ask of vLLM, where the real engine shows no such thing.
"""

import asyncio
import enum
import hashlib
import importlib.machinery
import json
import sys
import threading
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import pytest

from truegrade.errors import BadRecord, ModelError, UnknownName, UserError
from truegrade.models import open_model
from truegrade.models.base import generate_sample
from truegrade.models.probe import probe_model
from truegrade.models.vllm_local import RANKS, adapter_rank, read_options
from truegrade.records import Message, Prompt
from truegrade.records.config import RequestPolicy, Sampling


class Tokenizer:
    """One token a character; a template that needs roles."""

    chat_template = "roles"

    def __call__(self, text, add_special_tokens=True):
        return {"input_ids": [*([1] if add_special_tokens else []), *map(ord, text)]}

    def apply_chat_template(self, messages, *, tokenize, add_generation_prompt, continue_final_message):
        assert not tokenize and add_generation_prompt != continue_final_message
        return "".join(f"<{m['role']}>{m['content']}" for m in messages) + "<assistant>" * add_generation_prompt


class RequestOutputKind(enum.Enum):
    CUMULATIVE = 0
    DELTA = 1
    FINAL_ONLY = 2


@dataclass
class SamplingParams:
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    repetition_penalty: float = 1.0
    seed: int | None = None
    stop: list[str] | None = None
    max_tokens: int | None = 16
    output_kind: RequestOutputKind = RequestOutputKind.CUMULATIVE


@dataclass
class LoRARequest:
    lora_name: str
    lora_int_id: int
    lora_path: str


@dataclass
class AsyncEngineArgs:
    model: str
    dtype: str = "auto"
    tensor_parallel_size: int = 1
    gpu_memory_utilization: float = 0.9
    max_model_len: int | None = None
    revision: str | None = None
    trust_remote_code: bool = False
    enforce_eager: bool = False
    disable_log_stats: bool = False
    enable_lora: bool = False
    max_lora_rank: int = 16


@dataclass
class AsyncLLMEngine:
    args: AsyncEngineArgs
    loop: asyncio.AbstractEventLoop
    seen: list = field(default_factory=list)
    most_at_once: int = 0
    under_way: int = 0
    ended: bool = False
    output_handler: asyncio.Task | None = None

    started: ClassVar[list] = []  # every engine that was made

    @classmethod
    def from_engine_args(cls, engine_args):
        if engine_args.model == "broken":
            raise ValueError("Unrecognized model in broken.\nmore lines")
        engine = cls(engine_args, asyncio.get_running_loop())
        cls.started.append(engine)
        return engine

    @property
    def model_config(self):
        usual = {"temperature": 0.6, "top_k": 20, "max_tokens": 50}
        return SimpleNamespace(max_model_len=self.args.max_model_len or 400, get_diff_sampling_param=lambda: usual)

    def get_tokenizer(self):
        return Tokenizer()

    async def generate(self, prompt, sampling_params, request_id, *, lora_request=None):
        assert asyncio.get_running_loop() is self.loop
        assert request_id not in [seen[2] for seen in self.seen]
        self.seen.append((prompt, sampling_params, request_id, lora_request))
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        self.output_handler = self.output_handler or asyncio.create_task(asyncio.sleep(60))
        await asyncio.sleep(0.01)
        self.under_way -= 1
        text = "".join(map(chr, prompt["prompt_token_ids"]))
        if "crash" in text:
            raise Exception("EngineDeadError")
        noise = sampling_params.seed if sampling_params.temperature else ""
        written = hashlib.sha256(f"{text} {noise} {lora_request}".encode()).hexdigest()[
            : sampling_params.max_tokens
        ]
        reason, tokens = "length", len(written)
        for stop in sampling_params.stop or ():
            if stop in written:
                written, reason = written[: written.index(stop)], "stop"
        output = SimpleNamespace(text=written, token_ids=[0] * tokens, finish_reason=reason)
        assert sampling_params.output_kind is RequestOutputKind.FINAL_ONLY
        yield SimpleNamespace(outputs=[output], finished=True)

    def shutdown(self):
        assert asyncio.get_running_loop() is self.loop
        assert self.output_handler is None or self.output_handler.cancelled()
        self.ended = True


@pytest.fixture
def vllm(monkeypatch):
    """The stand-in under vLLM's name; gives the list of engines made."""
    modules = {
        name: ModuleType(name) for name in ("vllm", "vllm.sampling_params", "vllm.lora", "vllm.lora.request")
    }
    modules["vllm"].__spec__ = importlib.machinery.ModuleSpec("vllm", None)
    for documented in (AsyncEngineArgs, AsyncLLMEngine, SamplingParams):
        setattr(modules["vllm"], documented.__name__, documented)
    modules["vllm.sampling_params"].RequestOutputKind = RequestOutputKind
    modules["vllm.lora.request"].LoRARequest = LoRARequest
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(AsyncLLMEngine, "started", [])
    yield AsyncLLMEngine.started
    assert not [thread for thread in threading.enumerate() if thread.name == "vllm"]


def ask(model, *requests):
    async def run():
        try:
            return await asyncio.gather(*(generate_sample(model, *request) for request in requests))
        finally:
            await model.close()

    return asyncio.run(run())


def write_adapter(folder, **config):
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"r": 4, "peft_type": "LORA", **config}))
    (folder / "adapter_model.safetensors").write_bytes(b"weights")
    return folder


# ------------------------------------------------------------------------------------- without the package


def test_without_the_extra_one_line_names_it():
    with pytest.raises(UserError) as caught:
        open_model("vllm/ORG/NAME", args={"adapter": "nowhere"})
    assert str(caught.value) == (
        "vllm/ORG/NAME runs in this process and needs vllm, not installed here: pip install 'truegrade[vllm]', or"
        " ask a server (vllm serve ORG/NAME) and give `base_url` http://localhost:8000/v1"
    )


def test_an_address_means_a_server():
    assert open_model("vllm/x", base_url="http://h:1/v1").base_url == "http://h:1/v1"
    with pytest.raises(UserError, match="takes no adapter here"):
        open_model("vllm/x", base_url="http://h:1/v1", args={"adapter": "a"})


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ({"tensor_paralel_size": 2}, UnknownName, "did you mean tensor_parallel_size"),
        ({"tensor_parallel_size": 0}, UserError, "tensor_parallel_size"),
        ({"gpu_memory_utilization": 1.5}, UserError, "gpu_memory_utilization"),
        ({"dtype": "int8"}, UserError, "dtype"),
        ({"max_model_len": "long"}, UserError, "max_model_len"),
    ],
)
def test_arguments_at_fault(args, error, message):
    with pytest.raises(error, match=message):
        read_options(args)


@pytest.mark.parametrize("rank", [1, 2, 8, 9, 16, 33, 257, 512])
def test_the_rank_that_vllm_must_be_told(tmp_path, rank):
    told = adapter_rank(write_adapter(tmp_path / "a", r=rank))
    assert told in RANKS and told >= rank
    assert not [other for other in RANKS if rank <= other < told]


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        ({"use_dora": True}, UserError, "vLLM does not run DoRA; hf/NAME does"),
        ({"modules_to_save": ["lm_head"]}, UserError, "vLLM does not run modules_to_save"),
        ({"r": 513}, UserError, "rank 513 is more than vLLM's 512"),
        ({"r": "many"}, BadRecord, "is it the configuration of an adapter"),
    ],
)
def test_adapters_that_vllm_cannot_run(tmp_path, config, error, message):
    with pytest.raises(error, match=message):
        adapter_rank(write_adapter(tmp_path / "a", **config))


# ------------------------------------------------------------------------------------ against the stand-in


def test_what_the_engine_is_told(vllm):
    args = {"dtype": "bfloat16", "tensor_parallel_size": "2", "gpu_memory_utilization": 0.5, "max_model_len": 99,
            "revision": "main", "enforce_eager": True}  # fmt: skip
    model = open_model("vllm/ORG/NAME", args=args)
    assert (model.name, model.base_url) == ("vllm/ORG/NAME", None)
    assert model.request_policy.max_connections == 256
    asyncio.run(model.close())
    asyncio.run(model.close())
    (engine,) = vllm
    assert engine.ended
    assert engine.args == AsyncEngineArgs(
        "ORG/NAME",
        "bfloat16",
        2,
        0.5,
        max_model_len=99,
        revision="main",
        enforce_eager=True,
        disable_log_stats=True,
    )


def test_presets_run_here_without_an_address(vllm):
    model = open_model("codellama-7b", request_policy=RequestPolicy())
    assert model.name == "vllm/codellama/CodeLlama-7b-Instruct-hf"
    asyncio.run(model.close())


def test_a_chat_and_a_text(vllm, make_request):
    ask(open_model("vllm/x"), make_request("Hi."), make_request("def f", style="text"))
    chat, text = ("".join(map(chr, seen[0]["prompt_token_ids"])) for seen in vllm[0].seen)
    assert (chat, text) == ("<user>Hi.<assistant>", "\x01def f")


def test_parameters_over_the_models_own(vllm, make_request):
    ask(
        open_model("vllm/x"),
        make_request(),
        make_request(temperature=0.0, top_p=0.5, max_tokens=9, stop=("b", "b")),
    )
    usual, asked = (seen[1] for seen in vllm[0].seen)
    assert (usual.temperature, usual.top_p, usual.top_k, usual.max_tokens) == (0.6, 1.0, 20, 50)
    assert (usual.stop, asked.stop) == (None, ["b"])
    assert (asked.temperature, asked.top_p, asked.top_k, asked.max_tokens) == (0.0, 0.5, 20, 9)


def test_top_k_and_repetition_penalty_reach_the_engine(vllm, make_request):
    ask(open_model("vllm/x"), make_request(top_k=7, repetition_penalty=1.2), make_request())
    asked, usual = (seen[1] for seen in vllm[0].seen)
    assert (asked.top_k, asked.repetition_penalty) == (7, 1.2)
    assert (usual.top_k, usual.repetition_penalty) == (20, 1.0)  # the model's own


def test_replies_read_as_local_ones(vllm, make_request):
    whole, cut = ask(open_model("vllm/x"), make_request(), make_request(stop=("0", "1", "2", "3", "4", "5")))
    assert (whole.finish_reason, cut.finish_reason) == ("length", "stop")
    assert whole.usage.output_tokens == 50 and whole.usage.input_tokens == len("<user>Say hello.<assistant>")
    assert whole.text.startswith(cut.text) and len(cut.text) < len(whole.text)
    assert (whole.form, whole.attempts[0].outcome, whole.model) == ("reply", "ok", "vllm/x")


def test_each_sample_has_a_seed_that_its_prompt_enters(vllm, make_request):
    requests = [make_request(seed=5), make_request(seed=5), make_request(seed=6), make_request("Else.", seed=5),
                make_request(sample=0), make_request(sample=1)]  # fmt: skip
    ask(open_model("vllm/x"), *requests)
    seeds = [seen[1].seed for seen in vllm[0].seen]
    assert seeds[0] == seeds[1]
    assert len(set(seeds)) == 5
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_requests_are_under_way_together(vllm, make_request):
    ask(open_model("vllm/x"), *(make_request(sample=i) for i in range(20)))
    assert vllm[0].most_at_once == 20


def test_an_adapter_goes_with_every_request(vllm, make_request, tmp_path):
    folder = write_adapter(tmp_path / "a", r=20)
    model = open_model("vllm/x", args={"adapter": str(folder)})
    assert model.name.startswith("vllm/x+")
    ask(model, make_request(), make_request(sample=1))
    (engine,) = vllm
    assert (engine.args.enable_lora, engine.args.max_lora_rank) == (True, 32)
    assert {seen[3].lora_path for seen in engine.seen} == {str(folder.resolve())}


def test_a_prompt_that_does_not_fit(vllm, make_request):
    (reply,) = ask(open_model("vllm/x", args={"max_model_len": 20}), make_request("long " * 20))
    assert (reply.text, reply.finish_reason) == ("", "length")
    assert "leave no room in a context of 20" in reply.attempts[0].error
    assert vllm[0].seen == []


def test_failures_of_the_engine(vllm, make_request):
    with pytest.raises(UserError, match=r"^vllm/broken cannot be loaded: Unrecognized model in broken\.$"):
        open_model("vllm/broken")
    with pytest.raises(ModelError, match="vllm/x failed: vLLM: EngineDeadError"):
        ask(open_model("vllm/x"), make_request("crash"))


def test_a_model_without_a_template(vllm, make_request, monkeypatch):
    monkeypatch.setattr(Tokenizer, "chat_template", None)
    with pytest.raises(UserError, match="has no chat template"):
        ask(open_model("vllm/x"), make_request())


def test_it_can_be_probed(vllm):
    model = open_model("vllm/x")

    async def probe():
        try:
            return await probe_model(model)
        finally:
            await model.close()

    report = asyncio.run(probe())
    states = [
        report.state(name) for name in ("temperature", "seed, same", "seed, different", "stop", "max_tokens")
    ]
    assert states == ["honoured"] * 5


def test_the_same_request_directly(vllm):
    model = open_model("vllm/x")
    prompt = Prompt(messages=(Message(role="user", content="a"),), source="test")
    one, two = (model.engine.submit(prompt, Sampling(seed=1)).result(10).text for _ in range(2))
    assert one == two
    model.engine.close()
