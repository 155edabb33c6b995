"""Settings of inductor under which a plan stays as it is, and what they were before."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch._inductor.config as inductor
from torch import fx

from interlace_client.torch.compiled.capture_entry import CaptureCompiled
from interlace_client.torch.compiled.outside import OUTSIDE, ranks_here
from interlace_client.torch.compiled.planned_pass import PlannedPass
from interlace_client.torch.compiled.releases import of_this_torch

_LOG = logging.getLogger(__name__)
_HOOK = "post_grad_custom_post_pass"


@contextmanager
def running(planned: PlannedPass | CaptureCompiled | Callable[[fx.Graph], None]) -> Iterator[Any]:
    """Have everything that is compiled in this context go through a pass.

    The settings of inductor that would change the order again, and its caches of compiled graphs,
    which skip the pass, are off meanwhile; ``planned.switched_off`` has what was otherwise, and the
    log. ``torch.compile`` compiles at the first call: the first step must be in this context, its
    backward pass too.

    Warns
    -----
    UserWarning
        When several ranks train, and no graph with collectives was compiled: then nothing was
        captured that can be planned, or no plan was used.
    """
    settings = of_this_torch().SETTINGS
    found = switched_off(settings)
    for line in found:
        _LOG.info("%s", line)
    if isinstance(planned, (PlannedPass, CaptureCompiled)):
        planned.switched_off = found
    with inductor.patch({**settings, _HOOK: planned}):
        yield planned
    said = unused(planned)
    if said:
        warnings.warn(said, stacklevel=3)


def switched_off(settings: dict[str, Any]) -> tuple[str, ...]:
    """Say which settings of inductor are otherwise now, a sentence each, in the order given."""
    lines = [
        f"inductor's {name} was {_value_of(name)!r}; {value!r} where a plan is captured or run."
        for name, value in settings.items()
        if _value_of(name) != value
    ]
    if getattr(inductor, _HOOK) is not None:
        lines.append(f"inductor's {_HOOK} had a pass already, which does not run beside a plan.")
    return tuple(lines)


def unused(planned: Any) -> str | None:
    """Say that a pass saw nothing of what several ranks send; None where it did."""
    if isinstance(planned, CaptureCompiled):
        seen, was = len(planned.captured), "captured"
        is_used = any(graph.report.collectives for graph in planned.captured)
    elif isinstance(planned, PlannedPass) and planned.plans:
        seen, was, is_used = planned.seen, "compiled", bool(planned.written)
    else:
        return None
    if is_used or ranks_here() == 1:
        return None
    if not seen:
        return (
            f"No graph was {was}: torch.compile compiles at the first call, and what was compiled "
            "before stays; call torch.compiler.reset() first, and a whole step in this context."
        )
    return f"None of {seen} graphs that were {was} has a collective. {OUTSIDE}"


def _value_of(name: str) -> Any:
    """Return a setting, by its path."""
    value: Any = inductor
    for part in name.split("."):
        value = getattr(value, part)
    return value
