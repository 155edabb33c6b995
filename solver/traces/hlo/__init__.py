"""XLA's programs as HLO text: graphs of free order, with memory, that nobody has run yet.

The text is parsed (:mod:`.text`, :mod:`.shapes`, :mod:`.groups`) and gone through as it would run
(:mod:`.program`, :mod:`.memory`, :mod:`.sent`). What an instruction takes is given (:mod:`.costs`)
or a roofline's (:mod:`.work`, :mod:`.devices`).
"""

from solver.traces.formats import TraceFormat, names
from solver.traces.hlo.costs import is_costs
from solver.traces.hlo.reader import FORMAT, looks_like, read

__all__ = ["FORMAT", "TRACE_FORMAT", "looks_like", "read"]

#: How it is told and read, and what is said of it.
TRACE_FORMAT = TraceFormat(
    name=FORMAT,
    source=(
        "XLA's program after optimization, of JAX or another: one HLO text, as "
        "`compiled.as_text()` and `--xla_dump_to` write it; beside it times of its instructions: "
        "`costs` text of profile-guided latency estimation, JSON of names and times, or a profile "
        "(`--format hlo`)"
    ),
    versions="tried with JAX 0.10 on CPU; forms of GPUs and TPUs after XLA's source",
    reads=(
        "instructions with what they take and wait for, fusions as one; collectives in one part or "
        "two, their groups in all four notations; bytes from shapes; memory with donated inputs; "
        "turns of loops that send"
    ),
    assumes=(
        "one compute stream of free order; times by a roofline of `device` where none are given; "
        "permutes are broadcasts between two; a turn of a loop begins when the one before it is "
        "over"
    ),
    refuses=(
        "neither times nor a device; loops that send of unknown length, conditionals that send, "
        "`send` and `recv` alone; what is no HLO, with its line"
    ),
    looks_like=looks_like,
    read=read,
    counted="lines",
    signs=names("HloModule", "ENTRY"),
    is_graph=True,
    is_beside=is_costs,
)
