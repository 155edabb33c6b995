"""DDP's logging data: buckets, and mean times of forward pass, backward pass and communication.

What ``model._get_ddp_logging_data()`` returns, as JSON or as Python prints it, and the lines that
``TORCH_DISTRIBUTED_DEBUG=INFO`` logs. Times are in ns. The communication is timed from the first
bucket's launch to the end of the last one, with the gaps between them: it is no sum of launches,
and no cost follows from it. Its overlap ends with the backward pass.

References
----------
.. [1] PyTorch, c10/util/Logging.h (DDPLoggingData) and torch/csrc/distributed/c10d/logger.cpp.
"""

import re
from dataclasses import dataclass

from solver.calibration.measurements.lines import is_count
from solver.calibration.measurements.logs.costless import refuse
from solver.calibration.measurements.readings import Measurements

FORMAT = "ddp_logging"


MARK = re.compile(r"avg_backward_comm_time|\bAvg backward comm\. time:|rebuilt_bucket_sizes")


#: Longest list of buckets that is looked at [characters].
_LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class DdpTimes:
    """What DDP measured of its own iterations; None is what it did not.

    Attributes
    ----------
    workers
        Ranks of the job.
    buckets
        Bytes of each bucket, in the order in which they are reduced.
    forward_us, backward_us
        Mean time of each pass [us].
    communication_us
        From the launch of the first bucket to the end of the last [us].
    overlap_us
        How much of it was before the end of the backward pass [us].
    """

    workers: int | None
    buckets: tuple[int, ...]
    forward_us: float | None
    backward_us: float | None
    communication_us: float | None
    overlap_us: float | None

    @property
    def exposed_us(self) -> float | None:
        """Communication after the backward pass [us]."""
        if self.communication_us is None or self.overlap_us is None:
            return None
        return max(self.communication_us - self.overlap_us, 0.0)


def read(text: str) -> tuple[Measurements, ...]:
    """Say what DDP measured, and what a simulation can be checked by: there is no cost in it.

    Raises
    ------
    InvalidMeasurements
        Always, with ``no_cost``.
    """
    times = times_of(text)
    told = [
        f"{times.workers} workers" if times.workers else "",
        f"{len(times.buckets)} buckets of {sum(times.buckets):,} bytes" if times.buckets else "",
        *(
            f"{name} {value / 1e3:.6g} ms"
            for name, value in (
                ("forward pass", times.forward_us),
                ("backward pass", times.backward_us),
                ("communication", times.communication_us),
                ("overlap", times.overlap_us),
                ("exposed", times.exposed_us),
            )
            if value is not None
        ),
    ]
    refuse(
        f"This is DDP's logging data: {', '.join(filter(None, told)) or 'without a number'}. "
        "Communication is the time from the first launch to the end of the last.",
        "It checks a simulation: `interlace simulate GRAPH --policy ddp --ddp-log LOG`. For a "
        "cost, give what nccl-tests prints for these sizes, or the flight recorder's dump.",
    )


def times_of(text: str) -> DdpTimes:
    """Read the numbers of a log; of several, the last, which averages over most iterations."""
    return DdpTimes(
        workers=_whole(text, r"world_size['\"]?\s*[:=]\s*['\"]?(\d{1,7})\b")
        or _whole(text, r"\[Rank \d{1,7} / (\d{1,7})\]"),
        buckets=_buckets(text, "rebuilt_bucket_sizes") or _buckets(text, "bucket_sizes"),
        forward_us=_us(text, "avg_forward_compute_time", "Avg forward compute time"),
        backward_us=_us(text, "avg_backward_compute_time", "Avg backward compute time"),
        communication_us=_us(text, "avg_backward_comm_time", r"Avg backward comm\. time"),
        overlap_us=_us(
            text, "avg_backward_compute_comm_overlap_time", "Avg backward comm/comp overlap time"
        ),
    )


def _whole(text: str, pattern: str) -> int | None:
    found = re.findall(pattern, text, re.ASCII)
    return int(found[-1]) if found else None


def _us(text: str, key: str, title: str) -> float | None:
    """Read a time in ns as us; 0 is one that was not measured."""
    value = _whole(text, rf"(?:\b{key}|{title})['\"]?\s*[:=]\s*['\"]?(\d{{1,18}})\b")
    return value / 1e3 if value else None


def _buckets(text: str, key: str) -> tuple[int, ...]:
    """Read a list of bytes, as text or as a list."""
    found = re.findall(rf"['\"]{key}['\"]\s*:\s*['\"\[]([\d, ]{{1,{_LONGEST}}})", text, re.ASCII)
    cells = [cell.strip() for cell in found[-1].split(",")] if found else []
    return tuple(int(cell) for cell in cells if is_count(cell))
