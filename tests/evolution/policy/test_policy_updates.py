"""GRPO: gradients against finite differences, signs, clipping, sampling."""

import numpy as np
import pytest

from truegrade.evolution.policy.policy import merged
from truegrade.evolution.policy.rollouts import Sampler
from truegrade.evolution.policy.updates import Stepping, Weighted, advantages, clipped
from truegrade.evolution.testbed.policy import BaseModel, TestbedPolicy
from truegrade.models.micro import WEIGHTS
from truegrade.models.micro.finetuning.linear import Dropout
from truegrade.models.micro.finetuning.network import Batch, Network, TrainingExample
from truegrade.models.micro.finetuning.updates import FreshAdapter, stream

NOTHING = Dropout(0.0, stream(0))
EXAMPLES = [TrainingExample((5, 90, 17, 33, 64, 1), 3), TrainingExample((8, 21, 21, 40, 1), 2)]


@pytest.fixture(scope="module")
def base() -> BaseModel:
    return BaseModel("truegrade-micro")


def logps(network: Network, examples: list[TrainingExample]) -> np.ndarray:
    batch = Batch(examples)
    logits = network.logits(batch, NOTHING).astype(np.float64)
    chosen = logits[np.arange(len(logits)), batch.targets]
    return chosen - np.logaddexp.reduce(logits, axis=-1)


def test_the_gradient_of_the_clipped_objective_is_its_slope(base: BaseModel) -> None:
    tensors = {name: each.astype(np.float64) for name, each in base.tensors.items()}
    adapter = FreshAdapter(tensors, "lora", ["q_proj", "down_proj"], 2, 4.0, 0)
    adapter.values[:] = stream(1).normal(size=adapter.values.size) * 0.02
    network = Network(base.shape, tensors, adapter)
    # ratios on both sides of the clip, and inside it
    old = logps(network, EXAMPLES) + np.array([0.5, -0.5, 0.1, 0.4, -0.4, -0.1])
    up, down = np.array([1.0, 2.0, 0.5, 0.0, 1.0, 2.0]), np.array([-1.0, 0.0, -2.0, -1.5, -1.0, 0.0])
    objective, batch = clipped(up, down, old, 7.0, 0.2), Batch(EXAMPLES)
    embedding = np.zeros_like(tensors["model.embed_tokens.weight"])
    network.step(batch, NOTHING, objective, embedding)
    gradient = adapter.gradient.copy()
    for values, slopes in (
        (adapter.values, gradient),
        (tensors["model.embed_tokens.weight"].reshape(-1), embedding.reshape(-1)),
    ):
        for place in np.argsort(-np.abs(slopes))[[0, 3, 20]]:
            kept, losses = values[place], []
            for step in (1e-5, -1e-5):
                values[place] = kept + step
                losses.append(network.step(batch, NOTHING, objective))
            values[place] = kept
            assert (losses[0] - losses[1]) / 2e-5 == pytest.approx(slopes[place], rel=1e-4, abs=1e-8)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_sign_of_the_advantage_decides_where_the_probability_goes(base: BaseModel, sign: float) -> None:
    policy = TestbedPolicy(base, base.tensors, 0)
    before = logps(policy._network, EXAMPLES[:1]).sum()
    reply = Weighted(
        example=EXAMPLES[0], logps=tuple(logps(policy._network, EXAMPLES[:1])), up=max(sign, 0.0),
        down=min(sign, 0.0), samples=1,
    )  # fmt: skip
    policy.learn([reply], Stepping(learning_rate=1e-3, batches=1, passes=2, clip=0.2), (0, 0))
    assert sign * (logps(policy._network, EXAMPLES[:1]).sum() - before) > 0


def test_a_reply_without_advantage_teaches_nothing(base: BaseModel) -> None:
    policy = TestbedPolicy(base, base.tensors, 0)
    before = policy.adapter.values.copy()
    reply = Weighted(example=EXAMPLES[0], logps=(0.0, 0.0, 0.0), up=0.0, down=0.0, samples=8)
    policy.learn([reply], Stepping(learning_rate=1e-3, batches=1, passes=1, clip=0.2), (0, 0))
    assert (policy.adapter.values == before).all()


def test_beyond_the_clip_there_is_no_slope() -> None:
    old = np.zeros(4)
    objective = clipped(np.array([1.0, 1.0, 0, 0]), np.array([0, 0, -1.0, -1.0]), old, 4.0, 0.2)
    _, slopes = objective(np.log([1.3, 1.1, 0.7, 0.9]))
    assert slopes == pytest.approx([0, -1.1 / 4, 0, 0.9 / 4])


def test_advantages_are_normalised_within_the_group() -> None:
    assert advantages([1.0, 0.0, 1.0, 0.0]) == pytest.approx([1, -1, 1, -1])
    assert advantages([1.0, 1.0, 1.0]) == [0, 0, 0]


def test_sampled_log_probabilities_are_those_of_the_whole_sequence(base: BaseModel) -> None:
    policy = TestbedPolicy(base, base.tensors, 0)
    policy.adapter.values[:] += stream(3).normal(size=policy.adapter.values.size) * 0.02
    prompts = [[5, 90, 17, 33], [5, 8, 21, 40, 61, 77, 90], [5, 12]]
    replies = policy.sample(prompts, 8, 12, (0,))
    assert [sum(len(one.samples) for one in replies if one.prompt == place) for place in range(3)] == [8, 8, 8]
    assert len({(one.prompt, one.tokens) for one in replies}) == len(replies)
    assert max(len(one.tokens) for one in replies) <= 12
    for reply in replies[::4]:
        tokens = (*prompts[reply.prompt], *reply.tokens)
        found = logps(policy._network, [TrainingExample(tokens, len(prompts[reply.prompt]))])
        assert found == pytest.approx(reply.logps, abs=2e-3)


def test_shared_beginnings_do_not_change_the_law(base: BaseModel) -> None:
    sampler = Sampler(base.shape, base.tensors, WEIGHTS)
    replies = sampler.sample([[5, 90, 17]], 4000, base.end, 1, stream(4))
    counts = {one.tokens[0]: len(one.samples) for one in replies}
    token, count = max(counts.items(), key=lambda each: each[1])
    share = next(np.exp(one.logps[0]) for one in replies if one.tokens == (token,))
    assert count / 4000 == pytest.approx(share, abs=0.03)


def test_merging_is_what_the_network_computes(base: BaseModel) -> None:
    adapter = base.fresh(base.tensors, 2)
    adapter.values[:] += stream(5).normal(size=adapter.values.size) * 0.02
    together = merged(base.tensors, adapter)
    apart = logps(Network(base.shape, base.tensors, adapter), EXAMPLES)
    joined = logps(Network(base.shape, together, base.fresh(together, 0)), EXAMPLES)
    assert joined == pytest.approx(apart, abs=2e-3)
