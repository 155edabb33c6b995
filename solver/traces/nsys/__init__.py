"""SQLite exports of Nsight Systems: kernels, CUDA's calls and NVTX's ranges of a run.

The tables (:mod:`.tables`, :mod:`.database`) become the events that PyTorch's profiler would have
written (:mod:`.reader`), and are read as these are. What the collectives carry NCCL says in the
payloads of its ranges (:mod:`.payloads`, :mod:`.communication`).
"""

from solver.traces.formats import Sign, TraceFormat
from solver.traces.nsys.database import MAGIC
from solver.traces.nsys.reader import FORMAT, looks_like, read

__all__ = ["FORMAT", "TRACE_FORMAT", "looks_like", "read"]

#: How it is told and read, and what is said of it.
TRACE_FORMAT = TraceFormat(
    name=FORMAT,
    source="Nsight Systems' `nsys export --type sqlite`: one file, or several of one run",
    versions="tables `CUPTI_ACTIVITY_KIND_*` and `NVTX_EVENTS`; sizes from NCCL 2.20 on",
    reads=(
        "kernels by stream, the calls that launched them, NVTX's ranges of steps and of PyTorch's "
        "ops; bytes and communicators from NCCL's ranges; a rank for each process and GPU"
    ),
    assumes="as `kineto`; the ranges named `step 3`, `iteration 3` or the like are the steps",
    refuses="no kernels, or none of NCCL's; no size of any",
    looks_like=looks_like,
    read=read,
    counted="messages",
    signs=(Sign("SQLite's beginning", lambda content: content.startswith(MAGIC)),),
)
