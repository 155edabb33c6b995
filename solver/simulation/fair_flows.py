"""Launches that cross links at the same time, and the shares that these leave each of them.

A launch's bytes cross the links of its channel's path at once. Alone they take as long as their
cost says; so fast they are at most. Where the links are too slow for all, they are shared max-min
fairly: no launch can be faster without making one slower that is no faster than it (Bertsekas,
Gallager, Data Networks, 1992, section 6.5.2). Higher classes are served first, lower ones share
what these leave. A launch that sends several flows over a link has the share of as many there; its
flows go on together, each as fast as the slowest.
"""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from math import inf

#: Rates within this share of one another are the same.
_SAME = 1e-12


class _FlowProgress:
    """What is left of one launch, and how fast it goes.

    Attributes
    ----------
    left
        Time that its bytes still take alone, at ``since`` [us].
    rate
        Bytes of each flow that cross a link in a microsecond, alone.
    most
        The largest speed, less than 1 beside compute that slows it down.
    speed
        Share of ``rate`` at which it goes since then, once it ``is_begun``.
    end
        When it ends at this speed [us].
    """

    __slots__ = ("end", "is_begun", "left", "most", "rate", "since", "speed")

    def __init__(self, left: float, rate: float, most: float, now: float, end: float) -> None:
        self.left, self.rate, self.most = left, rate, most
        self.since, self.end = now, end
        self.is_begun, self.speed = False, 0.0

    def go_on(self, speed: float, now: float) -> None:
        """Go on at another speed from now on [us]; one that was alone all along ends as known."""
        if not self.is_begun:
            self.is_begun = True
            if speed < 1.0:
                self.end = now + self.left / speed if speed > 0 else inf
        else:
            self.left = max(0.0, self.left - (now - self.since) * self.speed)
            if self.end <= now:
                self.left = 0.0
            ahead = self.left / speed if speed > 0 else inf if self.left > 0 else 0.0
            self.end = now + ahead
        self.since, self.speed = now, speed


class FairFlows:
    """The launches that are sending bytes over links, by channel.

    Each call is at the time of the one before or later, and not after :attr:`next_end`. Each looks
    at the launches that share a link with one another and with what changes, O(launches links).

    Parameters
    ----------
    paths
        Of each channel the numbers of the links that its launches cross.
    capacities
        Of each link [bytes/us].
    classes
        Of each channel; higher ones are served first.
    weights
        Of each channel how many flows cross each link of its path at once; None for one each.
    """

    __slots__ = (
        "_capacities",
        "_classes",
        "_crossing",
        "_flows",
        "_heap",
        "_paths",
        "_weights",
        "next_end",
    )

    def __init__(
        self,
        paths: Sequence[Sequence[int]],
        capacities: Sequence[float],
        classes: Sequence[int],
        weights: Sequence[Sequence[float]] | None = None,
    ) -> None:
        self._paths, self._capacities, self._classes = paths, capacities, classes
        self._weights = weights or [(1.0,) * len(path) for path in paths]
        self._flows: dict[int, _FlowProgress] = {}
        self._crossing: list[dict[int, float]] = [{} for _ in capacities]  # flows by channel
        self._heap: list[tuple[float, int]] = []  # ends, channels; some out of date
        #: When the next launch ends at the present speeds [us]; inf when none is under way.
        self.next_end = inf

    def begin(
        self, channel: int, rest: float, rate: float, most: float, span: Sequence[float]
    ) -> None:
        """Begin to send what takes so long alone [us], at so many bytes/us of each flow.

        ``most`` is its largest speed for now, ``span`` is now and when it would end alone [us].
        """
        now, end = span
        self._flows[channel] = _FlowProgress(rest, rate, most, now, end)
        for link, weight in zip(self._paths[channel], self._weights[channel], strict=True):
            self._crossing[link][channel] = weight
        self._share(self._connected(channel), now)

    def slow(self, channel: int, most: float, now: float) -> None:
        """Give what a channel sends, if it does, another largest speed."""
        if channel in self._flows and self._flows[channel].most != most:
            self._flows[channel].most = most
            self._share(self._connected(channel), now)

    def pop(self) -> int:
        """End what ends next, and return its channel; of equal ends the smaller number first."""
        now, (_, channel) = self.next_end, heappop(self._heap)
        others = self._connected(channel)
        del self._flows[channel], others[channel]
        for link in self._paths[channel]:
            del self._crossing[link][channel]
        self._share(others, now)
        return channel

    def _connected(self, channel: int) -> dict[int, None]:
        """Return the channels that share links with one, with these, and so on, itself first."""
        found = {channel: None}
        queue, seen = [channel], set[int]()
        for each in queue:  # grows while it is read
            for link in self._paths[each]:
                if link not in seen:
                    seen.add(link)
                    fresh = [other for other in self._crossing[link] if other not in found]
                    found.update(dict.fromkeys(fresh))
                    queue += fresh
        return found

    def _share(self, channels: Iterable[int], now: float) -> None:
        """Give channels that share links their speeds, and find the next end."""
        flows, classes = self._flows, self._classes
        some: dict[int, list[int]] = {}
        for channel in sorted(channels):
            some.setdefault(classes[channel], []).append(channel)
        left: dict[int, float] = {}
        for _, same in sorted(some.items(), reverse=True):
            wants = {channel: flows[channel].rate * flows[channel].most for channel in same}
            rates = fair_rates(wants, self._paths, self._capacities, left, self._weights)
            for channel in same:
                flow, rate = flows[channel], rates[channel]
                speed = flow.most if rate == wants[channel] else rate / flow.rate
                if speed != flow.speed or not flow.is_begun:
                    flow.go_on(speed, now)
                    heappush(self._heap, (flow.end, channel))
        heap = self._heap
        while heap:
            end, channel = heap[0]
            if channel in flows:
                flow = flows[channel]
                if flow.end == end:
                    break
            heappop(heap)
        self.next_end = max(now, heap[0][0]) if heap else inf


def fair_rates(  # noqa: C901 - what most of a run's time goes to, so no call but of dicts
    wants: dict[int, float],
    paths: Sequence[Sequence[int]],
    capacities: Sequence[float],
    left: dict[int, float],
    weights: Sequence[Sequence[float]],
) -> dict[int, float]:
    """Share links max-min fairly among launches whose flows want so much each at most [bytes/us].

    Progressive filling: the least of what the links leave each of their flows is what the flows of
    that link have, unless some want less. ``left`` is what is left of links already, and is brought
    up to date; ``weights`` are how many flows a launch has on each link of its path.

    Notes
    -----
    O(launches (launches + links)) at most.
    """
    rates: dict[int, float] = {}
    open_on: dict[int, dict[int, float]] = {}
    flows_on: dict[int, float] = {}
    for launch in wants:
        for link, weight in zip(paths[launch], weights[launch], strict=True):
            some = open_on.get(link)
            if some is None:
                open_on[link] = {launch: weight}
                flows_on[link] = weight
                if link not in left:
                    left[link] = capacities[link]
            else:
                some[launch] = weight
                flows_on[link] += weight
    waiting = dict.fromkeys(wants)
    while waiting:
        share = inf
        for link in open_on:
            each = left[link] / flows_on[link]
            if each < share:  # noqa: PLR1730 - a call takes longer
                share = each
        most = share * (1 + _SAME)
        done = {launch: wants[launch] for launch in waiting if wants[launch] <= most}
        if not done:
            tight = [link for link in open_on if left[link] / flows_on[link] <= most]
            done = {launch: share for link in tight for launch in open_on[link]}
        for launch, rate in done.items():
            rates[launch] = rate
            del waiting[launch]
            for link in paths[launch]:
                some = open_on[link]
                weight = some.pop(launch)
                rest = left[link] - rate * weight
                left[link] = rest if rest > 0.0 else 0.0  # noqa: FURB136 - a call takes longer
                flows_on[link] -= weight
                if not some:
                    del open_on[link]
    return rates
