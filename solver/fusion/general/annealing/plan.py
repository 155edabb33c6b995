"""A plan in flat arrays, and how long it takes.

The judge (:mod:`solver.fusion.general.judge`) says the same in other words; tests hold this
against it.
"""

from array import array
from collections.abc import Sequence
from math import inf

from solver.fusion.general.annealing.problem import NONE, AnnealingProblem

#: A plan that ends this share later than it may is executed to its end all the same.
_ROUNDING = 1e-9


class AnnealedPlan:
    """Buckets, and their launches in each channel's order; what they take, once executed.

    Buckets, launches and tensors go by numbers. The launches of channel c are
    ``row[base[c]] .. row[base[c] + length[c] - 1]``; those of a bucket carry all its bytes.

    Attributes
    ----------
    home, follower
        Of each tensor its bucket, and the next tensor there, ascending, or :data:`NONE`.
    first, count, total, parts
        Of each bucket its first tensor, how many it has, their bytes, its launches.
    bucket, size, time
        Of each launch.
    start, end
        Of each node [us]; a collective starts when it is released.
    begin, finish, place
        Of each launch [us], and its place in its channel's row.
    release, last
        Of each bucket [us], and its last launch.
    tail
        Of each bucket what follows it [us], where no collective waits for another.
    value
        Iteration time [us]; inf when launches wait for one another, or it is too long.
    final
        What ends last: a node, or beyond the nodes a channel.
    path, lead
        Longest path from the start of each node, and from that of each launch, to the end of the
        iteration, in the order of the plan [us]; :meth:`look_back` finds them.
    """

    def __init__(self, problem: AnnealingProblem, capacity: Sequence[int]) -> None:
        """Make a plan without launches; ``capacity`` is the most launches of each channel."""
        self.problem = problem
        tensors, launches = problem.tensors, sum(capacity)
        self.launches = launches
        self.home = array("i", [NONE]) * tensors
        self.follower = array("i", [NONE]) * tensors
        self.first = array("i", [NONE]) * tensors
        self.count = array("i", [0]) * tensors
        self.total = array("q", [0]) * tensors
        self.parts = array("i", [0]) * tensors
        self.spare_buckets = array("i", range(tensors))
        self.spare_bucket_count = tensors
        self.bucket = array("i", [NONE]) * launches
        self.size = array("q", [0]) * launches
        self.time = array("d", [0.0]) * launches
        self.spare_launches = array("i", range(launches))
        self.spare_launch_count = launches
        self.row = array("i", [NONE]) * launches
        self.base = array("i", [sum(capacity[:c]) for c in range(problem.channels)])
        self.capacity = array("i", capacity)
        self.length = array("i", [0]) * problem.channels
        self.start = array("d", [0.0]) * problem.nodes
        self.end = array("d", [0.0]) * problem.nodes
        self.begin = array("d", [0.0]) * launches
        self.finish = array("d", [0.0]) * launches
        self.place = array("i", [0]) * launches
        self.release = array("d", [0.0]) * tensors
        self.tail = array("d", [0.0]) * tensors
        self.last = array("i", [NONE]) * tensors
        self.order = array("i", [0]) * (problem.nodes + launches)
        self.done = 0
        self.path = array("d", [0.0]) * problem.nodes
        self.lead = array("d", [0.0]) * launches
        self.final = 0
        self.value = inf

    def add(self, bucket: Sequence[int], size: int) -> None:
        """Launch ``size`` bytes of a bucket last on its channel; a known bucket goes by its first.

        Raises
        ------
        OverflowError
            When the channel has no room for another launch.
        """
        tensor = bucket[0]
        c = self.problem.channel[tensor]
        if self.length[c] == self.capacity[c]:
            raise OverflowError("the channel has no room for another launch")
        b = self.home[tensor]
        if b < 0:
            b = self.open_bucket()
            behind = NONE
            for i in bucket[::-1]:
                self.home[i] = b
                self.follower[i] = behind
                behind = i
                self.count[b] += 1
                self.total[b] += self.problem.size[i]
            self.first[b] = behind
        self.put(c, self.length[c], self.open_launch(b, size))

    def open_bucket(self) -> int:
        """Return a bucket without tensors; there is one while another one has two."""
        self.spare_bucket_count -= 1
        b = self.spare_buckets[self.spare_bucket_count]
        self.count[b] = self.parts[b] = 0
        self.total[b] = 0
        return b

    def close_bucket(self, b: int) -> None:
        """Give a bucket without launches back."""
        self.first[b] = NONE
        self.count[b] = self.parts[b] = 0
        self.spare_buckets[self.spare_bucket_count] = b
        self.spare_bucket_count += 1

    def open_launch(self, b: int, size: int) -> int:
        """Return a launch of a bucket that has no place yet."""
        self.spare_launch_count -= 1
        launch = self.spare_launches[self.spare_launch_count]
        self.bucket[launch] = b
        self.parts[b] += 1
        self.resize(launch, size)
        return launch

    def resize(self, launch: int, size: int) -> None:
        """Have a launch carry so many bytes of its bucket, whose tensors may be others now."""
        problem, b = self.problem, self.bucket[launch]
        i = self.first[b]
        self.size[launch] = size
        self.time[launch] = problem.time(problem.lane[i], size)
        if problem.is_apart:
            self.release[b] = self.tail[b] = 0.0
            while i >= 0:
                k = problem.node[i]
                self.release[b] = max(self.release[b], problem.head[k])
                self.tail[b] = max(self.tail[b], problem.after[k])
                i = self.follower[i]

    def close_launch(self, launch: int) -> None:
        """Give a launch back that has no place any more."""
        self.parts[self.bucket[launch]] -= 1
        self.spare_launches[self.spare_launch_count] = launch
        self.spare_launch_count += 1

    def put(self, c: int, place: int, launch: int) -> None:
        """Put a launch in a place of a channel's row, before what stands there."""
        at = self.base[c] + place
        for k in range(self.base[c] + self.length[c], at, -1):
            self.row[k] = self.row[k - 1]
        self.row[at] = launch
        self.length[c] += 1

    def take(self, c: int, place: int) -> int:
        """Take a launch out of a channel's row."""
        at = self.base[c] + place
        launch = self.row[at]
        self.length[c] -= 1
        for k in range(at, self.base[c] + self.length[c]):
            self.row[k] = self.row[k + 1]
        return launch

    def copy(self, other: "AnnealedPlan") -> None:
        """Take another plan's buckets and launches, not its times."""
        self.home[:] = other.home
        self.follower[:] = other.follower
        self.first[:] = other.first
        self.count[:] = other.count
        self.total[:] = other.total
        self.parts[:] = other.parts
        self.spare_buckets[:] = other.spare_buckets
        self.spare_bucket_count = other.spare_bucket_count
        self.bucket[:] = other.bucket
        self.size[:] = other.size
        self.time[:] = other.time
        self.row[:] = other.row
        self.spare_launches[:] = other.spare_launches
        self.spare_launch_count = other.spare_launch_count
        self.length[:] = other.length
        if self.problem.is_apart:
            self.release[:] = other.release
            self.tail[:] = other.tail

    def execute(self, limit: float) -> float:  # noqa: C901, PLR0912 - calls would cost
        """Execute the plan, and return its time [us].

        A plan that will end after ``limit`` [us] takes inf, as one whose launches wait for one
        another does; it may then be executed in part. O(ops + edges + launches).
        """
        problem = self.problem
        limit += _ROUNDING * limit
        self.value = inf
        for k in range(problem.nodes):
            self.start[k] = problem.head[k]
            problem.left[k] = problem.waiting[k]
        for b in range(problem.tensors):
            problem.missing[b] = self.count[b]
            problem.unsent[b] = self.parts[b]
            self.release[b] = 0.0
        waiting = 0
        for c in range(problem.channels):
            problem.at[c] = 0
            problem.now[c] = problem.free[c]
            work = problem.rest_after[c]
            for k in range(self.base[c], self.base[c] + self.length[c]):
                work += self.time[self.row[k]]
            problem.rest[c] = work
            waiting += self.length[c]
        ready = len(problem.roots)
        for k in range(ready):
            problem.ready[k] = problem.roots[k]
        self.final = self.done = 0
        value = asked = 0
        latest = 0.0
        while True:
            asked = self._pass_on(ready, asked, limit)
            if asked < 0:
                return inf
            if not asked:
                break
            asked -= 1
            c = problem.asked[asked]
            value = problem.at[c]
            ready = self._launch(c, limit)
            if ready < 0:
                return inf
            waiting -= problem.at[c] - value
        if waiting:
            return inf
        for k in range(problem.nodes):
            if self.end[k] + problem.after[k] > latest:
                latest = self.end[k] + problem.after[k]
                self.final = k
        for c in range(problem.channels):
            if self.length[c] and problem.now[c] + problem.rest_after[c] > latest:
                latest = problem.now[c] + problem.rest_after[c]
                self.final = problem.nodes + c
        self.value = latest
        return latest

    def execute_apart(self, limit: float) -> float:
        """Execute a plan of collectives that wait for none, and return its time [us].

        As :meth:`execute` does where :attr:`AnnealingProblem.is_apart`, without times of nodes:
        O(launches).
        """
        problem = self.problem
        latest = problem.alone
        self.value = inf
        for c in range(problem.channels):
            now = problem.free[c]
            base = self.base[c]
            for place in range(self.length[c]):
                launch = self.row[base + place]
                b = self.bucket[launch]
                now = max(now, self.release[b])
                self.begin[launch] = now
                now += self.time[launch]
                self.finish[launch] = now
                self.place[launch] = place
                self.last[b] = launch
                latest = max(latest, now + self.tail[b])
                if latest > limit:
                    return inf
            latest = max(latest, now + problem.rest_after[c])
        self.value = latest
        return latest

    def _pass_on(self, ready: int, asked: int, limit: float) -> int:
        """End compute whose start is known; list channels whose next bucket is released."""
        problem = self.problem
        while ready:
            ready -= 1
            k = problem.ready[ready]
            i = problem.tensor[k]
            if i >= 0:
                b = self.home[i]
                self.release[b] = max(self.release[b], self.start[k])
                problem.missing[b] -= 1
                if not problem.missing[b]:
                    c = problem.channel[i]
                    if self.bucket[self.row[self.base[c] + problem.at[c]]] == b:
                        problem.asked[asked] = c
                        asked += 1
                continue
            end = self.start[k] + problem.duration[k]
            self.end[k] = end
            self.order[self.done] = k
            self.done += 1
            if end + problem.behind[k] > limit:
                return NONE
            ready = self._follow(k, end, ready)
        return asked

    def _launch(self, c: int, limit: float) -> int:
        """Launch on a channel, in its order, what is released; count the ops that may start."""
        problem = self.problem
        base, length, place = self.base[c], self.length[c], problem.at[c]
        now, rest = problem.now[c], problem.rest[c]
        ready = 0
        while place < length:
            launch = self.row[base + place]
            b = self.bucket[launch]
            if problem.missing[b]:
                break
            now = max(now, self.release[b])
            self.begin[launch] = now
            now += self.time[launch]
            rest -= self.time[launch]
            self.finish[launch] = now
            self.place[launch] = place
            self.order[self.done] = problem.nodes + launch
            self.done += 1
            place += 1
            if now + rest > limit:
                return NONE
            problem.unsent[b] -= 1
            if not problem.unsent[b]:
                self.last[b] = launch
                ready = self._end(b, now, limit, ready)
                if ready < 0:
                    return NONE
        problem.at[c], problem.now[c], problem.rest[c] = place, now, rest
        return ready

    def _end(self, b: int, now: float, limit: float, ready: int) -> int:
        """End the collectives of a bucket; count the ops that may start."""
        problem = self.problem
        i = self.first[b]
        while i >= 0:
            k = problem.node[i]
            self.end[k] = now
            if now + problem.behind[k] > limit:
                return NONE
            ready = self._follow(k, now, ready)
            i = self.follower[i]
        return ready

    def _follow(self, k: int, end: float, ready: int) -> int:
        """Have what follows an op start no sooner than it ends; count the ops that may start."""
        problem = self.problem
        for e in range(problem.succ_from[k], problem.succ_from[k + 1]):
            j = problem.succ[e]
            self.start[j] = max(self.start[j], end)
            problem.left[j] -= 1
            if not problem.left[j]:
                problem.ready[ready] = j
                ready += 1
        return ready

    def look_back(self) -> None:
        """Find the longest paths behind all nodes and launches of the executed plan.

        O(ops + edges + launches).
        """
        nodes = self.problem.nodes
        for at in range(self.done - 1, -1, -1):
            k = self.order[at]
            if k < nodes:
                self.path[k] = self.problem.duration[k] + self._behind(k)
            else:
                self._look_back(k - nodes)

    def _look_back(self, launch: int) -> None:
        """Find the longest path from the start of a launch."""
        problem = self.problem
        b = self.bucket[launch]
        c = problem.channel[self.first[b]]
        place = self.place[launch] + 1
        if place < self.length[c]:
            rest = self.lead[self.row[self.base[c] + place]]
        else:
            rest = problem.rest_after[c]
        if self.last[b] == launch:
            i = self.first[b]
            while i >= 0:
                rest = max(rest, self._behind(problem.node[i]))
                i = self.follower[i]
        self.lead[launch] = self.time[launch] + rest
        i = self.first[b]
        while i >= 0:  # of the parts of a bucket the first one comes last here
            self.path[problem.node[i]] = self.lead[launch]
            i = self.follower[i]

    def _behind(self, k: int) -> float:
        """Longest path from the end of a node [us]."""
        problem = self.problem
        longest = problem.after[k]
        for e in range(problem.succ_from[k], problem.succ_from[k + 1]):
            longest = max(longest, self.path[problem.succ[e]])
        return longest
