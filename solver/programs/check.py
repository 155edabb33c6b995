"""Whether a program is one of a graph: every step once, in an order that the graph allows."""

from collections.abc import Iterable, Iterator

from solver.codes import FaultCode
from solver.errors import Fault
from solver.graph import COMPUTE as COMPUTE_KIND
from solver.programs.execute import ProgramRun, bucket_id
from solver.programs.problem import TO_WAIT, ProgramProblem, is_fusable
from solver.programs.program import COMPUTE, LAUNCH, PACK, UNPACK, WAIT, Program


def program_faults(problem: ProgramProblem, program: Program) -> Iterator[Fault]:
    """List what is wrong with a program, at ``/buckets`` and ``/program``.

    Each collective is in one bucket, of one lane and not above the limit; each op is asked for
    once; of a bucket the steps are pack, launch, wait, unpack, with copies exactly where it has
    several members; what an op or a launch comes after was asked for before it, waited for and
    unpacked; not more bytes are under way than allowed, but for a bucket alone. O(steps + edges).
    """
    buckets = list(_bucket_faults(problem, program))
    yield from buckets
    if not buckets:
        yield from _HostChecks(problem, program).faults()


def _bucket_faults(problem: ProgramProblem, program: Program) -> Iterator[Fault]:
    """List what is wrong with the buckets."""
    collectives = set(problem.graph.collectives)
    seen: set[int] = set()
    for b, members in enumerate(program.buckets):
        if not members or not collectives.issuperset(members) or seen.intersection(members):
            detail = f"Bucket {bucket_id(b)!r}: members must be collectives, each in one bucket."
            yield Fault(f"/buckets/{b}", FaultCode.UNKNOWN_OP, detail)
        elif not is_fusable(problem, members):
            detail = f"Bucket {bucket_id(b)!r}: its members may not be sent as one."
            yield Fault(f"/buckets/{b}", FaultCode.MIXED_BUCKET, detail)
        seen.update(members)
    if left := len(collectives - seen):
        detail = f"{left} collectives are in no bucket."
        yield Fault("/buckets", FaultCode.MISSING_FIELD, detail)


class _HostChecks:
    """What the host has asked for so far."""

    def __init__(self, problem: ProgramProblem, program: Program) -> None:
        self.graph, self.program = problem.graph, program
        self.most = problem.limits.under_way_bytes
        self.done: set[int] = set()
        self.last: dict[int, str] = {}
        self.under_way: dict[int, int] = {}

    def faults(self) -> Iterator[Fault]:
        """List what is wrong with the steps."""
        for at, (do, what) in enumerate(self.program.steps):
            for detail in self._compute(what) if do == COMPUTE else self._communicate(do, what):
                yield Fault(f"/program/{at}", FaultCode.INFEASIBLE, detail)
        if left := len(self.graph.ops) - len(self.done):
            detail = f"{left} ops are not asked for, or not waited for."
            yield Fault("/program", FaultCode.MISSING_FIELD, detail)

    def _compute(self, i: int) -> Iterator[str]:
        if i in self.done or self.graph.ops[i].kind != COMPUTE_KIND:
            yield f"Op {self.graph.ops[i].id!r} is no compute op, or asked for twice."
        yield from self._needs((i,))
        self.done.add(i)

    def _communicate(self, do: str, b: int) -> Iterator[str]:
        members = self.program.buckets[b]
        steps = [PACK, LAUNCH, WAIT, UNPACK] if len(members) > 1 else [LAUNCH, WAIT]
        before = dict(zip(steps, [None, *steps], strict=False))
        if do not in before or before[do] != self.last.get(b):
            yield f"{do} of bucket {bucket_id(b)!r} is out of order."
        self.last[b] = do
        if do in {PACK, LAUNCH}:
            yield from self._needs(members)
        if do == LAUNCH:
            self.under_way[b] = sum(self.graph.ops[i].bytes or 0 for i in members)
            found = sum(self.under_way.values())
            if self.most is not None and len(self.under_way) > 1 and found > self.most:
                yield f"{found} bytes are under way, {self.most} may be."
        if do == WAIT:
            self.under_way.pop(b, None)
        if do == steps[-1]:
            self.done.update(members)

    def _needs(self, members: Iterable[int]) -> Iterator[str]:
        """Name what members come after and was not asked for, or not waited for."""
        for i in members:
            for j in self.graph.preds[i]:
                if j not in self.done:
                    yield f"{self.graph.ops[i].id!r} comes after {self.graph.ops[j].id!r}."


def memory_faults(problem: ProgramProblem, run: ProgramRun) -> Iterator[Fault]:
    """Say where a run takes more memory than allowed."""
    most = problem.limits.memory_bytes
    if most is not None and run.peak_bytes > most:
        held = "waits" if problem.inputs_held == TO_WAIT else "ends"
        detail = (
            f"The program takes {run.peak_bytes} bytes at {run.peak_us:.3f} us, {most} may be; "
            f"what launches read is held to their {held}."
        )
        yield Fault("/program", FaultCode.OUT_OF_RANGE, detail)
