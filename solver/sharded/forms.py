"""What FSDP2 makes of a plan: the form of its units with the least time, within the same memory.

The one function that says it: the export writes this form, and a plan that needs that export to be
run promises this form's time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Network
from solver.graph import Graph
from solver.policies.wfbp import wfbp
from solver.sharded.host import host_ops
from solver.sharded.memory import GatheredBytes, gathered_by_form, gathered_in_graph
from solver.sharded.units import (
    Form,
    Unit,
    graph_of_form,
    join_units,
    linked,
    units_of,
)
from solver.simulation.engine import iteration_time

#: Most units that one asks for ahead, as is tried.
_AHEAD = 3


@dataclass(frozen=True, slots=True)
class FoundForm:
    """A form of FSDP2 beside the graph that was planned.

    Attributes
    ----------
    units
        Of the graph.
    form
        What FSDP2 is told.
    time_us
        The iteration by the rules of FSDP2, simulated [us].
    gathered
        The most bytes that it gathers at once in the forward and in the backward pass.
    limit
        The same of the graph.
    """

    units: tuple[Unit, ...]
    form: Form
    time_us: float
    gathered: tuple[int, int]
    limit: GatheredBytes

    @property
    def kept(self) -> int:
        """How many units of the graph are gathered again there, and stay gathered here."""
        again = {
            unit.names
            for unit, reshard in zip(self.form.units, self.form.reshards(), strict=True)
            if reshard
        }
        names = {name for those in again for name in those}
        return sum(bool(unit.regathers) and not names & {*unit.names} for unit in self.units)


def fastest_form(graph: Graph, network: Network, launches: Sequence[Launch]) -> FoundForm:
    """Find the form of FSDP2 with the least simulated time that a plan suggests.

    Tried are units as the plan groups its gathers, its second gathers or its reduce-scatters, by
    all of them or any of them, and each for itself; then up to 3 units ahead in either pass. None
    gathers more at once than the graph's own gates let a plan, or than each unit for itself with
    one ahead does, which is the least that FSDP2 can. A tie goes to the first in this order.

    Raises
    ------
    InvalidPlan
        When the graph's collectives are not those of units, or it cannot run so (``not_sharded``).
    """
    chain = chain_of(graph)
    home = {
        graph.ops[int(chain.positions[tensor])].id: launch.bucket
        for launch in launches
        for tensor in launch.bucket
    }
    units = units_of(graph)
    limit = gathered_in_graph(graph, units)
    each = Form(units, 1, 1)
    least = gathered_by_form(graph, each)

    def is_within(form: Form) -> bool:
        rows = zip(gathered_by_form(graph, form), least, limit, strict=True)
        return all(most is None or held <= max(most, first) for held, first, most in rows)

    def fastest(forms: Sequence[Form]) -> tuple[float, Form]:
        times = [(time_of_form(graph, network, form), form) for form in forms if is_within(form)]
        return min(times, key=lambda found: found[0])

    _, form = fastest([*(Form(grouped, 1, 1) for grouped in _groupings(units, home)), each])
    counts = range(1, _AHEAD + 1)
    _, form = fastest([Form(form.units, n, 1) for n in counts])
    time, form = fastest([Form(form.units, form.ahead, n) for n in counts])
    return FoundForm(units, form, time, gathered_by_form(graph, form), limit)


def ungated(graph: Graph) -> Graph:
    """Return a graph that no form of FSDP2 is faster than.

    Each unit is gathered once, as early as the host lets it, and stays gathered.

    Raises
    ------
    InvalidPlan
        When the graph's collectives are not those of units (``not_sharded``).
    """
    units, hosts = units_of(graph), host_ops(graph)
    gathers = {each for unit in units for each in unit.gathers}
    again = {each for unit in units for each in unit.regathers}
    kept = (op for op in graph.ops if op.id not in again)
    return linked(
        graph.name,
        [
            op._replace(
                after=tuple(
                    each
                    for each in op.after
                    if each not in again and (op.id not in gathers or each in hosts)
                )
            )
            for op in kept
        ],
    )


def time_of_form(graph: Graph, network: Network, form: Form) -> float:
    """Return how long an iteration takes by the rules of FSDP2 [us]."""
    return iteration_time(graph_of_form(graph, form), network, wfbp)


def _groupings(
    units: tuple[Unit, ...], home: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[Unit, ...]]:
    """Group neighbours that the plan sends together, in one of the ways that there are."""
    kinds = [
        [[home[each] for each in kind] for kind in (u.gathers, u.regathers, u.scatters)]
        for u in units
    ]
    own = ["" in unit.names for unit in units]  # the model's own unit is around all others
    same = [
        [not around and bool(here) and here == there for here, there in zip(*pair, strict=True)]
        for pair, around in zip(pairwise(kinds), map(any, pairwise(own)), strict=True)
    ]
    ways = [
        *([joins[kind] for joins in same] for kind in range(3)),
        [all(joins) for joins in same],
        [any(joins) for joins in same],
    ]
    for joined in dict.fromkeys(map(tuple, ways)):
        groups = [[units[0]]]
        for unit, joins in zip(units[1:], joined, strict=True):
            if joins:
                groups[-1].append(unit)
            else:
                groups.append([unit])
        yield tuple(map(join_units, groups))
