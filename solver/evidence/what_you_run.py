"""What a plan is compared with: what is run where nobody plans, by one rule for every answer.

What a trace shows goes first: a recorded step sends its own collectives as they were recorded, and
the units of "fsdp2" go one by one. Where all that is sent are all-reduces and none comes after
another it is PyTorch's DistributedDataParallel, by default and at its best cap. Else it is "fifo":
the graph's own collectives, first in, first out. Compiled graphs are run by their compiler.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

from solver.chain import chain_of
from solver.costs import Network
from solver.evidence.gain import Over
from solver.graph import ALL_REDUCE, COMPUTE, Graph
from solver.graph.names import OF_XLA, is_of_units, is_parameter
from solver.policies.choice import Choice, bind, resolve
from solver.policies.ddp import ddp
from solver.simulation.engine import Policy, iteration_time
from solver.units import slack

#: The caps that "ddp" is tuned over [MiB], besides its defaults and one bucket for all.
CAPS_MB = (1.0, 2.0, 5.0, 10.0, 15.0, 25.0, 50.0, 100.0, 200.0, 400.0)

_MIB = 2**20

#: How XLA names the ops of a compiled program that send.
_HLO = re.compile(
    r"(all-reduce|all-gather|reduce-scatter|all-to-all|collective-broadcast)(-start)?(\.\d+)?"
)


@dataclass(frozen=True, slots=True)
class WhatYouRun:
    """What is run where nobody plans.

    Attributes
    ----------
    name
        Key of :data:`solver.evidence.gain.WHAT_RUNS`.
    choice
        The policy that simulates it, with the parameters that are not its defaults.
    """

    name: Over
    choice: Choice

    @property
    def bucket_cap_mb(self) -> float | None:
        """The cap of "ddp"'s buckets at its best [MiB]; None where nothing is tuned."""
        value = dict(self.choice.parameters).get("bucket_cap_mb")
        return None if value is None else float(value)

    def policy(self, graph: Graph, network: Network) -> Policy:
        """Return the policy with its parameters, all stated."""
        return bind(resolve(self.choice, graph, network))


def what_you_run(graph: Graph, network: Network) -> tuple[WhatYouRun, ...]:
    """Name what is run where nobody plans; the first is what a headline speaks of.

    A barrier is part of the graph, so "ddp" is at its best under it.

    Notes
    -----
    One simulation for each of :data:`CAPS_MB` and two more where it is "ddp".
    """
    first = run_first(graph)
    return (first, at_best_cap(graph, network)) if _is_reduced(graph) else (first,)


def run_first(graph: Graph) -> WhatYouRun:
    """Name the first of :func:`what_you_run`, which also stands beside a recorded step."""
    is_recorded = graph.recorded is not None and graph.recorded.known_us is not None
    if _is_reduced(graph):
        sent = (graph.ops[i] for i in graph.collectives)
        if is_recorded and not all(is_parameter(op.id) for op in sent):
            return WhatYouRun("recorded", Choice("wfbp"))
        return WhatYouRun("ddp", Choice("ddp"))
    if is_recorded:
        return WhatYouRun("recorded", Choice("wfbp"))
    return WhatYouRun("fsdp2" if is_of_units(graph) else "fifo", Choice("wfbp"))


def _is_reduced(graph: Graph) -> bool:
    """Tell whether all that is sent are all-reduces, none after another."""
    kinds = {graph.ops[i].kind for i in graph.collectives}
    return kinds == {ALL_REDUCE} and not chain_of(graph).before


def at_best_cap(graph: Graph, network: Network) -> WhatYouRun:
    """Return "ddp" with the ``bucket_cap_mb`` at which it is fastest, found by simulation.

    The defaults, :data:`CAPS_MB` and one bucket for all are tried; of equal ones the defaults
    stay, then the smallest cap.
    """
    best, least = None, iteration_time(graph, network, ddp)
    for cap in _caps(graph):
        time = iteration_time(graph, network, partial(ddp, bucket_cap_mb=cap))
        if time < least - slack(least):
            best, least = cap, time
    parameters = () if best is None else (("bucket_cap_mb", best),)
    return WhatYouRun("ddp_tuned", Choice("ddp", parameters=parameters))


def _caps(graph: Graph) -> Sequence[float]:
    """Return the caps that differ, ascending; the last makes one bucket of each lane [MiB]."""
    whole = float(max(1, ceil(sum(graph.ops[i].bytes or 0 for i in graph.collectives) / _MIB)))
    return (*(cap for cap in CAPS_MB if cap < whole), whole)


def compiler_of(graph: Graph) -> Over:
    """Name the compiler that schedules a compiled graph: a key of the policies of programs.

    XLA's where the text of its program is, or what is sent has the names that it gives; else
    inductor.
    """
    if OF_XLA in graph.free:
        return "xla_lhs"
    sent = [op.id for op in graph.ops if op.kind != COMPUTE]
    return "xla_lhs" if sent and all(_HLO.fullmatch(name) for name in sent) else "inductor"
