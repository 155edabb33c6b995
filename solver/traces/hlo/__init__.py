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
        "XLA's program after optimization: one HLO text (`compiled.as_text()`, `--xla_dump_to`), "
        "with times of its instructions beside it or without"
    ),
    versions="tried with JAX 0.10 on CPU; forms of GPUs and TPUs after XLA's source",
    reads=(
        "instructions, what they take and wait for; collectives in one part or two, with their "
        "groups; memory with donated inputs; loops that send, turn by turn"
    ),
    assumes=(
        "one compute stream of free order; a roofline of `device` where no times are given; "
        "permutes are broadcasts between two"
    ),
    refuses=(
        "neither times nor a device; loops of unknown length, conditionals, `send` and `recv` that "
        "send"
    ),
    looks_like=looks_like,
    read=read,
    counted="lines",
    signs=names("HloModule", "ENTRY"),
    is_graph=True,
    is_beside=is_costs,
)
