"""Where each node of a graph stands in a program, and why a program does not fit."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import fx

from interlace_client.torch.compiled.collectives import (
    is_collective,
    is_mutation,
    is_view,
    is_wait,
    is_work,
    waits_of,
    written_by,
)
from interlace_client.torch.compiled.program import (
    COMPUTE,
    LAUNCH,
    PACK,
    UNPACK,
    WAIT,
    CompiledPlan,
)


@dataclass(frozen=True)
class Places:
    """Steps of a program by nodes.

    Attributes
    ----------
    of_step
        Place of each (what to do, name) in the program.
    needed
        Of each node the step before which all that it takes must be there; of a node that no step
        names, the step before which it must be there itself (the number of steps: at the end).
    faults
        What the program computes or sends before what that needs.
    """

    of_step: dict[tuple[str, str], int]
    needed: dict[fx.Node, int]
    faults: tuple[str, ...]


def places_of(graph: fx.Graph, plan: CompiledPlan) -> Places:
    """Place the nodes of a graph in a program.

    Nodes that no step names (views, constants, what the plan took no time for) stand right before
    the first step that needs them. What writes into a tensor keeps its place among all that touch
    that tensor, and nodes with effects or random numbers keep their order. O(nodes + edges).
    """
    of_step = {step: place for place, step in enumerate(plan.steps)}
    needed, made = _named(graph, plan, of_step)
    before = _befores(graph)
    after: dict[fx.Node, list[fx.Node]] = {node: [] for node in graph.nodes}
    for node in graph.nodes:
        for other in before[node]:
            after[other].append(node)
    for node in reversed(graph.nodes):
        if node not in needed:
            needed[node] = min((needed[user] for user in after[node]), default=len(plan.steps))
    faults = []
    for node in graph.nodes:
        if node not in made:
            made[node] = max((made[other] for other in before[node]), default=-1)
        late = [other for other in before[node] if made[other] >= needed[node]]
        if late and not is_wait(node):
            faults.append(f"{node.name!r} is asked for before {late[0].name!r}, which it takes")
    return Places(of_step, needed, tuple(faults))


def _named(
    graph: fx.Graph, plan: CompiledPlan, of_step: dict[tuple[str, str], int]
) -> tuple[dict[fx.Node, int], dict[fx.Node, int]]:
    """Return of the nodes that steps name the step that needs what they take, and their own."""
    needed: dict[fx.Node, int] = {}
    made: dict[fx.Node, int] = {}
    bucket_of = {name: bucket for bucket in plan.buckets for name in bucket.nodes}
    for node in graph.nodes:
        if (COMPUTE, node.name) in of_step:
            needed[node] = made[node] = of_step[COMPUTE, node.name]
        elif node.name in bucket_of:
            bucket = bucket_of[node.name]
            is_one = len(bucket.nodes) == 1
            needed[node] = of_step[LAUNCH if is_one else PACK, bucket.id]
            made[node] = of_step[LAUNCH, bucket.id]
            for wait in waits_of(node):
                needed[wait] = of_step[WAIT, bucket.id]
                made[wait] = of_step[WAIT if is_one else UNPACK, bucket.id]
    return needed, made


def _befores(graph: fx.Graph) -> dict[fx.Node, list[fx.Node]]:
    """Return what each node comes after: what it takes, writes to it, effects before its own."""
    root: dict[fx.Node, fx.Node] = {}
    touched: dict[fx.Node, list[fx.Node]] = {}
    writer: dict[fx.Node, fx.Node] = {}
    before: dict[fx.Node, list[fx.Node]] = {}
    last_effect: fx.Node | None = None
    for node in graph.nodes:
        takes = list(node.all_input_nodes)
        is_alias = takes and (is_view(node) or is_wait(node))
        root[node] = root[takes[0]] if is_alias else node
        found = dict.fromkeys(takes)
        for other in takes:
            if root[other] in writer:
                found[writer[root[other]]] = None
        for other in written_by(node):
            found.update(dict.fromkeys(touched.get(root[other], [])))
        if node.op != "output":
            for other in takes:
                touched.setdefault(root[other], []).append(node)
            for other in written_by(node):
                writer[root[other]] = node
                touched[root[other]] = [node]
        if _has_effect(node):
            if last_effect is not None:
                found[last_effect] = None
            last_effect = node
        found.pop(node, None)
        before[node] = list(found)
    return before


def _has_effect(node: fx.Node) -> bool:
    if node.op != "call_function" or is_wait(node) or is_collective(node) or is_mutation(node):
        return False
    tags = getattr(node.target, "tags", ())
    return torch.Tag.nondeterministic_seeded in tags or node.is_impure()


def unplanned(graph: fx.Graph, plan: CompiledPlan) -> list[str]:
    """Name the nodes that compute or send and that no step asks for."""
    known = {name for do, name in plan.steps if do == COMPUTE}
    known |= {name for bucket in plan.buckets for name in bucket.nodes}
    return [
        node.name
        for node in graph.nodes
        if (is_work(node) or is_collective(node))
        and not is_mutation(node)
        and node.name not in known
    ]
