"""Collectives whose bytes no file tells: communication that keeps the time that it took.

A launch without bytes has no cost that could be fitted, no bytes that could be cut, and nothing
that it could be sent with. In the graph it is an op of its recorded time beside the compute, that
nothing slows down, at its place among the launches of its channel: it begins when those before it
have ended, and those after it wait for it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from solver.graph import COMPUTE, Op
from solver.traces.sentences import counted

#: Launches that overlap by less follow one another [us].
_SLACK = 0.01
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class UnsizedLaunches:
    """Launches of one name in the step that was read, of bytes that nobody knows.

    Attributes
    ----------
    name
        Of the kernel or op.
    kind
        Of the collective, as far as its name tells.
    launches
        How many.
    time_us
        How long they took in all [us].
    """

    name: str
    kind: str
    launches: int
    time_us: float


class ChannelLaunch(NamedTuple):
    """A launch as it was recorded: its op, its channel, and when it ran [us]."""

    op: str
    channel: str
    start: float
    end: float
    is_sized: bool


def unsized_op(name: str, took: float, after: Sequence[str], channel: str) -> Op:
    """Return the op of a launch without bytes that took so long [us]."""
    stream = f"{channel}: unknown bytes"
    return Op(name, COMPUTE, round(took, 3), None, tuple(after), stream=stream, slowdown=())


def total_unsized(launches: Iterable[tuple[str, str, float]]) -> tuple[UnsizedLaunches, ...]:
    """Count launches without bytes, each with its name, its kind and its time [us], by name."""
    found: dict[tuple[str, str], list[float]] = {}
    for name, kind, took in launches:
        found.setdefault((name, kind), []).append(took)
    return tuple(
        UnsizedLaunches(name, kind, len(times), round(sum(times), 3))
        for (name, kind), times in sorted(found.items())
    )


def unsized_said(found: Iterable[UnsizedLaunches]) -> Iterator[str]:
    """Say of each name what it is taken for."""
    for each in found:
        name = each.name if len(each.name) <= _SHOWN else f"{each.name[:_SHOWN]}..."
        yield (
            f"{counted(each.launches, 'launch', f'{each.launches:,} launches')} of {name} in this "
            f"step, {each.time_us:.3f} us: communication ({each.kind}) of unknown bytes. It keeps "
            "its recorded time whatever the cluster, and is not fitted, fused or cut."
        )


def in_channel_order(ops: Sequence[Op], launches: Iterable[ChannelLaunch]) -> list[Op]:
    """Return ops of which those without bytes keep their place on their channel.

    Parameters
    ----------
    ops
        Of the graph.
    launches
        Of the step, in the order in which they run in the graph. What overlapped in the recording
        does not wait for one another, but those without bytes stay in this order.

    Notes
    -----
    O(ops + launches).
    """
    after: dict[str, list[str]] = {}
    since: dict[str, list[ChannelLaunch]] = {}
    unsized: dict[str, list[str]] = {}
    for launch in launches:
        before = since.setdefault(launch.channel, [])
        held = [one for one in before[:1] if not one.is_sized] if launch.is_sized else before
        after[launch.op] = [one.op for one in held if one.end <= launch.start + _SLACK]
        if not launch.is_sized:
            before.clear()
            unsized.setdefault(launch.channel, []).append(launch.op)
        before.append(launch)
    own = {op.id: op for op in ops}
    place_of = {name: channel for channel, names in unsized.items() for name in names}
    in_order = {channel: iter(names) for channel, names in unsized.items()}
    rows = [own[next(in_order[place_of[op.id]])] if op.id in place_of else op for op in ops]
    return [_with_after(op, after.get(op.id, ())) for op in rows]


def _with_after(op: Op, more: Iterable[str]) -> Op:
    """Return an op that comes after others too; the same where nothing is new."""
    whole = tuple(dict.fromkeys((*op.after, *more)))
    return op if whole == op.after else op._replace(after=whole)
