"""PyTorch: the plan's buckets by parameter names, and code that all-reduces them.

``ddp_buckets.py`` does without DistributedDataParallel, which forms other buckets: runs of the
order in which gradients are ready, each up to a cap, and sent in that order. Hooks on the
parameters all-reduce the plan's buckets strictly in the plan's order, with the arithmetic of
DistributedDataParallel: the same gradients on two workers, bit for bit. Accumulation
(``no_sync``), unused, shared and frozen parameters, gradient scalers, clipping and buffers are as
there; a second backward pass before ``wait()``, sparse gradients and a model of other parameters
are refused.

``buckets.json`` is for DistributedDataParallel itself: PyTorch 2.13 takes a cap for each bucket
(``bucket_cap_mb_list``), which makes the plan's buckets where these are runs of the order of
release; earlier versions take one cap for all.
"""

import json
from collections.abc import Sequence

from solver.chain import chain_of
from solver.costs import Network
from solver.exports.explicit_plan import ExplicitPlan, Export
from solver.exports.frameworks.forms import (
    losses,
    simulate_own_buckets,
    sizes_of,
    time_with_barrier,
    whole_buckets,
)
from solver.exports.frameworks.merged import MergedGraph, fill_buckets, merge
from solver.exports.frameworks.names import NAMES_NOTE, check_names, parameter_name, program
from solver.exports.frameworks.one_size import best_size
from solver.graph import Graph
from solver.policies.wfbp import wfbp
from solver.wording import ms

FORMAT = "ddp"

_MIB = 2**20


def export(graph: Graph, network: Network, plan: ExplicitPlan) -> Export:
    """Write a plan for PyTorch: ``buckets.json`` and ``ddp_buckets.py``.

    Simulated as buckets that go whole, first released first, before the optimizer's step.

    Raises
    ------
    InvalidPlan
        When the plan does not send the graph's collectives, sends no all-reduce, or sends what is
        sharded or exchanged; when its tensors have no names of parameters.
    """
    whole = whole_buckets(graph, network, plan)
    form = simulate_own_buckets(graph, network, whole, wfbp)
    check_names(plan, {tensor for bucket in form.order for tensor in bucket})
    names = [[parameter_name(tensor) for tensor in bucket] for bucket in form.order]
    sizes = sizes_of(graph, form.order)
    cap, time = best_size(
        graph, whole, lambda cap: time_with_barrier(_capped(graph, cap), network, wfbp)
    )
    caps = [size / _MIB for size in sizes] if _are_runs(graph, form.order) else None
    content = {
        "buckets": [
            {"parameters": bucket, "bytes": size} for bucket, size in zip(names, sizes, strict=True)
        ],
        "bucket_cap_mb_list": caps,
        "bucket_cap_mb": cap / _MIB,
        "bucket_cap_mb_iteration_time_us": time,
    }
    notes = [*losses(graph, whole, form), NAMES_NOTE]
    if caps is None:
        notes.append(
            "The buckets are not runs of the order of release, so bucket_cap_mb_list cannot make "
            "them; the snippet can."
        )
    notes.append(
        f"DistributedDataParallel with the one bucket_cap_mb that comes nearest, {cap / _MIB:.6g}, "
        f"takes {ms(time)}"
        + (
            "; with bucket_cap_mb_list (PyTorch 2.13) it has the plan's buckets from the second "
            "iteration on."
            if caps
            else "."
        )
    )
    if time < form.time:
        notes.append(
            "That is faster than these files: the plan was not made for PyTorch, whose optimizer "
            "waits for all gradients. Plan with a barrier."
        )
    return Export(
        format=FORMAT,
        files={
            "buckets.json": json.dumps(content, indent=2) + "\n",
            "ddp_buckets.py": program("ddp_buckets.py", BUCKETS=names),
        },
        media_type="application/json",
        notes=tuple(notes),
        iteration_time_us=form.time,
        plan_time_us=whole.time,
    )


def _capped(graph: Graph, cap: int) -> MergedGraph:
    """Fill buckets as DDP does with one cap [bytes]: given one, it has no smaller first one."""
    return merge(graph, fill_buckets(graph, lambda held, _: held < cap))


def _are_runs(graph: Graph, order: Sequence[Sequence[str]]) -> bool:
    """Tell whether buckets follow one another in the order of release."""
    chain = chain_of(graph)
    written = {tensor for bucket in order for tensor in bucket}
    ids = [graph.ops[i].id for i in chain.positions.tolist()]
    return [name for name in ids if name in written] == [name for b in order for name in b]
