"""What kinds of events PyTorch's profiler writes, to tell its traces from other Chrome traces."""

from collections.abc import Iterable, Iterator

from solver.traces.kineto.events import KinetoEvent
from solver.traces.sentences import counted, named

#: Work of a GPU.
GPU = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"}
#: Calls that launch it.
RUNTIME = {"cuda_runtime", "runtime", "cuda_driver", "hip_runtime", "privateuse1_runtime"}
#: Ops and annotations of the CPU.
CPU = {"cpu_op", "operator", "user_annotation"}
#: How many other kinds are named.
_NAMED = 5


def foreign_said(events: Iterable[KinetoEvent]) -> str:
    """Say what kinds of events a file has where none is of PyTorch's profiler; empty of others."""
    kinds = dict.fromkeys(event.cat or "" for event in events)
    if not kinds or any(kind.lower() in GPU | RUNTIME | CPU for kind in kinds):
        return ""
    known = "'kernel', 'cuda_runtime', 'cpu_op' or 'user_annotation'"
    shown = ", ".join(repr(kind) for kind in list(kinds)[:_NAMED])
    return (
        f"It is a Chrome trace, and no whole event has a category of PyTorch's profiler ({known}): "
        f"the categories are {shown}."
    )


def untimed_said(events: Iterable[KinetoEvent]) -> Iterator[str]:
    """Say which kernels of a file have no time, or one that cannot be."""
    names = [
        event.name or ""
        for event in events
        if (event.cat or "").lower() == "kernel" and (event.dur is None or event.dur < 0)
    ]
    if names:
        yield (
            f"{named(names)}: kernels without a time, or with one below 0, count as 0 us. The step "
            "and the costs lack what they took."
        )


def unplaced_said(count: int) -> Iterator[str]:
    """Say how many kernels of a file are left out, since they do not say what, when or where."""
    if count:
        yield (
            f"{counted(count, 'kernel')} left out, without a name, a start or a place: the step "
            "and the costs lack what they took."
        )
