"""The graph of a request, its costs, and how long a plan's launches take on it."""

from fractions import Fraction
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from interlace_check import NotCovered, Refuted
from interlace_check.costs import Table, table_of

Json = dict[str, Any]


class Work(NamedTuple):
    """Ops: what each waits for, compute times [us], what is sent, and what may be fused."""

    before: dict[str, list[str]]
    compute: dict[str, Fraction]
    bytes: dict[str, int]
    uncut: set[str]
    lanes: dict[str, tuple[Any, ...]]
    costs: dict[str, Table]
    totals: dict[tuple[Any, ...], int]

    def least(self, these: list[str]) -> Fraction:
        """Least time that collectives of one channel keep it [us]."""
        if len({self.lanes[op][0] for op in these}) != 1 or len(set(these)) != len(these):
            raise Refuted("its tensors are of several channels, or one is there twice")
        carried: dict[Any, int] = {}
        for op in these:
            carried[self.lanes[op]] = carried.get(self.lanes[op], 0) + self.bytes[op]
        lanes = {self.lanes[op]: self.costs[op] for op in these}
        return sum((c.least(carried[k], self.totals[k]) for k, c in lanes.items()), Fraction(0))


def order_of(before: dict[Any, Any]) -> list[Any]:
    """Put ops behind what they wait for."""
    try:
        return list(TopologicalSorter(before).static_order())
    except CycleError as error:
        raise Refuted(f"these wait for one another: {error.args[1][:4]}") from error


def work_of(request: Json) -> Work:
    """Read the graph and the costs of a request."""
    cluster, ops = request["cluster"], request["graph"]["ops"]
    slowed = [s.get("order") == "free" for s in request["graph"].get("streams") or ()]
    slowed += [cluster.get("compute_slowdown", 1) != 1, *(op.get("slowdown") for op in ops)]
    for channel in (cluster, *(cluster.get("channels") or {}).values()):
        slowed += [channel.get("launch_slowdown", 1) != 1, *map(channel.get, ("shares", "path"))]
    if any(slowed):
        raise NotCovered("streams of free order, or what slows down what runs beside it")
    before: dict[str, list[str]] = {op["id"]: list(op.get("after") or ()) for op in ops}
    last: dict[str, str] = {}
    for op in (op for op in ops if op.get("stream") is not None):
        before[op["id"]] += [last[op["stream"]]] if op["stream"] in last else []
        last[op["stream"]] = op["id"]
    sent = {op["id"]: op for op in ops if op["kind"] != "compute"}
    if (request.get("options") or {}).get("barrier"):
        lead: set[str] = set()
        for name in reversed(order_of(before)):
            lead.update(before[name] if name in lead or name in sent else ())
        final = sent.keys() - lead
        before |= {op: [*b, "\0"] for op, b in before.items() if final & set(b)} | {"\0": [*final]}
    keys = ("channel", "kind", "element_bytes", "fuse_key", "source", "target")
    usual = {"channel": "network", "element_bytes": 1}
    lanes = {i: tuple((usual | op).get(key) for key in keys) for i, op in sent.items()}
    tables = {lane[:2]: table_of(cluster, *lane[:2]) for lane in lanes.values()}
    compute = {op["id"]: Fraction(op["duration_us"]) for op in ops if op["kind"] == "compute"}
    totals = {k: sum(sent[i]["bytes"] for i in sent if lanes[i] == k) for k in {*lanes.values()}}
    sizes, uncut = (
        {i: sent[i]["bytes"] for i in sent},
        {i for i in sent if not sent[i].get("cut", 1)},
    )
    costs = {i: tables[lanes[i][:2]] for i in sent}
    return Work(before, {"\0": Fraction(0)} | compute, sizes, uncut, lanes, costs, totals)


def launched(work: Work, plan: Json) -> list[tuple[Fraction, Fraction]]:
    """Execute a plan's launches in their order; when each starts and ends, and all does [us]."""
    buckets = {bucket["id"]: bucket["tensors"] for bucket in plan["buckets"]}
    if sorted(op for these in buckets.values() for op in these) != sorted(work.bytes):
        raise Refuted("/buckets: not each tensor is in one of them, once")
    before: dict[Any, list[Any]] = dict(work.before)
    took: dict[Any, Fraction] = dict(work.compute)
    last: dict[str, list[int]] = {}
    offset = dict.fromkeys(buckets, 0)
    parts = plan["schedule"]["parts"]
    for number, part in enumerate(parts):
        name, size, these = part["bucket"], part["bytes"], buckets[part["bucket"]]
        is_cut = offset[name] > 0 and work.uncut.intersection(these)
        offset[name], lane = offset[name] + size, work.lanes[these[0]]
        if size < 1 or offset[name] % lane[2] or is_cut:
            raise Refuted(f"/schedule/parts/{number}: it may not carry these bytes")
        before[number] = [o for op in these for o in work.before[op]] + last.get(lane[0], [])
        last[lane[0]], took[number] = [number], work.costs[these[0]].time(size)
        before |= {op: [number] for op in these}
    for bucket, these in buckets.items():
        sent = sum(work.bytes[op] for op in these)
        if offset[bucket] != sent or len({work.lanes[op] for op in these}) != 1:
            raise Refuted(f"/buckets: {bucket} is not sent wholly, or must not be one bucket")
    end: dict[Any, Fraction] = {}
    for op in order_of(before):
        end[op] = max((end[o] for o in before[op]), default=Fraction(0)) + took.get(op, 0)
    whole = (Fraction(0), max(end.values()))
    return [*((end[number] - took[number], end[number]) for number in range(len(parts))), whole]


def executed(work: Work, plan: Json, tolerance: Fraction) -> Fraction:
    """Execute a plan's launches, which must take what it says, and return an iteration's time."""
    *times, (_, time) = launched(work, plan)
    for number, (part, (start, end)) in enumerate(
        zip(plan["schedule"]["parts"], times, strict=True)
    ):
        if max(abs(start - part["start_us"]), abs(end - part["end_us"])) > tolerance * time:
            raise Refuted(f"/schedule/parts/{number}: it ends at {float(end)} us")
    return time
