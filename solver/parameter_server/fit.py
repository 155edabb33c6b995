"""What links and receivers do to a transfer, fitted to the recorded steps of one worker."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean, median

import numpy as np

from solver.codes import FaultCode
from solver.errors import Fault, InvalidSteps
from solver.parameter_server.recorded import RecordedTransfer, replayed_ends
from solver.parameter_server.steps import DOWNLINK, UPLINK
from solver.units import bytes_per_us

#: Windows are tried between the least and the greatest size, so many.
_WINDOWS = 48
#: A window must lower the mean error of the ends by so much of it, else there is none.
_GAIN = 0.1
#: Steps that windows are tried on.
_TRIED_STEPS = 10


@dataclass(frozen=True, slots=True)
class EndErrors:
    """How far recorded transfers ended from where they are predicted to.

    Attributes
    ----------
    direction
        ``downlink`` or ``uplink``.
    transfers
        How many.
    mean, median, p95, most
        Of the distance between both ends over the recorded one, from the step's beginning.
    """

    direction: str
    transfers: int
    mean: float
    median: float
    p95: float
    most: float


@dataclass(frozen=True, slots=True)
class TransferFit:
    """What was fitted.

    Attributes
    ----------
    bandwidth_gbps
        What the worker's interface carries of tensors [Gbit/s].
    latency_us
        How much longer links are busy than their bytes take, each time that they begin [us].
    parse_us_per_byte, parse_us
        The parsing overhead; 0 where none was recorded.
    win_bytes
        The window of flow control [bytes]; None where transfers were served whole.
    errors
        Of the ends under all that, the directions that were recorded.
    """

    bandwidth_gbps: float
    latency_us: float
    parse_us_per_byte: float
    parse_us: float
    win_bytes: int | None
    errors: tuple[EndErrors, ...]


def fit_transfers(steps: Sequence[Sequence[RecordedTransfer]]) -> TransferFit:
    r"""Fit bandwidth, parsing and window to the recorded transfers of steps.

    A link that has something to send is busy until all that is ready has come, whatever its order.
    So the busy periods' lengths are :math:`bytes / rate + latency`, fitted by least squares with
    neither below 0. Parsing is :math:`\alpha \cdot bytes + \beta`, likewise. The window is the one
    under which transfers, started as recorded, end nearest to where they did, of
    :data:`_WINDOWS` and none.

    Raises
    ------
    InvalidSteps
        When no transfer was recorded, one ends before it starts, or they take no time.

    Notes
    -----
    O(windows * n log n) for n transfers. Latency is told, and not part of the prediction.

    References
    ----------
    .. [1] Li et al., Throughput Prediction of Asynchronous SGD in TensorFlow, 2020: sections 3.2.1
           and 3.2.2, Fig. 10 and Table 1.
    """
    if faults := list(_faults(steps)):
        raise InvalidSteps(faults)
    groups = [list(_directions(step)) for step in steps]
    flat = [group for step in groups for group in step]
    periods = np.array([period for group in flat for period in _busy_periods(group)])
    per_byte, latency = _line(periods[:, 0], periods[:, 1])
    if not per_byte > 0:
        detail = "Recorded transfers take no longer the more bytes they have."
        raise InvalidSteps([Fault("", FaultCode.OUT_OF_RANGE, detail)])
    rate = 1 / per_byte
    parsed = [(t.bytes, t.parse_us) for step in steps for t in step if t.parse_us is not None]
    alpha, beta = _line(*np.array(parsed).T) if parsed else (0.0, 0.0)
    tried = [group for step in groups[:_TRIED_STEPS] for group in step]
    window = _window(tried, rate)
    errors = tuple(
        _errors(
            direction,
            [group for group in flat if _direction(group[0]) == direction],
            rate,
            window or inf,
        )
        for direction in (DOWNLINK, UPLINK)
        if any(_direction(group[0]) == direction for group in flat)
    )
    return TransferFit(rate / bytes_per_us(1.0), latency, alpha, beta, window, errors)


def _faults(steps: Sequence[Sequence[RecordedTransfer]]) -> Iterator[Fault]:
    if not any(steps):
        detail = "No transfer has start_us and end_us; a fit needs recorded steps."
        yield Fault("", FaultCode.MISSING_FIELD, detail)
    for i, step in enumerate(steps):
        for t in step:
            if not t.start_us <= t.end_us:
                detail = (
                    f"A transfer on {t.resource!r} ends at {t.end_us:g}, before {t.start_us:g}."
                )
                yield Fault(f"/{i}/ops", FaultCode.OUT_OF_RANGE, detail)


def _direction(transfer: RecordedTransfer) -> str:
    return transfer.resource.partition(":")[0]


def _directions(step: Sequence[RecordedTransfer]) -> Iterator[list[RecordedTransfer]]:
    for direction in (DOWNLINK, UPLINK):
        if group := [t for t in step if _direction(t) == direction]:
            yield group


def _busy_periods(group: Sequence[RecordedTransfer]) -> Iterator[tuple[float, float]]:
    """Give bytes and length [us] of the times in which something was on its way."""
    size, start, end = 0, 0.0, -inf
    for t in sorted(group, key=lambda t: t.start_us):
        if t.start_us >= end:
            if size:
                yield size, end - start
            size, start = 0, t.start_us
        size, end = size + t.bytes, max(end, t.end_us)
    yield size, end - start


def _line(x: "np.ndarray", y: "np.ndarray") -> tuple[float, float]:
    """Fit y = a x + b with a and b at least 0, by least squares of y."""
    from scipy.optimize import nnls  # noqa: PLC0415 - takes time

    scale = float(x.max())
    (a, b), _ = nnls(np.column_stack([x / scale, np.ones(len(x))]), y)
    return float(a) / scale, float(b)


def _window(groups: Sequence[Sequence[RecordedTransfer]], rate: float) -> int | None:
    """Find the window; there is one only where transfers overtake others, sent whole none does."""
    if not any(_overtakes(group) for group in groups):
        return None
    sizes = [t.bytes for group in groups for t in group]
    whole = _mean_error(groups, rate, inf)
    candidates = np.geomspace(min(sizes), max(sizes), _WINDOWS)[:-1].round().tolist()
    error, window = min((_mean_error(groups, rate, each), each) for each in candidates)
    return int(window) if error < (1 - _GAIN) * whole else None


def _overtakes(group: Sequence[RecordedTransfer]) -> bool:
    """Tell whether transfers of a link end in another order than they were ready in."""
    for link in {t.resource for t in group}:
        ends = [t.end_us for t in sorted(group, key=lambda t: t.start_us) if t.resource == link]
        if ends != sorted(ends):
            return True
    return False


def _off(group: Sequence[RecordedTransfer], rate: float, window: float) -> Iterator[float]:
    for t, end in zip(group, replayed_ends(group, rate, window), strict=True):
        if t.end_us > 0:
            yield abs(end - t.end_us) / t.end_us


def _mean_error(groups: Sequence[Sequence[RecordedTransfer]], rate: float, window: float) -> float:
    return fmean(error for group in groups for error in _off(group, rate, window))


def _errors(
    direction: str, groups: Sequence[Sequence[RecordedTransfer]], rate: float, window: float
) -> EndErrors:
    errors = [error for group in groups for error in _off(group, rate, window)]
    p95 = float(np.quantile(errors, 0.95))
    return EndErrors(direction, len(errors), fmean(errors), median(errors), p95, max(errors))
