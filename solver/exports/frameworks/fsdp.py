"""PyTorch's ``fully_shard`` (FSDP2): units to group, what each prefetches, what is kept.

FSDP2 gathers and reduces each unit as one, in the order of the host's calls, so three things of a
plan can be told: which modules are one unit, how many units each asks for before its forward and
its backward pass, and which stay gathered in between. ``fsdp_units.py`` applies them by
``fully_shard``, ``set_modules_to_forward_prefetch``, ``set_modules_to_backward_prefetch`` and
``reshard_after_forward``. Ids of the graph's collectives are ``gather:NAME``, ``regather:NAME`` and
``scatter:NAME`` with the path of a module, or paths with commas between them; nothing for the
model's own unit, which has the parameters of no other.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from solver.costs import Network
from solver.exports.explicit_plan import ExplicitPlan, Export, replay_plan
from solver.exports.frameworks.memory import GatheredBytes, gathered_by_form, gathered_in_graph
from solver.exports.frameworks.unit_files import unit_files
from solver.exports.frameworks.units import Form, Unit, graph_of_form, join_units, units_of
from solver.graph import Graph
from solver.policies.wfbp import wfbp
from solver.simulation.engine import iteration_time

FORMAT = "fsdp"

#: Most units that one asks for ahead, as is tried.
_AHEAD = 3


def export(graph: Graph, network: Network, plan: ExplicitPlan) -> Export:
    """Write ``fsdp_units.py`` and ``units.json``: the form of FSDP2 with the least simulated time.

    Tried are units as the plan groups its gathers, its second gathers or its reduce-scatters, by
    all of them or any of them, and each for itself; then up to 3 units ahead in either pass, more
    than one while no more is gathered at once than the graph's own gates let. A tie goes to fewer
    units ahead. The simulated time is that of exactly this form.

    Raises
    ------
    InvalidPlan
        When the plan does not send the graph's collectives, or these are not those of units.
    """
    _, timeline = replay_plan(graph, network, plan)
    units = units_of(graph)
    forms = [Form(grouped, 1, 1) for grouped in _groupings(units, plan)]
    times = [(_time(graph, network, form), k) for k, form in enumerate(forms)]
    best = forms[min(times)[1]].units
    limit = gathered_in_graph(graph, units)
    counts = range(1, _AHEAD + 1)
    form = _fastest(graph, network, [Form(best, n, 1) for n in counts], limit)
    form = _fastest(graph, network, [Form(best, form.ahead, n) for n in counts], limit)
    time = _time(graph, network, form)
    return Export(
        format=FORMAT,
        files=unit_files(
            [unit.names for unit in form.units],
            form.reshards(),
            form.forward_prefetch(),
            form.backward_prefetch(),
        ),
        media_type="text/x-python",
        notes=tuple(_notes(graph, units, form, limit, time - timeline.iteration_time)),
        iteration_time_us=time,
        plan_time_us=timeline.iteration_time,
    )


def _fastest(graph: Graph, network: Network, forms: Sequence[Form], limit: GatheredBytes) -> Form:
    """Return the fastest of those that exceed no limit of the graph by more than the first does."""
    least = gathered_by_form(graph, forms[0])
    allowed = [
        form
        for form in forms
        if all(
            most is None or held <= max(most, first)
            for held, first, most in zip(gathered_by_form(graph, form), least, limit, strict=True)
        )
    ]
    return min(allowed, key=lambda form: _time(graph, network, form))


def _time(graph: Graph, network: Network, form: Form) -> float:
    return iteration_time(graph_of_form(graph, form), network, wfbp)


def _groupings(units: tuple[Unit, ...], plan: ExplicitPlan) -> Iterator[tuple[Unit, ...]]:
    """Group neighbours that the plan sends together, in one of the ways that there are."""
    home = {tensor: bucket.id for bucket in plan.buckets for tensor in bucket.tensors}
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
        [False for _ in same],
    ]
    for joined in dict.fromkeys(map(tuple, ways)):
        groups = [[units[0]]]
        for unit, joins in zip(units[1:], joined, strict=True):
            if joins:
                groups[-1].append(unit)
            else:
                groups.append([unit])
        yield tuple(map(join_units, groups))


def _notes(
    graph: Graph, units: Sequence[Unit], form: Form, limit: GatheredBytes, extra: float
) -> Iterator[str]:
    held = gathered_by_form(graph, form)
    yield (
        f"{len(units)} units of the graph are {len(form.units)} of FSDP2. Each asks for "
        f"{form.ahead} ahead in the forward pass and {form.back} in the backward pass: up to "
        f"{form.ahead + 2} are gathered at once in the forward pass, {held[0] / 1e6:,.1f} MB."
    )
    more = [
        f"{here / 1e6:,.1f} MB in the {name} pass, the graph {most / 1e6:,.1f} MB"
        for name, here, most in zip(("forward", "backward"), held, limit, strict=True)
        if most is not None and here > most
    ]
    if more:
        faster = (
            f"It is {-extra:,.1f} us faster than the plan"
            if extra < 0
            else "It may be faster than a plan"
        )
        yield (
            f"This form gathers more at once than the graph lets a plan: {'; '.join(more)}. "
            f"{faster}, whose lower bound is for the graph's limit. FSDP2 holds three units in the "
            "forward pass at least: mind the memory, or plan a graph with a higher limit."
        )
    yield (
        "Gathers wait for what FSDP2 makes them wait for, not for what they wait for in the graph, "
        "and go in the order of the passes, each unit whole."
    )
    if extra > 0:
        yield f"What of the plan is no order of the passes is lost, which takes {extra:,.1f} us."
    if any(unit.sums for unit in units):
        yield "Gradients are summed between nodes too: give shard() a mesh of two dimensions."
    yield (
        "Names are those after gather: in the graph; they must be paths of the model's modules, or "
        "shard() must be told the modules."
    )
