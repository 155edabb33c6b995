"""Many workers at steps of one: what their servers' links and cores make of the time.

The algorithm is 3.1 of the paper with the repairs of MODEL.md section 13. A resource of a worker
serves one op at a time, what is ready first first. What a worker computes, and what a server
computes for it, takes as long as in its profile. The links are shared: an op on a link is done in
one service of its bytes or, with flow control, in two, and all that is in service on a link is
served at one speed, which :class:`~solver.simulation.clock.SharedProgress` keeps; with three
servers or more each connection has its own.
"""

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from math import inf
from typing import Final, NamedTuple

import numpy as np

from solver.parameter_server.connections import ConnectionProgress
from solver.parameter_server.links import ServerLinks, fair_shares, rate_of, share
from solver.parameter_server.record import RunOptions, ServicePeriod, StepsRun, resources_of
from solver.parameter_server.steps import ServerStep, servers_of
from solver.simulation.clock import SharedProgress
from solver.simulation.factors import lognormal
from solver.units import slack

#: With no more servers all transfers of a link have one speed.
_ONE_SPEED: Final = 2


def run_steps(
    steps: Sequence[ServerStep],
    workers: int,
    links: ServerLinks,
    options: RunOptions,
    recorded: range = range(0),
    *,
    only_recorded: bool = False,
) -> StepsRun:
    """Simulate workers that train asynchronously, or step by step together.

    Each worker goes through steps drawn from the profiled ones. An op is ready when all that it
    comes after have ended; its resource serves what was ready first, of equals the first in the
    step. A step ends with its last op, and the worker's next one begins. Each active worker on a
    link has an equal share of it. With several servers connections have the max-min fair shares of
    all interfaces: of two, a worker that is alone on one link and not on the other has at most what
    the other leaves of its own interface (section 5 of the paper).

    Parameters
    ----------
    steps
        Profiled steps, at least one.
    workers
        How many.
    links, options
        The network, and how long is simulated.
    recorded
        Numbers of the steps of each worker whose services are returned.
    only_recorded
        Whether to end as soon as every worker has done these; up to there nothing differs.

    Notes
    -----
    O(services log(workers)), with three servers or more O(services * ends * connections); memory
    for one step of each worker and the ends of all.

    References
    ----------
    .. [1] Li et al., Throughput Prediction of Asynchronous SGD in TensorFlow, 2020: Algorithm 3.1,
           sections 3.2.2, 3.3 and 5.
    """
    last = recorded.stop if only_recorded else None
    return _ServerRun(steps, workers, links, options, recorded, last).run()


class _Profile(NamedTuple):
    """A step as the simulation uses it: of each op resource, amount [us], successors, and so on."""

    resource: list[int]
    amount: list[float]
    succs: tuple[tuple[int, ...], ...]
    waiting: list[int]
    sources: list[int]


def _profile_of(step: ServerStep, names: Sequence[str], rates: Sequence[float]) -> _Profile:
    number = {name: r for r, name in enumerate(names)}
    resource = [number[op.resource] for op in step.ops]
    return _Profile(
        resource,
        [
            op.bytes / rates[r] if op.bytes else op.duration_us or 0.0
            for r, op in zip(resource, step.ops, strict=True)
        ],
        step.succs,
        [len(preds) for preds in step.preds],
        [i for i, preds in enumerate(step.preds) if not preds],
    )


def _draw(profiles: int, options: RunOptions, worker: int) -> tuple[list[int], list[float]]:
    """Draw a worker's steps and their factors; those of other workers do not count."""
    random = np.random.Generator(np.random.PCG64((options.seed, worker)))
    drawn = random.integers(profiles, size=options.steps)
    return drawn.tolist(), lognormal(random, options.spread, options.steps).tolist()


class _ServerRun:
    """A run in progress.

    What worker ``w`` does on resource ``r`` has the number ``w * (number of resources) + r``: its
    queue, and the op in service there.
    """

    def __init__(
        self,
        steps: Sequence[ServerStep],
        workers: int,
        links: ServerLinks,
        options: RunOptions,
        recorded: range,
        last: int | None,
    ) -> None:
        servers = servers_of(steps)
        self._names = resources_of(servers)
        self._rates = [rate_of(name, links) for name in self._names]
        window = inf if links.win_bytes is None else links.win_bytes
        self._windows = [window / rate for rate in self._rates]
        self._profiles = [_profile_of(step, self._names, self._rates) for step in steps]
        self._workers = workers
        self._options = options
        self._recorded = recorded
        self._enough = last  # steps of each worker, where no more are to be simulated
        self._lacking = workers  # that have not done so many
        draws = [_draw(len(steps), options, w) for w in range(workers)]
        self._drawn = [profiles for profiles, _ in draws]
        self._factors = [factors for _, factors in draws]
        places = workers * len(self._names)
        self._first_link = 1 + len(servers)
        self._servers = len(servers)
        self._queues: list[deque[int]] = [deque() for _ in range(places)]
        self._serving = [-1] * places  # an op, or -1
        self._rests: list[dict[int, float]] = [{} for _ in range(workers)]  # second services [us]
        self._profile = [self._profiles[0]] * workers  # of the present step
        self._factor = [1.0] * workers
        self._waiting: list[list[int]] = [[] for _ in range(workers)]
        self._left = [0] * workers  # ops that have not ended
        self._heap: list[tuple[float, int]] = []  # ends of what is computed
        clock = ConnectionProgress if self._servers > _ONE_SPEED else SharedProgress
        self._clocks = [clock(1.0) for _ in range(2 * len(servers))]
        self._active: list[dict[int, None]] = [{} for _ in self._clocks]  # workers on each link
        self._begun = [0.0] * len(self._names)  # of each resource, begun so far [us]
        self._ends: list[list[float]] = [[] for _ in range(workers)]
        self._together = 0  # workers that wait for the others, in step
        self._to_drop = options.dropped * workers
        self._start = self._last = 0.0  # what counts [us]
        self._end = inf  # the same as the last, up to rounding
        self._before = [0.0] * len(self._names)  # done by the start
        self._events = 0
        self._started: dict[int, tuple[float, float]] = {}  # recorded services: start, amount
        self._services: list[ServicePeriod] = []

    def run(self) -> StepsRun:
        """Handle ends until the first worker has done its steps."""
        for worker in range(self._workers):
            self._heap.append((worker * self._options.stagger_us, worker - self._workers))
        heap, serving, count = self._heap, self._serving, len(self._names)
        op: int | None
        while True:
            now, link = self._next_end()
            if now > self._end:
                break
            if link is None:
                now, place = heappop(heap)
                if place < 0:  # a worker begins
                    self._start_step(place + self._workers, now)
                    continue
                worker, resource = divmod(place, count)
                op = serving[place]
                self._follow(place, worker, resource, now)
            else:
                worker, op = self._end_transfer(link)
            if op is not None:
                self._end_op(worker, op, now)
        if self._last <= self._start + slack(self._start):  # so many were not dropped in time
            self._start, self._before = 0.0, [0.0] * count
        start = self._start + slack(self._start)
        return StepsRun(
            self._workers,
            tuple(map(tuple, self._ends)),
            self._start,
            self._last,
            sum(start < end <= self._end for ends in self._ends for end in ends),
            self._names,
            tuple(b - a for a, b in zip(self._before, self._done(self._last), strict=True)),
            tuple(sorted(self._services, key=lambda s: (s.start, s.worker, s.step, s.op))),
            self._events,
            self._options.synchronous,
        )

    def _next_end(self) -> tuple[float, int | None]:
        """Return when the next service ends [us], and on which link; of equals what is computed."""
        now, link = self._heap[0][0] if self._heap else inf, None
        for i, clock in enumerate(self._clocks):
            if clock.next_end < now:
                now, link = clock.next_end, i
        return now, link

    def _end_op(self, worker: int, op: int, now: float) -> None:
        """Serve what an op was the last to keep waiting, and end the step with its last op."""
        waiting = self._waiting[worker]
        for j in self._profile[worker].succs[op]:
            waiting[j] -= 1
            if not waiting[j]:
                self._add(worker, j, now)
        self._left[worker] -= 1
        if self._left[worker]:
            return
        ends = self._ends[worker]
        ends.append(now)
        self._begin_steps(worker, now)
        self._lacking -= len(ends) == self._enough
        if self._end == inf and (len(ends) == self._options.steps or not self._lacking):
            self._last, self._end = now, now + slack(now)
        self._to_drop -= 1
        if not self._to_drop:
            self._start, self._before = now, self._done(now)

    def _start_step(self, worker: int, now: float) -> None:
        number = len(self._ends[worker])
        profile = self._profile[worker] = self._profiles[self._drawn[worker][number]]
        self._factor[worker] = self._factors[worker][number]
        self._waiting[worker] = profile.waiting.copy()
        self._left[worker] = len(profile.amount)
        for op in profile.sources:
            self._add(worker, op, now)

    def _begin_steps(self, worker: int, now: float) -> None:
        """Begin the steps that a worker's end of one lets begin."""
        if len(self._ends[worker]) == self._options.steps:
            return
        if not self._options.synchronous:
            self._start_step(worker, now)
            return
        self._together += 1
        if self._together == self._workers:
            self._together = 0
            for other in range(self._workers):
                self._start_step(other, now)

    def _add(self, worker: int, op: int, now: float) -> None:
        """Serve an op that is ready, or queue it."""
        profile = self._profile[worker]
        resource = profile.resource[op]
        place = worker * len(self._names) + resource
        if self._serving[place] >= 0:
            self._queues[place].append(op)
            return
        self._serving[place] = op
        amount = profile.amount[op]
        if resource < self._first_link:
            amount *= self._factor[worker]
            self._begun[resource] += amount
            heappush(self._heap, (now + amount, place))
        else:
            amount = self._first_service(worker, op, resource)
            self._begun[resource] += amount
            link = resource - self._first_link
            self._active[link][worker] = None
            self._share(link, now)
            self._clocks[link].begin(place, amount, now)
        if self._recorded:
            self._started[place] = now, amount

    def _follow(self, place: int, worker: int, resource: int, now: float) -> None:
        """End what a worker or a server computes, and serve what it does next for the worker."""
        self._events += 1
        if self._recorded:
            self._record(place, worker, now)
        queue = self._queues[place]
        if not queue:
            self._serving[place] = -1
            return
        op = self._serving[place] = queue.popleft()
        amount = self._profile[worker].amount[op] * self._factor[worker]
        self._begun[resource] += amount
        heappush(self._heap, (now + amount, place))
        if self._recorded:
            self._started[place] = now, amount

    def _end_transfer(self, link: int) -> tuple[int, int | None]:
        """End a service on a link; return the worker, and the op if that ends it."""
        self._events += 1
        clock = self._clocks[link]
        place, now = clock.first, clock.next_end
        worker, resource = divmod(place, len(self._names))
        op = self._serving[place]
        if self._recorded:
            self._record(place, worker, now)
        queue, rests = self._queues[place], self._rests[worker]
        ended: int | None = op
        if op in rests:  # it waits for its second service
            queue.append(op)
            ended = None
        if not queue:
            clock.pop()
            self._serving[place] = -1
            del self._active[link][worker]
            self._share(link, now)
            return worker, ended
        op = self._serving[place] = queue.popleft()
        amount = rests.pop(op, 0.0) or self._first_service(worker, op, resource)
        self._begun[resource] += amount
        clock.follow(place, amount)
        if self._recorded:
            self._started[place] = now, amount
        return worker, ended

    def _first_service(self, worker: int, op: int, resource: int) -> float:
        amount, window = self._profile[worker].amount[op], self._windows[resource]
        if amount <= window:
            return amount
        self._rests[worker][op] = amount - window
        return window

    def _share(self, link: int, now: float) -> None:
        """Set the speeds that follow from who is active; an idle link keeps its own."""
        if self._servers == 1:
            if self._active[link]:
                self._clocks[link].set_speed(1 / len(self._active[link]), now)
            return
        if self._servers > _ONE_SPEED:
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
            place = self._first_link + link
            clock.set_speeds({w * len(self._names) + place: own[w] for w in own}, now)

    def _done(self, now: float) -> list[float]:
        """Tell what each resource has done by now [us]."""
        done = self._begun.copy()
        for end, place in self._heap:
            if place < 0:  # a worker that has not begun
                continue
            done[place % len(self._names)] -= max(end - now, 0.0)
        for link, clock in enumerate(self._clocks):
            done[self._first_link + link] -= clock.left(now)
        return done

    def _record(self, place: int, worker: int, now: float) -> None:
        number = len(self._ends[worker])
        if number in self._recorded:
            start, amount = self._started[place]
            resource = place % len(self._names)
            is_transfer = resource >= self._first_link
            size = round(amount * self._rates[resource]) if is_transfer else None
            profile, op = self._drawn[worker][number], self._serving[place]
            self._services.append(ServicePeriod(worker, number, profile, op, size, start, now))
