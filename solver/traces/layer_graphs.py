"""Files that are a graph of layers with the times of their passes, a node a layer."""

from collections.abc import Iterable, Sequence

from solver.models.layers import Layer, iteration
from solver.traces.exit_check import checked
from solver.traces.report import report_of
from solver.traces.trace import Trace, as_trace_faults

ASSUMED = (
    "The ops of a pass run one after another, as on one GPU.",
    "Each node's all-reduce comes after its backward op and before its next forward op.",
)


def layer_of(number: int, forward_ms: float, backward_ms: float, size: int) -> Layer:
    """Return a node as a layer with the gradient of its parameters, if it has any [ms, bytes]."""
    name = f"node{number}"
    return Layer(name, forward_ms * 1000, backward_ms * 1000, ((name, size),) if size else ())


def trace_of(
    form: str,
    name: str,
    layers: Sequence[Layer],
    *,
    dropped: Iterable[str],
    assumed: Iterable[str],
    warnings: Iterable[str] = (),
) -> Trace:
    """Build the iteration of layers in the order of their forward pass.

    Raises
    ------
    InvalidTrace
        When the graph would break a rule.
    """
    with as_trace_faults():
        graph = iteration(name, layers)
    report = report_of(form, graph, dropped=dropped, assumed=assumed, warnings=warnings)
    return checked(Trace(graph, report))
