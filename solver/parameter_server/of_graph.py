"""A training iteration with all-reduces as a step through parameter servers."""

from collections.abc import Iterator

from solver.codes import FaultCode
from solver.errors import Fault, InvalidSteps
from solver.graph import ALL_REDUCE, COMPUTE, Graph, first_of
from solver.limits import MAX_DURATION_US, MAX_SERVERS
from solver.parameter_server.parsing import free_name
from solver.parameter_server.steps import (
    DOWNLINK,
    SERVER,
    UPLINK,
    WORKER,
    ServerStep,
    StepOp,
    build_step,
)


def step_of(graph: Graph, servers: int = 1, update_us_per_byte: float = 0.0) -> ServerStep:
    """Turn a graph of backward pass, all-reduces and next forward pass into a step.

    A step begins where the graph's collectives are: the forward part, which is all that comes
    after a collective, then the backward part. A collective becomes three ops:

    ``ID:pull``
        A downlink that is ready at the start, before what came after the collective. Pulls stand
        in the order in which the forward part first needs them.
    ``ID:push``
        An uplink, after what the collective came after.
    ``ID:update``
        What the server computes with it, after the push.

    The backward part begins, and what the graph pushes at once is pushed, when the forward part
    has ended and all that nothing in it waits for has been pulled. All that the graph computes
    runs on the worker, one op at a time: ops that may overlap in the graph do not in the step.

    Parameters
    ----------
    graph
        In the PACE class, of all-reduces on one channel.
    servers
        1, unnamed, or 2, ``ps1`` and ``ps2``: each tensor, in the order of the pulls, is on the
        one that holds fewer bytes so far, of equals on the first (section 5 of the paper).
    update_us_per_byte
        Time of a server to update a parameter [us/byte], 0 or more.

    Raises
    ------
    InvalidSteps
        With every reason: a number of servers out of range, collectives behind collectives, of
        other kinds, on several channels, or whose update would outlast the longest op; ops that
        state slowdowns; more bytes in both directions than a step may have.

    Notes
    -----
    O(ops + edges + n log n) for n collectives.

    References
    ----------
    .. [1] Li et al., Throughput Prediction of Asynchronous SGD in TensorFlow, 2020: figures 5 and
           6, section 5.
    """
    behind = _behind_collectives(graph)
    if faults := first_of(_faults(graph, behind, servers, update_us_per_byte)):
        raise InvalidSteps(faults)
    return build_step(_ops(graph, behind, servers, update_us_per_byte))


def _behind_collectives(graph: Graph) -> list[bool]:
    """Tell of each op whether it comes after a collective."""
    behind = [False] * len(graph.ops)
    for i in graph.order:
        behind[i] = any(behind[j] or graph.ops[j].kind != COMPUTE for j in graph.preds[i])
    return behind


def _faults(graph: Graph, behind: list[bool], servers: int, us_per_byte: float) -> Iterator[Fault]:
    if not 1 <= servers <= MAX_SERVERS:
        detail = f"servers must be 1 to {MAX_SERVERS}, got {servers}."
        yield Fault("/servers", FaultCode.OUT_OF_RANGE, detail)
    channel = graph.ops[graph.collectives[0]].channel
    for i in graph.collectives:
        op = graph.ops[i]
        if behind[i]:
            detail = f"Tensor {op.id!r} comes after another collective; a step pushes gradients."
            yield Fault(f"/ops/{i}", FaultCode.NOT_LAYERED, detail)
        if op.kind != ALL_REDUCE:
            detail = f"Tensor {op.id!r}: kind must be all_reduce, got {op.kind!r}."
            yield Fault(f"/ops/{i}/kind", FaultCode.NOT_ALL_REDUCE, detail)
        if op.channel != channel:
            detail = (
                f"Tensor {op.id!r}: all must be on the channel of the first, {channel!r}, "
                f"got {op.channel!r}."
            )
            yield Fault(f"/ops/{i}/channel", FaultCode.OUT_OF_RANGE, detail)
        time = us_per_byte * (op.bytes or 0)
        if time > MAX_DURATION_US:
            detail = (
                f"Tensor {op.id!r}: the update of its {op.bytes} bytes takes {time:g} us; "
                f"an op takes {MAX_DURATION_US:g} us at most."
            )
            yield Fault(f"/ops/{i}/bytes", FaultCode.OUT_OF_RANGE, detail)
    for i, op in enumerate(graph.ops):
        if op.kind == COMPUTE and op.slowdown:
            detail = f"Op {op.id!r}: a step knows no slowdown of compute; leave it out."
            yield Fault(f"/ops/{i}/slowdown", FaultCode.EXTRA_FIELD, detail)


def _ops(graph: Graph, behind: list[bool], servers: int, us_per_byte: float) -> Iterator[StepOp]:
    rank = {i: place for place, i in enumerate(graph.order)}
    latest = len(rank)
    pulls = sorted(
        graph.collectives,
        key=lambda i: (min((rank[j] for j in graph.succs[i]), default=latest), i),
    )
    suffixes = _placed(graph, pulls, servers)
    names = {op.id for op in graph.ops if op.kind == COMPUTE}
    pulled = {i: free_name(f"{graph.ops[i].id}:pull", names) for i in pulls}
    for i in pulls:
        yield StepOp(pulled[i], DOWNLINK + suffixes[i], None, graph.ops[i].bytes)
    last = tuple(pulled[i] for i in pulls if not graph.succs[i])
    for i, op in enumerate(graph.ops):
        if behind[i]:
            before = (j for j in graph.preds[i] if behind[j] or j in pulled)
            after = tuple(pulled.get(j, graph.ops[j].id) for j in before)
            yield StepOp(op.id, WORKER, graph.durations[i], None, after)
            last += () if graph.succs[i] else (op.id,)
    if len(last) > 1:  # or each of many ops would wait for each of many
        end = free_name("forward:end", names)
        yield StepOp(end, WORKER, 0.0, None, last)
        last = (end,)
    for i, op in enumerate(graph.ops):
        after = tuple(graph.ops[j].id for j in graph.preds[i]) or last
        if i in pulled:
            push = free_name(f"{op.id}:push", names)
            yield StepOp(push, UPLINK + suffixes[i], None, op.bytes, after)
            update = free_name(f"{op.id}:update", names)
            time = us_per_byte * (op.bytes or 0)
            yield StepOp(update, SERVER + suffixes[i], time, None, (push,))
        elif not behind[i]:
            yield StepOp(op.id, WORKER, graph.durations[i], None, after)


def _placed(graph: Graph, tensors: list[int], servers: int) -> dict[int, str]:
    """Choose each tensor's server; return what its resources have behind their kind."""
    if servers == 1:
        return dict.fromkeys(tensors, "")
    sizes = [0] * servers
    placed = {}
    for i in tensors:
        server = sizes.index(min(sizes))
        sizes[server] += graph.ops[i].bytes or 0
        placed[i] = f":ps{server + 1}"
    return placed
