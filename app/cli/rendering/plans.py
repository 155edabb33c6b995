"""A plan for a reader: times, what limits them, buckets, proof."""

from collections import Counter
from collections.abc import Iterator

from app.cli.rendering.clusters import channels, cost, place
from app.cli.rendering.doubts import believed, off_calibration, robust
from app.cli.rendering.explanations import cuts, limits, recorded, rests_on, warnings
from app.cli.rendering.figures import counted, percent
from app.cli.rendering.first_screen import first_screen
from app.cli.rendering.headlines import headline
from app.cli.rendering.page import Line, page
from app.cli.rendering.policies import titled
from app.cli.rendering.programs import program
from app.cli.rendering.proofs import proven
from app.cli.rendering.reports import source
from app.cli.rendering.tables import shortened, table, time, times
from app.schemas.plans import BaselineOut, BoundOut, PlanAnswer, TraceAnswer
from solver.bounds.kinds import reason
from solver.evidence.gap import gap_remark
from solver.graph import ALL_REDUCE, NETWORK
from solver.planning.waits import bucket_waits
from solver.policies.choice import WHERE_NOT
from solver.wording import ms

#: How many buckets are listed.
_LISTED = 12


def render(answer: PlanAnswer, name: str, *, cut_short: bool = False) -> str:
    """Write a plan as a page of text, and what a reader of traces dropped and assumed.

    ``cut_short`` tells a plan that was interrupted before it was explained.
    """
    if answer.program is not None:
        return program(answer, name)
    report = answer.report if isinstance(answer, TraceAnswer) else None
    return page(
        cuts(answer.warnings),
        first_screen(answer.brief, answer.critical_path),
        _head(answer, name),
        [*headline(answer.headline), *rests_on(answer.evidence)],
        _times(answer),
        off_calibration(answer.off_calibration),
        robust(answer.robust),
        ["Interrupted: the best plan so far, not explained"] if cut_short else limits(answer),
        _buckets(answer),
        source(report),
        warnings(answer.warnings),
    )


def _head(answer: PlanAnswer, name: str) -> Iterator[str]:
    cluster, options = answer.request.cluster, answer.request.options
    used = {bucket.channel for bucket in answer.buckets}
    yield place(name, cluster, used)
    solved = f", {'slots by' if options.fusion == 'joint' else 'schedule'} {options.schedule}"
    yield (
        f"{f'{cost(cluster)}; ' if NETWORK in used else ''}fusion {options.fusion}"
        f"{solved if answer.schedule.slots else ''}"
        f"{', with a barrier' if options.barrier else ''}"
    )
    if answer.request.believed is not None:
        yield believed(answer.request.believed)
    yield from channels(cluster)


def _times(answer: PlanAnswer) -> Iterator[Line]:
    yield "Time of one iteration"
    barrier = answer.request.options.barrier
    rows = [
        *recorded(answer.evidence),
        *(_compared(baseline, barrier=barrier) for baseline in answer.baselines),
        time("this plan", answer.iteration_time_us, proven(answer)),
        time("lower bound", answer.lower_bound_us, _proof(answer.bound)),
        time("compute alone", answer.compute_time_us, "with free communication"),
    ]
    shares = {"gap to the lower bound": answer.gap, "communication hidden": answer.overlap}
    remarks = (gap_remark(answer.status, answer.gap), "")
    rows += [
        (what, f"{100 * share:.2f}", "%", remark)
        for (what, share), remark in zip(shares.items(), remarks, strict=True)
        if share is not None
    ]
    yield times(rows)


def _compared(baseline: BaselineOut, *, barrier: bool) -> tuple[str, str, str, str]:
    """Return the row of a policy; a barrier sets it apart where the plan has none."""
    title = titled(baseline.policy, baseline.parameters)
    title += ", barrier" if baseline.barrier and not barrier else ""
    if baseline.iteration_time_us is None:
        return title, "-", "", f"not defined where {WHERE_NOT}"
    remarks = []
    if baseline.speedup is not None:
        remarks.append(f"this plan is {baseline.speedup:.3f}x as fast")
    if baseline.headroom is not None:
        remarks.append(f"headroom {percent(baseline.headroom)}")
    return time(title, baseline.iteration_time_us, ", ".join(remarks))


def _proof(bound: BoundOut) -> str:
    """Say why no fusion, partition or order is faster."""
    return reason(
        bound.kind,
        counted(len(bound.tensors), "tensor"),
        ms(bound.release_us or 0),
        f"{ms(bound.tail_us or 0)} of compute",
    )


def _buckets(answer: PlanAnswer) -> Iterator[Line]:
    launches = Counter(part.bucket for part in answer.schedule.parts)
    tensors = sum(len(bucket.tensors) for bucket in answer.buckets)
    yield (
        f"Send {counted(tensors, 'tensor')} in {counted(len(answer.buckets), 'bucket')}, "
        f"{counted(len(answer.schedule.parts), 'launch', 'launches')}"
    )
    is_usual = {(each.kind, each.channel) for each in answer.buckets} <= {(ALL_REDUCE, NETWORK)}
    listed = answer.buckets[:_LISTED]
    waits = bucket_waits(answer.buckets, answer.schedule.parts)
    kinds = shortened([f"{bucket.kind}, {bucket.channel}" for bucket in listed])
    rows = [
        [
            bucket.id,
            f"{len(bucket.tensors)}",
            f"{bucket.bytes / 1e6:.3f}",
            ms(bucket.release_us),
            "" if (wait := waits[bucket.id]) is None else ms(wait),
            ms(bucket.tail_us),
            f"{launches[bucket.id]}",
            kind,
        ]
        for bucket, kind in zip(listed, kinds, strict=True)
    ]
    heads = ["bucket", "tensors", "MB", "release", "waits", "tail", "launches", "kind, channel"]
    shown = len(heads) - is_usual
    yield table(
        heads[:shown],
        [row[:shown] for row in rows],
        widths=(7, 7, 8, 10, 10, 10, 8),
        has_remarks=not is_usual,
    )
    if len(answer.buckets) > _LISTED:
        yield f"  ... and {len(answer.buckets) - _LISTED} more (--json lists them all)"
