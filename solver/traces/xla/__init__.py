"""Traces of XLA's ops: the profiler's files of JAX, or of TensorFlow compiled by it.

Device by device the events become runs of a program (:mod:`.runs`), and one of them the graph
(:mod:`.iteration`). What the collectives carry is in the events of a TPU, else in the program's
HLO text (:mod:`.hlo`), which ``*.xplane.pb`` holds (:mod:`solver.traces.xplane`).
"""

from solver.traces.formats import TraceFormat, names
from solver.traces.xla.reader import FORMAT, looks_like, read, times_of_profile

__all__ = ["FORMAT", "TRACE_FORMAT", "looks_like", "read", "times_of_profile"]

#: How it is told and read, and what is said of it.
TRACE_FORMAT = TraceFormat(
    name=FORMAT,
    source=(
        "JAX's or TensorFlow's profile with ops of XLA, on CPU, GPU or TPU, with the "
        "program's HLO text or without"
    ),
    versions=(
        "the profiler's `*.xplane.pb` or `*.trace.json.gz`; tried with JAX 0.10 and TensorFlow 2.21"
    ),
    reads=(
        "ops and collectives of each device, in one part or two (`all-gather-start`, "
        "`-done`); bytes and groups from a TPU's events, the program in `*.xplane.pb` or the HLO "
        "text; runs of the longest program"
    ),
    assumes=(
        "the first op that begins when a collective is over waits for it; the device that was "
        "least in its collectives; transfers between two devices are compute"
    ),
    refuses=(
        "no bytes: in JSON a GPU's and a CPU's events have none without HLO text or `parameters`"
    ),
    looks_like=looks_like,
    read=read,
    counted="values",
    signs=names('"traceEvents"', '"hlo_op"'),
    leads=True,
)
