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
from solver.exports.files import Export, Planned
from solver.exports.framework import barred_time, lost, ran, whole
from solver.exports.merged import Merged, filled, merged
from solver.exports.one_size import best
from solver.graph import Graph
from solver.policies.wfbp import wfbp

FORMAT = "deepspeed"

#: Bytes of an element: of float32 gradients.
_ELEMENT = 4


def export(graph: Graph, network: Network, planned: Planned) -> Export:
    """Write ``ds_config.json`` with the size whose simulated time is least.

    Raises
    ------
    InvalidPlan
        When the plan does not send the graph's collectives, or sends no all-reduce.
    """
    plan = whole(graph, network, planned)
    size, _ = best(
        graph, plan, lambda size: barred_time(_buffered(graph, _elements(size)), network, wfbp)
    )
    elements = _elements(size)
    form = ran(_buffered(graph, elements), network, wfbp)
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
        f"{one} the plan's {len(plan.buckets)}.",
        "A bucket goes when the next gradient does not fit, so later than with its last gradient.",
        *lost(graph, plan, form),
        "Sizes are elements of 4 bytes (float32): double reduce_bucket_size for 2 bytes.",
        "Stage 1 also gathers the updated parameters after the step; that time is not counted.",
    )
    return Export(
        format=FORMAT,
        files={"ds_config.json": json.dumps(config, indent=2) + "\n"},
        media_type="application/json",
        notes=notes,
        iteration_time_us=form.time,
        plan_time_us=plan.time,
    )


def _elements(size: int) -> int:
    return -(-size // _ELEMENT)


def _buffered(graph: Graph, elements: int) -> Merged:
    """Fill buffers of so many elements, each before the first gradient that does not fit."""
    buckets = filled(graph, lambda held, size: held + size <= elements * _ELEMENT)
    return merged(graph, buckets, late=not chain_of(graph).before)
