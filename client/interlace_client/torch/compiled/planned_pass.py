"""The custom pass of inductor that makes a graph run as planned."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from pathlib import Path

from torch import fx
from torch._inductor.custom_graph_pass import CustomGraphPass

from interlace_client.torch.compiled.collectives import is_collective, waits_of, whole_bytes
from interlace_client.torch.compiled.fingerprint import fingerprint
from interlace_client.torch.compiled.merging import merge, merge_faults
from interlace_client.torch.compiled.order import places_of, unplanned
from interlace_client.torch.compiled.program import BUCKET_STEPS, COMPUTE, CompiledPlan, listed
from interlace_client.torch.compiled.releases import of_this_torch
from interlace_client.torch.compiled.written import Written, read_graph
from interlace_client.torch.plans import UnusablePlan


class NotThisGraph(UnusablePlan):
    """A compiled graph that none of the plans is of; the message has what differs."""


class PlannedPass(CustomGraphPass):
    """Reorders and merges the collectives of compiled graphs as plans say.

    Use it by :func:`~interlace_client.torch.compiled.settings.running`, which keeps inductor's own
    passes away.

    Parameters
    ----------
    plans
        One for each graph with collectives: the forward and the backward pass are two.
    keep_unplanned
        Compile a graph that no plan is of as it is, with a warning, in the place of an error.

    Attributes
    ----------
    written
        What was made of each graph that was planned, in the order of their compilation.
    seen
        How many graphs were compiled, with collectives or without.
    switched_off
        Settings of inductor that would change the order again, and that are off, a sentence each.
    """

    def __init__(self, plans: Sequence[CompiledPlan], *, keep_unplanned: bool = False) -> None:
        self.plans, self.keep_unplanned = tuple(plans), keep_unplanned
        self.written: list[Written] = []
        self.seen = 0
        self.switched_off: tuple[str, ...] = ()
        self._release = of_this_torch()

    def __call__(self, graph: fx.Graph) -> None:
        """Make a post-grad graph what its plan says; one without collectives stays as it is.

        Raises
        ------
        NotThisGraph
            When no plan is of it, unless that is allowed.
        """
        self.seen += 1
        if not any(map(is_collective, graph.nodes)):
            return
        refusals = []
        for k, plan in enumerate(self.plans):
            faults = differences(graph, plan)
            if not faults:
                self.written.append(self._write(graph, plan))
                return
            refusals.append(f"Plan {k + 1} of {len(self.plans)}: {'; '.join(faults)}.")
        detail = " ".join(["No plan is of this compiled graph.", *refusals])
        if not self.keep_unplanned:
            raise NotThisGraph(detail)
        warnings.warn(f"{detail} It is compiled without one.", stacklevel=2)

    def uuid(self) -> str:
        """Return what inductor's cache of compiled graphs must know: the plans and this code."""
        digest = hashlib.sha256(repr((self.plans, self.keep_unplanned)).encode())
        folder = Path(__file__).parent
        for path in sorted([*folder.glob("*.py"), *folder.glob("releases/*.py")]):
            digest.update(path.read_bytes())
        return digest.hexdigest()

    def _write(self, graph: fx.Graph, plan: CompiledPlan) -> Written:
        """Merge, order and pin."""
        places = places_of(graph, plan)
        by_name = {node.name: node for node in graph.nodes}
        rank = {node: k for k, node in enumerate(graph.nodes)}
        named = {name for do, name in plan.steps if do == COMPUTE}
        key = {
            node: (place, node.name in named or is_collective(node), rank[node])
            for node, place in places.needed.items()
        }
        pinned: dict[fx.Node, tuple[str, str]] = {}
        copies: dict[fx.Node, tuple[str, str]] = {}
        for bucket in plan.buckets:
            at = {do: places.of_step.get((do, bucket.id), 0) for do in BUCKET_STEPS}
            nodes = [by_name[name] for name in bucket.nodes]
            if len(nodes) == 1:
                (launch,) = nodes
                key[launch] = (at["launch"], True, 0)
                pinned[launch] = ("launch", bucket.id)
                for wait in waits_of(launch):
                    key[wait] = (at["wait"], True, 0)
                    pinned[wait] = ("wait", bucket.id)
                continue
            made = merge(graph, bucket.id, nodes)
            for k, node in enumerate(made.packs):
                key[node] = (at["pack"], True, k)
                copies[node] = ("pack", bucket.id)
            key[made.launch] = (at["launch"], True, 0)
            key[made.wait] = (at["wait"], True, 0)
            for k, node in enumerate(made.unpacks):
                key[node] = (at["unpack"], True, k)
                copies[node] = ("unpack", bucket.id)
            pinned[made.launch], pinned[made.wait] = ("launch", bucket.id), ("wait", bucket.id)
        _sort(graph, key, len(plan.steps))
        graph.lint()
        marks = {node.name: step for node, step in {**pinned, **copies}.items()}
        self._release.pin(graph, pinned)
        graph.lint()
        return read_graph(graph, plan, marks)


def differences(graph: fx.Graph, plan: CompiledPlan) -> list[str]:
    """Say why a plan is not of a graph; nothing where it is.

    Compared are the fingerprint, where the plan has one, the names of what it computes and sends,
    the bytes of its buckets, whether buckets can be merged, and whether its order gives each node
    what it takes.
    """
    faults = []
    module = graph.owning_module
    if plan.fingerprint is not None and module is not None:
        own = fingerprint(module)
        if own != plan.fingerprint:
            faults.append(f"fingerprint {own[:12]}, planned {plan.fingerprint[:12]}")
    by_name = {node.name: node for node in graph.nodes}
    computed = [name for do, name in plan.steps if do == COMPUTE]
    sent = [name for bucket in plan.buckets for name in bucket.nodes]
    lacking = [name for name in [*computed, *sent] if name not in by_name]
    if lacking:
        faults.append(f"the graph has no node {listed(lacking)}")
    extra = unplanned(graph, plan)
    if extra and plan.fingerprint is None:
        faults.append(f"the plan has no step for {listed(extra)}")
    elif any(is_collective(by_name[name]) for name in extra):
        faults.append(f"the plan sends no {listed(n for n in extra if is_collective(by_name[n]))}")
    strange = [name for name in sent if name in by_name and not is_collective(by_name[name])]
    if strange:
        faults.append(f"no collective is {listed(strange)}")
    for bucket in [] if lacking or strange else plan.buckets:
        nodes = [by_name[name] for name in bucket.nodes]
        if len(nodes) > 1:
            faults += merge_faults(bucket.id, nodes)
        sizes = [whole_bytes(node) for node in nodes]
        known = [size for size in sizes if size is not None]
        if bucket.bytes is not None and len(known) == len(sizes) and sum(known) != bucket.bytes:
            faults.append(f"bucket {bucket.id!r} has {sum(known)} bytes, planned {bucket.bytes}")
    return faults or list(places_of(graph, plan).faults[:5])


def _sort(graph: fx.Graph, key: dict[fx.Node, tuple[int, bool, int]], end: int) -> None:
    """Put the nodes of a graph into the order of keys, placeholders first, the output last."""
    nodes = list(graph.nodes)
    output = next(node for node in nodes if node.op == "output")
    inner = [node for node in nodes if node.op not in {"placeholder", "output"}]
    for node in sorted(inner, key=lambda node: key.get(node, (end, False, 0))):
        output.prepend(node)
