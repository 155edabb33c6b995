"""OSF: the scaling factor of data-parallel training, by recursion over layers.

Layers are numbered n..1 in the order of the backward pass, and time 0 is the end of layer n's
backward pass; layer 1 is the first of the forward pass. The next iteration waits for all updates,
so these are times under a barrier. Where the paper's equations and its text differ, the text
decides (MODEL.md section 8); ``paper_eq15`` is there to compare.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

from solver.chain import Chain, chain_of
from solver.codes import FaultCode
from solver.costs import Cost, Network
from solver.errors import Fault, InvalidGraph
from solver.graph import ALL_REDUCE, Graph
from solver.models.layers import Layer
from solver.units import slack


@dataclass(frozen=True, slots=True)
class Passes:
    """One iteration as the recursion sees it.

    Attributes
    ----------
    t_comp
        Forward and backward pass of all layers (5) [us].
    backward
        Backward time of layers n, n-1, ..., 1 [us].
    bytes
        Gradients of the same layers; 0 where there is nothing to send.
    """

    t_comp: float
    backward: tuple[float, ...]
    bytes: tuple[int, ...]


class Buffer(NamedTuple):
    """Layers that are sent together.

    ``layers`` are their numbers, descending, ``bytes`` what is sent, and ``start`` the time of
    the launch after the end of layer n's backward pass [us].
    """

    layers: tuple[int, ...]
    bytes: int
    start: float


@dataclass(frozen=True, slots=True)
class Scaling:
    """What the recursion gives.

    Attributes
    ----------
    factor
        T_comp / iteration time; None when the iteration takes no time.
    iteration_time
        T_comp + T_update - T_overlap [us].
    t_comp
        Compute alone [us].
    t_update
        From the end of layer n's backward pass to the end of the last update [us].
    t_overlap
        Backward pass of layers n-1 to 1 (10) [us].
    buffers
        What was sent, in order; nothing is launched for 0 bytes.
    """

    factor: float | None
    iteration_time: float
    t_comp: float
    t_update: float
    t_overlap: float
    buffers: tuple[Buffer, ...]


@dataclass(frozen=True, slots=True)
class Osf:
    """Scaling factors of a graph without fusion: all in one all-reduce (2), and overlapped (3)."""

    csf: float | None
    osf: float | None
    iteration_time_us: float
    t_comp_us: float
    t_update_us: float
    t_overlap_us: float


def times_of(
    flops: float, batch_size: int, peak_flops: float, utilisation: float
) -> tuple[float, float]:
    """Return the time of a layer's forward and backward pass [us], the second twice the first.

    M C / (c pi), with C the FLOPs of one sample's forward pass, M samples in a batch, pi the peak
    of the worker [FLOP/s] and c the share of it that is used (OSF 5 and 6).
    """
    forward = batch_size * flops / (utilisation * peak_flops) * 1e6
    return forward, 2 * forward


def passes_of_layers(layers: Sequence[Layer]) -> Passes:
    """Take layers in forward order, layer 1 first; a layer's gradients are sent together."""
    backwards = layers[::-1]
    return Passes(
        sum(layer.forward_us + layer.backward_us for layer in layers),
        tuple(layer.backward_us for layer in backwards),
        tuple(sum(size for _, size in layer.gradients) for layer in backwards),
    )


def passes_of(graph: Graph) -> Passes:
    """Take a graph in which all that is sent is a chain of all-reduces.

    Each all-reduce is a layer, in the order of releases; the time between two releases is the
    backward time of the later one, 0 for tensors of one op. What runs before the first release
    is the backward pass of layer n, and what runs after the barrier the forward pass, so that
    T_comp is the compute time under the barrier, T_comp - T_overlap what runs beside no launch.

    Raises
    ------
    InvalidGraph
        ``not_layered``: when a collective comes after another, there are several channels or
        another kind than all-reduce, or compute goes on beside the last all-reduce for longer
        than what waits for the barrier.

    Notes
    -----
    O(n) for n collectives when the chain of the graph is known.
    """
    chain = chain_of(graph)
    if why_not := _why_not(chain, graph):
        raise InvalidGraph([Fault("", FaultCode.NOT_LAYERED, f"OSF needs {why_not}")])
    return _passes(chain)


def csf(passes: Passes, cost: Cost) -> float | None:
    """T_comp / (T_comp + T_comm) with all bytes in one all-reduce and no overlap (2).

    None when the iteration takes no time.
    """
    time = passes.t_comp + cost.time(sum(passes.bytes))
    return passes.t_comp / time if time > 0 else None


def osf(passes: Passes, cost: Cost) -> Scaling:
    r"""Send each layer alone, first in, first out.

    .. math:: τ_n = 0, \quad τ_i = \max(τ_{i+1} + T(D_{i+1}), e_i), \quad
              e_i = \sum_{j=i}^{n-1} t_b(j), \quad T_{update} = τ_1 + T(D_1)

    T is the cost of a launch, T(0) = 0.

    Notes
    -----
    O(n).

    References
    ----------
    .. [1] OSF, Section 2.1, eq. 3 to 10; the sum of (8) starts at j = i, as its text says and as
           it is printed in (15).
    """
    return _sent(passes, cost, (((k,), 0.0) for k in range(len(passes.bytes))), printed=False)


def osf_fusion(
    passes: Passes,
    cost: Cost,
    buffer_bytes: float,
    timeout: float,
    *,
    paper_eq15: bool = False,
) -> Scaling:
    r"""Send layers in buffers, as a framework with a fusion buffer and a timeout does.

    A layer joins the buffer; before layer i-1 joins, the buffer is sent when
    :math:`t_b(i-1) > timeout`, after a wait of the timeout, or when it has no room for layer i-1,
    after a wait for that layer's backward pass (14). It starts at :math:`\max(free, e_i + wait)`.

    Parameters
    ----------
    passes, cost
        The iteration, and what a launch costs.
    buffer_bytes
        Q, most bytes sent together; a larger layer goes alone; 0 for no fusion, as :func:`osf`.
    timeout
        Longest wait for the next layer [us].
    paper_eq15
        Wait even while the channel is busy, :math:`\max(free, e_i) + wait`: (15) as printed.

    Notes
    -----
    O(n). (12) would start a new buffer without sending the last one when t_b equals the timeout,
    and (13) looks at the backward time of a layer that has ended; here both follow the text.

    References
    ----------
    .. [1] OSF, Section 2.2, eq. 11 to 16.
    """
    if not buffer_bytes:
        return osf(passes, cost)
    return _sent(passes, cost, _buffers(passes, buffer_bytes, timeout), printed=paper_eq15)


def osf_of(graph: Graph, network: Network) -> Osf | None:
    """Return the scaling factors of a graph without fusion; None where it is no chain."""
    chain = chain_of(graph)
    if _why_not(chain, graph):
        return None
    passes = _passes(chain)
    (cost,) = map(network, chain.lanes)
    found = osf(passes, cost)
    return Osf(
        csf=csf(passes, cost),
        osf=found.factor,
        iteration_time_us=found.iteration_time,
        t_comp_us=found.t_comp,
        t_update_us=found.t_update,
        t_overlap_us=found.t_overlap,
    )


def _passes(chain: Chain) -> Passes:
    gaps = (late - early for early, late in pairwise((0.0, *chain.release.tolist())))
    return Passes(_to_the_end(chain), tuple(gaps), tuple(chain.bytes.tolist()))


def _to_the_end(chain: Chain) -> float:
    """Compute up to the last release and behind the barrier, where all tails are the longest."""
    return float(chain.release[-1] + chain.tail.max())


def _why_not(chain: Chain, graph: Graph) -> str | None:
    """Say what keeps a graph from being a chain of all-reduces; None when nothing does."""
    if not len(chain):
        return "a collective."
    ids = [graph.ops[i].id for i in chain.positions.tolist()]
    for i, mask in enumerate(chain.before):
        if mask:
            above = (mask & -mask).bit_length() - 1
            return f"collectives that do not wait for others; {ids[i]!r} waits for {ids[above]!r}."
    if len(chain.lanes) > 1 or chain.lanes[0].kind != ALL_REDUCE:
        lanes = ", ".join(f"{lane.kind} on {lane.channel}" for lane in chain.lanes)
        return f"all-reduces on one channel and nothing else; here are {lanes}."
    beside = chain.compute_time - _to_the_end(chain)
    if beside > slack(chain.compute_time):
        return (
            "compute to end with what waits for the barrier; other compute goes on for "
            f"{beside:g} us longer."
        )
    return None


def _buffers(
    passes: Passes, buffer_bytes: float, timeout: float
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield which layers are sent together (0 is layer n), and the wait before that (12)-(14)."""
    members: list[int] = []
    held = 0
    for k, (backward, size) in enumerate(zip(passes.backward, passes.bytes, strict=True)):
        is_late = backward > timeout
        if members and (is_late or held + size > buffer_bytes):
            yield tuple(members), timeout if is_late else backward
            members, held = [], 0
        members.append(k)
        held += size
    yield tuple(members), 0.0


def _sent(
    passes: Passes,
    cost: Cost,
    buffers: Iterable[tuple[tuple[int, ...], float]],
    *,
    printed: bool,
) -> Scaling:
    """Send buffers with their waits one after another, the last of them with layer 1 (15)-(16)."""
    count = len(passes.bytes)
    ends = list(accumulate(passes.backward[1:], initial=0.0))
    free = 0.0
    sent = []
    for members, wait in buffers:
        ready = ends[members[-1]]
        start = max(free, ready) + wait if printed else max(free, ready + wait)
        size = sum(passes.bytes[k] for k in members)
        free = start + cost.time(size)
        if size:
            sent.append(Buffer(tuple(count - k for k in members), size, start))
    time = passes.t_comp + (free - ends[-1])
    return Scaling(
        factor=passes.t_comp / time if time > 0 else None,
        iteration_time=time,
        t_comp=passes.t_comp,
        t_update=free,
        t_overlap=ends[-1],
        buffers=tuple(sent),
    )
