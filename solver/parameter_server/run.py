"""Many workers at steps of one: what their servers' links and cores make of the time.

The algorithm is 3.1 of the paper with the repairs of MODEL.md section 13. A resource of a worker
serves one op at a time, what is ready first first. What a worker computes, and what a server
computes for it, takes as long as in its profile. An op on a link, which all share, is done in one
service of its bytes or, with flow control, in two.
"""

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from math import inf

from solver.parameter_server.draws import StepProfile, draw
from solver.parameter_server.links import ServerLinks, rate_of
from solver.parameter_server.record import RunOptions, StepsRun, resources_of
from solver.parameter_server.services import ServiceRecord
from solver.parameter_server.steps import ServerStep, servers_of
from solver.parameter_server.transfers import LinkTransfers
from solver.units import slack


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


class _ServerRun:
    """A run in progress.

    What worker ``w`` does on resource ``r`` has the place ``w * (number of resources) + r``: its
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
        self._resources = len(self._names)
        self._first_link = 1 + len(servers)
        rates = [rate_of(name, links) for name in self._names]
        window = inf if links.win_bytes is None else links.win_bytes
        self._windows = [window / rate for rate in rates]
        self._profiles = [StepProfile(step, self._names, rates) for step in steps]
        self._workers = workers
        self._steps = options.steps
        self._is_synchronous = options.synchronous
        self._stagger_us = options.stagger_us
        self._enough = -1 if last is None else last  # steps of each worker, then no more are needed
        self._lacking = workers  # that have not done so many
        draws = [draw(len(steps), options, w) for w in range(workers)]
        self._drawn = [profiles for profiles, _ in draws]
        self._factors = [factors for _, factors in draws]
        self._is_recorded = bool(recorded)
        computed: list[float | None] = [None] * self._first_link
        self._record = ServiceRecord(recorded, self._drawn, [*computed, *rates[self._first_link :]])
        places = workers * self._resources
        self._queues: list[deque[int]] = [deque() for _ in range(places)]
        self._serving = [-1] * places  # an op, or -1
        self._rests: list[dict[int, float]] = [{} for _ in range(workers)]  # second services [us]
        self._profile = [self._profiles[0]] * workers  # of the present step
        self._factor = [1.0] * workers
        self._waiting: list[list[int]] = [[] for _ in range(workers)]
        self._left = [0] * workers  # ops that have not ended
        self._heap: list[tuple[float, int]] = []  # ends of what is computed
        self._transfers = LinkTransfers(len(servers), self._resources)
        self._begun = [0.0] * self._resources  # of each resource, begun so far [us]
        self._ends: list[list[float]] = [[] for _ in range(workers)]
        self._together = 0  # workers that wait for the others, in step
        self._to_drop = options.dropped * workers
        self._start = self._last = 0.0  # what counts [us]
        self._end = inf  # the same as the last, up to rounding
        self._before = [0.0] * self._resources  # done by the start
        self._events = 0

    def run(self) -> StepsRun:
        """Handle ends until the first worker has done its steps."""
        for worker in range(self._workers):
            self._heap.append((worker * self._stagger_us, worker - self._workers))
        while self._handle_next():
            pass
        if self._last <= self._start + slack(self._start):  # so many were not dropped in time
            self._start, self._before = 0.0, [0.0] * self._resources
        start = self._start + slack(self._start)
        return StepsRun(
            self._workers,
            tuple(map(tuple, self._ends)),
            self._start,
            self._last,
            sum(start < end <= self._end for ends in self._ends for end in ends),
            self._names,
            tuple(b - a for a, b in zip(self._before, self._done(self._last), strict=True)),
            self._record.in_order(),
            self._events,
            self._is_synchronous,
        )

    def _handle_next(self) -> bool:
        """Handle the next end, of equals what is computed; tell whether it is within the run."""
        now = self._heap[0][0] if self._heap else inf
        if self._transfers.next_end < now:
            if self._transfers.next_end > self._end:
                return False
            self._end_transfer(self._transfers.next_end)
            return True
        if now > self._end:
            return False
        now, place = heappop(self._heap)
        if place < 0:  # a worker begins
            self._start_step(place + self._workers, now)
        else:
            self._end_computing(place, now)
        return True

    def _end_op(self, worker: int, op: int, now: float) -> None:
        """Serve what an op was the last to keep waiting, and end the step with its last op."""
        waiting = self._waiting[worker]
        for j in self._profile[worker].succs[op]:
            waiting[j] -= 1
            if not waiting[j]:
                self._add(worker, j, now)
        self._left[worker] -= 1
        if not self._left[worker]:
            self._end_step(worker, now)

    def _end_step(self, worker: int, now: float) -> None:
        ends = self._ends[worker]
        ends.append(now)
        self._begin_steps(worker, now)
        self._lacking -= len(ends) == self._enough
        if self._end == inf and (len(ends) == self._steps or not self._lacking):
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
        if len(self._ends[worker]) == self._steps:
            return
        if not self._is_synchronous:
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
        place = worker * self._resources + resource
        if self._serving[place] >= 0:
            self._queues[place].append(op)
            return
        self._serving[place] = op
        if resource < self._first_link:
            self._compute(place, profile.amount[op] * self._factor[worker], resource, now)
            return
        amount = self._first_service(worker, op, resource)
        self._begun[resource] += amount
        self._transfers.begin(worker, resource, amount, now)
        if self._is_recorded:
            self._record.start(place, amount, now)

    def _compute(self, place: int, amount: float, resource: int, now: float) -> None:
        """Begin what a worker or a server computes for so long [us]."""
        self._begun[resource] += amount
        heappush(self._heap, (now + amount, place))
        if self._is_recorded:
            self._record.start(place, amount, now)

    def _end_computing(self, place: int, now: float) -> None:
        """End what a worker or a server computes, and serve what it does next for the worker."""
        self._events += 1
        worker, resource = place // self._resources, place % self._resources
        op = self._serving[place]
        if self._is_recorded:
            self._record.end(place, len(self._ends[worker]), op, now)
        queue = self._queues[place]
        if queue:
            following = queue.popleft()
            self._serving[place] = following
            amount = self._profile[worker].amount[following] * self._factor[worker]
            self._compute(place, amount, resource, now)
        else:
            self._serving[place] = -1
        self._end_op(worker, op, now)

    def _end_transfer(self, now: float) -> None:
        """End the service on a link that ends next, serve what follows it, and end its op."""
        self._events += 1
        place = self._transfers.first()
        worker, resource = place // self._resources, place % self._resources
        op = self._serving[place]
        if self._is_recorded:
            self._record.end(place, len(self._ends[worker]), op, now)
        queue, rests = self._queues[place], self._rests[worker]
        waits = op in rests  # for its second service
        if waits:
            queue.append(op)
        if queue:
            following = queue.popleft()
            self._serving[place] = following
            amount = rests.pop(following, 0.0) or self._first_service(worker, following, resource)
            self._begun[resource] += amount
            self._transfers.follow(place, amount)
            if self._is_recorded:
                self._record.start(place, amount, now)
        else:
            self._serving[place] = -1
            self._transfers.end(worker)
        if not waits:
            self._end_op(worker, op, now)

    def _first_service(self, worker: int, op: int, resource: int) -> float:
        amount, window = self._profile[worker].amount[op], self._windows[resource]
        if amount <= window:
            return amount
        self._rests[worker][op] = amount - window
        return window

    def _done(self, now: float) -> list[float]:
        """Tell what each resource has done by now [us]."""
        done = self._begun.copy()
        for end, place in self._heap:
            if place >= 0:  # not a worker that has not begun
                done[place % self._resources] -= max(end - now, 0.0)
        for resource, left in enumerate(self._transfers.left(now), self._first_link):
            done[resource] -= left
        return done
