"""A problem of one compute stream in flat arrays."""

from array import array
from collections.abc import Iterable, Sequence

from solver.graph import COMPUTE
from solver.programs.problem import TO_WAIT, ProgramProblem, copies_of, lane_of, launch_time


class Flat:
    """Ops by position, collectives also by their number; lists of both end to end.

    The list of op i in ``xs`` is ``xs[xs_at[i]] .. xs[xs_at[i + 1] - 1]``.

    Attributes
    ----------
    ops, collectives, channels, lanes, buffers
        How many there are.
    number
        Of each op its number among the collectives, -1 for compute.
    position
        Of each collective its position in the graph.
    duration
        Of each op [us], 0 for a collective.
    lane, channel
        Of each collective.
    size
        Bytes of each collective.
    preds, succs
        Positions before and after each op.
    reads, writes
        The buffers that each op reads, and those that it writes.
    written
        Bytes that each op begins to hold when it starts.
    uses
        How often each buffer is read or written; so many more than there are for a kept one.
    held
        Bytes of each buffer.
    base
        Bytes of the inputs.
    load
        Time of all compute [us].
    is_held_to_wait
        Whether what a launch reads is held until its wait, else until its end.
    memory, most_under_way
        The limits [bytes]; 2^62 where there is none.
    """

    def __init__(self, problem: ProgramProblem) -> None:
        """Lay the problem out; O(ops + edges + buffers)."""
        graph = problem.graph
        self.problem = problem
        self.ops = len(graph.ops)
        self.collectives = len(graph.collectives)
        self.position = array("i", graph.collectives or (0,))
        self.number = array("i", [-1]) * self.ops
        for c, i in enumerate(graph.collectives):
            self.number[i] = c
        self.duration = array("d", graph.durations)
        self.load = sum(graph.durations)
        channels: dict[str, int] = {}
        lanes: dict[object, int] = {}
        own = [(graph.ops[i].channel, lane_of(graph, i)) for i in graph.collectives]
        self.channel = array("i", [channels.setdefault(c, len(channels)) for c, _ in own] or (0,))
        self.lane = array("i", [lanes.setdefault(lane, len(lanes)) for _, lane in own] or (0,))
        self.channels, self.lanes = len(channels), len(lanes)
        self.size = array("q", [graph.ops[i].bytes or 0 for i in graph.collectives] or (0,))
        self.preds_at, self.preds = _lists(graph.preds)
        self.succs_at, self.succs = _lists(graph.succs)
        self._lay_out_buffers()
        limits = problem.limits
        self.is_held_to_wait = problem.inputs_held == TO_WAIT
        self.memory = 1 << 62 if limits.memory_bytes is None else limits.memory_bytes
        most = limits.under_way_bytes
        self.most_under_way = 1 << 62 if most is None else most
        self._costs: dict[tuple[int, ...], tuple[float, float, float, int, int]] = {}

    def _lay_out_buffers(self) -> None:
        graph = self.problem.graph
        index = {op.id: i for i, op in enumerate(graph.ops)}
        reads: list[list[int]] = [[] for _ in graph.ops]
        writes: list[list[int]] = [[] for _ in graph.ops]
        self.buffers = len(graph.buffers)
        self.uses = array("i", [0]) * max(1, self.buffers)
        self.held = array("q", [0]) * max(1, self.buffers)
        self.written = array("q", [0]) * self.ops
        self.base = 0
        for b, buffer in enumerate(graph.buffers):
            self.held[b] = buffer.bytes
            writer = None if buffer.written_by is None else index[buffer.written_by]
            readers = sorted({index[name] for name in buffer.read_by})
            for i in readers:
                reads[i].append(b)
            self.uses[b] = len(readers)
            if writer is not None:
                writes[writer].append(b)
                self.written[writer] += buffer.bytes
                self.uses[b] += 1
            elif readers or buffer.kept:
                self.base += buffer.bytes
            if buffer.kept:
                self.uses[b] += 1 << 30
        self.reads_at, self.reads = _lists(reads)
        self.writes_at, self.writes = _lists(writes)

    def costs(self, members: Sequence[int]) -> tuple[float, float, float, int, int]:
        """Return launch, pack and unpack time [us], and packed and unpacked bytes of a bucket.

        ``members`` are numbers of collectives.
        """
        key = tuple(sorted(members))
        found = self._costs.get(key)
        if found is None:
            positions = [self.position[c] for c in key]
            copies = copies_of(self.problem, positions)
            found = (
                launch_time(self.problem, positions),
                copies.pack_us,
                copies.unpack_us,
                copies.packed_bytes,
                copies.unpacked_bytes,
            )
            self._costs[key] = found
        return found


def is_one_stream(problem: ProgramProblem) -> bool:
    """Tell whether all compute is on one stream, which the search needs."""
    streams = {op.stream for op in problem.graph.ops if op.kind == COMPUTE}
    return len(streams) == 1 and None not in streams


def _lists(rows: Iterable[Sequence[int]]) -> tuple["array[int]", "array[int]"]:
    """Lay lists out end to end: where each begins, and what is in them."""
    starts, flat = array("i", [0]), array("i")
    for row in rows:
        flat.extend(row)
        starts.append(len(flat))
    return starts, flat or array("i", [0])
