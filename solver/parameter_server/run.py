"""Many workers at steps of one: what their servers' links and cores make of the time.

The algorithm is 3.1 of the paper with the repairs of MODEL.md section 13. A resource of a worker
serves one op at a time, what is ready first first. What a worker computes, and what a server
computes for it, takes as long as in its profile. The links are shared: an op on a link is done in
one service of its bytes or, with flow control, in two, and all that is in service on a link is
served at one speed, which :class:`~solver.simulation.clock.Clock` keeps.
"""

import math
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf
from typing import NamedTuple

import numpy as np

from solver.parameter_server.steps import DOWNLINK, SERVER, UPLINK, WORKER, Step, servers_of
from solver.simulation.clock import Clock
from solver.units import bytes_per_us, slack

#: A stream's first service on a link with flow control [bytes]: gRPC's usual HTTP/2 window.
WIN_BYTES = 28_000_000


@dataclass(frozen=True, slots=True)
class Links:
    """The network between workers and servers.

    Attributes
    ----------
    bandwidth_gbps
        Of each server's interface and of each worker's, in each direction [Gbit/s].
    win_bytes
        Most bytes of a stream's first service; it then waits behind the streams that are ready,
        and its second service runs to its end. None without flow control: streams run whole.
    uplink_speed, downlink_speed
        In one direction the bandwidth is so many times that, of both ends.
    """

    bandwidth_gbps: float
    win_bytes: int | None = WIN_BYTES
    uplink_speed: float = 1.0
    downlink_speed: float = 1.0


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How long is simulated, and how.

    Attributes
    ----------
    steps
        Steps of a worker; the run ends when the first worker has done so many.
    dropped
        So many steps a worker, those of all workers together, are not counted at the start.
    seed
        Of the draw of each worker's steps, with replacement.
    synchronous
        All workers begin a step when all have ended the one before.
    spread
        Standard deviation of a factor of mean 1 by which what is computed in a step takes longer
        than profiled: log-normal, drawn for each step of each worker.
    stagger_us
        Each worker begins so much later than the one before [us].
    """

    steps: int = 1000
    dropped: int = 50
    seed: int = 0
    synchronous: bool = False
    spread: float = 0.0
    stagger_us: float = 0.0


class Service(NamedTuple):
    """What a resource did for an op at one go.

    Attributes
    ----------
    worker
        Its number.
    step
        How many steps the worker had done before.
    profile
        Index of the profiled step.
    op
        Position in it.
    bytes
        What was transferred [bytes]; None of what is computed.
    start, end
        [us].
    """

    worker: int
    step: int
    profile: int
    op: int
    bytes: int | None
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class StepsRun:
    """What so many workers did.

    Attributes
    ----------
    workers
        How many.
    ends
        When each worker ended its steps [us]; fewer than asked for but of the first that was done.
    start, end
        What counts: from the end of the last step that is dropped to the end of the first worker's
        last [us]. From 0 where the latter comes no later.
    steps
        How many steps of all workers ended after ``start`` and up to ``end``.
    names
        The resources of a worker: itself, then each server's cores, uplink and downlink.
    busy
        Of each resource, what it did from ``start`` to ``end`` in microseconds of its full speed:
        of a worker's and a server's cores, the sum over workers; of a link, of all its bandwidth.
    services
        Those of the steps that were to be recorded, by start.
    events
        How many services were done.
    is_synchronous
        Whether all workers began each step together.
    """

    workers: int
    ends: tuple[tuple[float, ...], ...]
    start: float
    end: float
    steps: int
    names: tuple[str, ...]
    busy: tuple[float, ...]
    services: tuple[Service, ...]
    events: int
    is_synchronous: bool


def resources_of(servers: Sequence[str | None]) -> tuple[str, ...]:
    """Name the resources of a worker: itself, and each server's cores, uplink and downlink."""
    kinds = (SERVER, UPLINK, DOWNLINK)
    of_servers = (f"{kind}:{s}" if s else kind for kind in kinds for s in servers)
    return (WORKER, *of_servers)


def run_steps(
    steps: Sequence[Step],
    workers: int,
    links: Links,
    options: RunOptions,
    recorded: range = range(0),
    *,
    only_recorded: bool = False,
) -> StepsRun:
    """Simulate workers that train asynchronously, or step by step together.

    Each worker goes through steps drawn from the profiled ones. An op is ready when all that it
    comes after have ended; its resource serves what was ready first, of equals the first in the
    step. A step ends with its last op, and the worker's next one begins. Each active worker on a
    link has an equal share of it. With two servers a worker that is alone on one link and not on
    the other has at most what the other leaves of its own interface (section 5 of the paper):
    these are the max-min fair shares of all interfaces.

    Parameters
    ----------
    steps
        Profiled steps, at least one; two servers at most.
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
    O(services log(workers)); memory for one step of each worker and the ends of all.

    References
    ----------
    .. [1] Li et al., Throughput Prediction of Asynchronous SGD in TensorFlow, 2020: Algorithm 3.1,
           sections 3.2.2, 3.3 and 5.
    """
    last = recorded.stop if only_recorded else None
    return _Run(steps, workers, links, options, recorded, last).run()


class _Profile(NamedTuple):
    """A step as the simulation uses it: of each op resource, amount [us], successors, and so on."""

    resource: list[int]
    amount: list[float]
    succs: tuple[tuple[int, ...], ...]
    waiting: list[int]
    sources: list[int]


def _profile_of(step: Step, names: Sequence[str], rates: Sequence[float]) -> _Profile:
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


def _rate(name: str, links: Links) -> float:
    """Return the bytes per microsecond of a link; what a worker or a server has counts nowhere."""
    rate = bytes_per_us(links.bandwidth_gbps)
    return rate * (links.uplink_speed if name.startswith(UPLINK) else links.downlink_speed)


def _draw(profiles: int, options: RunOptions, worker: int) -> tuple[list[int], list[float]]:
    """Draw a worker's steps and their factors; those of other workers do not count."""
    random = np.random.Generator(np.random.PCG64((options.seed, worker)))
    drawn = random.integers(profiles, size=options.steps)
    sigma = math.sqrt(math.log1p(options.spread**2))
    factors = np.exp(sigma * random.standard_normal(options.steps) - sigma**2 / 2)
    return drawn.tolist(), factors.tolist()


class _Run:
    """A run in progress.

    What worker ``w`` does on resource ``r`` has the number ``w * (number of resources) + r``: its
    queue, and the op in service there.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        workers: int,
        links: Links,
        options: RunOptions,
        recorded: range,
        last: int | None,
    ) -> None:
        servers = servers_of(steps)
        self._names = resources_of(servers)
        self._rates = [_rate(name, links) for name in self._names]
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
        self._clocks = [Clock(1.0) for _ in range(2 * len(servers))]
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
        self._services: list[Service] = []

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
        pair = link, link ^ 1  # uplinks are 0 and 1, downlinks 2 and 3
        for one, other in (pair, pair[::-1]):
            if self._active[one]:
                self._clocks[one].set_speed(share(self._active[one], self._active[other]), now)

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
            self._services.append(Service(worker, number, profile, op, size, start, now))


def share(active: Collection[int], beside: Collection[int]) -> float:
    """Return the share of a server's link that each active worker has.

    Parameters
    ----------
    active
        Workers active on the link, one at least.
    beside
        Workers active on the other server's link of the same direction.
    """
    (*_, last) = active
    if len(active) > 1 or last not in beside:
        return 1 / len(active)
    return 1 - 1 / len(beside) if len(beside) > 1 else 0.5
