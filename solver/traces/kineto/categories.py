"""What kinds of events PyTorch's profiler writes, to tell its traces from other Chrome traces."""

from collections.abc import Iterable

from solver.traces.kineto.events import KinetoEvent

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
    named = ", ".join(repr(kind) for kind in list(kinds)[:_NAMED])
    return (
        f"It is a Chrome trace, and no whole event has a category of PyTorch's profiler ({known}): "
        f"the categories are {named}."
    )
