"""Makes a zygote cheap to fork.

A fork copies an entry for every area and every page of the address space, and its end takes each away again;
of every page that a child writes to, even to count a reference, it gets a copy of its own. On the machine that
docs/sandbox.md measures, that is two thirds of what a short program costs: about 1 µs an area, 0.15 µs a page,
2 µs a copy.
"""

from __future__ import annotations

import sys

READ, WRITE, EXECUTE = 1, 2, 4
"""PROT_READ and so on."""
POOL_BYTES, POOL_HEADER_BYTES = 1 << 14, 48
"""Where CPython keeps objects of one size together (Objects/obmalloc.c of 3.10 and later)."""
SIZE_STEP, LARGEST = 16, 512
"""Sizes of such objects, in bytes."""
FRESH = 4
"""Objects one after the other, at the beginning of a pool or anywhere else: they lie where nothing did."""
CHUNK_STEP, LARGEST_CHUNK, CHUNK_HEADER = 16, 1032, 8
"""Sizes, in bytes, that the C library keeps what was freed of apart (glibc's malloc/malloc.c, tcache)."""
MAX_FILLING_BYTES = 1 << 16
"""Of one size; an interpreter or a C library that this is not enough for keeps memory otherwise: left alone."""
Area = tuple[int, int, str, int, tuple[bytes, bytes]]
"""First and last address, rights, offset in the file, and which file, by device and number."""


def join_areas() -> None:
    """Let the kernel join the areas of each library: two are left of five.

    A loader maps headers, code, constants, relocated data and data apart, each with the least rights. Here
    constants become executable and relocated data writable, which takes nothing from a jail: a program may run
    whatever machine code it likes, and shares no memory that it writes.
    """
    if sys.platform != "linux":
        return
    import ctypes

    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    areas = _areas()
    for before, area, after in zip([None, *areas], areas, [*areas[1:], None], strict=False):
        start, end, rights, _, _ = area
        # Code and data stay as they are: only the read-only areas between them take their neighbour's rights.
        if rights != "r--p":
            continue
        if after is not None and after[2] == "rw-p" and _continues(area, after):
            protect(start, end - start, READ | WRITE)
        elif (after is not None and after[2] == "r-xp" and _continues(area, after)) or (
            before is not None and before[2] == "r-xp" and _continues(before, area)
        ):
            protect(start, end - start, READ | EXECUTE)


def fill_pools() -> list[object]:
    """Objects that take the room which others have left; to be kept.

    A child's first objects of each size would go into gaps all over the memory, a page copied for nearly each. So
    they go to the beginning of an empty pool, where the page that says what the pool holds has room for them.
    """
    filling: list[object] = []
    for size in range(SIZE_STEP, LARGEST + 1, SIZE_STEP):
        last = fresh = 0
        for number in range(MAX_FILLING_BYTES // size):
            made = _of_size(size, number)
            filling.append(made)
            place = id(made)
            if place % POOL_BYTES == POOL_HEADER_BYTES:
                fresh = 1
            else:
                fresh = fresh + 1 if fresh and place == last + size else 0
            if fresh == FRESH:
                break
            last = place
        else:
            break
    return filling


def fill_chunks() -> None:
    """The same for larger objects, whose room the C library gives: take what was freed, and never give it back."""
    if sys.platform != "linux":
        return
    import ctypes

    malloc = ctypes.CDLL(None).malloc
    malloc.restype, malloc.argtypes = ctypes.c_size_t, (ctypes.c_size_t,)
    for size in range(LARGEST_CHUNK, 0, -CHUNK_STEP):
        last = fresh = 0
        for _ in range(MAX_FILLING_BYTES // size):
            place = malloc(size)
            fresh = fresh + 1 if place == last + size + CHUNK_HEADER else 0
            if fresh == FRESH:
                break
            last = place
        else:
            return


def _of_size(size: int, number: int) -> object:
    """A new object that takes so many bytes."""
    if size == SIZE_STEP:
        return object()
    if size == 2 * SIZE_STEP:
        return number + 0.5
    return bytes(size - 1 - sys.getsizeof(b""))


def _areas() -> list[Area]:
    """The areas of this process' address space, in their order."""
    areas = []
    with open("/proc/self/maps", "rb") as file:  # noqa: PTH123 - pathlib costs 4 ms here
        for line in file:
            place, rights, offset, device, inode = line.split(None, 5)[:5]
            start, end = place.split(b"-")
            areas.append((int(start, 16), int(end, 16), rights.decode(), int(offset, 16), (device, inode)))
    return areas


def _continues(first: Area, second: Area) -> bool:
    """Whether an area maps what comes next in the file that the one below it maps."""
    start, end, _, offset, file = first
    return (end, offset + end - start, file) == (second[0], second[3], second[4]) and file[1] != b"0"
