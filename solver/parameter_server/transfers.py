"""The transfers in service on all links, and when the next of them ends."""

from math import inf
from typing import Final

from solver.parameter_server.connections import ConnectionProgress
from solver.parameter_server.links import fair_shares, share
from solver.simulation.clock import SharedProgress

#: With no more servers all transfers of a link have one speed.
_ONE_SPEED: Final = 2


class LinkTransfers:
    """What is in service on the servers' links: uplinks first, then downlinks, by server.

    The links are shared: all that is in service on one is served at one speed, which
    :class:`~solver.simulation.clock.SharedProgress` keeps; with three servers or more each
    connection has its own. Each worker has one transfer in service on a link at most.

    Parameters
    ----------
    servers
        How many.
    resources
        How many a worker has; its links are the last. What worker ``w`` does on resource ``r`` has
        the number ``w * resources + r``, its place.

    Notes
    -----
    O(log(workers)) each call, with three servers or more O(ends * connections).
    """

    def __init__(self, servers: int, resources: int) -> None:
        self._servers = servers
        self._resources = resources
        self._first = resources - 2 * servers
        self._is_fair = servers > _ONE_SPEED
        clock = ConnectionProgress if self._is_fair else SharedProgress
        self._clocks = [clock(1.0) for _ in range(2 * servers)]
        self._active: list[dict[int, None]] = [{} for _ in self._clocks]  # workers on each link
        #: The link on which a transfer ends next, and when [us]: -1 and inf where nothing is sent.
        self.link, self.next_end = -1, inf

    def begin(self, worker: int, resource: int, amount: float, now: float) -> None:
        """Begin a transfer of so long at full speed [us] on a link where its worker has none."""
        link, place = resource - self._first, worker * self._resources + resource
        self._active[link][worker] = None
        self._share(link, now)
        self._clocks[link].begin(place, amount, now)
        self._look()

    def first(self) -> int:
        """Return the place of the transfer that ends next."""
        return self._clocks[self.link].first()

    def end(self, worker: int) -> None:
        """End that transfer, this worker's, and take the worker off the link."""
        link, now = self.link, self.next_end
        self._clocks[link].pop()
        del self._active[link][worker]
        self._share(link, now)
        self._look()

    def follow(self, place: int, amount: float) -> None:
        """End that transfer, and begin one of so long [us] in its place, this one."""
        self._clocks[self.link].follow(place, amount)
        self._look()

    def left(self, now: float) -> list[float]:
        """Sum for each link what is left of its transfers [us]."""
        return [clock.left(now) for clock in self._clocks]

    def _look(self) -> None:
        """Find the next end; of equals the first link's."""
        self.link, self.next_end = -1, inf
        for link, clock in enumerate(self._clocks):
            if clock.next_end < self.next_end:
                self.link, self.next_end = link, clock.next_end

    def _share(self, link: int, now: float) -> None:
        """Set the speeds that follow from who is active; an idle link keeps its own."""
        if self._servers == 1:
            if self._active[link]:
                self._clocks[link].set_speed(1.0 / len(self._active[link]), now)
            return
        if self._is_fair:
            self._share_fairly(link - link % self._servers, now)
            return
        pair = link, link ^ 1  # uplinks are 0 and 1, downlinks 2 and 3
        for one, other in (pair, pair[::-1]):
            if self._active[one]:
                self._clocks[one].set_speed(share(self._active[one], self._active[other]), now)

    def _share_fairly(self, first: int, now: float) -> None:
        """Set the speeds of all connections of a direction."""
        group = range(first, first + self._servers)
        shares = fair_shares([self._active[link] for link in group])
        for link, own in zip(group, shares, strict=True):
            clock = self._clocks[link]
            assert isinstance(clock, ConnectionProgress)
            place = self._first + link
            clock.set_speeds({w * self._resources + place: own[w] for w in own}, now)
