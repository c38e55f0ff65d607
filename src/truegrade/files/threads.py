"""Pieces of work in order: rows by turns, or several at once in threads, with results as the pieces came."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import zip_longest
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
