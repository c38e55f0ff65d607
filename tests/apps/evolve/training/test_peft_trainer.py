"""Adapters of a tiny CodeLlama, really trained by PEFT."""

import json
import os
import subprocess
import sys

import msgspec
import pytest

from truegrade.apps.evolve.training.cache import AdapterCache
from truegrade.apps.evolve.training.lessons import Lesson
from truegrade.apps.evolve.training.peft_trainer import batches, encode, learning_rate, steps_of
from truegrade.errors import UnknownName, UserError
from truegrade.models.transformers_local import TransformersOptions, prompt_tokens
from truegrade.records import Message, Prompt

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

EVERY = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
FLOAT32 = TransformersOptions(dtype="float32", device="cpu")


@pytest.fixture(scope="module")
def torch():
    pytest.importorskip("peft", reason="peft is not installed")
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def trainer(torch, code_llama):
    from truegrade.apps.evolve.training.peft_trainer import PeftTrainer

    return PeftTrainer(str(code_llama), FLOAT32)


def files(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def logits(torch, model, tokens=range(5, 40)):
    with torch.inference_mode():
        return model(input_ids=torch.tensor([list(tokens)])).logits


@pytest.mark.parametrize("kind", ["lora", "dora"])
def test_the_loss_falls_and_the_same_seed_gives_the_same_files(trainer, make_order, lessons, tmp_path, kind):
    order = make_order(
        trainer.base, kind=kind, epochs=4, modules=EVERY, learning_rate=1e-2, dropout=0.05, batch_size=2
    )
    seen = []
    one = trainer.train(order, lessons, tmp_path / "one", lambda *event: seen.append(event))
    assert list(enumerate(one.losses)) == seen and len(seen) == 4
    # the output layer is random and frozen, so no adapter can do much; but every epoch does something
    assert list(one.losses) == sorted(one.losses, reverse=True) and one.losses[0] - one.losses[-1] > 0.1
    assert one.cut == 0 and one.tokens > 4 * 12 * 50
    trainer.train(order, lessons, tmp_path / "same")
    assert files(tmp_path / "one") == files(tmp_path / "same")
    trainer.train(msgspec.structs.replace(order, seed=2), lessons, tmp_path / "other")
    weights = "adapter_model.safetensors"
    assert files(tmp_path / "one")[weights] != files(tmp_path / "other")[weights]


def test_the_same_files_in_another_process_with_another_hash_seed(
    trainer, make_order, lessons, tmp_path, code_llama
):
    order = make_order(trainer.base, epochs=1, dropout=0.1)
    trainer.train(order, lessons, tmp_path / "here")
    (tmp_path / "order.json").write_bytes(msgspec.json.encode(order))
    (tmp_path / "lessons.json").write_bytes(msgspec.json.encode(lessons))
    code = (
        "import msgspec, sys; from pathlib import Path; from truegrade.apps.evolve.training.lessons import *;"
        "from truegrade.apps.evolve.training.peft_trainer import PeftTrainer, TransformersOptions;"
        "folder = Path(sys.argv[1]); decode = msgspec.json.decode;"
        "order = decode((folder / 'order.json').read_bytes(), type=TrainingOrder);"
        "taught = decode((folder / 'lessons.json').read_bytes(), type=list[Lesson]);"
        "trainer = PeftTrainer(order.base[3:], TransformersOptions(dtype='float32', device='cpu'));"
        "trainer.train(order, taught, folder / 'there')"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, env=environment, capture_output=True)
    assert files(tmp_path / "here") == files(tmp_path / "there")


@pytest.mark.parametrize("kind", ["lora", "dora"])
def test_peft_itself_loads_what_was_trained_and_it_is_the_same_adapter(
    torch, trainer, make_order, lessons, tmp_path, code_llama, kind
):
    import peft
    import transformers

    from truegrade.models.transformers_local import load

    order = make_order(trainer.base, kind=kind, modules=("q_proj", "down_proj"), learning_rate=2e-2, epochs=3)
    trained = trainer.train(order, lessons, tmp_path / "adapter")
    base = transformers.AutoModelForCausalLM.from_pretrained(code_llama, dtype=torch.float32)
    plain = logits(torch, base)
    loaded = peft.PeftModel.from_pretrained(base, tmp_path / "adapter").eval()
    assert (loaded.peft_config["default"].use_dora, loaded.peft_config["default"].r) == (kind == "dora", 4)
    unmerged = logits(torch, loaded)
    ours, _ = load(
        str(code_llama), TransformersOptions(dtype="float32", device="cpu", adapter=str(trained.folder))
    )
    assert (unmerged - plain).abs().max() > 1e-2
    assert (logits(torch, ours) - unmerged).abs().max() < 1e-4
    columns, rows = {"q_proj": (64, 64), "down_proj": (160, 64)}.values()
    expected = 2 * sum(4 * (taken + given) + (given if kind == "dora" else 0) for taken, given in (columns, rows))
    assert trained.parameters == expected


def test_training_leaves_the_base_as_it_was(torch, trainer, make_order, lessons, tmp_path):
    before = {name: tensor.clone() for name, tensor in trainer._model.state_dict().items()}
    random_before = torch.random.get_rng_state()
    plain = logits(torch, trainer._model)
    trainer.train(make_order(trainer.base, modules=EVERY, epochs=1), lessons, tmp_path / "a")
    with pytest.raises(UserError, match="diverged in epoch 1"):
        trainer.train(make_order(trainer.base, learning_rate=float("inf"), epochs=3), lessons, tmp_path / "b")
    after = trainer._model.state_dict()
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)
    assert torch.equal(logits(torch, trainer._model), plain)
    assert torch.equal(torch.random.get_rng_state(), random_before)


def test_a_killed_training_goes_on_and_ends_with_the_same_bytes(torch, trainer, make_order, lessons, tmp_path):
    from truegrade.apps.evolve.training.peft_trainer import PeftTrainer

    order = make_order(trainer.base, epochs=3, dropout=0.1, kind="dora")
    whole = trainer.train(order, lessons, tmp_path / "whole")
    kept = PeftTrainer(trainer.base[3:], FLOAT32, checkpoints=tmp_path / "checkpoints")

    class Killed(Exception):
        pass

    def kill(epoch, loss):
        if epoch == 1:
            raise Killed

    with pytest.raises(Killed):
        kept.train(order, lessons, tmp_path / "half", kill)
    assert not (tmp_path / "half").exists() and len(list((tmp_path / "checkpoints").iterdir())) == 1
    epochs = []
    rest = kept.train(order, lessons, tmp_path / "rest", lambda epoch, _: epochs.append(epoch))
    assert epochs == [2] and rest.losses == whole.losses
    assert files(tmp_path / "rest") == files(tmp_path / "whole")
    assert list((tmp_path / "checkpoints").iterdir()) == []


def test_a_damaged_checkpoint_begins_anew(trainer, make_order, lessons, tmp_path, torch):
    from truegrade.apps.evolve.training.cache import adapter_key
    from truegrade.apps.evolve.training.peft_trainer import PeftTrainer

    kept = PeftTrainer(trainer.base[3:], FLOAT32, checkpoints=tmp_path)
    order = make_order(trainer.base, epochs=1)
    (tmp_path / f"{adapter_key(kept, order, lessons)}.pt").write_bytes(b"PK\x03\x04 torn")
    assert len(kept.train(order, lessons, tmp_path / "adapter").losses) == 1


def test_settings_of_the_arithmetic_change_the_versions_and_hardly_the_result(
    torch, trainer, make_order, lessons, tmp_path
):
    from safetensors.torch import load_file

    from truegrade.apps.evolve.training.peft_trainer import PeftSettings, PeftTrainer

    settings = PeftSettings(rows=4, gradient_checkpointing=True)
    other = PeftTrainer(trainer.base[3:], FLOAT32, settings)
    assert other.base_sha256 == trainer.base_sha256 and other.versions != trainer.versions
    assert other.versions["arithmetic"] == "cpu, float32, 4 rows, gradient checkpointing"
    order = make_order(trainer.base, epochs=1)
    one, two = (each.train(order, lessons, tmp_path / str(n)).folder for n, each in enumerate((trainer, other)))
    theirs = load_file(two / "adapter_model.safetensors")
    for name, tensor in load_file(one / "adapter_model.safetensors").items():
        assert torch.allclose(tensor, theirs[name], atol=2e-4), name


def test_bfloat16_trains_and_float16_is_refused(torch, code_llama, make_order, lessons, tmp_path):
    from truegrade.apps.evolve.training.peft_trainer import PeftTrainer

    half = PeftTrainer(str(code_llama), TransformersOptions(dtype="bfloat16", device="cpu"))
    trained = half.train(
        make_order(half.base, epochs=3, learning_rate=1e-2, modules=EVERY), lessons, tmp_path / "a"
    )
    assert trained.losses[-1] < trained.losses[0] and "bfloat16" in half.versions["arithmetic"]
    with pytest.raises(UserError, match="loaded as float16, whose gradients vanish"):
        PeftTrainer(str(code_llama), TransformersOptions(dtype="float16", device="cpu"))


def test_only_the_reply_is_learned_or_everything_and_cuts_are_counted(trainer, make_order, lessons, tmp_path):
    order, tokenizer = make_order(trainer.base), trainer._tokenizer
    lesson = lessons[0]
    reply = encode(lesson, order, tokenizer, 2)
    asked = prompt_tokens(tokenizer, lesson.prompt, "m")
    assert list(reply.tokens[: len(asked)]) == asked and reply.tokens[-1] == 2 and not reply.cut
    assert tokenizer.decode(reply.tokens[reply.learned_from : -1]) == lesson.reply
    every = encode(lesson, msgspec.structs.replace(order, loss_on="all"), tokenizer, 2)
    assert every.tokens == reply.tokens and every.learned_from == 1
    shorter = msgspec.structs.replace(order, longest=len(reply.tokens) - 3)
    cut = encode(lesson, shorter, tokenizer, 2)
    assert cut.cut and cut.tokens == reply.tokens[:-3]
    trained = trainer.train(msgspec.structs.replace(shorter, loss_on="all"), lessons[:1], tmp_path / "cut")
    assert trained.cut == 1
    with pytest.raises(UserError, match="nothing can be learned from 1 lessons within 20 tokens"):
        trainer.train(msgspec.structs.replace(order, longest=20), lessons[:1], tmp_path / "none")


def test_text_for_base_models_is_tokenised_as_it_is_asked(trainer, make_order):
    prompt = Prompt(messages=(Message(role="user", content="def f(x):\n    re"),), style="text", source="test")
    example = encode(Lesson(problem="x", prompt=prompt, reply="turn x"), make_order("m"), trainer._tokenizer, 2)
    asked = prompt_tokens(trainer._tokenizer, prompt, "m")
    assert list(example.tokens[: len(asked)]) == asked  # though "return" is one token of its own
    assert trainer._tokenizer.decode(example.tokens[:-1]) == "def f(x):\n    return x"


def test_a_base_without_a_template_says_how_to_train_it(torch, make_order, lessons, tmp_path, code_llama):
    from truegrade.apps.evolve.training.peft_trainer import PeftTrainer

    folder = tmp_path / "base"
    folder.mkdir()
    for path in code_llama.iterdir():
        if path.name != "chat_template.jinja":
            (folder / path.name).write_bytes(path.read_bytes())
    names = json.loads((folder / "tokenizer_config.json").read_text())
    names.pop("chat_template", None)
    (folder / "tokenizer_config.json").write_text(json.dumps(names))
    base = PeftTrainer(str(folder), FLOAT32)
    with pytest.raises(UserError, match="it is a base model, ask it with `task_args` prompt=base"):
        base.train(make_order(base.base), lessons, tmp_path / "adapter")


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"modules": ("q_prj",)}, UnknownName, "did you mean q_proj"),
        ({"modules": ("lm_head",)}, UnknownName, "no linear layer of hf/.* 'lm_head'"),
        ({"modules": ()}, UserError, "no module gets an adapter"),
        ({"rank": 0}, UserError, "rank 0 is below 1"),
        ({"dropout": 1.0}, UserError, "dropout 1.0"),
        ({"epochs": 0}, UserError, "0 epochs"),
        ({"learning_rate": 0.0}, UserError, "learning rate 0.0"),
        ({"longest": 4096}, UserError, "do not fit .* context of 1024"),
        ({"base": "hf/other"}, UserError, "the order is for hf/other"),
    ],
)
def test_mistakes_are_named(trainer, make_order, lessons, tmp_path, change, error, said):
    order = msgspec.structs.replace(make_order(trainer.base), **{k: v for k, v in change.items() if k == "base"})
    changed = make_order(order.base, **{k: v for k, v in change.items() if k != "base"})
    with pytest.raises(error, match=said):
        trainer.train(changed, lessons, tmp_path / "adapter")


def test_the_cache_keeps_what_it_trains(trainer, make_order, lessons, tmp_path):
    cache, order = AdapterCache(tmp_path), make_order(trainer.base, epochs=1)
    first, again = (cache.trained(trainer, order, lessons) for _ in range(2))
    assert (first.hit, again.hit) == (False, True) and first.sha256 == again.sha256
    assert set(files(first.trained.folder)) == {"adapter_config.json", "adapter_model.safetensors", "entry.json"}


def test_batches_hold_every_lesson_once_and_like_lengths_together():
    lengths = [place * 37 % 101 for place in range(50)]
    cut = batches(lengths, 4, seed=3, epoch=1)
    assert sorted(place for batch in cut for place in batch) == list(range(50))
    assert len(cut) == steps_of(50, 4, 1) and all(len(batch) <= 4 for batch in cut)
    spread = [max(lengths[p] for p in batch) - min(lengths[p] for p in batch) for batch in cut]
    assert sum(spread) / len(spread) < 25 < max(lengths)
    assert cut == batches(lengths, 4, seed=3, epoch=1) != batches(lengths, 4, seed=3, epoch=2)


def test_the_schedule_warms_up_and_ends_low():
    rates = [learning_rate(step, 60, 1.0) for step in range(60)]
    assert (
        rates[0] == pytest.approx(1 / 15) and rates[14] == rates[15] == 1.0 and rates[-1] == pytest.approx(1 / 45)
    )
    assert [learning_rate(step, 200, 1.0) for step in (0, 19, 20)] == pytest.approx([1 / 20, 1.0, 1.0])
    assert learning_rate(0, 1, 2.0) == 2.0
