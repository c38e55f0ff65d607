"""Every sample goes out until it comes back as a verdict, whatever is lost or handed back meanwhile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegrade.apps.ray.crew import FIRST, MOST, MOST_LOSSES, TARGET_S, Pace, Queue
from truegrade.errors import SandboxError
from truegrade.records import Completion


def completions(count):
    return [
        Completion(
            benchmark="b", dataset_sha256="", problem_id=f"p/{number // 3}", sample=number % 3,
            config_sha256="", prompt_sha256="", text=str(number), model="m",
        )
        for number in range(count)
    ]  # fmt: skip


@given(st.integers(0, 60), st.data())
def test_each_sample_is_finished_once(count, data):
    """Batches end whole, cut short or lost; at most as often lost as a sample may be."""
    queue, finished, losses = Queue(iter(completions(count))), [], 0
    while batch := queue.take(data.draw(st.integers(1, 9))):
        if losses < MOST_LOSSES - 1 and data.draw(st.booleans()):
            losses += 1
            queue.lose(batch, "gone")
            continue
        done = data.draw(st.integers(0, len(batch)))
        finished += batch[:done]
        queue.give_back(batch[done:])
        if not done:
            finished += queue.take(1)
    assert sorted(c.text for c in finished) == sorted(c.text for c in completions(count))


def test_samples_are_drawn_no_faster_than_taken():
    drawn = []
    queue = Queue(drawn.append(c) or c for c in completions(30))
    queue.take(4)
    assert len(drawn) == 4


def test_what_came_back_goes_first_and_in_order():
    queue = Queue(completions(6))
    batch = queue.take(3)
    queue.give_back(batch[1:])
    assert [c.text for c in queue.take(4)] == ["1", "2", "3", "4"]


def test_a_lost_sample_goes_out_alone():
    queue = Queue(completions(5))
    queue.lose(queue.take(2), "gone")
    assert [[c.text for c in queue.take(9)] for _ in range(3)] == [["0"], ["1"], ["2", "3", "4"]]


def test_a_sample_that_ends_every_actor_is_named():
    queue = Queue(completions(2))
    for _ in range(MOST_LOSSES - 1):
        queue.lose(queue.take(1), "out of memory")
    with pytest.raises(SandboxError, match=r"p/0 sample 0: 5 times .* \(out of memory\)"):
        queue.lose(queue.take(1), "out of memory")


@given(st.lists(st.tuples(st.integers(1, MOST), st.floats(0, 1e4)), max_size=20))
def test_a_batch_is_never_empty_and_never_large(batches):
    pace = Pace()
    assert pace.size == FIRST
    for samples, wall_s in batches:
        pace.learn(samples, wall_s)
        assert 1 <= pace.size <= MOST


@pytest.mark.parametrize(("sample_s", "size"), [(0.002, MOST), (0.1, 10), (9.0, 1)])
def test_a_batch_takes_about_as_long_as_it_should(sample_s, size):
    pace = Pace()
    for _ in range(30):
        pace.learn(pace.size, pace.size * sample_s)
    assert pace.size == size
    assert pace.size * sample_s <= max(TARGET_S, sample_s)
