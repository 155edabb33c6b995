"""The plan inside a shape: buckets, order and prefetch of its data-parallel communication."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from solver.costs import network_of
from solver.errors import InvalidGraph, InvalidPlan
from solver.evidence.evidence import Evidence
from solver.evidence.gain import Gain
from solver.evidence.headline import Headline, headline_of
from solver.planning.headline import comparison
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.planning.result import Plan
from solver.shapes.communication.sums import sums_graph
from solver.shapes.communication.units import units_graph
from solver.shapes.efficiency import Efficiencies
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.transformer import Transformer
from solver.sharded.forms import fastest_form

#: The search may look at so much of what that of a plan may: a ranking is to answer in seconds.
_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class ShapePlan:
    """What planning the data-parallel communication of a shape gives, or why it is not planned.

    Attributes
    ----------
    why_not
        Why there is no plan, a sentence; None where there is one, and then all else may be known.
    headline
        Its gains over what you run, with their verdicts; times are those of a step [us].
    launches
        What is sent together, by the names of layers, in order; parts of a layer's gradients are
        one entry each. With sharded parameters the units, in the order of the forward pass.
    forward_prefetch, backward_prefetch
        With sharded parameters: how many units each one asks for ahead of its passes.
    """

    why_not: str | None = None
    headline: Headline | None = None
    launches: tuple[tuple[str, ...], ...] = ()
    forward_prefetch: int | None = None
    backward_prefetch: int | None = None


def shape_plan(
    model: Transformer,
    cluster: TrainingCluster,
    shape: JobShape,
    known: Efficiencies,
    *,
    trust_below: float | None = None,
    unsound: Sequence[str] = (),
) -> ShapePlan:
    """Plan the data-parallel communication of a shape as that of any graph.

    What you run is by the one rule for every answer (:mod:`solver.evidence.what_you_run`): DDP for
    all-reduces, FSDP2 for sharded parameters, and for a sharded optimizer each layer's gradients
    first in, first out. All of it overlaps with the backward pass, unlike in the ranked step, which
    sums gradients after it.

    Parameters
    ----------
    trust_below
        The gain below which nothing follows from the machine's figures; None where nobody knows.
    unsound
        Why no gain is claimed at all, a sentence each.

    Notes
    -----
    A plan and its comparison for some 2 or 3 collectives a layer.
    """
    if (why_not := _why_not(model, shape)) is not None:
        return ShapePlan(why_not)
    is_of_units = shape.sharding == "parameters"
    try:
        graph, costs = (units_graph if is_of_units else sums_graph)(model, cluster, shape, known)
    except InvalidGraph as error:  # a pass takes longer than any op may
        return ShapePlan(f"No plan: {error.faults[0].detail}")
    network, options = network_of(costs), Options(baselines=(), share=_SHARE)
    found = plan(graph, network, options)
    found = replace(found, evidence=_evidence(found, trust_below, unsound))
    beside = comparison(graph, network, options, found).headline
    times = shape.micro_batches if is_of_units else 1
    gains = [_longer(gain, times) for gain in beside.gains if gain.barrier]
    headline = headline_of(gains)
    if is_of_units:
        try:
            form = fastest_form(graph, network, found.launches).form
        except InvalidPlan as error:
            return ShapePlan(error.faults[0].detail)
        units = tuple(unit.names for unit in form.units)
        return ShapePlan(None, headline, units, form.ahead, form.back)
    tensors = {bucket.id: bucket.tensors for bucket in found.buckets}
    names = (tensors[part.bucket] for part in found.parts)
    sent = tuple(tuple(name.partition(":")[2] for name in each) for each in names)
    return ShapePlan(None, headline, sent)


def _why_not(model: Transformer, shape: JobShape) -> str | None:
    if shape.cp * shape.dp == 1:
        return "No plan: there is no data-parallel communication."
    if shape.ways > 1:
        return "No plan: each stage is on two pipeline ranks, which is not planned yet."
    if shape.sharding == "parameters" and model.experts and shape.ep > 1:
        return (
            "No plan: experts are sharded over other ranks than the rest, which is not planned yet."
        )
    if shape.sharding == "parameters" and shape.pp > 1:
        return "No plan: parameters are sharded inside a pipeline, which is not planned yet."
    if shape.sharing != shape.cp * shape.dp or not shape.reshard:
        return "No plan: parts are shared out over some of the ranks, or stay gathered."
    return None


def _evidence(found: Plan, trust_below: float | None, unsound: Sequence[str]) -> Evidence:
    return replace(found.evidence, trust_below=trust_below, unsound=tuple(unsound))


def _longer(gain: Gain, times: int) -> Gain:
    """Return a micro-batch's gain as that of so many, one after another."""
    return replace(
        gain,
        today_us=gain.today_us * times,
        plan_us=gain.plan_us * times,
        lower_bound_us=gain.lower_bound_us * times,
    )
