"""A profiled training step of one worker, and of the servers that it pulls from and pushes to."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidSteps
from solver.graph import first_of, linked
from solver.limits import MAX_BYTES, MAX_DURATION_US, MAX_SERVERS

#: What an op runs on; a server's name may stand behind all but the first: ``uplink:ps1``.
WORKER, SERVER, UPLINK, DOWNLINK = "worker", "server", "uplink", "downlink"
RESOURCES = (WORKER, SERVER, UPLINK, DOWNLINK)


class StepOp(NamedTuple):
    """One op of a step.

    Attributes
    ----------
    id
        Name, unique in the step.
    resource
        ``worker``; or ``server``, ``uplink`` (from the worker) or ``downlink`` (to it), each with
        the server's name behind a colon where there are several.
    duration_us
        Time on the worker or the server [us]; None for a transfer.
    bytes
        Size of a transfer [bytes]; None for what is computed.
    after
        Ids of the ops that must end before this one starts.
    """

    id: str
    resource: str
    duration_us: float | None = None
    bytes: int | None = None
    after: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The resource without the server's name."""
        return self.resource.partition(":")[0]

    @property
    def server(self) -> str | None:
        """The server's name; None of the worker, and where it is not named."""
        return self.resource.partition(":")[2] or None

    @property
    def is_transfer(self) -> bool:
        """Whether it is bytes on a link."""
        return self.kind in {UPLINK, DOWNLINK}

    @property
    def stream(self) -> None:
        """No op has a stream: a resource serves what is ready first."""
        return


@dataclass(frozen=True, slots=True)
class ServerStep:
    """A checked step; build it with :func:`build_step`.

    Attributes
    ----------
    ops
        The ops, in the order given; an op's index here is its position. Of transfers that are
        ready at once the first goes first.
    preds, succs
        Positions of the direct predecessors and successors of each op, without repeats.
    order
        Positions in topological order.
    servers
        Names of the servers, in the order of their first op; an unnamed one is None.
    """

    ops: tuple[StepOp, ...]
    preds: tuple[tuple[int, ...], ...]
    succs: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    servers: tuple[str | None, ...]

    def bytes_on(self, kind: str, server: str | None) -> int:
        """Sum the bytes of a server's uplink or downlink."""
        return sum(op.bytes or 0 for op in self.ops if op.kind == kind and op.server == server)


def build_step(ops: Iterable[StepOp]) -> ServerStep:
    """Check ops and link them to a step.

    Raises
    ------
    InvalidSteps
        With every fault: values out of range, unknown resources, too many servers, a server
        named in some places only, repeated or unknown ids, self loops, a cycle, no op.

    Notes
    -----
    O(ops + edges).
    """
    ops = tuple(ops)
    preds, succs, order, edge_faults = linked(ops)
    faults = [*first_of(_value_faults(ops), "/ops"), *edge_faults]
    servers = tuple(dict.fromkeys(op.server for op in ops if op.kind != WORKER))
    faults += _whole_faults(ops, servers)
    if faults:
        raise InvalidSteps(faults)
    return ServerStep(ops, preds, succs, order, servers)


def servers_of(steps: Sequence[ServerStep]) -> tuple[str | None, ...]:
    """Name the servers of steps, in the order of their first op.

    Raises
    ------
    InvalidSteps
        When there is no step, or there are more than :data:`MAX_SERVERS` servers, or some steps
        name them and others do not.
    """
    if not steps:
        raise InvalidSteps([Fault("", FaultCode.MISSING_FIELD, "Give one step at least.")])
    servers = tuple(dict.fromkeys(server for step in steps for server in step.servers))
    if faults := list(_server_faults(servers, "")):
        raise InvalidSteps(faults)
    return servers


def _server_faults(servers: Sequence[str | None], place: str) -> Iterator[Fault]:
    if None in servers and len(servers) > 1:
        named = ", ".join(repr(server) for server in servers if server)
        detail = f"Some ops name their server ({named}), others do not; name it in all or in none."
        yield Fault(place, FaultCode.MISSING_FIELD, detail)
    elif len(servers) > MAX_SERVERS:
        named = ", ".join(map(repr, servers))
        detail = f"At most {MAX_SERVERS} servers, got {len(servers)}: {named}."
        yield Fault(place, FaultCode.OUT_OF_RANGE, detail)


def _whole_faults(ops: Sequence[StepOp], servers: Sequence[str | None]) -> Iterator[Fault]:
    if not ops:
        yield Fault("/ops", FaultCode.MISSING_FIELD, "A step needs an op.")
    sizes = [op.bytes or 0 for op in ops]
    if max(sizes, default=0) <= MAX_BYTES < sum(sizes):
        detail = f"All transfers: 2^60 bytes at most, got {sum(sizes)}."
        yield Fault("/ops", FaultCode.OUT_OF_RANGE, detail)
    yield from _server_faults(servers, "/ops")


def _value_faults(ops: Sequence[StepOp]) -> Iterator[Fault]:
    for i, op in enumerate(ops):
        kind, colon, server = op.resource.partition(":")
        if kind not in RESOURCES or (colon and (not server or kind == WORKER)):
            known = (
                "worker, server, uplink or downlink, the last three with ':' and a server's name"
            )
            detail = f"Op {op.id!r}: resource must be {known}, got {op.resource!r}."
            yield Fault(f"/ops/{i}/resource", FaultCode.OUT_OF_RANGE, detail)
        elif op.is_transfer:
            yield from _transfer_faults(i, op)
        else:
            yield from _compute_faults(i, op)


def _transfer_faults(i: int, op: StepOp) -> Iterator[Fault]:
    if op.duration_us is not None:
        detail = f"Op {op.id!r}: a transfer has bytes, no duration_us; the bandwidth decides."
        yield Fault(f"/ops/{i}/duration_us", FaultCode.EXTRA_FIELD, detail)
    if op.bytes is None:
        detail = f"Op {op.id!r} on {op.resource!r} needs bytes."
        yield Fault(f"/ops/{i}/bytes", FaultCode.MISSING_FIELD, detail)
    elif not 0 < op.bytes <= MAX_BYTES:
        detail = f"Op {op.id!r}: bytes must be 1 to 2^60, got {op.bytes!r}."
        yield Fault(f"/ops/{i}/bytes", FaultCode.OUT_OF_RANGE, detail)


def _compute_faults(i: int, op: StepOp) -> Iterator[Fault]:
    if op.bytes is not None:
        detail = f"Op {op.id!r}: only uplinks and downlinks have bytes."
        yield Fault(f"/ops/{i}/bytes", FaultCode.EXTRA_FIELD, detail)
    value = op.duration_us
    if value is None:
        detail = f"Op {op.id!r} on {op.resource!r} needs duration_us."
        yield Fault(f"/ops/{i}/duration_us", FaultCode.MISSING_FIELD, detail)
    elif not math.isfinite(value) or not 0 <= value <= MAX_DURATION_US:
        detail = f"Op {op.id!r}: duration_us must be 0 to {MAX_DURATION_US:g}, got {value!r}."
        yield Fault(f"/ops/{i}/duration_us", FaultCode.OUT_OF_RANGE, detail)
