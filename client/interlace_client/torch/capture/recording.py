"""What a capture found."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from interlace_client.torch.overlap import Overlap


@dataclass(frozen=True)
class Tensor:
    """A gradient that is all-reduced: the name of its parameter, its shape and its type."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    element_bytes: int

    @property
    def bytes(self) -> int:
        """Its size."""
        size = self.element_bytes
        for length in self.shape:
            size *= length
        return size


@dataclass(frozen=True)
class Recording:
    """Steps of a training run, as one iteration; times in microseconds.

    Parameters
    ----------
    graph
        The iteration without its communication, as ``graph`` of ``POST /v1/plans``: from the start
        of a backward pass to the end of the next forward pass, each gradient with what it waits
        for and what waits for it. Each op ends as late as on the slowest rank.
    tensors
        What is sent, in the order in which the model registers it.
    ready_order
        Names of the parameters in the order in which their gradients were ready.
    first_uses
        Of each parameter the modules that use it first in a step: one of them runs before the
        parameter is needed. '' is the model itself. It stands for parameters that are not known.
    unknown
        Parameters that have gradients, although no use of them was seen in a forward pass.
    unused
        Parameters that had no gradient in a step or more; released at the end of the backward pass.
    step_us
        Time of a step as measured, waiting included: the median, of the slowest rank.
    waited_us
        How much of it was seen to be waiting for communication, on the rank that waited most.
    backward_us, update_us, forward_us
        Time of the backward pass, of the optimizer's step and of the forward pass.
    spread_us
        Of each compute op the median and the 95th percentile of its time on each rank; the
        optimizer's step is ``update``.
    passes
        Backward passes in a step; more than one where gradients are accumulated.
    cycles
        Steps of each rank that the times are from.
    ranks
        How many ranks were recorded.
    compute_slowdown
        How many times longer the compute takes beside communication; None where not measured.
    launch_slowdown
        How many times longer launches take beside compute; None where not measured.
    notes
        What was assumed, and what could not be seen, in sentences.
    """

    graph: dict[str, Any]
    tensors: tuple[Tensor, ...]
    ready_order: tuple[str, ...]
    first_uses: Mapping[str, tuple[str, ...]]
    unknown: tuple[str, ...]
    unused: tuple[str, ...]
    step_us: float
    waited_us: float
    backward_us: float
    update_us: float
    forward_us: float
    spread_us: Mapping[str, tuple[tuple[float, float], ...]]
    passes: int
    cycles: int
    ranks: int
    compute_slowdown: float | None
    launch_slowdown: float | None
    notes: tuple[str, ...]

    @property
    def compute_us(self) -> float:
        """The time of all compute: of a step, if communication took no time."""
        return float(sum(op["duration_us"] for op in self.graph["ops"] if op["kind"] == "compute"))

    @property
    def dtypes(self) -> dict[str, str]:
        """The type of each parameter's gradient, which is that of the parameter."""
        return {tensor.name: tensor.dtype for tensor in self.tensors}

    def with_slowdown(self, factor: float) -> Recording:
        """Return the same with what :func:`measure_slowdown` found."""
        return replace(self, compute_slowdown=factor, launch_slowdown=None)

    def with_overlap(self, overlap: Overlap) -> Recording:
        """Return the same with what :func:`measure_overlap` found."""
        return replace(self, compute_slowdown=overlap.compute, launch_slowdown=overlap.launches)

    def write_parameters(self, path: str | os.PathLike[str]) -> None:
        """Write names and bytes of the parameters, for ``--parameters`` of the command.

        They stand in reversed order of readiness. DistributedDataParallel lays out its buckets
        anew after its first step, in the order in which gradients became ready, and the command
        reads the file from its end.
        """
        sizes = {tensor.name: tensor.bytes for tensor in self.tensors}
        listed = [[name, sizes[name]] for name in reversed(self.ready_order)]
        Path(path).write_text(json.dumps(listed) + "\n", encoding="utf-8")
