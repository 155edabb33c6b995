"""PyTorch: the plan's buckets by parameter names, and code that all-reduces them.

DistributedDataParallel makes its own buckets, of bounded size in release order. PyTorch 2.13 takes
a cap for each of them (``bucket_cap_mb_list``), earlier versions one cap for all. So the snippet
goes without it: hooks on the parameters all-reduce the buckets given, strictly in the order given.
"""

import json
from collections.abc import Sequence

from solver.chain import chain_of
from solver.costs import Network
from solver.exports.exporter import ExplicitPlan, Export
from solver.exports.frameworks.forms import (
    losses,
    simulate_own_buckets,
    sizes_of,
    time_with_barrier,
    whole_buckets,
)
from solver.exports.frameworks.merged import MergedGraph, fill_buckets, merge
from solver.exports.frameworks.names import NAMES_NOTE, parameter_name, python_lists
from solver.exports.frameworks.one_size import best_size
from solver.graph import Graph
from solver.policies.wfbp import wfbp

FORMAT = "ddp"

_MIB = 2**20

_SNIPPET = '''\
"""Gradient buckets of a plan, all-reduced while the backward pass runs (PyTorch 2.1 or later).

    reducer = Buckets(model)          # in place of DistributedDataParallel(model)
    for batch in loader:
        loss = ...
        loss.backward()
        reducer.wait()                # before the optimizer's step
        optimizer.step()
        optimizer.zero_grad()

Call torch.distributed.init_process_group first. Each backward pass sends all gradients once.
"""

import torch
import torch.distributed as dist

#: Names of parameters by bucket, in the order in which the buckets are sent.
BUCKETS = {buckets}


class Buckets:
    """Averages gradients over all workers, bucket by bucket, strictly in the order of BUCKETS."""

    def __init__(self, model, group=None):
        parameters = {{n: p for n, p in model.named_parameters() if p.requires_grad}}
        names = [name for bucket in BUCKETS for name in bucket]
        unknown, missing = set(names) - set(parameters), set(parameters) - set(names)
        if unknown or missing:
            raise ValueError(
                f"The plan has parameters that the model has not: {{sorted(unknown)[:5]}}, and "
                f"the model has parameters that the plan has not: {{sorted(missing)[:5]}}."
            )
        self.group = group
        self.buckets = [[parameters[name] for name in bucket] for bucket in BUCKETS]
        for tensor in [*model.parameters(), *model.buffers()]:
            dist.broadcast(tensor.detach(), src=0, group=group)
        for number, bucket in enumerate(self.buckets):
            for tensor in bucket:
                tensor.register_post_accumulate_grad_hook(
                    lambda _, number=number: self._ready(number)
                )
        self._reset()

    def _reset(self):
        self.missing = [len(bucket) for bucket in self.buckets]
        self.flying = []

    def _ready(self, number):
        self.missing[number] -= 1
        while len(self.flying) < len(self.buckets) and self.missing[len(self.flying)] <= 0:
            gradients = [tensor.grad for tensor in self.buckets[len(self.flying)]]
            flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
            flat /= dist.get_world_size(self.group)
            work = dist.all_reduce(flat, group=self.group, async_op=True)
            self.flying.append((work, flat, gradients))

    def wait(self):
        """Wait for all buckets and put the averages in place."""
        if len(self.flying) < len(self.buckets):
            raise RuntimeError(f"Bucket {{len(self.flying)}} has parameters without a gradient.")
        for work, flat, gradients in self.flying:
            work.wait()
            parts = flat.split([gradient.numel() for gradient in gradients])
            for gradient, part in zip(gradients, parts):
                gradient.copy_(part.view_as(gradient))
        self._reset()
'''


def export(graph: Graph, network: Network, plan: ExplicitPlan) -> Export:
    """Write a plan for PyTorch: ``buckets.json`` and ``ddp_buckets.py``.

    Simulated as buckets that go whole, first released first, before the optimizer's step.

    Raises
    ------
    InvalidPlan
        When the plan does not send the graph's collectives, or sends no all-reduce.
    """
    whole = whole_buckets(graph, network, plan)
    form = simulate_own_buckets(graph, network, whole, wfbp)
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
        f"DistributedDataParallel with the one bucket_cap_mb that comes nearest takes {time:,.1f} "
        "us; with bucket_cap_mb_list (PyTorch 2.13) it has the plan's buckets from the second "
        "iteration on."
        if caps
        else f"DistributedDataParallel with the best one bucket_cap_mb takes {time:,.1f} us."
    )
    return Export(
        format=FORMAT,
        files={
            "buckets.json": json.dumps(content, indent=2) + "\n",
            "ddp_buckets.py": _SNIPPET.format(buckets=python_lists(names)),
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
