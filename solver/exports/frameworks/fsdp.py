"""PyTorch's ``fully_shard`` (FSDP2): units to group, what each prefetches, what is kept.

FSDP2 gathers and reduces each unit as one, in the order of the host's calls, so three things of a
plan can be told: which modules are one unit, how many units each asks for before its forward and
its backward pass, and which stay gathered in between. ``fsdp_units.py`` applies them by
``fully_shard``, ``set_modules_to_forward_prefetch``, ``set_modules_to_backward_prefetch`` and
``reshard_after_forward``. Ids of the graph's collectives are ``gather:NAME``, ``regather:NAME`` and
``scatter:NAME`` with the path of a module, or paths with commas between them; nothing for the
model's own unit, which has the parameters of no other.
"""

from collections.abc import Iterator

from solver.costs import Network
from solver.exports.explicit_plan import ExplicitPlan, Export, replay_plan
from solver.exports.frameworks.unit_files import unit_files
from solver.graph import Graph
from solver.sharded.forms import FoundForm, fastest_form

FORMAT = "fsdp"


def export(graph: Graph, network: Network, plan: ExplicitPlan) -> Export:
    """Write ``fsdp_units.py`` and ``units.json``: the form of FSDP2 with the least simulated time.

    It is that of :func:`solver.sharded.forms.fastest_form`: units as the plan groups its
    collectives and up to 3 units ahead in either pass, within the memory that the graph's own gates
    let a plan have, or the least that FSDP2 can. The simulated time is that of exactly this form,
    and where it is not the plan's a note says why.

    Raises
    ------
    InvalidPlan
        When the plan does not send the graph's collectives, or these are not those of units.
    """
    launches, timeline = replay_plan(graph, network, plan)
    found = fastest_form(graph, network, launches)
    form = found.form
    return Export(
        format=FORMAT,
        files=unit_files(
            [unit.names for unit in form.units],
            form.reshards(),
            form.forward_prefetch(),
            form.backward_prefetch(),
        ),
        media_type="text/x-python",
        notes=tuple(_notes(found, found.time_us - timeline.iteration_time)),
        iteration_time_us=found.time_us,
        plan_time_us=timeline.iteration_time,
    )


def _notes(found: FoundForm, extra: float) -> Iterator[str]:
    units, form, held = found.units, found.form, found.gathered
    yield (
        f"{len(units)} units of the graph are {len(form.units)} of FSDP2. Each asks for "
        f"{form.ahead} ahead in the forward pass and {form.back} in the backward pass: up to "
        f"{form.ahead + 2} are gathered at once in the forward pass, {held[0] / 1e6:,.1f} MB."
    )
    more = [
        f"{here / 1e6:,.1f} MB in the {name} pass, the graph {most / 1e6:,.1f} MB"
        for name, here, most in zip(("forward", "backward"), held, found.limit, strict=True)
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
    elif extra < 0:
        yield f"It is {-extra:,.1f} us faster than the plan, within the same memory: {_why(found)}."
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


def _why(found: FoundForm) -> str:
    """Say what a form is allowed to do that the graph lets no plan do."""
    gates = (
        "the graph lets gathers start later than FSDP2 does, as they were recorded, and the plan "
        "and its lower bound keep to that"
    )
    if not found.kept:
        return gates
    stay = f"{found.kept:,} more of the units stay gathered between the passes"
    return f"{stay}, which no plan of this graph may choose; or {gates}"
