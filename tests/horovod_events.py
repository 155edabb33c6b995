"""Timelines as Horovod writes them, made bar by bar; times in us."""

import json


def named(pid, name):
    return [
        {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}},
        {"name": "process_sort_index", "ph": "M", "pid": pid, "args": {"sort_index": pid}},
    ]


def begin(pid, name, ts):
    return {"ph": "B", "name": name, "ts": ts, "pid": pid}


def end(pid, ts, shape=None, dtype="float32"):
    found = {"ph": "E", "ts": ts, "pid": pid}
    return found if shape is None else found | {"args": {"dtype": dtype, "shape": shape}}


def tick(pid, rank, ts):
    return {"ph": "X", "name": str(rank), "ts": ts, "pid": pid, "dur": 0}


def cycle(ts):
    return {"ph": "i", "name": "CYCLE_START", "ts": ts, "s": "g"}


def negotiated(pid, ready, decided, ranks=(), what="ALLREDUCE"):
    ticks = [tick(pid, rank, at) for rank, at in ranks]
    return [begin(pid, f"NEGOTIATE_{what}", ready), *ticks, end(pid, decided)]


def operated(pids, what, parts, stop, shapes, start):
    """An operation of a buffer: each part begins and ends for all tensors at once."""
    found = [begin(pid, what, start) for pid in pids]
    for name, first, last in parts:
        found += [begin(pid, name, first) for pid in pids]
        found += [end(pid, last) for pid in pids]
    return found + [end(pid, stop, shape) for pid, shape in zip(pids, shapes, strict=True)]


HEAD = [
    {
        "name": "process_name",
        "ph": "M",
        "pid": 0,
        "args": {"start_time_since_epoch_in_micros": 1628786073782626},
    },
    {"name": "process_sort_index", "ph": "M", "pid": 0, "args": {"sort_index": 0}},
]
FUSED = (
    ("MEMCPY_IN_FUSION_BUFFER", 10, 30),
    ("NCCL_ALLREDUCE", 30, 130),
    ("MEMCPY_OUT_FUSION_BUFFER", 130, 140),
)


def step(at, shapes=("[25]", "[2, 25]", "[100]"), ranks=True):
    """A step of three tensors that begins at a time and ends 1,000 us after it.

    ``b`` (100 bytes) and ``a`` (200) are released after 0 and 100 us, negotiated until 160 and
    150, and sent as one from 200 to 350; ``c`` (400) is released after 300, decided at 340, begun
    at 400, queued for 20 us, sent for 60 and over at 500.
    """

    def ready(first, last):
        return ((1, at + first), (0, at + last)) if ranks else ()

    parts = [(name, at + 200 + first, at + 200 + last) for name, first, last in FUSED]
    queued = [("QUEUE", at + 410, at + 430), ("NCCL_ALLREDUCE", at + 430, at + 490)]
    return [
        *negotiated(1, at, at + 160, ready(0, 160)),
        *negotiated(2, at + 100, at + 150, ready(100, 150)),
        *operated((1, 2), "ALLREDUCE", parts, at + 350, shapes[:2], at + 200),
        *negotiated(3, at + 300, at + 340, ready(300, 320)),
        *operated((3,), "ALLREDUCE", queued, at + 500, shapes[2:], at + 400),
    ]


NAMES = [*named(1, "allreduce.net.b"), *named(2, "allreduce.net.a"), *named(3, "allreduce.net.c")]


def steps(count=2, **more):
    return [*HEAD, *NAMES, *(one for i in range(count) for one in step(5_000 + 1_000 * i, **more))]


def text(events):
    return json.dumps(events).encode()


def old(events):
    """A file as Horovod 0.19 leaves it: an event a line, a comma after each, no end."""
    return ("[\n" + "".join(json.dumps(event) + ",\n" for event in events)).encode()
