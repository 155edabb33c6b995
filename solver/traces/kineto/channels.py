"""Which channel a collective takes: that of its process group, else of its stream."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from solver.graph import NETWORK
from solver.traces.kineto.groups import ProcessGroup, group_in, plain, pools, titles
from solver.traces.kineto.payload_sizes import bytes_of, is_sized, kind_of, workers_of
from solver.traces.kineto.recording import DeviceWork, RankRecording, RecordedCollective
from solver.traces.kineto.sized_collectives import WORLD
from solver.traces.kineto.steps import ProfiledStep
from solver.traces.trace import TraceChannel
from solver.wording import larger_than_the_job


@dataclass(frozen=True, slots=True)
class _Key:
    """What tells channels apart: a name, and the group it is from."""

    name: str
    group: ProcessGroup | None
    source: str


def name_channels(
    recording: RankRecording, steps: Sequence[ProfiledStep]
) -> dict[str, TraceChannel]:
    """Give the collectives of all steps their channels, in place of their streams.

    The only channel is the network; where the recording lists no groups, a channel has the
    world's ranks. A collective whose size nothing tells is on the channel of its stream, where
    others of the stream have one, and else makes none. Returns the channels by name.

    Notes
    -----
    O(collectives log collectives).
    """
    collectives = [collective for step in steps for collective in step.collectives]
    has_size = [is_sized(collective) for collective in collectives]
    keys = _as_beside(_keys(recording, collectives), collectives, has_size)
    of_sized = {key.name for key, is_one in zip(keys, has_size, strict=True) if is_one}
    names = of_sized or {key.name for key in keys}
    result: dict[str, TraceChannel] = {}
    at = 0
    for step in steps:
        for i, collective in enumerate(step.collectives):
            key = keys[at]
            at += 1
            name = NETWORK if names == {key.name} else key.name
            work = DeviceWork(*collective.work[:-1], name)
            step.collectives[i] = RecordedCollective(work, *collective[1:])
            workers = key.group.workers if key.group else None
            workers = workers or workers_of(collective, kind_of(collective)[0])
            known = result.get(name)
            if key.name not in names:
                continue
            if known is None or (known.workers is None and workers):
                result[name] = TraceChannel(name, workers, key.source)
    if recording.workers and (len(result) == 1 or not recording.groups):
        for name, channel in result.items():
            if channel.workers is None:
                source = WORLD if len(result) == 1 else f"{channel.source}; {WORLD}"
                result[name] = TraceChannel(name, recording.workers, source)
    return result


def _keys(recording: RankRecording, collectives: Sequence[RecordedCollective]) -> list[_Key]:
    written = [written_group(collective) for collective in collectives]
    groups = {group.name: group for group in recording.groups}
    for group in written:
        if group is not None:
            groups.setdefault(group.name, group)
    title = titles(list(groups.values()))
    inferred: dict[str, ProcessGroup] | None = None
    if not recording.is_gpu:
        inferred = pools(*_threads(collectives), recording.groups)
    result = []
    known: dict[tuple[str, int | None], _Key] = {}
    for collective, group in zip(collectives, written, strict=True):
        stream = collective.work.stream
        if group is not None:
            who = group.name, group.workers
            if who not in known:
                listed = groups[group.name]
                whole = replace(listed, workers=group.workers or listed.workers)
                known[who] = _Key(title[group.name], whole, f"process group {_said(whole)}")
            result.append(known[who])
        elif _is_only(recording.groups, collective) or (inferred and stream in inferred):
            inside = inferred[stream] if inferred else recording.groups[0]
            how = "" if len(recording.groups) == 1 else ", told by gloo's threads"
            result.append(_Key(title[inside.name], inside, f"process group {_said(inside)}{how}"))
        elif collective.family is not None:
            family = collective.family
            result.append(_Key(family.channel, None, f"kernels of {family.name}"))
        elif not recording.is_gpu:
            result.append(_Key(NETWORK, None, "all threads of the library: no group is written"))
        else:
            result.append(_Key(stream, None, "the stream: no group is written"))
    return _apart(result, collectives)


def _as_beside(
    keys: Sequence[_Key], collectives: Sequence[RecordedCollective], has_size: Sequence[bool]
) -> list[_Key]:
    """Give what has neither a size nor a group the key of the others on its stream."""
    rows = list(zip(keys, collectives, has_size, strict=True))
    of_stream = {one.work.stream: key for key, one, is_one in reversed(rows) if is_one}
    return [
        key if is_one or key.group else of_stream.get(one.work.stream, key)
        for key, one, is_one in rows
    ]


def _is_only(groups: Sequence[ProcessGroup], collective: RecordedCollective) -> bool:
    """Tell whether a collective of no written group is of the only one that there is."""
    workers = workers_of(collective, kind_of(collective)[0])
    return len(groups) == 1 and workers in {None, groups[0].workers or workers}


def _apart(keys: Sequence[_Key], collectives: Sequence[RecordedCollective]) -> list[_Key]:
    """Tell apart the channels of no written group by their workers, where those differ."""
    workers = [
        None if key.group else workers_of(collective, kind_of(collective)[0])
        for key, collective in zip(keys, collectives, strict=True)
    ]
    sizes: dict[str, set[int]] = {}
    for key, count in zip(keys, workers, strict=True):
        sizes.setdefault(key.name, set()).update([count] if count else [])
    return [
        replace(key, name=f"{key.name} of {count}", source=f"{key.source}, only its size")
        if count and len(sizes[key.name]) > 1
        else key
        for key, count in zip(keys, workers, strict=True)
    ]


def group_sizes_said(recording: RankRecording, steps: Sequence[ProfiledStep]) -> list[str]:
    """Say which groups have other sizes beside their collectives than in the trace's list.

    And which are larger than their job, whichever of the two is wrong.
    """
    listed = {group.name: group for group in recording.groups if group.workers}
    said = [
        f"Process group {_said(listed[group.name])} has {listed[group.name].workers} ranks in the "
        f"trace's list, {group.workers} beside its collectives: the latter is taken."
        for step in steps
        for collective in step.collectives
        if (group := written_group(collective))
        and group.name in listed
        and group.workers not in {None, listed[group.name].workers}
    ]
    beside = [group for step in steps for one in step.collectives if (group := written_group(one))]
    sizes = [(_said(g), g.workers) for g in (*recording.groups, *beside) if g.workers]
    said += larger_than_the_job(sizes, recording.workers)
    return list(dict.fromkeys(said))


def written_group(collective: RecordedCollective) -> ProcessGroup | None:
    """Return the group that is written on the kernel or on PyTorch's record."""
    events = (collective.kernel, collective.record)
    return next((g for event in events if event and (g := group_in(event.args))), None)


def _said(group: ProcessGroup) -> str:
    name = plain(group.name)
    return f"{name} ({plain(group.description)})" if group.description else name


def _threads(
    collectives: Sequence[RecordedCollective],
) -> tuple[dict[str, frozenset[tuple[str, int]]], dict[str, int]]:
    """Return for each thread kinds and bytes of its collectives, and their workers if known."""
    sent: dict[str, set[tuple[str, int]]] = {}
    sizes: dict[str, int] = {}
    for collective in collectives:
        kind, thread = kind_of(collective)[0], collective.work.stream
        sent.setdefault(thread, set()).add((kind, bytes_of(collective, kind, 1) or 0))
        if workers := workers_of(collective, kind):
            sizes[thread] = workers
    return {thread: frozenset(some) for thread, some in sent.items()}, sizes
