"""Pieces of work: rows by turns, or several at once in threads, with results in order or as they come."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import zip_longest
from queue import SimpleQueue
from typing import TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def by_turns(rows: Iterable[Iterable[Piece]]) -> Iterator[Piece]:
    """The first of each row, then the second of each, until all are at their end; none of them is None."""
    return (piece for turn in zip_longest(*rows) for piece in turn if piece is not None)


def in_order(
    pieces: Iterable[Piece],
    work: Callable[[Piece], Result],
    *,
    workers: int,
    stop: Callable[[], object] = lambda: None,
    late: Callable[[], bool] = lambda: False,
) -> Generator[Result, None, None]:
    """Work on pieces in threads, a few ahead of what is taken, and give the results in order.

    Args:
        pieces: drawn as they are begun.
        work: safe to call from several threads.
        workers: threads.
        stop: ends what the threads wait for; called where the results are not all taken.
        late: whether no further piece is to be begun.

    Raises:
        Exception: what ``work`` raises.
    """
    pool = ThreadPoolExecutor(workers, thread_name_prefix="in-order")
    waiting, under_way = iter(pieces), deque[Future[Result]]()
    try:
        while True:
            while not late() and len(under_way) < 2 * workers:
                try:
                    piece = next(waiting)
                except StopIteration:
                    break
                under_way.append(pool.submit(work, piece))
            if not under_way:
                return
            yield under_way.popleft().result()
    except BaseException:
        stop()  # before the threads are waited for
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def as_they_come(
    pieces: Sequence[Piece], work: Callable[[Piece], Iterable[Result]], *, workers: int
) -> Generator[Result, None, None]:
    """Work on pieces in threads, and give every result of each as soon as it is there.

    Where the results are not all taken, no further one is asked for, and nothing under way is waited for.

    Raises:
        Exception: what ``work`` raises.
    """
    waiting: SimpleQueue[Piece | None] = SimpleQueue()
    told: SimpleQueue[tuple[Result] | BaseException | None] = SimpleQueue()
    over, running = threading.Event(), min(workers, len(pieces))

    def take() -> None:
        try:
            while (piece := waiting.get()) is not None:
                for result in work(piece):
                    told.put((result,))
                    if over.is_set():
                        return
            told.put(None)
        except BaseException as error:
            told.put(error)

    for piece in (*pieces, *[None] * running):
        waiting.put(piece)
    for _ in range(running):
        threading.Thread(target=take, name="as-they-come", daemon=True).start()
    try:
        while running:
            got = told.get()
            if isinstance(got, BaseException):
                raise got
            if got is None:
                running -= 1
            else:
                yield got[0]
    finally:
        over.set()
