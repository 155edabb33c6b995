"""Training graphs from model code: forward and backward, traced with fakes."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.checkpoint import CheckpointPolicy

from interlace_client.torch.compiled.capture_collectives import (
    UnknownCollective,
    collective_of,
    is_wait,
)
from interlace_client.torch.compiled.capture_memory import is_view

#: Parts of a training step that can be captured.
PARTS = ("joint", "forward", "backward")


def joint_graph(
    model: torch.nn.Module, inputs: Sequence[Any], named: Mapping[str, Any] | None = None
) -> torch.fx.GraphModule:
    """Trace a model's forward and backward pass as one graph; DTensors become local tensors.

    Parameters
    ----------
    model, inputs, named
        On the CPU, best of fake tensors of one ``FakeTensorMode``; inputs that are real become
        fake. Fake tensors of CUDA fail in autograd where there is no GPU.
    """
    with contextlib.ExitStack() as stack:
        tensors = [*model.parameters(), *model.buffers(), *inputs]
        modes = [t.fake_mode for t in map(_local, tensors) if hasattr(t, "fake_mode")]
        mode = modes[0] if modes else FakeTensorMode(allow_non_fake_inputs=True)
        stack.enter_context(mode)
        if modes:
            inputs = [_faked(mode, value) for value in inputs]
        joint = aot_export_joint_with_descriptors(stack, model, tuple(inputs), dict(named or {}))
        return joint.graph_module


def part_of(
    joint: torch.fx.GraphModule, part: str, results: int, *, recompute_gathers: bool = True
) -> torch.fx.GraphModule:
    """Return the joint graph or, by PyTorch's min-cut partitioner, one of its passes.

    Parameters
    ----------
    results
        How many the forward pass has; they are the first of the joint graph's.
    recompute_gathers
        Gather weights again in the backward pass, as FSDP does when it reshards after the forward
        pass. The partitioner keeps gathered weights otherwise: they are results of the forward
        graph.

    Raises
    ------
    ValueError
        If there is no such part.
    """
    if part not in PARTS:
        raise ValueError(f"part: must be one of {', '.join(PARTS)}, got {part!r}.")
    if part == "joint":
        return joint
    if recompute_gathers:
        mark_gathers(joint)
    forward, backward = min_cut_rematerialization_partition(joint, None, num_fwd_outputs=results)
    return forward if part == "forward" else backward


def mark_gathers(joint: torch.fx.GraphModule) -> int:
    """Mark gathers of parameters, their waits and views to be recomputed; return how many.

    A gather is one of a parameter if all that it is of are inputs, but for casts and views.
    """
    of_inputs: dict[torch.fx.Node, bool] = {}
    count = 0
    for node in joint.graph.nodes:
        if node.op == "placeholder":
            of_inputs[node] = node.name.startswith("primals")
            continue
        is_gather = _is_gather(node)
        if not (is_gather or is_wait(node) or is_view(node) or _is_cast(node)):
            continue
        of_inputs[node] = all(of_inputs.get(n, False) for n in node.all_input_nodes)
        if of_inputs[node]:
            node.meta["recompute"] = CheckpointPolicy.MUST_RECOMPUTE
            node.meta["ac_graph_id"] = 0
            count += is_gather
    return count


def _is_gather(node: torch.fx.Node) -> bool:
    try:
        collective = collective_of(node)
    except UnknownCollective:
        return False
    return collective is not None and collective.kind == "all_gather"


def _is_cast(node: torch.fx.Node) -> bool:
    name = getattr(getattr(node.target, "_schema", None), "name", "")
    return name in {"aten::_to_copy", "prims::convert_element_type"}


def _local(value: Any) -> Any:
    """Return the local tensor of a DTensor."""
    return getattr(value, "_local_tensor", value)


def _faked(mode: FakeTensorMode, value: Any) -> Any:
    is_real = isinstance(value, torch.Tensor) and not hasattr(value, "fake_mode")
    return mode.from_tensor(value) if is_real else value
