"""The units of a graph of fully sharded data parallelism, and the iteration as FSDP2 runs them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from solver.codes import FaultCode
from solver.errors import Fault, InvalidGraph, InvalidPlan
from solver.graph import ALL_GATHER, ALL_REDUCE, COMPUTE, REDUCE_SCATTER, Graph, Op, build
from solver.graph.names import GATHER, SCATTER, UNIT_KINDS
from solver.sharded.host import host_ops
from solver.simulation.contention import without_idle_slowdowns


@dataclass(frozen=True, slots=True)
class Unit:
    """What is gathered and reduced together, by the ids of its ops.

    Attributes
    ----------
    names
        Of its modules.
    gathers, regathers, scatters, sums
        Its collectives: before the forward pass, before the backward pass (none of a unit that is
        kept in between), after it, and the all-reduces of its shards between nodes.
    forward, backward, ends
        Compute ops: those that end the forward pass, those that wait for the second gather, and
        those that release the gradients.
    """

    names: tuple[str, ...]
    gathers: tuple[str, ...]
    regathers: tuple[str, ...]
    scatters: tuple[str, ...]
    sums: tuple[str, ...]
    forward: tuple[str, ...]
    backward: tuple[str, ...]
    ends: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """What FSDP2 is told.

    Attributes
    ----------
    units
        In the order of the forward pass.
    ahead, back
        How many units each one asks for before its forward and before its backward pass.
    """

    units: tuple[Unit, ...]
    ahead: int
    back: int

    def reshards(self) -> list[bool]:
        """Tell which units are freed after their forward pass; the last one's backward is next."""
        last = len(self.units) - 1
        return [bool(unit.regathers) and k < last for k, unit in enumerate(self.units)]

    def forward_prefetch(self) -> list[list[int]]:
        """List the units that each one asks for before its forward pass."""
        count = len(self.units)
        return [list(range(k + 1, min(k + self.ahead + 1, count))) for k in range(count)]

    def backward_prefetch(self) -> list[list[int]]:
        """List the freed units that each one asks for before its backward pass."""
        reshards = self.reshards()
        return [
            [j for j in reversed(range(k)) if reshards[j]][: self.back]
            for k in range(len(self.units))
        ]


def units_of(graph: Graph) -> tuple[Unit, ...]:
    """Find the units of a graph, in the order of their forward ops.

    Raises
    ------
    InvalidPlan
        When gathers and reduce-scatters are not those of units (``not_sharded``).
    """
    names: dict[str, dict[str, int]] = {prefix: {} for prefix in UNIT_KINDS}
    strangers = []
    for i in graph.collectives:
        op = graph.ops[i]
        fits = [p for p, kind in UNIT_KINDS.items() if op.id.startswith(p) and op.kind == kind]
        if fits:
            names[fits[0]][op.id.removeprefix(fits[0])] = i
        elif op.kind in {ALL_GATHER, REDUCE_SCATTER}:
            strangers.append(op.id)
    gathers, regathers, scatters = names.values()
    faults = [*_stranger_faults(strangers), *_unit_faults(graph, names)]
    if not any(names.values()) and not strangers:
        faults.append(_fault("The graph has no all-gather or reduce-scatter: this is no FSDP."))
    if faults:
        raise InvalidPlan(faults)
    place = {i: k for k, i in enumerate(graph.order)}
    first = {
        name: min(_computes(graph, graph.succs[i]), key=lambda op: place[op])
        for name, i in gathers.items()
    }
    order = sorted(gathers, key=lambda name: place[first[name]])
    result = []
    for name, after in zip(order, [*order[1:], None], strict=True):
        forward = _computes(graph, graph.succs[gathers[name]])
        if after is not None:  # of a trace the pass of a unit may be several ops
            ends = _computes(graph, graph.preds[first[after]])
            later = [i for i in ends if place[i] >= place[first[name]]]
            forward = later or forward
        sent = gathers[name], regathers.get(name), scatters[name]
        result.append(_unit(graph, name, *sent, forward))
    return tuple(result)


def join_units(units: Sequence[Unit]) -> Unit:
    """Make one unit of several."""
    columns = {
        field: tuple(dict.fromkeys(each for unit in units for each in getattr(unit, field)))
        for field in Unit.__slots__
    }
    if len(units) > 1:
        columns["forward"] = units[-1].forward  # frees them
    return Unit(**columns)


def graph_of_form(graph: Graph, form: Form) -> Graph:
    """Build the iteration as FSDP2 runs it on streams of a GPU.

    The host runs ahead, so it decides what is asked for in which order; events decide when it
    starts. Gathers run one after another, and so do reduce-scatters. A gather waits for the event
    that its stream was last told to wait for: in the forward pass the copy-out of the unit before
    the one that asks, in the backward pass the copy-out of the one that asks; for a second gather
    also for its own unit's freeing. Copy-outs run between the compute ops, so they end when the
    gather has ended and the unit before has run. The backward pass of a unit waits for the
    reduce-scatter of the second unit before it, whose input it holds. Of a recorded step a gather
    also waits for what the host did before it launched it.

    Parameters
    ----------
    graph
        What was planned.
    form
        What FSDP2 is told of it.

    Raises
    ------
    InvalidPlan
        When the graph cannot run so (``not_sharded``), as one that begins with its backward pass.

    References
    ----------
    .. [1] PyTorch 2.13, torch/distributed/fsdp/_fully_shard: ``_pre_forward`` and ``_pre_backward``
           of ``_fsdp_state.py``, ``wait_for_unshard`` and ``post_backward`` of
           ``_fsdp_param_group.py``.
    """
    head: dict[str, str] = {}
    dropped: set[str] = set()
    sizes = {op.id: op.bytes or 0 for op in graph.ops}
    total: dict[str, int] = {}
    more: dict[str, tuple[str, ...]] = dict(_gathers(form))
    for unit, reshard in zip(form.units, form.reshards(), strict=True):
        for members in (unit.gathers, unit.scatters, unit.sums):
            head |= dict.fromkeys(members, members[0] if members else "")
            total |= {members[0]: sum(sizes[each] for each in members)} if members else {}
        if not reshard:
            dropped |= set(unit.regathers)
            continue
        again = unit.regathers[0]
        head |= dict.fromkeys(unit.regathers, again)
        total[again] = sum(sizes[each] for each in unit.gathers)
        more |= dict.fromkeys(unit.backward, (again,))
    for later, earlier in pairwise(form.units):
        for mine, before in ((later.scatters, earlier.scatters), (later.sums, earlier.sums)):
            more |= {mine[0]: (before[0],)} if mine and before else {}
    for unit, second in zip(form.units, form.units[2:], strict=False):
        more |= {op: (*more.get(op, ()), second.scatters[0]) for op in unit.backward}
    asked = {each for unit in form.units for each in (*unit.gathers, *unit.regathers)}
    hosts = host_ops(graph)
    joined: dict[str, list[str]] = {}
    for op in graph.ops:
        before = tuple(each for each in op.after if each in hosts or op.id not in asked)
        joined.setdefault(head.get(op.id, op.id), []).extend(before)
    ops = []
    for op in graph.ops:
        if op.id in dropped or head.get(op.id, op.id) != op.id:
            continue
        waits = (head.get(each, each) for each in (*joined[op.id], *more.get(op.id, ())))
        after = tuple(dict.fromkeys(each for each in waits if each not in dropped))
        ops.append(op._replace(after=after, bytes=total.get(op.id, op.bytes)))
    return linked(graph.name, ops)


def linked(name: str, ops: Sequence[Op]) -> Graph:
    """Link ops that FSDP2 runs; refuse what it cannot run (``not_sharded``)."""
    try:
        return build(name, without_idle_slowdowns(ops))
    except InvalidGraph:  # what waits for a gather is over before FSDP2 would ask for it
        detail = (
            "The graph is no iteration of FSDP2: its forward pass must come before its backward "
            "pass, and each unit's ops wait for its own gathers."
        )
        raise InvalidPlan([_fault(detail)]) from None


def _gathers(form: Form) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Go through the iteration as the host does: each gather, and what it waits for."""
    units, reshards = form.units, form.reshards()
    asked: set[str] = set()
    last: tuple[str, ...] = ()
    event: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    for k, (unit, ahead) in enumerate(zip(units, form.forward_prefetch(), strict=True)):
        for place, other in ((k, unit), *((j, units[j]) for j in ahead)):
            if other.gathers[0] not in asked:
                asked.add(other.gathers[0])
                yield other.gathers[0], (*event, *last)
                last = (other.gathers[0],)
            if place == k:
                event = copied
                copied = (unit.gathers[0], *(units[k - 1].forward if k else ()))
    event = copied
    back = form.backward_prefetch()
    for k in reversed(range(len(units))):
        for j in (k, *back[k]):
            if not reshards[j]:
                continue
            again = units[j].regathers[0]
            if again not in asked:
                asked.add(again)
                yield again, (*event, *units[j].forward, *last)
                last = (again,)
            if j == k:
                event = (again, *units[k + 1].ends)


def _stranger_faults(strangers: Sequence[str]) -> Iterator[Fault]:
    if strangers:
        yield _fault(
            f"{len(strangers)} all-gathers and reduce-scatters do not say of which module they "
            f"are, the first is {strangers[0]!r}: ids must be gather:NAME, regather:NAME and "
            "scatter:NAME. A trace has them of fully_shard (FSDP2), of a step of one batch; "
            "FullyShardedDataParallel (FSDP1) and ZeRO do not write which unit they send."
        )


def _unit_faults(graph: Graph, names: Mapping[str, Mapping[str, int]]) -> Iterator[Fault]:
    """List what units lack: a gather before compute, a reduce-scatter after some."""
    for name in dict.fromkeys(each for known in names.values() for each in known):
        for prefix, near in ((GATHER, graph.succs), (SCATTER, graph.preds)):
            if name not in names[prefix]:
                yield _fault(f"Unit {name!r} has no {prefix}{name}.")
            elif not _computes(graph, near[names[prefix][name]]):
                yield _fault(f"{prefix}{name} has no compute op beside it.")


def _unit(
    graph: Graph,
    name: str,
    gather: int,
    regather: int | None,
    scatter: int,
    forward: Sequence[int],
) -> Unit:
    """Collect the ops of a unit by their edges, given those that end its forward pass.

    PyTorch calls a unit of several modules by all their paths, with commas between them.
    """
    ends = _computes(graph, graph.preds[scatter])
    backward = ends if regather is None else _computes(graph, graph.succs[regather]) or ends
    sums = [i for i in graph.succs[scatter] if graph.ops[i].kind == ALL_REDUCE]

    def ids(places: Sequence[int]) -> tuple[str, ...]:
        return tuple(graph.ops[i].id for i in places)

    return Unit(
        names=tuple(name.split(", ")),
        gathers=ids([gather]),
        regathers=ids([] if regather is None else [regather]),
        scatters=ids([scatter]),
        sums=ids(sums),
        forward=ids(forward),
        backward=ids(backward),
        ends=ids(ends),
    )


def _computes(graph: Graph, places: Sequence[int]) -> list[int]:
    return [i for i in places if graph.ops[i].kind == COMPUTE]


def _fault(detail: str) -> Fault:
    return Fault("/graph/ops", FaultCode.NOT_SHARDED, detail)
