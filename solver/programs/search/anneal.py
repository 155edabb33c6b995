"""Annealing of a program: random changes, most of them where compute waits for a launch."""

from array import array
from math import inf, log

from solver.programs.search.draft import ProgramDraft
from solver.programs.search.flat import Flat
from solver.programs.search.resumed import ResumedDraft

#: Logarithms of so many even shares are drawn from.
_LUCK = 4096

_LUCK_LOGS = array("d", [-log((k + 0.5) / _LUCK) for k in range(_LUCK)])

#: Of so many changes one is anywhere, not where compute waits.
_ANYWHERE = 5

#: While memory is above the limit, of so many changes one is where it is highest.
_AT_PEAK = 3

#: Of 16 changes so many launch something earlier, move what is before it behind it, move another
#: launch behind it, or fill the wait; the rest change buckets.
_EARLIER, _BEHIND, _OVERTAKE, _FILL = 4, 7, 9, 13

#: Of the changes of buckets, which are splits, and which move one member on.
_SPLIT, _MOVE_ON = 13, 15

#: Waits shorter than this are none [us].
_SHORT = 1e-6


class ProgramAnnealer(ResumedDraft):
    """Changes a draft at random, and takes what is better, or lucky.

    Memory above the limit counts as time: what it is above, as a share of the limit, over the time
    that it is, and over a time of ``lasting`` [us] where it is highest, ``weight`` times.

    Attributes
    ----------
    best, best_value
        The best draft seen that keeps the limit, where there is one, and its time [us].
    least_peak
        The least memory of any draft taken [bytes].
    moves
        How many changes were tried.
    """

    def __init__(self, flat: Flat, seed: int) -> None:
        """Begin with a draft in no order."""
        super().__init__(flat)
        self.state = (seed * 2862933555777941757 + 3037000493) & ((1 << 63) - 1) or 1
        self.waits = array("i", [0]) * (flat.collectives + 1)
        self.wait_count = 0
        self.energy = inf
        self.weight = self.lasting = 0.0
        self.peak_place = 0
        self.is_tight = flat.problem.limits.memory_bytes is not None
        self.reach = 64
        self.moves = 0
        self.taken = 0
        self.best = ProgramDraft(flat)
        self.best_value = inf
        self.least_peak = 1 << 62

    def draw(self, below: int) -> int:
        """Draw a number from 0 to below - 1 (xorshift)."""
        x = self.state
        x ^= (x << 13) & 0x7FFFFFFFFFFFFFFF
        x ^= x >> 7
        x ^= (x << 17) & 0x7FFFFFFFFFFFFFFF
        self.state = x
        return (x >> 11) % below

    def look(self) -> None:
        """List the launches that compute waits for: what it finds unfinished when it needs it."""
        flat = self.flat
        self.peak_place = self.peak_at if self.excess else -1
        self.wait_count = 0
        self.clock = 0.0
        for c in range(flat.collectives):
            self.waited[c] = 0
        for k in range(self.length):
            item = self.order[k]
            if item < flat.ops:
                for e in range(flat.preds_at[item], flat.preds_at[item + 1]):
                    c = flat.number[flat.preds[e]]
                    if c >= 0:
                        self._wait_for(self.home[c])
                self.clock = self.end[item]
            elif item >= flat.ops + flat.collectives:
                self._wait_for(item - flat.ops - flat.collectives)
        # what ends after all compute holds the end up
        for c in range(flat.channels):
            if self.free_at[c] > self.clock + _SHORT and self.queued[c]:
                last = c * flat.collectives + self.queued[c] - 1
                self.waits[self.wait_count] = self.queue[last]
                self.wait_count += 1

    def _wait_for(self, b: int) -> None:
        """Note a bucket that is waited for, once, and if that takes time."""
        end = self.end[self.flat.ops + b]
        if self.waited[b] == 0 and end > self.clock + _SHORT:
            self.waits[self.wait_count] = b
            self.wait_count += 1
            self.clock = end
        self.waited[b] = 1

    def run(self, changes: int, hot: float, cold: float) -> None:
        """Try so many changes, from one temperature to another [us]."""
        self.execute_whole()
        self.energy = self.value + self.penalty()
        self.look()
        cooling = (cold / hot) ** (1.0 / max(1, changes))
        heat = hot
        for _ in range(changes):
            heat *= cooling
            most = self.energy + heat * _LUCK_LOGS[self.draw(_LUCK)]
            self.begin()
            self.moves += 1
            if not self.change():
                self.take_back()
                continue
            time = self.execute_changed(most)
            if time < inf and time + self.penalty() <= most:
                self.settle()
                self.energy = time + self.penalty()
                self.taken += 1
                self.look()
                self.offer()
            else:
                self.take_back_run()

    def penalty(self) -> float:
        """Return what memory above the limit counts [us]."""
        if self.excess == 0:
            return 0.0
        return self.weight * (self.over + self.lasting * self.excess) / self.flat.memory

    def offer(self) -> None:
        """Keep the draft where it is the best so far."""
        self.least_peak = min(self.least_peak, self.peak)
        if self.excess == 0 and self.value < self.best_value:
            self.best_value = self.value
            self.best.adopt(self)

    def change(self) -> bool:
        """Change the draft at random; tell whether that was possible."""
        flat = self.flat
        kind = self.draw(16)
        if kind >= _FILL and flat.collectives > 1:
            return self._rebucket(kind)
        step = 1 + self.draw(self.reach)
        if self.peak_place >= 0 and self.draw(_AT_PEAK) == 0:
            at = min(self.peak_place, self.length - 1)
            if kind & 1:
                return self._move(max(0, at + 1 - step), at)
            return self._move(min(self.length - 1, at + step), at)
        if self.wait_count and self.draw(_ANYWHERE):
            return self._change_at(self.waits[self.draw(self.wait_count)], kind, step)
        k = self.draw(self.length)
        if kind & 1:
            return self._move(k, max(0, k - step))
        return self._move(k, min(self.length - 1, k + step))

    def _move(self, k: int, to: int) -> bool:
        """Move what is at a place to another."""
        if to < k:
            self.pull(self.order[k], to)
        elif to > k:
            self.push(self.order[k], to)
        return to != k

    def _change_at(self, b: int, kind: int, step: int) -> bool:
        """Make a launch that compute waits for end earlier, or fill the wait."""
        at = self.place[self.flat.ops + b]
        if kind < _EARLIER:
            return self._move(at, max(0, at - step))
        if kind < _BEHIND:
            return at > 0 and self._move(max(0, at - step), min(self.length - 1, at + self.draw(4)))
        if kind < _OVERTAKE:
            return self._overtake(b, at)
        need = self._needed_at(b)
        return need < self.length - 1 and self._move(min(self.length - 1, need + step), need)

    def _overtake(self, b: int, at: int) -> bool:
        """Move the launch before one on its channel behind it."""
        flat = self.flat
        channel = flat.channel[self.first[b]]
        for k in range(at - 1, -1, -1):
            other = self.order[k] - flat.ops
            if 0 <= other < flat.collectives and flat.channel[self.first[other]] == channel:
                return self._move(k, at)
        return False

    def _needed_at(self, b: int) -> int:
        """Return the place of the first that comes after a bucket."""
        flat = self.flat
        need = self.length
        c = self.first[b]
        while c >= 0:
            i = flat.position[c]
            for e in range(flat.succs_at[i], flat.succs_at[i + 1]):
                j = flat.succs[e]
                d = flat.number[j]
                need = min(need, self.place[j if d < 0 else flat.ops + self.home[d]])
            c = self.follower[c]
        return need

    def _rebucket(self, kind: int) -> bool:
        """Merge two buckets, split one, move a member on, or wait earlier or later."""
        flat = self.flat
        k = self.draw(self.length)
        while not flat.ops <= self.order[k] < flat.ops + flat.collectives:
            k = k + 1 if k + 1 < self.length else 0
        b = self.order[k] - flat.ops
        if self.is_tight and self.draw(3) == 0:
            if not self.let_go(b):
                self.hold(b, self.draw(4))
            return True
        if kind == _SPLIT:
            return self.count[b] > 1 and self._split(b)
        other = self._following(b, k + 1, self.draw(3))
        if other < 0:
            return False
        if kind == _MOVE_ON and self.count[b] > 1:
            members = self.members(b)
            b = self.split(b, [members[self.draw(len(members))]])
        return self.merge(b, other)

    def _split(self, b: int) -> bool:
        """Split a bucket in two, or take one member out."""
        members = self.members(b)
        if self.draw(2):
            self.split(b, members[1 + self.draw(len(members) - 1) :])
        else:
            self.split(b, [members[self.draw(len(members))]])
        return True

    def _following(self, b: int, k: int, skip: int) -> int:
        """Return the bucket of the same lane that is launched next, behind so many; -1 for none."""
        flat = self.flat
        lane = flat.lane[self.first[b]]
        for j in range(k, self.length):
            other = self.order[j] - flat.ops
            if 0 <= other < flat.collectives and flat.lane[self.first[other]] == lane:
                if skip == 0:
                    return other
                skip -= 1
        return -1
