"""Memory of a server that holds large bodies and answers for a moment, and of its children."""

import ctypes

#: Blocks of at least this size are taken from the system one by one [bytes].
_LARGE = 2**20
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
#: The server's threads share so many heaps; with one for each, what is freed stays in pieces.
_ARENAS = 2


#: A graph of a million ops makes millions of objects that stay; at Python's own thresholds a third
#: of its time goes into looking at them again (tests/benchmarks/big.py).
GARBAGE = (50_000, 20, 100)


def return_large_blocks() -> None:
    """Have glibc give large blocks back to the system as soon as they are freed, and share heaps.

    Left to itself it raises the size from which it does so to that of the largest block it freed,
    and keeps the rest in pieces between others: answers of 24 MiB, each dropped unread, left the
    server with 25 MiB each. 30 clients that do not read what they asked for make it 886 MiB
    instead of 290 (``test_slow_readers``). MALLOC_MMAP_THRESHOLD_ and MALLOC_ARENA_MAX say the same
    where they are set before the process starts; a server started by hand has them not. Other C
    libraries know no such thing and are left alone.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGE)
        mallopt(_M_ARENA_MAX, _ARENAS)
