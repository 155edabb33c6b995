"""What an answer rests on that was not measured, or that may be meant otherwise."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from app.reading.wording import brief, pointer
from app.schemas.changes import ChangeBody
from app.schemas.clusters import ChannelBody, ClusterBody
from app.schemas.explanations import CostWarning
from app.schemas.networks import CostModelBody
from app.schemas.schedules import BucketOut
from solver.bounds.status import FEASIBLE
from solver.bounds.tried import why_not
from solver.chain import Chain, chain_of
from solver.costs import TABLE, ChannelCost
from solver.fusion.general.annealing.problem import IS_COMPILED
from solver.graph import ALL_REDUCE, COMPUTE, Graph, Op
from solver.graph.durations import in_doubt
from solver.limits import MAX_BYTES, MAX_JOINT_CHANNELS
from solver.planning.result import Bucket, Part, Plan
from solver.simulation.chunking import assumption
from solver.simulation.engine import costs_of


def launched(
    buckets: Iterable[Bucket | BucketOut], parts: Iterable[Part]
) -> dict[ChannelCost, list[int]]:
    """Return the bytes of each launch of a plan, by lane."""
    lanes = {bucket.id: ChannelCost(bucket.channel, bucket.kind) for bucket in buckets}
    found: dict[ChannelCost, list[int]] = {}
    for part in parts:
        found.setdefault(lanes[part.bucket], []).append(part.bytes)
    return found


def tensors_of(graph: Graph) -> dict[ChannelCost, list[int]]:
    """Return the bytes of each collective of a graph, by lane."""
    found: dict[ChannelCost, list[int]] = {}
    for op in (graph.ops[i] for i in graph.collectives):
        found.setdefault(ChannelCost(op.channel, op.kind), []).append(op.bytes or 0)
    return found


def warnings_of(
    cluster: ClusterBody, launches: Mapping[ChannelCost, Sequence[int]]
) -> list[CostWarning]:
    """List what the cost of these launches was not measured for.

    Parameters
    ----------
    cluster
        With stored cost models in the place of their ids.
    launches
        Bytes of each launch, by lane.
    """
    networks, found = cluster.networks(), list[CostWarning]()
    for lane, sizes in launches.items():
        place, channel = networks[lane.channel]
        if not sizes or (workers := channel.workers or cluster.workers) == 1:
            continue
        model = channel.cost_model
        under = pointer(("cluster", *place, *(["cost_model"] if model else [])))
        if model is not None:
            found += _scaled(under, channel, model, workers)
        described = model or channel
        field, points = "table", described.table
        if lane.kind != ALL_REDUCE:
            tables = {str(kind): points for kind, points in described.tables.items()}
            field, points = f"tables/{lane.kind}", tables.get(lane.kind, [])
        if described.algorithm == TABLE and points:
            least, most = (model and model.range_of(lane.kind)) or (1, MAX_BYTES)
            measured = [min(max(size, least), most) for size, _ in points]
            found += _outside(f"{under}/{field}", (min(measured), max(measured)), sizes)
        elif model is not None and model.measured_bytes:
            least, most = model.measured_bytes
            found += _outside(under, (least, most), sizes)
    return list(dict.fromkeys(found))


def leaves_slowdown(graph: Graph) -> bool:
    """Tell whether some compute op leaves it to the cluster what slows it down."""
    return any(op.slowdown is None for op in graph.ops if op.kind == COMPUTE)


def stating_ops(graph: Graph) -> list[Op]:
    """List the ops that state what slows them down."""
    return [op for op in graph.ops if any(factor > 1 for _, factor in op.slowdown or ())]


def slowed_of(graph: Graph, cluster: ClusterBody) -> list[CostWarning]:
    """Say what a plan does not know of what slows compute or launches down."""
    found: list[CostWarning] = []
    rest = "ideal_us, slots and osf are for compute that always takes as long, and are not given."
    if (slowdown := cluster.compute_slowdown) > 1 and leaves_slowdown(graph):
        detail = (
            f"All times are simulated with compute {slowdown:g} times as long beside "
            f"communication; {rest}"
        )
        where = "/cluster/compute_slowdown"
        found.append(CostWarning(pointer=where, code="compute_slowed", detail=detail))
    if stating := stating_ops(graph):
        others = f" and {len(stating) - 1:,} more" if len(stating) > 1 else ""
        detail = (
            "All times are simulated with the slowdowns that ops state, "
            f"{brief(stating[0].id)!r}{others}; {rest}"
        )
        found.append(CostWarning(pointer="/graph/ops", code="compute_slowed", detail=detail))
    found += _shared_of(graph, cluster)
    return found


def _shared_of(graph: Graph, cluster: ClusterBody) -> Iterator[CostWarning]:
    """Name the channels in use that share a network card, and count those that cross links."""
    used = dict.fromkeys(graph.ops[i].channel for i in graph.collectives)
    cards: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for name, (place, channel) in cluster.networks().items():
        if name in used and channel.shares is not None:
            cards.setdefault(channel.shares, []).append((name, place))
    for card, channels in cards.items():
        if len(channels) > 1:
            names = " and ".join(repr(brief(name)) for name, _ in channels)
            detail = (
                f"All times are simulated with {names} sharing the card {brief(card)!r}; ideal_us, "
                "slots and osf are for launches that always take as long, and are not given."
            )
            where = pointer(("cluster", *channels[0][1], "shares"))
            yield CostWarning(pointer=where, code="card_shared", detail=detail)
    slowed = [name for name, (_, each) in cluster.networks().items() if each.launch_slowdown > 1]
    if some := [name for name in slowed if name in used]:
        names = f"{len(some):,} channels" if len(some) > 1 else f"channel {brief(some[0])!r}"
        detail = (
            f"All times are simulated with the launches of {names} taking longer beside compute; "
            "ideal_us, slots and osf are for launches that always take as long, and are not given."
        )
        where = pointer(("cluster", *cluster.networks()[some[0]][0], "launch_slowdown"))
        yield CostWarning(pointer=where, code="launches_slowed", detail=detail)
    crossing = [name for name, (_, each) in cluster.networks().items() if each.path]
    if some := [name for name in crossing if name in used]:
        names = f"{len(some):,} channels" if len(some) > 1 else f"channel {brief(some[0])!r}"
        detail = (
            f"All times are simulated with the launches of {names} crossing links that they may "
            "share; ideal_us, slots and osf are for launches that always take as long, and are not "
            "given."
        )
        yield CostWarning(pointer="/cluster/links", code="links_shared", detail=detail)


def search_of(cuts: Mapping[str, str | None]) -> list[CostWarning]:
    """Say what ended searches before their moves were done, by what was searched for."""
    said = [
        CostWarning(
            pointer="/options/time_limit_s",
            code="search_cut_short",
            detail=f"The search for {what} was cut short by {cut}: it is the best found by then; "
            "with more time, or on a machine with less to do, it may be another one.",
        )
        for what, cut in cuts.items()
        if cut
    ]
    if said and not IS_COMPILED:
        detail = (
            "The search ran without its compiled part, which a C compiler makes when Interlace is "
            "installed: it finds the same, but takes some fifty times as long."
        )
        said.append(
            CostWarning(pointer="/options/fusion", code="search_not_compiled", detail=detail)
        )
    return said


def proof_of(plan: Plan, prove_s: float) -> list[CostWarning]:
    """Say why a plan was not proven for longer where that was asked for."""
    chain = chain_of(plan.graph)
    if not prove_s or plan.status != FEASIBLE or chain.is_layered or plan.network is None:
        return []
    why = why_not(chain, costs_of(chain, plan.network))
    if why is None:
        return []
    detail = f"prove_s did nothing beyond what is done without it, since {why}."
    return [CostWarning(pointer="/options/prove_s", code="proof_not_tried", detail=detail)]


def channels_of(chain: Chain) -> list[CostWarning]:
    """Say of a graph on very many channels that the launches of these were not searched."""
    if len(chain.channels) <= MAX_JOINT_CHANNELS:
        return []
    detail = (
        f"The graph sends on {len(chain.channels):,} channels; on more than {MAX_JOINT_CHANNELS} "
        "the plan is the best of the rules and policies, its launches are not improved further, "
        "and the lower bound counts the work of fewer channels: it holds, but may be lower."
    )
    return [CostWarning(pointer="/graph/ops", code="not_searched", detail=detail)]


def units_of(graph: Graph, where: str = "/graph") -> list[CostWarning]:
    """Ask about durations that were not recorded and cannot be microseconds, it seems."""
    if graph.recorded is not None or not in_doubt(graph):
        return []
    took = sum(op.duration_us or 0.0 for op in graph.ops)
    sent = sum(op.bytes or 0 for op in graph.ops)
    detail = (
        f"Durations are microseconds: the ops compute for {took:,.3f} us and send "
        f"{sent / 1e6:,.1f} MB. Were they milliseconds, multiply them by 1,000."
    )
    return [CostWarning(pointer=where, code="units_in_doubt", detail=detail)]


def _scaled(
    under: str, channel: ChannelBody, model: CostModelBody, workers: int
) -> Iterator[CostWarning]:
    if not model.is_measured:
        return
    if model.workers is None:
        detail = (
            "The cost model does not say how many workers it was measured with; it is taken to be "
            f"for {workers:,}."
        )
        yield CostWarning(pointer=under, code="workers_unknown", detail=detail)
    changes = [
        f"{unit} of {was:g} scaled to {is_:g}"
        for unit, was, is_ in (
            ("workers", model.workers, workers),
            ("Gbit/s", model.bandwidth_gbps, channel.bandwidth_gbps),
        )
        if was is not None and is_ is not None and was != is_
    ]
    if changes:
        detail = f"The cost was not measured here: {' and '.join(changes)}, as a ring would."
        yield CostWarning(pointer=under, code="extrapolated", detail=detail)


def _outside(under: str, measured: tuple[int, int], sizes: Sequence[int]) -> Iterator[CostWarning]:
    least, most = measured
    small, large = (sum(s < least for s in sizes), sum(s > most for s in sizes))
    if small or large:
        detail = (
            f"{small + large:,} of {len(sizes):,} launches ({min(sizes):,} to {max(sizes):,} "
            f"bytes) are outside of what was measured, {least:,} to {most:,} bytes."
        )
        yield CostWarning(pointer=under, code="outside_measured_range", detail=detail)


def chunks_of(changes: Sequence[ChangeBody]) -> list[CostWarning]:
    """Say what is assumed of blocks that are cut in chunks."""
    return [
        CostWarning(
            pointer=f"/what_if/{k}/chunks",
            code="chunks_assumed",
            detail=assumption(change.chunks.to_chunking()),
        )
        for k, change in enumerate(changes)
        if change.chunks is not None
    ]
