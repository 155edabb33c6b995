"""Tables of a plan: its buckets, its launches and its slots, as CSV."""

from solver.chain import chain_of
from solver.costs import Network
from solver.exports.csv_text import csv_text
from solver.exports.explicit_plan import ExplicitPlan, Export, replay_plan
from solver.graph import Graph

FORMAT = "csv"


def export(graph: Graph, network: Network, plan: ExplicitPlan) -> Export:
    """Write ``parts.csv``, ``buckets.csv`` (a row a tensor) and ``slots.csv`` where there are any.

    Times are microseconds from the start of the iteration, sizes bytes. Nothing is lost, but
    names that a spreadsheet would run have an apostrophe before them.

    Raises
    ------
    InvalidPlan
        When the plan does not send the graph's collectives.
    """
    _, timeline = replay_plan(graph, network, plan)
    chain = chain_of(graph)
    positions = chain.positions.tolist()
    ids = [graph.ops[i].id for i in positions]
    home = {tensor: bucket.id for bucket in plan.buckets for tensor in bucket.tensors}
    parts = [
        (
            home[ids[launch.bucket[0]]],
            chain.lanes[chain.lane[launch.bucket[0]]].channel,
            launch.start,
            launch.end,
            launch.offset,
            launch.bytes,
        )
        for launch in timeline.launches
    ]
    ops = {op.id: op for op in graph.ops}
    buckets = [
        (bucket.id, tensor, ops[tensor].kind, ops[tensor].channel, ops[tensor].bytes)
        for bucket in plan.buckets
        for tensor in bucket.tensors
    ]
    files = {
        "parts.csv": csv_text(
            ("bucket", "channel", "start_us", "end_us", "offset_bytes", "bytes"), parts
        ),
        "buckets.csv": csv_text(("bucket", "tensor", "kind", "channel", "bytes"), buckets),
    }
    notes: tuple[str, ...] = ()
    if plan.slotted is None:
        notes = ("The plan has no slots: its releases depend on the schedule.",)
    else:
        slot = plan.slotted.slot_us
        rows = [(run.slot, run.count, run.slot * slot, run.bucket) for run in plan.slotted.runs]
        files["slots.csv"] = csv_text(("slot", "count", "start_us", "bucket"), rows)
    return Export(
        format=FORMAT,
        files=files,
        media_type="text/csv",
        notes=notes,
        iteration_time_us=timeline.iteration_time,
        plan_time_us=timeline.iteration_time,
    )
