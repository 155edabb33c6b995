"""How many launches a run should have under way at once: measured in its own steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from interlace_client.torch.runtime.start_phase import refuse_held
from interlace_client.torch.trial.turns import there_and_back

if TYPE_CHECKING:
    from interlace_client.torch.runtime.planned import PlannedDDP

#: A larger window is taken where its steps are shorter by more than this.
_LEAST = 1.01

#: Measured steps of a window, there and again back.
_MEASURED = 3


@dataclass(frozen=True)
class WindowTimes:
    """What steps took with so many launches under way at once.

    Attributes
    ----------
    median_us
        Median step of the slowest rank, by window [us]; empty where there is nothing to choose.
    window
        The one that is kept.
    """

    median_us: Mapping[int, float]
    window: int

    @property
    def sentence(self) -> str:
        """Which window is kept, and all times."""
        if not self.median_us:
            return "This backend runs launches one after another."
        times = ", ".join(f"{time / 1e3:.1f} ms at {w}" for w, time in self.median_us.items())
        return f"Launches under way at once: {self.window}. A step takes {times}."


def measure_window(
    planned: PlannedDDP,
    step: Callable[[], object],
    windows: Sequence[int] = (1, 2, 4),
    *,
    clock: Callable[[], float] = perf_counter,
) -> WindowTimes:
    """Train up to ten steps in each window, and leave the run with the fastest.

    A launch that waits for a core, since compute has them all, holds up the launches behind it; in
    a larger window these go on meanwhile. On a link that is full launches at once only delay the
    most urgent one. All ranks call it, and training goes on in its steps.

    Parameters
    ----------
    planned
        The run, with the plan that it has for now.
    step
        Trains one step.
    windows
        What to try, ascending.
    clock
        Tells the time [s].

    Raises
    ------
    ValueError
        When DistributedDataParallel sends the gradients, or a trial or Steering watches the run;
        when its steps are held to a phase, or no windows are named.
    RuntimeError
        When the ranks' windows differ.
    Exception
        Whatever the step raises; the window stays the one that was tried. Ranks that have no
        exception wait for the others, and fail at the timeout of their launches.
    """
    if not windows:
        raise ValueError("Name the windows to try.")
    if not planned.is_planned:
        raise ValueError("DistributedDataParallel sends the gradients of this run: no window.")
    if planned.observer is not None or planned.between_steps is not None:
        raise ValueError("A trial or Steering watches this run: measure the window before.")
    refuse_held(planned.phase)
    if not planned.has_window:
        return WindowTimes({}, planned.window)
    planned.agreed(planned.plan, *windows)
    is_cuda = any(p.is_cuda for p in planned.module.parameters())
    times: list[list[float]] = [[] for _ in windows]
    for arm, counts in there_and_back(range(len(windows)), _MEASURED):
        if planned.window != windows[arm]:
            planned.install(planned.plan, window=windows[arm])
        began = clock()
        step()
        if is_cuda:
            torch.cuda.synchronize()
        if counts:
            times[arm].append((clock() - began) * 1e6)
    ranks: list[Any] = [None] * planned.ranks
    dist.all_gather_object(ranks, times, group=planned.process_group)
    slowest = [[max(steps) for steps in zip(*arm)] for arm in zip(*ranks)]
    found = {window: median(arm) for window, arm in zip(windows, slowest)}
    kept = fastest(found)
    planned.install(planned.plan, window=kept)
    return WindowTimes(found, kept)


def fastest(median_us: Mapping[int, float]) -> int:
    """Return the window of the shortest steps; a smaller one is as good within 1 %."""
    least = min(median_us.values())
    return min(window for window, time in median_us.items() if time <= _LEAST * least)
