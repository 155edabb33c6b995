"""DeepSpeed: a fragment of its configuration, with the one bucket size that comes nearest.

ZeRO of stage 1 with ``overlap_comm`` all-reduces gradients while the backward pass runs. It fills
one buffer in release order, and sends it when the next gradient does not fit, or at the end; a
gradient larger than the buffer goes alone.

References
----------
.. [1] DeepSpeed, runtime/zero/stage_1_and_2.py:
       ``reduce_independent_p_g_buckets_and_remove_grads``.
"""

import json

from solver.chain import chain_of
from solver.costs import Network
from solver.exports.explicit_plan import ExplicitPlan, Export
from solver.exports.frameworks.forms import losses, simulate_form, time_with_barrier, whole_buckets
from solver.exports.frameworks.merged import MergedGraph, fill_buckets, merge
from solver.exports.frameworks.one_size import best_size
from solver.graph import Graph
from solver.policies.wfbp import wfbp

FORMAT = "deepspeed"

#: Bytes of an element: of float32 gradients.
_ELEMENT = 4


def export(graph: Graph, network: Network, plan: ExplicitPlan) -> Export:
    """Write ``ds_config.json`` with the size whose simulated time is least.

    Raises
    ------
    InvalidPlan
        When the plan does not send the graph's collectives, sends no all-reduce, or sends what is
        sharded or exchanged.
    """
    whole = whole_buckets(graph, network, plan)
    size, _ = best_size(
        graph,
        whole,
        lambda size: time_with_barrier(_buffered(graph, _elements(size)), network, wfbp),
    )
    elements = _elements(size)
    form = simulate_form(_buffered(graph, elements), network, wfbp)
    config = {
        "zero_optimization": {
            "stage": 1,
            "overlap_comm": True,
            "contiguous_gradients": True,
            "reduce_scatter": False,
            "reduce_bucket_size": elements,
        }
    }
    one = f"One size, {elements:,} elements, for all: {len(form.order)} buckets in place of"
    notes = (
        f"{one} the plan's {len(whole.buckets)}.",
        "A bucket goes when the next gradient does not fit, so later than with its last gradient.",
        *losses(graph, whole, form),
        "Sizes are elements of 4 bytes (float32): double reduce_bucket_size for 2 bytes.",
        "Stage 1 also gathers the updated parameters after the step; that time is not counted.",
    )
    return Export(
        format=FORMAT,
        files={"ds_config.json": json.dumps(config, indent=2) + "\n"},
        media_type="application/json",
        notes=notes,
        iteration_time_us=form.time,
        plan_time_us=whole.time,
    )


def _elements(size: int) -> int:
    return -(-size // _ELEMENT)


def _buffered(graph: Graph, elements: int) -> MergedGraph:
    """Fill buffers of so many elements, each before the first gradient that does not fit."""
    buckets = fill_buckets(graph, lambda held, size: held + size <= elements * _ELEMENT)
    return merge(graph, buckets, late=not chain_of(graph).before)
