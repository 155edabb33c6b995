"""Launches that cross links at the same time, and the shares that these leave each of them.

A launch's bytes cross the links of its channel's path at once. Alone they take as long as their
cost says; so fast they are at most. Where the links are too slow for all, they are shared max-min
fairly: no launch can be faster without making one slower that is no faster than it (Bertsekas,
Gallager, Data Networks, 1992, section 6.5.2). Higher classes are served first, lower ones share
what these leave. A launch that sends several flows over a link has the share of as many there; its
flows go on together, each as fast as the slowest.
"""

from array import array
from collections.abc import Sequence
from itertools import accumulate, chain
from math import inf

#: Rates within this share of one another are the same.
_SAME = 1e-12


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

    Attributes
    ----------
    next_end
        When the next launch ends at the present speeds [us]; inf when none is under way.
    rate
        Of each channel: bytes of each flow that cross a link in a microsecond, alone.
    speed
        Of each channel: the share of this at which its launch goes on.
    """

    __slots__ = (
        "_active",
        "_active_count",
        "_at",
        "_capacities",
        "_class",
        "_connected",
        "_count_on",
        "_end",
        "_flows",
        "_found",
        "_found_count",
        "_is_begun",
        "_is_found",
        "_is_tight",
        "_left",
        "_left_of",
        "_links",
        "_links_count",
        "_most",
        "_next",
        "_on",
        "_on_at",
        "_on_count",
        "_on_weight",
        "_open",
        "_path",
        "_seen",
        "_since",
        "_stamp",
        "_touched",
        "_waiting",
        "_waiting_count",
        "_wants",
        "_weight",
        "next_end",
        "rate",
        "speed",
    )

    def __init__(
        self,
        paths: Sequence[Sequence[int]],
        capacities: Sequence[float],
        classes: Sequence[int],
        weights: Sequence[Sequence[float]] | None = None,
    ) -> None:
        channels, links = max(1, len(paths)), max(1, len(capacities))
        flows = weights or [(1.0,) * len(path) for path in paths]
        # paths, one after another: that of channel c from _at[c] to _at[c + 1]
        self._at = array("i", [0, *accumulate(map(len, paths))])
        self._path = array("i", [*chain.from_iterable(paths), 0])
        self._weight = array("d", [*chain.from_iterable(flows), 0.0])
        self._capacities = array("d", [*capacities, 0.0])
        self._class = array("i", [*classes, 0])
        # of each channel: time that its bytes still take alone at _since [us], its largest speed,
        # when it ends [us]; and those under way, in order
        self.rate, self.speed = _zeros(channels), _zeros(channels)
        self._left_of, self._most = _zeros(channels), _zeros(channels)
        self._since, self._end = _zeros(channels), _zeros(channels)
        self._is_begun = _noughts(channels)
        self._active, self._active_count = _noughts(channels), 0
        # channels on each link as they came, from _on_at, with their flows
        room = [0] * links
        for link in chain.from_iterable(paths):
            room[link] += 1
        self._on_at = array("i", [0, *accumulate(room)])
        self._on = _noughts(self._on_at[links] + 1)
        self._on_weight = _zeros(self._on_at[links] + 1)
        self._on_count = _noughts(links)
        # what calls work with: marks are of the call, or of the class of a call, that set them
        self._stamp = self._connected = 0
        self._found, self._found_count = _noughts(channels), 0
        self._is_found, self._seen = _noughts(channels), _noughts(links)
        self._touched, self._left = _noughts(links), _zeros(links)
        self._open = _noughts(links)
        self._links_count = 0
        self._links, self._count_on, self._flows = _noughts(links), _noughts(links), _zeros(links)
        self._is_tight = _noughts(links)
        self._waiting, self._waiting_count = _noughts(channels), 0
        self._wants = _zeros(channels)
        self._next, self.next_end = -1, inf

    def begin(
        self, channel: int, rest: float, rate: float, most: float, span: Sequence[float]
    ) -> None:
        """Begin to send what takes so long alone [us], at so many bytes/us of each flow.

        ``most`` is its largest speed for now, ``span`` is now and when it would end alone [us].
        """
        now, end = span
        self._left_of[channel], self.rate[channel], self._most[channel] = rest, rate, most
        self._since[channel], self._end[channel] = now, end
        self._is_begun[channel], self.speed[channel] = 0, 0.0
        at = self._active_count
        while at > 0 and self._active[at - 1] > channel:
            self._active[at] = self._active[at - 1]
            at -= 1
        self._active[at] = channel
        self._active_count += 1
        for p in range(self._at[channel], self._at[channel + 1]):
            link = self._path[p]
            k = self._on_at[link] + self._on_count[link]
            self._on[k], self._on_weight[k] = channel, self._weight[p]
            self._on_count[link] += 1
        self._connect(channel)
        self._look(now)
        self._share(now)

    def slow(self, channel: int, most: float, now: float) -> None:
        """Give what a channel sends, if it does, another largest speed."""
        if self.is_under_way(channel) and self._most[channel] != most:
            self._most[channel] = most
            self._connect(channel)
            self._look(now)
            self._share(now)

    def pop(self) -> int:
        """End what ends next, and return its channel; of equal ends the smaller number first."""
        now, channel = self.next_end, self._next
        self._connect(channel)
        self._look(now)
        at = 0
        while self._active[at] != channel:
            at += 1
        self._active_count -= 1
        for k in range(at, self._active_count):
            self._active[k] = self._active[k + 1]
        for p in range(self._at[channel], self._at[channel + 1]):
            link = self._path[p]
            k = self._on_at[link]
            while self._on[k] != channel:
                k += 1
            self._on_count[link] -= 1
            end = self._on_at[link] + self._on_count[link]
            while k < end:
                self._on[k], self._on_weight[k] = self._on[k + 1], self._on_weight[k + 1]
                k += 1
        self._is_found[channel] = self._is_begun[channel] = 0
        self._share(now)
        return channel

    def is_under_way(self, channel: int) -> bool:
        """Tell whether a channel sends now."""
        return self._is_begun[channel] != 0

    def _joins(self, link: int) -> bool:
        """Tell whether launches that cross a link have to do with one another there."""
        return self._on_count[link] > 0

    def _look(self, now: float) -> None:
        """See what is under way, and connected with what changes now, before its speeds change."""

    def _connect(self, channel: int) -> None:
        """Find the channels that share links with one, with these, and so on, itself first."""
        self._stamp += 1
        self._connected = stamp = self._stamp
        self._found[0], self._found_count = channel, 1
        self._is_found[channel] = stamp
        at = 0
        while at < self._found_count:
            each = self._found[at]
            at += 1
            for p in range(self._at[each], self._at[each + 1]):
                link = self._path[p]
                if self._seen[link] == stamp:
                    continue
                self._seen[link] = stamp
                if not self._joins(link):
                    continue
                for k in range(self._on_at[link], self._on_at[link] + self._on_count[link]):
                    other = self._on[k]
                    if self._is_found[other] != stamp:
                        self._is_found[other] = stamp
                        self._found[self._found_count] = other
                        self._found_count += 1

    def _share(self, now: float) -> None:
        """Give the channels found their speeds, class by class, and find the next end."""
        while self._wait_of_class():
            self._fill(now)
        self._next, self.next_end = -1, inf
        for k in range(self._active_count):
            channel = self._active[k]
            if self._end[channel] < self.next_end:
                self._next, self.next_end = channel, self._end[channel]
        self.next_end = max(self.next_end, now)

    def _wait_of_class(self) -> bool:
        """Have the channels found of the highest class not yet served wait; tell whether any do."""
        count, level = 0, 0
        for k in range(self._active_count):
            channel = self._active[k]
            if self._is_found[channel] == self._connected:
                own = self._class[channel]
                if count == 0 or own > level:
                    level, count = own, 0
                if own == level:
                    self._waiting[count] = channel
                    count += 1
        for i in range(count):
            self._is_found[self._waiting[i]] = 0
        self._waiting_count = count
        return count > 0

    def _fill(self, now: float) -> None:
        """Share what links have left max-min fairly among the channels that wait.

        Progressive filling: the least of what the links leave each of their flows is what the flows
        of that link have, unless some want less.

        Notes
        -----
        O(launches (launches + links)) at most.
        """
        self._open_links()
        while self._waiting_count:
            share, least = self._least_share(), self._least_want()
            most = share * (1 + _SAME)
            is_content, kept = least <= most, 0
            for i in range(self._waiting_count):
                channel = self._waiting[i]
                want = self._wants[channel]
                if want <= most if is_content else self._crosses_tight(channel):
                    self._settle(channel, want if is_content else share, now)
                else:
                    self._waiting[kept] = channel
                    kept += 1
            self._waiting_count = kept

    def _open_links(self) -> None:
        """Count the flows that wait on each link."""
        self._stamp += 1
        self._links_count = 0
        for i in range(self._waiting_count):
            channel = self._waiting[i]
            self._wants[channel] = self.rate[channel] * self._most[channel]
            for p in range(self._at[channel], self._at[channel + 1]):
                link = self._path[p]
                if self._open[link] != self._stamp:
                    self._open[link] = self._stamp
                    self._links[self._links_count] = link
                    self._links_count += 1
                    self._flows[link], self._count_on[link] = 0.0, 0
                if self._touched[link] != self._connected:
                    self._touched[link] = self._connected
                    self._left[link] = self._capacities[link]
                self._flows[link] += self._weight[p]
                self._count_on[link] += 1

    def _least_share(self) -> float:
        """Return the least of what links leave a flow that waits; note which are as tight."""
        share, kept = inf, 0
        for i in range(self._links_count):
            link = self._links[i]
            if self._count_on[link]:
                self._links[kept] = link
                kept += 1
                share = min(share, self._left[link] / self._flows[link])
        self._links_count = kept
        most = share * (1 + _SAME)
        for i in range(kept):
            link = self._links[i]
            self._is_tight[link] = self._left[link] / self._flows[link] <= most
        return share

    def _least_want(self) -> float:
        least = inf
        for i in range(self._waiting_count):
            least = min(least, self._wants[self._waiting[i]])
        return least

    def _crosses_tight(self, channel: int) -> bool:
        for p in range(self._at[channel], self._at[channel + 1]):
            if self._is_tight[self._path[p]]:
                return True
        return False

    def _settle(self, channel: int, rate: float, now: float) -> None:
        """Take what a channel has from what its links have left, and go on at that [bytes/us]."""
        for p in range(self._at[channel], self._at[channel + 1]):
            link = self._path[p]
            rest = self._left[link] - rate * self._weight[p]
            self._left[link] = rest if rest > 0.0 else 0.0  # noqa: FURB136 - a call takes longer
            self._flows[link] -= self._weight[p]
            self._count_on[link] -= 1
        is_whole = rate == self._wants[channel]
        speed = self._most[channel] if is_whole else rate / self.rate[channel]
        if speed != self.speed[channel] or not self._is_begun[channel]:
            self._go_on(channel, speed, now)

    def _go_on(self, channel: int, speed: float, now: float) -> None:
        """Go on at another speed from now on [us]; one that was alone all along ends as known."""
        if not self._is_begun[channel]:
            self._is_begun[channel] = 1
            if speed < 1.0:
                self._end[channel] = now + self._left_of[channel] / speed if speed > 0 else inf
        else:
            left = self._left_of[channel] - (now - self._since[channel]) * self.speed[channel]
            if left < 0.0 or self._end[channel] <= now:
                left = 0.0
            self._left_of[channel] = left
            if speed > 0:
                self._end[channel] = now + left / speed
            else:
                self._end[channel] = inf if left > 0 else now
        self._since[channel], self.speed[channel] = now, speed


def _zeros(count: int) -> "array[float]":
    return array("d", [0.0]) * count


def _noughts(count: int) -> "array[int]":
    return array("i", [0]) * count
