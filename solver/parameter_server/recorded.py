"""Transfers of one worker as they were recorded, and when a link would have ended them."""

from collections import deque
from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from solver.units import slack


class RecordedTransfer(NamedTuple):
    """A transfer of a recorded step.

    Attributes
    ----------
    resource
        The link, as in :class:`~solver.parameter_server.steps.StepOp`.
    bytes
        Size [bytes].
    start_us, end_us
        From the step's beginning: when it could be sent, and when its last byte had come [us].
    parse_us
        How long its receiver then computed before it could be used [us]; None where not recorded.
    """

    resource: str
    bytes: int
    start_us: float
    end_us: float
    parse_us: float | None = None


def replayed_ends(
    transfers: Sequence[RecordedTransfer], rate: float, win_bytes: float
) -> list[float]:
    """Compute when the transfers of one worker and one direction end if they start as recorded.

    Each link serves what was ready first, of equals the first in the list, at most ``win_bytes`` at
    first, then the rest behind all that is ready. Links that are active at once share the worker's
    interface equally.

    Parameters
    ----------
    transfers
        Of a step, in one direction.
    rate
        What the interface carries [bytes/us].
    win_bytes
        Most bytes of a first service; inf without flow control.

    Returns
    -------
    list of float
        In the order of the transfers [us].

    Notes
    -----
    O(n log n + services * links).

    References
    ----------
    .. [1] Li et al., Throughput Prediction of Asynchronous SGD in TensorFlow, 2020: section 3.2.2.
    """
    coming = deque(sorted(range(len(transfers)), key=lambda i: (transfers[i].start_us, i)))
    left = [float(transfer.bytes) for transfer in transfers]
    queues: dict[str, deque[int]] = {}
    services: dict[str, tuple[int, float]] = {}  # what is served on a link, and bytes to go
    cut: set[int] = set()
    ends = [0.0] * len(transfers)
    now = transfers[coming[0]].start_us if coming else 0.0
    while coming or services:
        speed = rate / max(1, len(services))
        soonest = min((rest for _, rest in services.values()), default=inf) / speed + now
        arrival = transfers[coming[0]].start_us if coming else inf
        then = min(soonest, arrival)
        for link, (i, rest) in list(services.items()):
            services[link] = i, rest - (then - now) * speed
        now = then
        while coming and transfers[coming[0]].start_us <= now:
            i = coming.popleft()
            queues.setdefault(transfers[i].resource, deque()).append(i)
        for link, (i, rest) in list(services.items()):
            if rest <= slack(now) * rate:
                del services[link]
                if left[i] > 0:
                    queues.setdefault(link, deque()).append(i)
                else:
                    ends[i] = now
        for link, queue in queues.items():
            if queue and link not in services:
                i = queue.popleft()
                size = left[i] if i in cut else min(left[i], win_bytes)
                cut.add(i)
                left[i] -= size
                services[link] = i, size
    return ends
