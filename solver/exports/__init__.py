"""Plans as files of other tools, called alike: ``export(graph, network, plan) -> Export``."""

from collections.abc import Mapping
from dataclasses import replace

from solver.codes import FaultCode
from solver.costs import Network
from solver.errors import Fault, InvalidPlan
from solver.exports import chakra, chrome, csv_tables
from solver.exports.explicit_plan import ExplicitPlan, Export, Exporter
from solver.exports.frameworks import ddp, deepspeed, fsdp, horovod
from solver.graph import Graph
from solver.planning.explicit import ExplicitBucket, ExplicitPart
from solver.planning.result import Plan
from solver.wording import must_be, one_of

#: The writers by format name; add one here.
EXPORTS: dict[str, Exporter] = {
    chrome.FORMAT: chrome.export,
    chakra.FORMAT: chakra.export,
    csv_tables.FORMAT: csv_tables.export,
    ddp.FORMAT: ddp.export,
    deepspeed.FORMAT: deepspeed.export,
    fsdp.FORMAT: fsdp.export,
    horovod.FORMAT: horovod.export,
}

__all__ = ["EXPORTS", "ExplicitPlan", "Export", "Exporter", "export", "write"]


def write(form: str, graph: Graph, network: Network, plan: ExplicitPlan) -> Export:
    """Write a plan in a format of :data:`EXPORTS`; note what of the graph is no compute, either."""
    export = EXPORTS[form](graph, network, plan)
    kept = None if graph.recorded is None else graph.recorded.kept()
    return export if kept is None else replace(export, notes=(*export.notes, kept))


def export(
    form: str,
    network: Network,
    plan: Plan,
    workers: int = 1,
    channels: Mapping[str, int] | None = None,
) -> Export:
    """Write a plan as files of another tool; say what they cannot say, and what that costs.

    Parameters
    ----------
    form
        Key of :data:`EXPORTS`.
    network, plan
        What was planned, on which network.
    workers, channels
        Ranks of the channel ``network`` and of the others by name, for formats of one file a rank.

    Raises
    ------
    InvalidPlan
        When the format is unknown, or has no form for this plan.
    """
    if form not in EXPORTS:
        detail = must_be("Format", one_of(EXPORTS), form, EXPORTS)
        raise InvalidPlan([Fault("/format", FaultCode.OUT_OF_RANGE, detail)])
    explicit = ExplicitPlan(
        tuple(ExplicitBucket(bucket.id, bucket.tensors) for bucket in plan.buckets),
        tuple(ExplicitPart(part.bucket, part.bytes) for part in plan.parts),
        plan.slotted,
        workers,
        tuple((channels or {}).items()),
    )
    return write(form, plan.graph, network, explicit)
