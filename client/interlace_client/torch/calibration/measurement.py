"""Calibration: the cost of a process group's collectives, measured in a bounded time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import torch.distributed as dist

from interlace_client.torch.calibration.channel import KINDS, GroupChannel
from interlace_client.torch.calibration.result import ALL_REDUCE, Calibration, calibration_of
from interlace_client.torch.calibration.rounds import sampled
from interlace_client.torch.transport import own_group, release

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from interlace_client.torch.calibration.rounds import Samples

#: The largest size that is measured where nobody says which, and the smallest [bytes].
LARGEST, _SMALLEST = 64 * 2**20, 2**10
#: From here on sizes double; below they are four times as large each [bytes].
_FINE = 16 * 2**10
#: The last two sizes are so many times apart, or more.
_APART = 1.4


def calibrate(
    process_group: Any = None,
    sizes: Iterable[int] | int = LARGEST,
    kinds: Sequence[str] = (ALL_REDUCE,),
    limit_s: float = 30,
    *,
    launches: Sequence[int] = (),
    window: int = 1,
) -> Calibration:
    """Measure what launches cost while one follows the other without a pause.

    Every rank of the group calls it, at a time when it does nothing else; the arguments of the
    first rank count. It ends when each size has been measured in twelve rounds, or earlier so as to
    keep the limit.

    Parameters
    ----------
    process_group
        Whose ranks communicate; None is the default group.
    sizes
        What to measure [bytes], or the largest of sizes that double: the bytes of all gradients,
        since no bucket is larger.
    kinds
        Of :data:`~interlace_client.torch.calibration.channel.KINDS`. What the backend lacks is left
        out, and said.
    limit_s
        How long it may take [s], connections not counted. Sizes that would take too long are left
        out, and said.
    launches
        Sizes of a plan's launches in their order [bytes]: their costs are then those of trains of
        exactly this order. Of the first kind.
    window
        How many launches may be under way at once (gloo): as many as in the run. A cost is then
        the time between the ends of two.

    Returns
    -------
    Calibration
        The same on all ranks.

    Raises
    ------
    ValueError
        With every fault of the arguments.
    RuntimeError
        When torch.distributed is not initialised, or the backend has none of the kinds.

    Notes
    -----
    The launches are those of a process group of their own, which runs them one after another
    (:func:`~interlace_client.torch.transport.own_group`).
    """
    if not dist.is_initialized():
        raise RuntimeError("Call torch.distributed.init_process_group first.")
    group = process_group if process_group is not None else dist.group.WORLD
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    agreed = GroupChannel(group, None, ALL_REDUCE).agreed
    wanted = sizes_up_to(sizes) if isinstance(sizes, int) else sorted(set(sizes))
    wanted, kinds, limit_s, launches, load = agreed(
        (wanted, tuple(dict.fromkeys(kinds)), limit_s, tuple(launches), load)
    )
    if faults := _faults(wanted, kinds, limit_s, launches):
        raise ValueError(" ".join(faults))
    own = own_group(group, window=window)
    try:
        samples, seconds = _measured(group, own, kinds, wanted, limit_s, launches)
    finally:
        if isinstance(own, dist.ProcessGroup):  # gloo's own is no one's but ours, and ends with it
            release(own)
    backend, workers = dist.get_backend(group), dist.get_world_size(group)
    about = [f"{workers} workers over {backend}."]
    if window > 1:
        about.append(f"{window} launches at once.")
    if load is not None:
        about.append(f"The first rank's host had a load of {load:.2f} on {os.cpu_count()} cores.")
    about += [f"{backend} has no {kind}." for kind in kinds if kind not in samples]
    return agreed(calibration_of(workers, samples, seconds, about))


def _measured(
    group: Any,
    own: Any,
    kinds: Sequence[str],
    sizes: Sequence[int],
    limit_s: float,
    launches: Sequence[int],
) -> tuple[dict[str, Samples], float]:
    """Measure each kind that the backend has; say how long it took [s]."""
    channels = {kind: GroupChannel(group, own, kind) for kind in kinds}
    found = {kind: channel for kind, channel in channels.items() if channel.is_supported()}
    if not found:
        raise RuntimeError(f"{dist.get_backend(group)} has none of {', '.join(kinds)}.")
    first = next(iter(found.values()))
    began = first.now()
    share_s = limit_s / len(found)
    samples = {
        kind: sampled(channel, sizes, share_s, launches if channel is first else ())
        for kind, channel in found.items()
    }
    return samples, round(first.now() - began, 3)


def sizes_up_to(largest: int) -> list[int]:
    """Return sizes to measure [bytes]: 1, 4 and 16 KiB, then double each time, up to the largest.

    That is 2 KiB or more. The planner takes costs between two points to lie on the line between
    them.
    """
    sizes, size, largest = [], _SMALLEST, max(largest, 2 * _SMALLEST)
    while size * _APART < largest:
        sizes.append(size)
        size *= 4 if size < _FINE else 2
    return [*sizes, largest]


def _faults(
    sizes: Sequence[int], kinds: Sequence[str], limit_s: float, launches: Sequence[int]
) -> list[str]:
    """Say what is wrong with the arguments."""
    faults = []
    if len(sizes) < 2:  # noqa: PLR2004 - a table takes two points
        faults.append(f"sizes: a table needs two or more, got {list(sizes)}.")
    faults += [
        f"{name}: {size} is no size; sizes are whole bytes, 1 or more."
        for name, given in (("sizes", sizes), ("launches", launches))
        for size in given
        if not isinstance(size, int) or size < 1
    ]
    faults += [
        f"kinds: {kind!r} is none of {', '.join(KINDS)}." for kind in kinds if kind not in KINDS
    ]
    if not kinds:
        faults.append("kinds: there is none.")
    if not limit_s > 0:
        faults.append(f"limit_s must be positive, got {limit_s}.")
    return faults
