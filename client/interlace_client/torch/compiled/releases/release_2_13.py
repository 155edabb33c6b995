"""PyTorch 2.13: how the order of a graph is kept by inductor.

Documented there are the hook ``post_grad_custom_post_pass`` and its class ``CustomGraphPass``.
Private is what keeps the order of a graph through inductor's scheduler: the operator
``control_deps`` and ``preserve_node_ordering``, which wraps nodes into it.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from torch import fx
from torch._inductor.fx_passes.control_dependencies import preserve_node_ordering
from torch.utils._ordered_set import OrderedSet

from interlace_client.torch.compiled.collectives import is_mutation, is_view, is_work

#: Inductor's settings under which the order is kept, to be patched in beside the pass.
SETTINGS: dict[str, Any] = {
    # what moves collectives and waits
    "reorder_for_compute_comm_overlap": False,
    "aten_distributed_optimizations.enable_overlap_scheduling": False,
    # what makes others of them
    "bucket_all_gathers_fx": "none",
    "bucket_reduce_scatters_fx": "none",
    "bucket_all_reduces_fx": "none",
    "dedup_reduce_scatters": False,
    "aten_distributed_optimizations.allow_comms_decompositions": False,
    "aten_distributed_optimizations.enable_low_contention_collectives": False,
    "_fuse_ddp_communication": False,
    "_micro_pipeline_tp": False,
    # what gives compiled graphs without a pass
    "fx_graph_cache": False,
    "fx_graph_remote_cache": False,
}


def pin(graph: fx.Graph, pinned: Container[fx.Node]) -> None:
    """Keep nodes where they are: after all compute before them, before all compute after them.

    Compute between two of them stays inductor's to fuse and to order. Each of them comes after the
    one before it and after what nothing in between takes; what takes nothing in between comes after
    it. O(nodes + edges).
    """
    after: dict[fx.Node, OrderedSet[fx.Node]] = {}
    last: fx.Node | None = None
    between: dict[fx.Node, None] = {}
    taken: set[fx.Node] = set()
    origins: dict[fx.Node, tuple[fx.Node, ...]] = {}
    for node in graph.nodes:
        takes = dict.fromkeys(o for each in node.all_input_nodes for o in origins.get(each, ()))
        if is_view(node):
            origins[node] = tuple(takes)
            continue
        origins[node] = (node,)
        if node in pinned:
            due = [each for each in between if each not in taken]
            due = [*([last] if last is not None else []), *due]
            if due:
                after[node] = OrderedSet(due)
            last, between, taken = node, {}, set()
        elif is_work(node):
            own = [each for each in takes if each in between]
            taken.update(own)
            between[node] = None
            if not own and last is not None and last not in takes and not is_mutation(node):
                after[node] = OrderedSet([last])
    preserve_node_ordering(graph, after)
