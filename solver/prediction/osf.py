"""OSF: the scaling factor of data-parallel training, by recursion over layers.

Layers are numbered n..1 in the order of the backward pass, and time 0 is the end of layer n's
backward pass; layer 1 is the first of the forward pass. The next iteration waits for all updates,
so these are times under a barrier. Where the paper's equations and its text differ, the text
decides (MODEL.md section 8); ``paper_eq15`` is there to compare.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from solver.chain import chain_of
from solver.costs import Cost, Network
from solver.graph import Graph
from solver.prediction.passes import Passes, passes_of_chain, why_no_chain
from solver.simulation.contention import is_contended


class MergedLayers(NamedTuple):
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
    buffers: tuple[MergedLayers, ...]


@dataclass(frozen=True, slots=True)
class Osf:
    """Scaling factors of a graph without fusion: all in one all-reduce (2), and overlapped (3)."""

    csf: float | None
    osf: float | None
    iteration_time_us: float
    t_comp_us: float
    t_update_us: float
    t_overlap_us: float


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
    return _send(passes, cost, (((k,), 0.0) for k in range(len(passes.bytes))), printed=False)


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
    return _send(passes, cost, _buffers(passes, buffer_bytes, timeout), printed=paper_eq15)


def osf_of(graph: Graph, network: Network) -> Osf | None:
    """Return the scaling factors of a graph without fusion.

    None where it is no chain, or there is contention: the recursion has fixed times.
    """
    chain = chain_of(graph)
    if why_no_chain(chain, graph) or is_contended(graph, network):
        return None
    passes = passes_of_chain(chain)
    (cost,) = map(network, chain.lanes)
    scaling = osf(passes, cost)
    return Osf(
        csf=csf(passes, cost),
        osf=scaling.factor,
        iteration_time_us=scaling.iteration_time,
        t_comp_us=scaling.t_comp,
        t_update_us=scaling.t_update,
        t_overlap_us=scaling.t_overlap,
    )


def _buffers(
    passes: Passes, buffer_bytes: float, timeout: float
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield which layers are sent together (0 is layer n), and the wait before that (12)-(14)."""
    members: list[int] = []
    buffered = 0
    for k, (backward, size) in enumerate(zip(passes.backward, passes.bytes, strict=True)):
        is_late = backward > timeout
        if members and (is_late or buffered + size > buffer_bytes):
            yield tuple(members), timeout if is_late else backward
            members, buffered = [], 0
        members.append(k)
        buffered += size
    yield tuple(members), 0.0


def _send(
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
    launched = []
    for members, wait in buffers:
        ready = ends[members[-1]]
        start = max(free, ready) + wait if printed else max(free, ready + wait)
        size = sum(passes.bytes[k] for k in members)
        free = start + cost.time(size)
        if size:
            launched.append(MergedLayers(tuple(count - k for k in members), size, start))
    time = passes.t_comp + (free - ends[-1])
    return Scaling(
        factor=passes.t_comp / time if time > 0 else None,
        iteration_time=time,
        t_comp=passes.t_comp,
        t_update=free,
        t_overlap=ends[-1],
        buffers=tuple(launched),
    )
