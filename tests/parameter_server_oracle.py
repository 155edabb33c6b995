"""Algorithm 3.1 of Li et al. (ICPE 2020), line by line and slow, in exact fractions.

Shares no code with the solver. ``Q`` is a list that is sorted at each turn, and what is left of
each of its chunks is counted down. The algorithm as printed breaks with two workers or at the
second step; each of the four repairs that it needs can be left out. Beyond the paper an op of any
resource may be the first of a step, workers may go step by step together, and two servers share
the workers' interfaces by filling all connections alike until one end of each is full.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np


class Impossible(Exception):
    """The algorithm came to a state that cannot be."""


class Repairs(NamedTuple):
    """What is put right of the printed algorithm.

    Attributes
    ----------
    busy
        Line 23: a worker uses a resource also while its only chunk there is in service.
    counted
        A step that begins makes its worker active on the downlink, and none is before (line 8).
    under
        Lines 37 and 38 stand under line 35: a step begins where another one ended.
    empty
        Line 35: no chunk of the worker is in service either.
    """

    busy: bool = True
    counted: bool = True
    under: bool = True
    empty: bool = True


ALL_REPAIRS = Repairs()


class Setting(NamedTuple):
    """Workers, bytes per microsecond, window [bytes], steps of each worker, and so on."""

    workers: int
    rate: Fraction
    window: int | None
    steps: int
    seed: int = 0
    synchronous: bool = False
    spread: float = 0.0


class Served(NamedTuple):
    """A line of the trace: bytes are None of what is computed; ``turn`` counts steps begun."""

    worker: int
    turn: int
    profile: int
    op: int
    resource: str
    bytes: Fraction | None
    start: Fraction
    end: Fraction


class Trace(NamedTuple):
    """What was served, when each worker's steps ended, and whether rounding could matter.

    ``done``: after each turn the time, and what each resource had done by then [us of full speed].
    ``is_fragile``: two things of a worker ended at one time, or almost, which numbers with finitely
    many digits cannot tell.
    """

    served: list[Served]
    ends: list[list[Fraction]]
    done: list[tuple[Fraction, dict[str, Fraction]]]
    is_fragile: bool

    def done_by(self, time: Fraction) -> dict[str, Fraction]:
        """What each resource had done at a time: between two turns it proceeds evenly."""
        before, after = self.done[0], self.done[-1]
        for turn in self.done:
            if turn[0] <= time:
                before = turn
            elif turn[0] < after[0]:
                after = turn
        if after[0] <= before[0]:
            return before[1]
        part = (time - before[0]) / (after[0] - before[0])
        return {r: amount + part * (after[1][r] - amount) for r, amount in before[1].items()}


@dataclass(eq=False)
class _Chunk:
    worker: int
    turn: int
    op: int
    resource: str
    remaining: Fraction  # [us] at full speed
    bytes: Fraction | None
    rest: Fraction | None  # bytes of the stream's second service; None at its last
    start: Fraction


class _Waiting(NamedTuple):
    turn: int
    op: int
    bytes: Fraction | None
    is_second: bool


def draws(profiles: int, setting: Setting, worker: int) -> tuple[list[int], list[Fraction]]:
    """A worker's steps and factors: of its own generator, first all steps, then all factors."""
    random = np.random.Generator(np.random.PCG64((setting.seed, worker)))
    steps = random.integers(profiles, size=setting.steps)
    sigma = math.sqrt(math.log1p(setting.spread**2))
    factors = np.exp(sigma * random.standard_normal(setting.steps) - sigma**2 / 2)
    return steps.tolist(), [Fraction(round(factor * 2**24), 2**24) for factor in factors.tolist()]


def generate_trace(steps: Sequence[Any], setting: Setting, repairs: Repairs = ALL_REPAIRS) -> Trace:
    """GENERATETRACE(S, W) until all workers have done their steps."""
    return _Generator(steps, setting, repairs).run()


class _Generator:
    def __init__(self, steps: Sequence[Any], setting: Setting, repairs: Repairs) -> None:
        self.ops = [step.ops for step in steps]
        self.setting, self.repairs = setting, repairs
        servers = list(
            dict.fromkeys(
                op.resource.partition(":")[2]
                for ops in self.ops
                for op in ops
                if op.resource != "worker"
            )
        )
        self.is_single = len(servers) < 2
        self.resources = ["worker"] + [
            f"{kind}:{server}" if server else kind
            for kind in ("server", "uplink", "downlink")
            for server in servers
        ]
        workers = range(setting.workers)
        self.draws = [draws(len(steps), setting, w) for w in workers]
        self.scheduler: dict[tuple[int, str], list[_Waiting]] = {
            (w, r): [] for w in workers for r in self.resources
        }
        self.active = dict.fromkeys(self.resources, 0)
        if not repairs.counted:
            self.active |= {r: len(workers) for r in self.resources if r.startswith("downlink")}
        self.Q: list[_Chunk] = []
        self.now = Fraction(0)
        self.begun = [0] * setting.workers
        self.completed_steps = [0] * setting.workers
        self.waiting_for: dict[tuple[int, int], list[set[str]]] = {}  # by worker and turn
        nothing = dict.fromkeys(self.resources, Fraction(0))
        self.trace = Trace([], [[] for _ in workers], [(self.now, nothing)], is_fragile=False)
        self.is_fragile, self.is_rounded = False, setting.spread > 0
        self.barrier: list[int] = []

    def run(self) -> Trace:
        for w in range(self.setting.workers):  # lines 2 to 6
            self.start_random_step(w)
        turns = 0
        while self.Q:  # line 9
            turns += 1
            if turns > 20_000:
                raise Impossible("it never ends")
            share = self.shares()
            order = {x: (x.remaining / share[x], self.tie(x)) for x in self.Q}
            self.Q.sort(key=order.__getitem__)
            chunk = self.Q.pop(0)
            duration = order[chunk][0]
            if duration < 0:
                raise Impossible("time goes back")
            self.look_for_ties(chunk, duration, order, share)
            self.now += duration
            self.trace.served.append(
                Served(
                    chunk.worker,
                    chunk.turn,
                    self.profile(chunk.worker, chunk.turn),
                    chunk.op,
                    chunk.resource,
                    chunk.bytes,
                    chunk.start,
                    self.now,
                )
            )
            done = dict(self.trace.done[-1][1])
            for x in (chunk, *self.Q):
                x.remaining -= duration * share[x]
                done[x.resource] += duration * share[x]
            self.trace.done.append((self.now, done))
            self.after(chunk)
        return self.trace._replace(is_fragile=self.is_fragile)

    def after(self, chunk: _Chunk) -> None:
        """Lines 18 to 38."""
        w, r = chunk.worker, chunk.resource
        if chunk.rest is None:  # line 18
            self.start_dependents(chunk)
        else:  # the stream goes to the queue's end
            self.scheduler[w, r].append(_Waiting(chunk.turn, chunk.op, chunk.rest, is_second=True))
        if self.scheduler[w, r]:  # line 30
            self.serve(w, r)
            return
        if is_link(r):  # line 33
            self.active[r] -= 1
        is_over = not any(self.scheduler[w, i] for i in self.resources)  # line 35
        if self.repairs.empty:
            is_over = is_over and not any(x.worker == w for x in self.Q)
        if is_over:
            self.completed_steps[w] += 1
            self.trace.ends[w].append(self.now)
        if is_over or not self.repairs.under:
            for other in self.who_goes_on(w):  # lines 37 and 38
                if self.completed_steps[other] < self.setting.steps:
                    self.start_random_step(other)

    def who_goes_on(self, w: int) -> list[int]:
        """The worker; in step nobody until the last one is done, then all."""
        if not self.setting.synchronous:
            return [w]
        self.barrier.append(w)
        if len(self.barrier) < self.setting.workers:
            return []
        self.barrier.clear()
        return list(range(self.setting.workers))

    def start_dependents(self, chunk: _Chunk) -> None:
        """Lines 20 to 29."""
        w = chunk.worker
        ops = self.ops[self.profile(w, chunk.turn)]
        waiting_for = self.waiting_for[w, chunk.turn]
        name = ops[chunk.op].id
        for d, op in enumerate(ops):
            if name in waiting_for[d]:
                waiting_for[d].remove(name)
                if not waiting_for[d]:
                    is_busy = bool(self.scheduler[w, op.resource])
                    if self.repairs.busy:
                        is_busy = is_busy or any(
                            x.worker == w and x.resource == op.resource
                            for x in (*self.Q, chunk)  # the chunk's resource chooses at line 30
                        )
                    self.add(w, chunk.turn, d)
                    if not is_busy:
                        if is_link(op.resource):
                            self.active[op.resource] += 1
                        self.serve(w, op.resource)

    def start_random_step(self, w: int) -> None:
        turn = self.begun[w]
        if turn == self.setting.steps:
            raise Impossible("more steps begin than were to be")
        self.begun[w] += 1
        ops = self.ops[self.profile(w, turn)]
        self.waiting_for[w, turn] = [set(op.after) for op in ops]
        first = []
        for i, op in enumerate(ops):
            if not op.after:
                self.add(w, turn, i)
                first.append(op.resource)
        for r in dict.fromkeys(first):
            if is_link(r) and (self.repairs.counted or r.startswith("uplink")):
                self.active[r] += 1
            self.serve(w, r)

    def profile(self, w: int, turn: int) -> int:
        return self.draws[w][0][turn]

    def add(self, w: int, turn: int, i: int) -> None:
        op = self.ops[self.profile(w, turn)][i]
        size = None if op.bytes is None else Fraction(op.bytes)
        self.scheduler[w, op.resource].append(_Waiting(turn, i, size, is_second=False))

    def serve(self, w: int, r: str) -> None:
        """Q.add(scheduler[w, r].remove_chunk())."""
        turn, i, size, is_second = self.scheduler[w, r].pop(0)
        rest = None
        if size is None:
            factor = self.draws[w][1][turn]
            amount = Fraction(self.ops[self.profile(w, turn)][i].duration_us) * factor
        else:
            window = self.setting.window
            if window is not None and not is_second and size > window:
                size, rest = Fraction(window), size - window
            amount = size / self.setting.rate
        self.is_rounded |= not is_binary(amount)
        self.Q.append(_Chunk(w, turn, i, r, amount, size, rest, self.now))

    def shares(self) -> dict[_Chunk, Fraction]:
        """SHARE(r, active) of every chunk in service."""
        shares = {x: Fraction(1) for x in self.Q}
        for x in self.Q:
            if is_link(x.resource) and self.is_single:
                if self.active[x.resource] <= 0:
                    raise Impossible(f"{self.active[x.resource]} workers share {x.resource}")
                shares[x] = Fraction(1, self.active[x.resource])
        if not self.is_single:
            for kind in ("uplink", "downlink"):
                flows = {(x.worker, x.resource): x for x in self.Q if x.resource.startswith(kind)}
                for flow, share in max_min(flows).items():
                    shares[flows[flow]] = share
        return shares

    def tie(self, x: _Chunk) -> tuple[int, ...]:
        """What ends first at one time: what is computed, by worker; then transfers, by link."""
        number = self.resources.index(x.resource)
        return (1, number, x.worker) if is_link(x.resource) else (0, x.worker, number)

    def look_for_ties(
        self, chunk: _Chunk, duration: Fraction, order: dict, share: dict[_Chunk, Fraction]
    ) -> None:
        self.is_rounded |= not all(is_binary(s) for s in share.values())
        close = (self.now + duration) / 10**9 if self.is_rounded else 0
        near = [x for x in self.Q if order[x][0] - duration <= close]
        if self.is_rounded and any(x.worker == chunk.worker for x in near):
            self.is_fragile = True


def is_link(resource: str) -> bool:
    return resource.startswith(("uplink", "downlink"))


def is_binary(number: Fraction) -> bool:
    """Whether it has finitely many binary digits."""
    return number.denominator.bit_count() == 1


def max_min(flows: Iterable[tuple[int, str]]) -> dict[tuple[int, str], Fraction]:
    """Fair rates of connections between a worker and a link, each end of which carries 1.

    All rise together; those with an end that is full stay where they are.
    """
    rates = dict.fromkeys(flows, Fraction(0))
    rising = list(rates)
    while rising:
        room = {}
        for end in {end for flow in rising for end in flow}:
            used = sum((rate for flow, rate in rates.items() if end in flow), Fraction(0))
            room[end] = (1 - used) / sum(end in flow for flow in rising)
        rise = min(room.values())
        full = {end for end, left in room.items() if left == rise}
        for flow in rising:
            rates[flow] += rise
        rising = [flow for flow in rising if not full & set(flow)]
    return rates


def impossibilities(steps: Sequence[Any], count: int, trace: Trace) -> set[str]:
    """What cannot be of a trace of so many steps of each worker, in words."""
    wrong = set()
    at_once: dict[tuple[int, str], list[Served]] = {}
    turns: dict[tuple[int, int], list[Served]] = {}
    for s in trace.served:
        at_once.setdefault((s.worker, s.resource), []).append(s)
        turns.setdefault((s.worker, s.turn), []).append(s)
    for served in at_once.values():
        served.sort(key=lambda s: (s.start, s.end))
        if any(b.start < a.end for a, b in itertools.pairwise(served)):
            wrong.add("a resource serves two ops of a worker at once")
    if any(len(ends) != count for ends in trace.ends):
        wrong.add("steps are lost, or counted twice")
    for (worker, turn), served in turns.items():
        if {s.op for s in served} != set(range(len(steps[served[0].profile].ops))):
            wrong.add("an op is not served")
        ends = trace.ends[worker]
        if any(s.end > ends[turn] for s in served) if turn < len(ends) else True:
            wrong.add("a step ends before its ops")
        if turn and any(s.start < ends[turn - 1] for s in served if turn <= len(ends)):
            wrong.add("a step begins before the one before has ended")
    return wrong
