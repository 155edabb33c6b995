"""Exact programs by OR-Tools' CP-SAT, as a program of its own: a problem a line in, values out.

One home stream. Its items (compute, pack, wait, unpack) form one sequence without idle time but in
waits: each starts when the one before has ended, a wait ends no earlier than its launch. A launch
is asked for after some item; it starts at exactly the later of that item's end and the end of the
launch before it on its channel, where launches have the order in which they are asked for.
What :meth:`Sequences.repeat` adds follows from that and makes proofs short.
"""

import json
import sys
from typing import Any

from ortools.sat.python import cp_model

from tests.programs.cp_sat_memory import PACK as _PACK
from tests.programs.cp_sat_memory import UNPACK as _UNPACK
from tests.programs.cp_sat_memory import hold

_COMPUTE, _WAIT = 0, 2


class Sequences:
    """The variables of a problem, and what holds between them.

    A collective is in the bucket of its leader, the least of its members.
    """

    def __init__(self, problem: dict[str, Any]) -> None:
        self.problem = problem
        self.model = cp_model.CpModel()
        self.horizon = problem["most"]
        self.value = self.number()
        self.after, self.lane = problem["after"], problem["lane"]
        self.sends = [i for i, lane in enumerate(self.lane) if lane is not None]
        self.inside: dict[tuple[int, int], Any] = {}
        self.several: dict[int, Any] = {}
        self.shares: dict[int, tuple[Any, Any]] = {}
        self.launch: dict[int, tuple[Any, Any]] = {}
        self.times: dict[int, Any] = {}
        self.present: dict[tuple[int, int], Any] = {}
        self.lengths: dict[tuple[int, int], Any] = {}
        self.starts: dict[tuple[int, int], Any] = {}
        self.ends: dict[tuple[int, int], Any] = {}
        self.rank: dict[tuple[int, int], Any] = {}
        self.asked: dict[int, Any] = {}
        self.asked_at: dict[int, Any] = {}
        self.group()
        for j in self.sends:
            self.bucket(j)
        for i, lane in enumerate(self.lane):
            if lane is None:
                self.present[_COMPUTE, i] = self.model.new_constant(1)
                self.lengths[_COMPUTE, i] = problem["duration"][i]
        self.sequence()
        self.ask()
        for channel in sorted(set(filter(None, problem["channel"]))):
            self.carry([j for j in self.sends if problem["channel"][j] == channel])
        self.precede()
        self.repeat()
        if problem["memory"] is not None:
            hold(self)
        self.model.minimize(self.value)

    def number(self, most: int | None = None) -> Any:
        return self.model.new_int_var(0, self.horizon if most is None else most, "")

    def literal(self) -> Any:
        return self.model.new_bool_var("")

    def product(self, total: Any, literal: Any) -> Any:
        found = self.number(self.problem["size"])
        self.model.add(found == total).only_enforce_if(literal)
        self.model.add(found == 0).only_enforce_if(literal.negated())
        return found

    def leaders(self, i: int) -> list[int]:
        return [j for j in self.sends if (i, j) in self.inside]

    def members(self, j: int) -> list[int]:
        return [i for i in self.sends if (i, j) in self.inside]

    def group(self) -> None:
        """Put each collective into one bucket, of its lane."""
        for j in self.sends:
            for i in self.sends:
                if i >= j and self.lane[i] == self.lane[j]:
                    self.inside[i, j] = self.literal()
                    self.model.add_implication(self.inside[i, j], self.inside[j, j])
        for i in self.sends:
            self.model.add_exactly_one(self.inside[i, j] for j in self.leaders(i))

    def bucket(self, j: int) -> None:
        """Say what the bucket of a leader takes."""
        problem, model, inside = self.problem, self.model, self.inside
        several = self.several[j] = self.literal()
        members = self.members(j)
        count = sum(inside[i, j] for i in members)
        model.add(count >= 2).only_enforce_if(several)
        model.add(count <= 1).only_enforce_if(several.negated())
        total = sum(problem["bytes"][i] * inside[i, j] for i in members)
        if problem["bucket_bytes"] is not None:
            model.add(total <= problem["bucket_bytes"]).only_enforce_if(several)
        packed = sum(problem["packed"][i] * inside[i, j] for i in members)
        unpacked = sum(problem["unpacked"][i] * inside[i, j] for i in members)
        self.shares[j] = self.product(packed, several), self.product(unpacked, several)
        rate = problem["copy"]
        self.present[_PACK, j] = self.present[_UNPACK, j] = several
        self.present[_WAIT, j] = inside[j, j]
        self.lengths[_PACK, j] = rate * self.shares[j][0]
        self.lengths[_UNPACK, j] = rate * self.shares[j][1]
        startup, per_byte = problem["price"][self.lane[j]]
        begin, end = self.number(), self.number()
        self.times[j] = self.number()
        model.add(self.times[j] == startup * inside[j, j] + per_byte * total)
        model.add(end == begin + self.times[j])
        self.launch[j] = begin, end

    def sequence(self) -> None:
        """Put the items of the stream one after another."""
        model, items = self.model, list(self.present)
        node = {item: k + 1 for k, item in enumerate(items)}
        self.rank = {item: self.number(len(items)) for item in items}
        for item in items:
            self.starts[item], self.ends[item] = self.number(), self.number()
            if item[0] == _WAIT:
                stop = self.launch[item[1]][1]
                model.add_max_equality(self.ends[item], [self.starts[item], stop])
            else:
                model.add(self.ends[item] == self.starts[item] + self.lengths[item])
        arcs = []
        for item in items:
            if item[0] != _COMPUTE:
                arcs.append((node[item], node[item], self.present[item].negated()))
            first, last = self.literal(), self.literal()
            arcs += [(0, node[item], first), (node[item], 0, last)]
            model.add(self.starts[item] == 0).only_enforce_if(first)
            model.add(self.rank[item] == 1).only_enforce_if(first)
            for other in items:
                if other != item:
                    next_ = self.literal()
                    arcs.append((node[item], node[other], next_))
                    model.add(self.starts[other] == self.ends[item]).only_enforce_if(next_)
                    model.add(self.rank[other] == self.rank[item] + 1).only_enforce_if(next_)
            model.add(self.value >= self.ends[item]).only_enforce_if(self.present[item])
        model.add_circuit(arcs)

    def ask(self) -> None:
        """Ask for each launch after some item, between its pack and its wait."""
        model, rank = self.model, self.rank
        for j in self.sends:
            self.asked[j], self.asked_at[j] = self.number(len(rank)), self.number()
            at_first = self.literal()
            model.add(self.asked[j] == 0).only_enforce_if(at_first)
            model.add(self.asked_at[j] == 0).only_enforce_if(at_first)
            choices = [at_first]
            for item, place in rank.items():
                here = self.literal()
                model.add_implication(here, self.present[item])
                model.add(self.asked[j] == place).only_enforce_if(here)
                model.add(self.asked_at[j] == self.ends[item]).only_enforce_if(here)
                choices.append(here)
            model.add_exactly_one(choices)
            model.add(rank[_PACK, j] <= self.asked[j]).only_enforce_if(self.several[j])
            model.add(rank[_WAIT, j] > self.asked[j]).only_enforce_if(self.inside[j, j])
            model.add(rank[_UNPACK, j] > rank[_WAIT, j]).only_enforce_if(self.several[j])
            model.add(self.value >= self.launch[j][1]).only_enforce_if(self.inside[j, j])

    def carry(self, own: list[int]) -> None:
        """Put the launches of a channel one after another, as they are asked for."""
        model, launch = self.model, self.launch
        arcs: list[Any] = [(0, 0, self.literal())]
        for k, j in enumerate(own):
            arcs.append((k + 1, k + 1, self.inside[j, j].negated()))
            first, last = self.literal(), self.literal()
            arcs += [(0, k + 1, first), (k + 1, 0, last)]
            model.add(launch[j][0] == self.asked_at[j]).only_enforce_if(first)
            for m, other in enumerate(own):
                if m != k:
                    next_, late = self.literal(), self.number()
                    arcs.append((k + 1, m + 1, next_))
                    model.add(self.asked[other] >= self.asked[j]).only_enforce_if(next_)
                    model.add_max_equality(late, [launch[j][1], self.asked_at[other]])
                    model.add(launch[other][0] == late).only_enforce_if(next_)
        model.add_circuit(arcs)

    def precede(self) -> None:
        """Ask for what an op or a launch comes after, wait for it and unpack it, before it."""
        for i in range(len(self.after)):
            if self.lane[i] is None:
                self._before(i, [], self.rank[_COMPUTE, i], True)
                continue
            for j in self.leaders(i):
                chosen = self.inside[i, j]
                self._before(i, [chosen], self.asked[j], False)
                self._before(i, [chosen, self.several[j]], self.rank[_PACK, j], True)

    def _before(self, i: int, given: list[Any], place: Any, strict: bool) -> None:
        for k in self.after[i]:
            if self.lane[k] is None:
                self.model.add(place >= self.rank[_COMPUTE, k] + strict).only_enforce_if(given)
                continue
            for j in self.leaders(k):
                if given and self.inside.get((i, j)) is given[0]:
                    self.model.add_bool_or([given[0].negated(), self.inside[k, j].negated()])
                    continue
                for do, more in ((_WAIT, []), (_UNPACK, [self.several[j]])):
                    self.model.add(place >= self.rank[do, j] + strict).only_enforce_if(
                        [*given, self.inside[k, j], *more]
                    )

    def repeat(self) -> None:
        """Say again in time what the sequences say in places: nothing new, but seen earlier."""
        model = self.model
        spans = []
        for item, present in self.present.items():
            length = self.number()
            model.add(length == self.ends[item] - self.starts[item])
            spans.append(
                model.new_optional_interval_var(
                    self.starts[item], length, self.ends[item], present, ""
                )
            )
        model.add_no_overlap(spans)
        model.add(
            self.value >= sum(length for item, length in self.lengths.items() if item[0] != _WAIT)
        )
        for channel in sorted(set(filter(None, self.problem["channel"]))):
            own = [j for j in self.sends if self.problem["channel"][j] == channel]
            model.add(self.value >= sum(self.times[j] for j in own))
            model.add_no_overlap(
                model.new_optional_interval_var(
                    self.launch[j][0], self.times[j], self.launch[j][1], self.inside[j, j], ""
                )
                for j in own
            )
        self._in_time()

    def _in_time(self) -> None:
        model = self.model
        begun, done = {}, {}
        for i, lane in enumerate(self.lane):
            if lane is None:
                begun[i], done[i] = self.starts[_COMPUTE, i], self.ends[_COMPUTE, i]
                continue
            begun[i], done[i] = self.number(), self.number()
            startup, per_byte = self.problem["price"][lane]
            model.add(done[i] >= begun[i] + startup + per_byte * self.problem["bytes"][i])
            model.add(done[i] <= self.value)
            for j in self.leaders(i):
                chosen, fused = self.inside[i, j], [self.inside[i, j], self.several[j]]
                model.add(begun[i] <= self.launch[j][0]).only_enforce_if(chosen)
                model.add(begun[i] <= self.starts[_PACK, j]).only_enforce_if(fused)
                model.add(done[i] >= self.launch[j][1]).only_enforce_if(chosen)
                model.add(done[i] <= self.ends[_WAIT, j]).only_enforce_if(
                    [chosen, self.several[j].negated()]
                )
                model.add(done[i] == self.ends[_UNPACK, j]).only_enforce_if(fused)
        for i, found in enumerate(self.after):
            for k in found:
                model.add(begun[i] >= done[k])


def solve(problem: dict[str, Any], effort: float) -> tuple[float | None, bool]:
    """Return the least time, None where there is none, and whether that is proven."""
    solver = cp_model.CpSolver()
    solver.parameters.max_deterministic_time = effort
    solver.parameters.num_workers = 1
    status = solver.solve(Sequences(problem).model)
    if status == cp_model.INFEASIBLE:
        return None, True
    if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return None, False
    return solver.objective_value, status == cp_model.OPTIMAL


def main() -> None:
    """Answer each line, a problem, by a line."""
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(solve(request["problem"], request["effort"])), flush=True)


if __name__ == "__main__":
    main()
