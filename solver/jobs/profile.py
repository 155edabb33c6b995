"""What a job's iteration asks of links: its transfers, and the compute between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from solver.units import bytes_per_us

#: In place of a transfer: the beginning of the iteration.
BEGINNING = -1


class Transfer(NamedTuple):
    """A launch of an iteration.

    Attributes
    ----------
    start, end
        Alone, from the beginning of the iteration [us].
    startup, rest
        Alone on its links, until its bytes are sent, and for these [us].
    rate
        Bytes of each flow that cross a link in a microsecond meanwhile.
    links
        Names of the links that it crosses; none for what no other job can slow down.
    after
        Transfers that it comes after, :data:`BEGINNING` for the iteration's, and the compute
        between [us].
    tail
        Longest compute from its end to that of the iteration, None when others come between [us].
    channel
        Those of one channel never run at the same time.
    flows
        How many flows cross each of the links side by side; none for one each.
    """

    start: float
    end: float
    startup: float
    rest: float
    rate: float
    links: tuple[str, ...]
    after: tuple[tuple[int, float], ...]
    tail: float | None
    channel: str = ""
    flows: tuple[float, ...] = ()

    @property
    def flows_on(self) -> dict[str, float]:
        """How many flows cross each link side by side."""
        return dict(zip(self.links, self.flows or (1.0,) * len(self.links), strict=True))


@dataclass(frozen=True, slots=True)
class JobProfile:
    """The iteration of a job, which begins again when it has ended.

    Attributes
    ----------
    alone_us
        Its time with the links to itself [us].
    compute_us
        The longest compute that waits for no transfer [us].
    transfers
        In the order in which they begin alone; each comes after earlier ones only.
    busy_us
        Time of all compute ops, one after another [us].
    """

    alone_us: float
    compute_us: float
    transfers: tuple[Transfer, ...]
    busy_us: float

    def bytes_on(self) -> dict[str, float]:
        """Return what crosses each link in an iteration [bytes]."""
        found: dict[str, float] = {}
        for transfer in self.transfers:
            for link, flows in transfer.flows_on.items():
                found[link] = found.get(link, 0.0) + flows * transfer.rate * transfer.rest
        return found


class Phase(NamedTuple):
    """Compute, then a transfer.

    Attributes
    ----------
    compute_us
        Time of the compute [us].
    bytes
        What then crosses each of the links, of all flows together; 0 for nothing.
    links
        Their names.
    bandwidth_gbps
        The most that it has of each link [Gbit/s]; None for what the slowest has.
    flows
        How many flows it sends over each link side by side.
    """

    compute_us: float
    bytes: float = 0.0
    links: tuple[str, ...] = ()
    bandwidth_gbps: float | None = None
    flows: int = 1


def profile_of_phases(phases: Sequence[Phase], links: dict[str, float]) -> JobProfile:
    """Return the iteration of phases that run one after another.

    Parameters
    ----------
    phases
        At least one.
    links
        Capacity of each link by name [Gbit/s].

    Notes
    -----
    O(phases x links of each).
    """
    now, gap, last = 0.0, 0.0, BEGINNING
    transfers: list[Transfer] = []
    for phase in phases:
        now += phase.compute_us
        gap += phase.compute_us
        if not phase.bytes or not phase.links:
            continue
        most = min(links[name] for name in phase.links)
        own = most if phase.bandwidth_gbps is None else phase.bandwidth_gbps
        rate = bytes_per_us(own)
        rest = phase.bytes / rate
        end = now + phase.bytes / min(rate, bytes_per_us(most))
        flows = (float(phase.flows),) * len(phase.links)
        transfers.append(
            Transfer(
                now,
                end,
                0.0,
                rest,
                rate / phase.flows,
                phase.links,
                ((last, gap),),
                None,
                flows=flows,
            )
        )
        last, now, gap = len(transfers) - 1, end, 0.0
    if transfers:
        transfers[-1] = transfers[-1]._replace(tail=gap)
    compute = sum(phase.compute_us for phase in phases)
    return JobProfile(now, 0.0 if transfers else now, tuple(transfers), compute)
