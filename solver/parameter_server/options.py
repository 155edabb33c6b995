"""What a predicted throughput depends on, beside the profiled steps."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from solver.codes import FaultCode
from solver.errors import Fault
from solver.limits import (
    MAX_BATCH,
    MAX_BYTES,
    MAX_DURATION_US,
    MAX_JITTER_SPREAD,
    MAX_PREDICTED_STEPS,
    MAX_PREDICTED_WORKERS,
)
from solver.parameter_server.links import WIN_BYTES
from solver.parameter_server.orders import ORDERS
from solver.wording import must_be, one_of

#: Spread where all profiled steps are the same one: without any, workers stay in lock step.
DEFAULT_SPREAD: Final = 0.05


@dataclass(frozen=True, slots=True)
class ThroughputOptions:
    """What is predicted.

    Attributes
    ----------
    workers
        How many, each a row of every bandwidth; without repeats.
    bandwidths_gbps
        Of each server's and each worker's interface in each direction [Gbit/s]; without repeats.
    batch_size
        Examples of a worker's step.
    win_bytes
        Most bytes of a stream's first service; None without flow control.
    parse_us_per_byte, parse_us
        What a receiver computes for each transfer: so much a byte and so much in any case.
    order
        In which the downlinks that are ready at a step's start leave, one of ``ORDERS``.
    steps
        Steps of a worker; a row ends when the first worker has done so many.
    dropped
        So many steps a worker are not counted at the start; half of ``steps`` at most.
    seed
        Of each worker's steps, and of a random order.
    synchronous
        All workers begin a step when all have ended the one before.
    spread
        Standard deviation of the factor, of mean 1, by which what is computed in a step takes
        longer than profiled. None: 0 where several profiled steps differ, else
        :data:`DEFAULT_SPREAD`.
    explain
        Ask for each row what limits it.
    """

    workers: tuple[int, ...]
    bandwidths_gbps: tuple[float, ...]
    batch_size: int
    win_bytes: int | None = WIN_BYTES
    parse_us_per_byte: float = 0.0
    parse_us: float = 0.0
    order: str = "fifo"
    steps: int = 1000
    dropped: int = 50
    seed: int = 0
    synchronous: bool = False
    spread: float | None = None
    explain: bool = True


def option_faults(options: ThroughputOptions) -> Iterator[Fault]:
    """Find every option that is out of range."""
    yield from _list_faults("workers", options.workers)
    for i, workers in enumerate(options.workers):
        yield from _range_fault(f"workers/{i}", workers, 1, MAX_PREDICTED_WORKERS)
    yield from _list_faults("bandwidths_gbps", options.bandwidths_gbps)
    for i, bandwidth in enumerate(options.bandwidths_gbps):
        if not (math.isfinite(bandwidth) and bandwidth > 0):
            detail = f"bandwidths_gbps/{i} must be finite and positive, got {bandwidth!r}."
            yield Fault(f"/bandwidths_gbps/{i}", FaultCode.OUT_OF_RANGE, detail)
    yield from _range_fault("batch_size", options.batch_size, 1, MAX_BATCH)
    if options.win_bytes is not None:
        yield from _range_fault("win_bytes", options.win_bytes, 1, MAX_BYTES)
    yield from _range_fault("parse_us_per_byte", options.parse_us_per_byte, 0, MAX_DURATION_US)
    yield from _range_fault("parse_us", options.parse_us, 0, MAX_DURATION_US)
    if options.order not in ORDERS:
        detail = must_be("order", one_of(ORDERS), options.order, ORDERS)
        yield Fault("/order", FaultCode.OUT_OF_RANGE, detail)
    yield from _range_fault("steps", options.steps, 1, MAX_PREDICTED_STEPS)
    if not 0 <= options.dropped <= options.steps // 2:
        detail = f"dropped must be 0 to half of {options.steps:,} steps, got {options.dropped}."
        yield Fault("/dropped", FaultCode.OUT_OF_RANGE, detail)
    if options.seed < 0:
        detail = f"seed must be 0 or more, got {options.seed}."
        yield Fault("/seed", FaultCode.OUT_OF_RANGE, detail)
    if options.spread is not None:
        yield from _range_fault("spread", options.spread, 0, MAX_JITTER_SPREAD)


def _list_faults(name: str, values: Sequence[float]) -> Iterator[Fault]:
    if not values:
        yield Fault(f"/{name}", FaultCode.MISSING_FIELD, f"{name} needs a value.")
    for i, value in enumerate(values):
        if value in values[:i]:
            detail = f"{name} has {value:g} twice."
            yield Fault(f"/{name}/{i}", FaultCode.DUPLICATE_ID, detail)


def _range_fault(name: str, value: float, least: float, most: float) -> Iterator[Fault]:
    if not least <= value <= most:
        detail = f"{name} must be {least:g} to {most:g}, got {value!r}."
        yield Fault(f"/{name}", FaultCode.OUT_OF_RANGE, detail)
