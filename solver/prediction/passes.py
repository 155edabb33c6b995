"""One iteration as OSF's recursion sees it: passes over layers, from layers or from a graph.

Layers are numbered n..1 in the order of the backward pass; layer 1 is the first of the forward
pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from solver.chain import Chain, chain_of
from solver.codes import FaultCode
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
    if reason := why_no_chain(chain, graph):
        raise InvalidGraph([Fault("", FaultCode.NOT_LAYERED, f"OSF needs {reason}")])
    return passes_of_chain(chain)


def passes_of_chain(chain: Chain) -> Passes:
    """Take a chain of all-reduces for layers."""
    gaps = (late - early for early, late in pairwise((0.0, *chain.release.tolist())))
    return Passes(_to_the_end(chain), tuple(gaps), tuple(chain.bytes.tolist()))


def _to_the_end(chain: Chain) -> float:
    """Compute up to the last release and behind the barrier, where all tails are the longest."""
    return float(chain.release[-1] + chain.tail.max())


def why_no_chain(chain: Chain, graph: Graph) -> str | None:
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
