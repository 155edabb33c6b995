r"""The proof of a lower bound as a small file, for a reader who trusts nothing here.

A certificate is a list of lines, each of which follows from the graph, the costs and the lines
before it (MODEL.md section 22):

- *head* and *tail*: these tensors of one channel are all carried before an op starts, or after it
  ends, so it starts at their least head + the least time of their bytes, or later;
- *path*: the longest path through heads, ops at their least and tails;
- *packing*: least head + least time of the bytes + least tail of tensors of one channel;
- *chain*: the best launches in the order of heads, by a line below the cost, + the least tail;
- *nested*: no plan of these blocks, in this order, is below the value, by a line below the cost;
- *tried*: no beginning of launches of these tensors comes to an end below the value. The reader
  tries them anew, so it is said only where they are few; of any bound that no other line gives.

``python -m interlace_check`` reads it, with the request and the plan.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from solver.bounds.general import Ends, both_ends
from solver.bounds.kinds import CHAIN, COMPUTE, NESTED, PACKING, PATH, TRIED
from solver.bounds.tried import why_not_anew
from solver.chain import Chain, chain_of, lane_bytes, subchain
from solver.costs import Cost, Network
from solver.evidence.bound import Bound
from solver.fusion.chain.fifo import chain_end
from solver.fusion.chain.two_sided.search import proof_of
from solver.graph import Graph
from solver.simulation.contention import is_contended
from solver.simulation.engine import costs_of
from solver.units import TOLERANCE, same

#: What a certificate says that it is.
FORMAT = "interlace certificate 1"

#: Most characters of a certificate; a longer proof is none to be carried about.
MOST_CHARACTERS = 1_000_000

#: Values and lines are lowered by these shares, so that no rounding makes them too large, and two
#: times that are the same may be so much farther apart.
_OF_VALUE, _OF_LINE = 1e-9, 1e-11
_SAME = TOLERANCE + 2 * _OF_VALUE

#: Beginnings were tried up to half of the tolerance below a plan's time: this share is below that.
_OF_TRIED = 0.6 * TOLERANCE

#: Looks at beginnings within which the solver must have tried all; the reader has twice as many.
MOST_LOOKS = 100_000

Json = dict[str, Any]


def certificate_of(graph: Graph, network: Network, bound: Bound) -> Json:
    """Write down what proves a bound, as JSON.

    Where that cannot be said in such lines, ``no_portable_certificate`` says why.

    Parameters
    ----------
    graph, network
        What was planned; a barrier is part of the graph.
    bound
        That of its plan.

    Notes
    -----
    As long as the bound itself took: what attains it is found again.
    """
    try:
        lines = _lines(graph, network, bound)
    except _NotPortable as error:
        return without(bound, str(error))
    found = {"format": FORMAT, "tolerance": str(_SAME), "kind": bound.kind, "lines": lines}
    size = sum(len(str(line)) for line in lines)
    if size > MOST_CHARACTERS:
        return without(bound, f"it would have {size:,} characters, of {MOST_CHARACTERS:,} at most")
    return found


class _NotPortable(Exception):
    """A bound that no such lines prove."""


def without(bound: Bound, why: str) -> Json:
    """Say why a bound has no portable certificate."""
    return {"format": FORMAT, "kind": bound.kind, "no_portable_certificate": why}


def _lines(graph: Graph, network: Network, bound: Bound) -> list[Json]:
    if graph.collectives and is_contended(graph, network):
        raise _NotPortable("compute or launches slow down what runs beside them")
    value = bound.value_us * (1 - _OF_VALUE)
    if not graph.collectives:
        return [{"bound": "path", "us": value}]
    chain = chain_of(graph)
    costs = costs_of(chain, network)
    if bound.kind not in {COMPUTE, PATH, CHAIN, PACKING, NESTED}:
        return [_tried(graph, chain, costs, bound)]
    head, tail = both_ends(graph, chain, costs)
    at = chain.positions
    raised = replace(chain, release=np.array(head.starts)[at], tail=np.array(tail.starts)[at])
    name = {i: graph.ops[position].id for i, position in enumerate(at.tolist())}
    index = {op: i for i, op in name.items()}
    members = [index[tensor] for tensor in bound.tensors]
    statement = _statement(graph, raised, costs, bound, members, name)
    if statement is None:
        return [_tried(graph, chain, costs, bound)]
    last = statement | {"us": value}
    begins = [int(at[i]) for i in members] or [int(p) for p in graph.order]
    facts = [
        {"side": side, "op": graph.ops[op].id, "of": [name[i] for i in ends.facts[op]]}
        for side, ends in (("head", head), ("tail", tail))
        for op in _needed(ends, at.tolist(), begins)
    ]
    return [*facts, last]


def _statement(
    graph: Graph,
    chain: Chain,
    costs: Sequence[Cost],
    bound: Bound,
    members: Sequence[int],
    name: Mapping[int, str],
) -> Json | None:
    """Say what attains the bound; None where that is not found again."""
    if bound.kind in {COMPUTE, PATH}:
        return {"bound": "path"}
    if bound.kind == PACKING:
        return {"bound": "packing", "of": [name[i] for i in members]}
    cost, total = costs[chain.lane[members[0]]], lane_bytes(chain)[chain.lane[members[0]]]
    order = sorted(members, key=lambda i: (chain.release[i], i))
    some = subchain(chain, order)
    if bound.kind == CHAIN:
        rest = float(some.tail.min())
        lines = cost.minorants(total)
        ends = [chain_end(some.release, some.bytes, *line) + rest for line in lines]
        value = max(ends)
        if value < bound.value_us and not same(value, bound.value_us):
            return None
        line = _below(lines[ends.index(value)])
        return {"bound": "chain", "of": [name[i] for i in order], "line": line}
    proof = proof_of(some, cost, bound.value_us)
    if proof is None:
        return None
    blocks = [[name[order[i]] for i in block] for block in proof.blocks]
    return {"bound": "nested", "of": blocks, "line": _below(proof.line)}


def _tried(graph: Graph, chain: Chain, costs: Sequence[Cost], bound: Bound) -> Json:
    """Say that every beginning ends later; of a layered graph, those of the bound's channel."""
    time = bound.value_us * (1 - (_OF_TRIED if bound.kind == TRIED else _OF_VALUE))
    names = [graph.ops[position].id for position in chain.positions]
    if chain.is_layered:
        lane = chain.lane[names.index(bound.tensors[0])]
        members = [i for i, other in enumerate(chain.lane) if other == lane]
        names = [names[i] for i in members]
        why = why_not_anew(subchain(chain, members), [costs[lane]], None, time, MOST_LOOKS)
    else:
        why = why_not_anew(chain, costs, graph, time, MOST_LOOKS)
    if why is not None:
        raise _NotPortable(why)
    return {"bound": "tried", "of": names, "us": time * (1 - _OF_VALUE)}


def _below(line: tuple[float, float]) -> list[float]:
    """Lower a line by a little more than rounding may have raised it."""
    return [part * (1 - _OF_LINE) for part in line]


def _needed(ends: Ends, positions: Sequence[int], begins: Iterable[int]) -> list[int]:
    """List the ops on whose raised starts those of some ops rest."""
    left, seen = list(begins), set[int]()
    while left:
        op = left.pop()
        if op in seen:
            continue
        seen.add(op)
        if op in ends.facts:
            left += [positions[i] for i in ends.facts[op]]
        elif ends.preds[op]:
            left.append(max(ends.preds[op], key=lambda j: ends.starts[j] + ends.weights[j]))
    return [op for op in ends.facts if op in seen]
