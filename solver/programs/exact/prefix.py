"""Beginnings of programs: what the host may ask for next, when that runs, and what it holds.

A beginning is known by what the rest of the program depends on: which ops are done, which buckets
are packed or under way, and when the stream and their launches are free (MODEL.md section 16.6).
"""

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from solver.graph import COMPUTE as COMPUTE_KIND
from solver.programs.problem import (
    TO_WAIT,
    Copies,
    ProgramProblem,
    copies_of,
    is_fusable,
    launch_time,
)
from solver.programs.program import COMPUTE, LAUNCH, PACK, UNPACK, WAIT, Do

#: Where a bucket that is not done is: packed and not launched, launched and not waited for, waited
#: for and not unpacked.
PACKED, SENT, CAME = range(3)


class Underway(NamedTuple):
    """A bucket between its pack, or its launch, and its end.

    Attributes
    ----------
    members
        Its collectives, as a bit mask of positions.
    phase
        ``PACKED``, ``SENT`` or ``CAME``.
    start, end
        When its launch runs [us]; 0 while it is not launched.
    """

    members: int
    phase: int
    start: float = 0.0
    end: float = 0.0


class Prefix(NamedTuple):
    """A beginning of a program.

    Attributes
    ----------
    time
        When the stream is free [us].
    done
        Ops that have ended: computed, or waited for and unpacked, as a bit mask.
    begun
        Those, and the collectives of buckets under way.
    under_way
        Buckets between their pack or launch and their end, by members.
    steps
        What was asked for since ``parent``: what to do, and the op or the members, as a mask.
    parent
        What it goes on from.
    """

    time: float
    done: int
    begun: int
    under_way: tuple[Underway, ...]
    steps: tuple[tuple[Do, int], ...] = ()
    parent: "Prefix | None" = None


def bits(mask: int) -> Iterator[int]:
    """List the positions in a bit mask, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class Prefixes:
    """The beginnings of the programs of a problem of one stream, each from the one before."""

    def __init__(self, problem: ProgramProblem) -> None:
        """Lay the problem out."""
        graph = self.graph = problem.graph
        self.problem = problem
        self.all = (1 << len(graph.ops)) - 1
        self.preds = [sum(1 << j for j in links) for links in graph.preds]
        self.compute = sum(1 << i for i, op in enumerate(graph.ops) if op.kind == COMPUTE_KIND)
        channels: dict[str, int] = {}
        self.channel = [
            -1 if op.kind == COMPUTE_KIND else channels.setdefault(op.channel, len(channels))
            for op in graph.ops
        ]
        self.channels = len(channels)
        self.most_under_way = problem.limits.under_way_bytes
        self.has_limit = problem.limits.memory_bytes is not None
        self.memory = problem.limits.memory_bytes or 0
        self.is_held_to_wait = problem.inputs_held == TO_WAIT
        at = {op.id: i for i, op in enumerate(graph.ops)}
        self.buffers = [
            (
                buffer.bytes,
                0 if buffer.written_by is None else 1 << at[buffer.written_by],
                sum(1 << at[name] for name in set(buffer.read_by)),
                buffer.kept,
            )
            for buffer in graph.buffers
        ]
        self._buckets: dict[int, tuple[float, int, Copies]] = {}
        self._live: dict[tuple[int, int, int], int] = {}
        self._groups: dict[int, tuple[int, ...]] = {}

    def bucket(self, members: int) -> tuple[float, int, Copies]:
        """Return what a bucket takes to launch [us], its bytes, and its copies."""
        found = self._buckets.get(members)
        if found is None:
            own = list(bits(members))
            size = sum(self.graph.ops[i].bytes or 0 for i in own)
            time = launch_time(self.problem, own)
            found = self._buckets[members] = time, size, copies_of(self.problem, own)
        return found

    def first(self) -> Prefix:
        """Return the beginning of all programs."""
        return Prefix(0.0, 0, 0, ())

    def free_at(self, prefix: Prefix, channel: int) -> float:
        """Return when a channel is free [us], but not before the stream."""
        return max(
            [prefix.time]
            + [
                each.end
                for each in prefix.under_way
                if each.phase == SENT and self.channel[each.members.bit_length() - 1] == channel
            ]
        )

    def next(self, prefix: Prefix) -> Iterator[Prefix]:
        """List what a beginning may go on to, within the memory limit."""
        ready = [i for i in bits(self.all & ~prefix.begun) if not self.preds[i] & ~prefix.done]
        for i in ready:
            if self.compute >> i & 1:
                yield from self._compute(prefix, i)
        for group in self._ready_groups(sum(1 << i for i in ready) & ~self.compute):
            if group & (group - 1):
                yield from self._pack(prefix, group)
            else:
                yield from self._launch(prefix, group)
        ends = set()
        for each in prefix.under_way:
            if each.phase == PACKED:
                yield from self._launch(prefix, each.members)
            elif each.phase == CAME:
                yield from self._unpack(prefix, each)
            elif each.end not in ends:
                ends.add(each.end)
                yield from self._wait(prefix, each.end)

    def _ready_groups(self, ready: int) -> tuple[int, ...]:
        """List what may be one bucket of collectives that may be launched now."""
        found = self._groups.get(ready)
        if found is None:
            own = list(bits(ready))
            found = self._groups[ready] = tuple(
                sum(1 << i for i in group)
                for count in range(1, len(own) + 1)
                for group in combinations(own, count)
                if is_fusable(self.problem, group)
            )
        return found

    def _compute(self, prefix: Prefix, i: int) -> Iterator[Prefix]:
        end = prefix.time + self.graph.durations[i]
        if self._fits(prefix, end, 1 << i, prefix.under_way):
            done, begun = prefix.done | 1 << i, prefix.begun | 1 << i
            step: tuple[Do, int] = (COMPUTE, i)
            yield self._at(end, done, begun, prefix.under_way, (step,), prefix)

    def _pack(self, prefix: Prefix, members: int) -> Iterator[Prefix]:
        """Pack a bucket, and launch it at once where the pack takes no time."""
        end = prefix.time + self.bucket(members)[2].pack_us
        under_way = tuple(sorted((*prefix.under_way, Underway(members, PACKED))))
        if not self._fits(prefix, end, 0, under_way):
            return
        step: tuple[Do, int] = (PACK, members)
        found = self._at(end, prefix.done, prefix.begun | members, under_way, (step,), prefix)
        if end > prefix.time:
            yield found
        else:
            for sent in self._launch(found, members):
                yield sent._replace(steps=(*found.steps, *sent.steps), parent=prefix)

    def _launch(self, prefix: Prefix, members: int) -> Iterator[Prefix]:
        time, size, _ = self.bucket(members)
        before = [each for each in prefix.under_way if each.members != members]
        if self.most_under_way is not None:
            others = [self.bucket(each.members)[1] for each in before if each.phase == SENT]
            if others and sum(others) + size > self.most_under_way:
                return
        start = self.free_at(prefix, self.channel[members.bit_length() - 1])
        under_way = tuple(sorted((*before, Underway(members, SENT, start, start + time))))
        step: tuple[Do, int] = (LAUNCH, members)
        yield self._at(prefix.time, prefix.done, prefix.begun | members, under_way, (step,), prefix)

    def _wait(self, prefix: Prefix, end: float) -> Iterator[Prefix]:
        if self._fits(prefix, end, 0, prefix.under_way):
            yield self._at(end, prefix.done, prefix.begun, prefix.under_way, (), prefix)

    def _unpack(self, prefix: Prefix, bucket: Underway) -> Iterator[Prefix]:
        end = prefix.time + self.bucket(bucket.members)[2].unpack_us
        if self._fits(prefix, end, 0, prefix.under_way):
            left = tuple(each for each in prefix.under_way if each is not bucket)
            step: tuple[Do, int] = (UNPACK, bucket.members)
            done = prefix.done | bucket.members
            yield self._at(end, done, prefix.begun, left, (step,), prefix)

    def _at(
        self,
        time: float,
        done: int,
        begun: int,
        under_way: tuple[Underway, ...],
        steps: tuple[tuple[Do, int], ...],
        parent: Prefix,
    ) -> Prefix:
        """Make a beginning, with waits for all that has ended: they cost nothing and free memory.

        So does unpacking that takes no time.
        """
        ended = [each for each in under_way if each.phase == SENT and each.end <= time]
        if ended:
            left = [each for each in under_way if each.phase != SENT or each.end > time]
            for each in ended:
                members = each.members
                steps = (*steps, (WAIT, members))
                if not members & (members - 1):
                    done |= members
                elif self.bucket(members)[2].unpack_us == 0.0:
                    steps = (*steps, (UNPACK, members))
                    done |= members
                else:
                    left.append(Underway(members, CAME))
            under_way = tuple(sorted(left))
        return Prefix(time, done, begun, under_way, steps, parent)

    def _fits(
        self, prefix: Prefix, end: float, running: int, under_way: tuple[Underway, ...]
    ) -> bool:
        """Tell whether memory is kept from the time of a beginning to an end [us]."""
        begin = prefix.time
        if not self.has_limit or end <= begin:
            return True
        times = {begin}
        for each in under_way:
            times.update(time for time in (each.start, each.end) if begin < time < end)
        done = prefix.done
        return all(self._level(done, running, under_way, time) <= self.memory for time in times)

    def _level(self, done: int, running: int, under_way: tuple[Underway, ...], time: float) -> int:
        """Return the memory at a time [bytes]."""
        started, read, wrote, copies = done | running, done, done, 0
        for members, phase, start, end in under_way:
            is_one = not members & (members - 1)
            sizes = None if is_one else self.bucket(members)[2]
            if phase == CAME or (phase == SENT and end <= time and not self.is_held_to_wait):
                read |= members
            elif sizes:
                copies += sizes.packed_bytes
            if phase != PACKED and start <= time:
                started |= members
                if sizes:
                    copies += sizes.unpacked_bytes
                elif end <= time:
                    wrote |= members
        return copies + self._held(started, read, wrote)

    def _held(self, started: int, read: int, wrote: int) -> int:
        """Return what buffers hold, by which ops have begun, have read and have written [bytes]."""
        key = started, read, wrote
        found = self._live.get(key)
        if found is None:
            found = 0
            for size, writer, readers, kept in self.buffers:
                if writer & ~started:
                    continue
                if kept or readers & ~read or writer & ~wrote:
                    found += size
            self._live[key] = found
        return found

    def is_roomy(self, prefix: Prefix) -> bool:
        """Tell whether nothing that may come after a beginning can exceed the memory limit."""
        if not self.has_limit:
            return True
        done = prefix.done
        total = sum(
            size
            for size, writer, readers, kept in self.buffers
            if kept or readers & ~done or writer & ~done
        )
        ops = self.graph.ops
        total += sum(2 * (ops[i].bytes or 0) + 2 for i in bits(self.all & ~self.compute & ~done))
        return total <= self.memory
