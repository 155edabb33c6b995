"""Units of a program for PyTorch's ``fully_shard``, and the program as FSDP2 runs it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from solver.exports.programs.demand import Item, in_order_of_demand
from solver.graph import COMPUTE as COMPUTE_KIND
from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, LAUNCH, Program
from solver.sharded.units import Unit, join_units, units_of


@dataclass(frozen=True, slots=True)
class Prefetches:
    """What FSDP2 is told of a program.

    Attributes
    ----------
    units
        In the order of the forward pass.
    forward, backward
        For each unit the places of those whose gathers it asks for with its own, before its
        forward and before its backward pass.
    """

    units: tuple[Unit, ...]
    forward: tuple[tuple[int, ...], ...]
    backward: tuple[tuple[int, ...], ...]

    def reshards(self) -> list[bool]:
        """Tell which units are freed after their forward pass: those that are gathered again."""
        return [bool(unit.regathers) for unit in self.units]


def prefetches_of(problem: ProgramProblem, program: Program) -> Prefetches:
    """Read units and what they prefetch from a program.

    A unit is what one bucket gathers before the forward pass. It prefetches the units whose gathers
    the program launches before the unit's first compute, and after that of the unit before it. The
    second gathers of a unit are one from the launch of the first of them on.

    Raises
    ------
    InvalidPlan
        When gathers and reduce-scatters do not say of which unit they are (``not_sharded``).
    """
    graph = problem.graph
    home = {graph.ops[i].id: b for b, members in enumerate(program.buckets) for i in members}
    groups: dict[int, list[Unit]] = {}
    for unit in units_of(graph):
        groups.setdefault(home[unit.gathers[0]], []).append(unit)
    units = tuple(map(join_units, groups.values()))
    first = [[home[each] for each in unit.gathers] for unit in units]
    again = [[home[each] for each in unit.regathers] for unit in units]
    forward = _lists(program, first, [_begins(problem, unit) for unit in units])
    backward = _lists(program, again, [_begins_again(problem, unit) for unit in units])
    return Prefetches(units, forward, backward)


def as_fsdp_runs(problem: ProgramProblem, prefetches: Prefetches) -> Program:
    """Write the program that FSDP2 makes of a model with these units.

    Compute runs in the order of the graph, as the model's code asks for it. Before the first
    compute that needs a unit its gather is launched, then those that it prefetches, then the host
    waits for its own; its reduce-scatters are one, launched when the last gradient of the unit is
    there. Other collectives go alone, as late as they are needed.

    References
    ----------
    .. [1] PyTorch 2.13, torch/distributed/fsdp/_fully_shard: ``_pre_forward`` and ``_pre_backward``
           of ``_fsdp_state.py``, ``post_backward`` of ``_fsdp_param_group.py``.
    """
    graph = problem.graph
    position = {op.id: i for i, op in enumerate(graph.ops)}
    units = prefetches.units
    sent = [ids for u in units for ids in (u.gathers, u.regathers, u.scatters) if ids]
    buckets = [tuple(sorted(position[each] for each in ids)) for ids in sent]
    mine = set(chain.from_iterable(buckets))
    buckets += [(i,) for i in graph.collectives if i not in mine]
    home = {graph.ops[i].id: b for b, members in enumerate(buckets) for i in members}
    before: dict[int, list[int]] = {}  # buckets to launch before the first compute of a unit
    for k, unit in enumerate(units):
        ahead = [unit.gathers, *(units[place].gathers for place in prefetches.forward[k])]
        back = [unit.regathers, *(units[place].regathers for place in prefetches.backward[k])]
        for begin, asked in (
            (_begins(problem, unit), ahead),
            (_begins_again(problem, unit), back),
        ):
            before.setdefault(begin, []).extend(home[ids[0]] for ids in asked if ids)
    ends: dict[int, list[int]] = {}  # reduce-scatters to launch after the last that they need
    place = {i: k for k, i in enumerate(graph.order)}
    for unit in units:
        b = home[unit.scatters[0]]
        needed = [j for i in buckets[b] for j in graph.preds[i]]
        ends.setdefault(max(needed, key=lambda j: place[j]), []).append(b)
    return in_order_of_demand(problem, tuple(buckets), _wanted(problem, before, ends))


def _wanted(
    problem: ProgramProblem, before: dict[int, list[int]], ends: dict[int, list[int]]
) -> Iterator[Item]:
    graph = problem.graph
    for i in graph.order:
        if graph.ops[i].kind == COMPUTE_KIND:
            yield from ((LAUNCH, b) for b in before.get(i, ()))
            yield (COMPUTE, i)
        yield from ((LAUNCH, b) for b in ends.get(i, ()))


def _begins(problem: ProgramProblem, unit: Unit) -> int:
    """Return the first compute, in the order of the graph, that waits for a unit's gathers."""
    graph, gathers = problem.graph, set(unit.gathers)
    waits = [i for i in graph.order if any(graph.ops[j].id in gathers for j in graph.preds[i])]
    return next(i for i in waits if graph.ops[i].kind == COMPUTE_KIND)


def _begins_again(problem: ProgramProblem, unit: Unit) -> int:
    """Return the first compute of a unit's backward pass, in the order of the graph."""
    own = set(unit.backward)
    return next(i for i in problem.graph.order if problem.graph.ops[i].id in own)


def _lists(
    program: Program, launches: Sequence[Sequence[int]], begins: Sequence[int]
) -> tuple[tuple[int, ...], ...]:
    """For each unit list those launched before it begins and after the one before it has begun."""
    owners: dict[int, list[int]] = {}
    for place, buckets in enumerate(launches):
        for b in dict.fromkeys(buckets):
            owners.setdefault(b, []).append(place)
    beginner = {i: place for place, i in enumerate(begins)}
    found: list[tuple[int, ...]] = [()] * len(launches)
    asked: dict[int, None] = {}
    fresh: list[int] = []
    for do, what in program.steps:
        if do == LAUNCH:
            fresh += [unit for unit in owners.get(what, ()) if unit not in asked]
            asked.update(dict.fromkeys(fresh))
        elif do == COMPUTE and what in beginner:
            found[beginner[what]] = tuple(unit for unit in fresh if unit != beginner[what])
            fresh = []
    return tuple(found)
