"""From model code, or from a compiled graph, to a request for a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import torch
from torch._inductor.custom_graph_pass import CustomGraphPass

from interlace_client.torch.compiled.capture_calls import Uncapturable
from interlace_client.torch.compiled.capture_joint import joint_graph, part_of
from interlace_client.torch.compiled.capture_request import CapturedGraph, Costs, request_of
from interlace_client.torch.compiled.outside import OUTSIDE, hooked
from interlace_client.torch.compiled.program import listed


def capture_compiled(
    model: torch.nn.Module | torch.fx.GraphModule,
    example_inputs: Sequence[Any] = (),
    *,
    name: str = "compiled",
    part: str = "joint",
    recompute_gathers: bool = True,
    costs: Costs | None = None,
) -> CapturedGraph:
    """Capture a compiled graph with its costs; needs no GPU and no weights.

    Parameters
    ----------
    model
        A graph with metas (``val``), of ``make_fx`` or a pass of ``torch.compile``, is taken as it
        is. Any other module is traced, forward and backward, with fake tensors.
    example_inputs
        Of the module.
    name
        Of the graph in the request.
    part
        ``joint`` for both passes in one graph, ``forward`` or ``backward`` for what the partitioner
        makes of it.
    recompute_gathers
        With ``forward`` and ``backward``: gather weights again in the backward pass. The min-cut
        partitioner keeps gathered weights unless told so.
    costs
        What compute and communication take; None for an H100 by roofline.

    Raises
    ------
    Uncapturable
        If the graph has something that is not known, with all of it, or modules send outside of it.
    ValueError
        If GPU or part is not known.
    """
    costs = costs or Costs()
    if isinstance(model, torch.fx.GraphModule) and _has_metas(model):
        return request_of(model, name, costs)
    outside = hooked(model)
    if outside:
        raise Uncapturable(f"No graph has what is sent by {listed(outside)}. {OUTSIDE}")
    joint = joint_graph(model, example_inputs)
    output = next(node for node in joint.graph.nodes if node.op == "output")
    results = output.meta.get("desc", ())
    forward = sum(1 for _ in takewhile(lambda each: not _is_gradient(each), results))
    gm = part_of(joint, part, forward, recompute_gathers=recompute_gathers)
    return request_of(gm, name, costs)


class CaptureCompiled(CustomGraphPass):
    """A pass of inductor that captures each graph that ``torch.compile`` makes, and changes none.

    Use it by :func:`~interlace_client.torch.compiled.settings.running`, whose settings are part of
    what is compiled. Graphs from inductor's cache do not come by: the pass asks not to be cached.

    Attributes
    ----------
    captured
        The graphs in the order in which they were compiled: a forward graph, and its backward
        graph; with graph breaks several forward graphs, and their backward graphs.
    switched_off
        Settings of inductor that would change the order of a plan, and that are off, a sentence
        each.
    """

    def __init__(self, name: str = "compiled", costs: Costs | None = None) -> None:
        self.captured: list[CapturedGraph] = []
        self.switched_off: tuple[str, ...] = ()
        self._name, self._costs = name, costs or Costs()

    def __call__(self, graph: torch.fx.Graph) -> None:
        """Capture one graph."""
        name = f"{self._name}_{len(self.captured)}"
        made = request_of(graph.owning_module, name, self._costs)
        report = replace(made.report, notes=(*made.report.notes, *self.switched_off))
        self.captured.append(replace(made, report=report))

    def sending(self) -> list[CapturedGraph]:
        """Return the graphs that have collectives: those to plan, in the order of compilation.

        Raises
        ------
        Uncapturable
            If there are none, with what may be the reason.
        """
        found = [graph for graph in self.captured if graph.report.collectives]
        if not found:
            raise Uncapturable(f"{len(self.captured)} graphs, none has a collective. {OUTSIDE}")
        return found

    def uuid(self) -> None:
        """Return None: what is captured must not come from a cache."""


def _has_metas(gm: torch.fx.GraphModule) -> bool:
    """Tell whether the inputs of a graph have metas."""
    inputs = [node for node in gm.graph.nodes if node.op == "placeholder"]
    return bool(inputs) and all("val" in node.meta for node in inputs)


def _is_gradient(described: Any) -> bool:
    """Tell whether a result of a joint graph is a gradient, or a part of one."""
    while hasattr(described, "base"):
        described = described.base
    return type(described).__name__ == "GradAOTOutput"
