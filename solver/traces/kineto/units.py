"""The units of FSDP2 in a step, by the annotations that PyTorch writes around their launches.

``FSDP::all_gather (layers.0)`` and ``FSDP::post_backward_reduce (layers.0)`` name the module, and
``FSDP::all_gather_copy_out (layers.0)`` is around what waits for a gather; where there is no name
in brackets the unit is the model itself.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from solver.graph import ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER
from solver.traces.kineto.recording import CpuSpan, RankRecording, Wait, by_thread
from solver.traces.kineto.sized_collectives import SizedCollective
from solver.traces.spans import enclosing

_ANNOTATED = re.compile(r"FSDP::(all_gather|post_backward_reduce)(?: \((.*)\))?")
_WAITED = re.compile(r"FSDP::all_gather_copy_out(?: \((.*)\))?")
#: What the id of the n-th collective of a unit's kind begins with, as in
#: :func:`solver.models.parallel.fsdp`.
_ROLES = {
    ALL_GATHER: ("gather:", "regather:"),
    REDUCE_SCATTER: ("scatter:",),
    ALL_REDUCE: ("grad:",),
}


class UnitNames(NamedTuple):
    """What the collectives of a step are called by their units.

    Attributes
    ----------
    names
        Ids by the index of the collective; empty when the step is not of FSDP2, or its units are
        not gathered and reduced once.
    after
        For each all-reduce of a shard, by its id, that of the reduce-scatter that makes the shard.
    waits
        What waits for an all-gather, by the index of the all-gather.
    said
        Sentences for the report.
    """

    names: Mapping[int, str]
    after: Mapping[str, str]
    waits: Mapping[int, Wait]
    said: tuple[str, ...]


def unit_names(recording: RankRecording, collectives: Sequence[SizedCollective]) -> UnitNames:
    """Name the collectives of a step, given by start, by the units of FSDP2.

    Of the all-gathers of a unit the first is ``gather:UNIT``, the second, before its backward pass,
    ``regather:UNIT``; its reduce-scatter is ``scatter:UNIT`` and the all-reduce of its shard
    between nodes (HSDP) ``grad:UNIT``.

    Notes
    -----
    O(n log n) for n collectives and annotations.
    """
    spans = by_thread(s for s in recording.sharding if _ANNOTATED.fullmatch(s.event.name or ""))
    found: dict[str, dict[str, list[int]]] = {}
    for i in sorted(range(len(collectives)), key=lambda i: collectives[i].recorded.work.launched):
        one = collectives[i]
        unit = _unit(spans, one)
        if unit is not None:
            found.setdefault(unit, {}).setdefault(one.kind, []).append(i)
    if not found:
        return UnitNames({}, {}, {}, ())
    if wrong := list(_unlike_units(found)):
        more = f", and {len(wrong) - 1} units more" if len(wrong) > 1 else ""
        said = (
            f"The collectives of FSDP2 keep their numbers: {wrong[0]}{more}. Record a step of one "
            "batch to have them named by unit."
        )
        return UnitNames({}, {}, {}, (said,))
    names = {
        i: f"{role}{unit}"
        for unit, kinds in found.items()
        for kind, members in kinds.items()
        for role, i in zip(_ROLES[kind], members, strict=False)
    }
    after = {f"grad:{unit}": f"scatter:{unit}" for unit, kinds in found.items()}
    count = "1 unit" if len(found) == 1 else f"{len(found)} units"
    said = f"The collectives of {count} of FSDP2 are named by PyTorch's annotations."
    launched = {i: collectives[i].recorded.work.launched for i in names}
    gathers = {unit: kinds[ALL_GATHER] for unit, kinds in found.items()}
    waits = dict(_waits(recording.sharding, gathers, launched))
    return UnitNames(names, after, waits, (said,))


def _unit(spans: Mapping[str, Sequence[CpuSpan]], one: SizedCollective) -> str | None:
    """Return the unit of a collective, empty for the model itself; None when it is of none."""
    work = one.recorded.work
    span = enclosing(spans.get(work.thread, ()), work.launched)
    about = _ANNOTATED.fullmatch(span.event.name or "") if span else None
    if about is None or one.kind not in _ROLES:
        return None
    return about[2] or "" if (about[1] == "all_gather") == (one.kind == ALL_GATHER) else None


def _waits(
    spans: Sequence[CpuSpan], gathers: Mapping[str, Sequence[int]], launched: Mapping[int, float]
) -> Iterator[tuple[int, Wait]]:
    """Find the first annotation of waiting after each launch of a unit's gathers."""
    copied: dict[str, list[CpuSpan]] = {}
    for span in spans:
        if about := _WAITED.fullmatch(span.event.name or ""):
            copied.setdefault(about[1] or "", []).append(span)
    for unit, members in gathers.items():
        of_unit = copied.get(unit, [])
        for i in members:
            place = bisect_left(of_unit, launched[i], key=attrgetter("start"))
            if place < len(of_unit):
                yield i, Wait(of_unit[place].start, of_unit[place].thread)


def _unlike_units(found: Mapping[str, Mapping[str, Sequence[int]]]) -> Iterator[str]:
    """Say of the units that are not gathered once or twice and reduced once what they are."""
    for unit, kinds in found.items():
        counts = {kind: len(kinds.get(kind, ())) for kind in _ROLES}
        least = {ALL_GATHER: 1, REDUCE_SCATTER: 1, ALL_REDUCE: 0}
        if any(not least[kind] <= n <= len(_ROLES[kind]) for kind, n in counts.items()):
            many = ", ".join(f"{n} {kind}" for kind, n in counts.items())
            yield f"{unit or 'the model itself'} has {many} in the step"
