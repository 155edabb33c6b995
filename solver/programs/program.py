"""A program: what one rank's host asks for, in order."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from solver.programs.problem import ProgramProblem

COMPUTE: Final = "compute"


LAUNCH: Final = "launch"


WAIT: Final = "wait"


PACK: Final = "pack"


UNPACK: Final = "unpack"


#: What a host asks for.
Do = Literal["compute", "pack", "launch", "wait", "unpack"]


class HostStep(NamedTuple):
    """One thing that the host asks for.

    Attributes
    ----------
    do
        ``compute``, ``pack``, ``launch``, ``wait`` or ``unpack``.
    id
        An op's position for ``compute``, else a bucket's place in :attr:`Program.buckets`.
    """

    do: Do
    id: int


@dataclass(frozen=True, slots=True)
class Program:
    """Buckets, and the host's order.

    Attributes
    ----------
    buckets
        Positions of the collectives of each bucket, ascending.
    steps
        Each op of compute once, each bucket launched once and waited for once, and packed before
        and unpacked after when it has several members.
    """

    buckets: tuple[tuple[int, ...], ...]
    steps: tuple[HostStep, ...]


def with_waits(
    problem: ProgramProblem, buckets: Iterable[Iterable[int]], order: Iterable[tuple[str, int]]
) -> Program:
    """Complete an order of compute and launches to a program.

    Each bucket is packed right before its launch, and waited for and unpacked right before the
    first that needs one of its members, or at the end; where a launch would bring more bytes under
    way than allowed, those launched first are waited for before it.

    Parameters
    ----------
    order
        (``compute``, position) and (``launch``, place in ``buckets``), in the order of the host;
        what a launch needs comes before it. A (``wait``, place) waits there already.

    Notes
    -----
    O(items + edges).
    """
    host = _HostSteps(problem, tuple(tuple(sorted(members)) for members in buckets))
    for do, what in order:
        if do == WAIT:
            host.finish(what)
        elif do == COMPUTE:
            host.wait_for((what,))
            host.steps.append(HostStep(COMPUTE, what))
        else:
            host.launch(what)
    for b in tuple(host.under_way):
        host.finish(b)
    return Program(host.buckets, tuple(host.steps))


class _HostSteps:
    """The steps asked for, and the buckets under way, in the order of their launches."""

    def __init__(self, problem: ProgramProblem, buckets: tuple[tuple[int, ...], ...]) -> None:
        ops = problem.graph.ops
        self.preds, self.buckets = problem.graph.preds, buckets
        self.sizes = [sum(ops[i].bytes or 0 for i in members) for members in buckets]
        self.bucket_of = {i: b for b, members in enumerate(buckets) for i in members}
        self.most = problem.limits.under_way_bytes
        self.under_way: dict[int, None] = {}
        self.bytes = 0
        self.steps: list[HostStep] = []

    def finish(self, b: int) -> None:
        """Wait for a bucket and unpack it, unless that was done."""
        if b in self.under_way:
            del self.under_way[b]
            self.bytes -= self.sizes[b]
            self.steps.append(HostStep(WAIT, b))
            if len(self.buckets[b]) > 1:
                self.steps.append(HostStep(UNPACK, b))

    def wait_for(self, members: tuple[int, ...]) -> None:
        """Wait for all that ops come after."""
        for i in members:
            for j in self.preds[i]:
                if j in self.bucket_of:
                    self.finish(self.bucket_of[j])

    def launch(self, b: int) -> None:
        """Pack a bucket and launch it, once no more is under way than may be."""
        self.wait_for(self.buckets[b])
        while self.most is not None and self.under_way and self.bytes + self.sizes[b] > self.most:
            self.finish(next(iter(self.under_way)))
        self.under_way[b] = None
        self.bytes += self.sizes[b]
        if len(self.buckets[b]) > 1:
            self.steps.append(HostStep(PACK, b))
        self.steps.append(HostStep(LAUNCH, b))
