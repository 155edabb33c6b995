"""The answer for a reader: times, buckets, proof."""

from collections import Counter
from collections.abc import Iterator

from app.answers import Answer, Baseline, Bound
from solver.policies.choice import defaults
from solver.traces import Report

#: How many buckets are listed.
_LISTED = 12
#: Policies for a reader; add one here.
TITLES = {
    "wfbp": "today, FIFO (wfbp)",
    "single": "no overlap (single)",
    "horovod": "Horovod",
    "ddp": "PyTorch DDP",
    "ddp_priority": "DDP buckets, by priority",
    "tictac": "TicTac",
    "p3": "P3",
    "bytescheduler": "ByteScheduler",
    "mg_wfbp": "MG-WFBP",
    "ada_fusion": "adaFusion (OSF)",
    "pace": "PACE (maxmin, jackson)",
}
#: Least width of the first column.
_WIDTH = 26


def render(answer: Answer, name: str, report: Report | None = None) -> str:
    """Write an answer as a page of text, and what a reader dropped and assumed."""
    parts = [_head(answer, name), _times(answer), _buckets(answer), _source(report)]
    return "\n\n".join("\n".join(lines) for part in parts if (lines := list(part)))


def _head(answer: Answer, name: str) -> Iterator[str]:
    cluster, options = answer.request.cluster, answer.request.options
    rate = f" at {cluster.bandwidth_gbps:g} Gbit/s" if cluster.bandwidth_gbps else ""
    yield f"{name or 'Unnamed graph'} on {_count(cluster.workers, 'worker')}{rate}"
    yield (
        f"{cluster.algorithm} all-reduce, start-up {cluster.startup_us:g} us a launch; "
        f"fusion {options.fusion}, {'slots by' if options.fusion == 'joint' else 'schedule'} "
        f"{options.schedule}"
        f"{', with a barrier' if options.barrier else ''}"
    )


def _times(answer: Answer) -> Iterator[str]:
    yield "Time of one iteration"
    barrier = answer.request.options.barrier
    titles = [_title(baseline, barrier=barrier) for baseline in answer.baselines]
    width = max([_WIDTH, *(len(title) + 1 for title in titles)])
    for title, baseline in zip(titles, answer.baselines, strict=True):
        yield _row(title, baseline.iteration_time_us, _comparison(baseline), width)
    verdict = "optimal: equals the lower bound" if answer.status == "optimal" else ""
    yield _row("this plan", answer.iteration_time_us, verdict, width)
    yield _row("lower bound", answer.lower_bound_us, _meaning(answer.bound), width)
    yield _row("compute alone", answer.compute_time_us, "with free communication", width)
    if answer.gap is not None:
        yield f"  {'gap to the lower bound':{width}}{100 * answer.gap:12.2f} %"
    if answer.overlap is not None:
        yield f"  {'communication hidden':{width}}{100 * answer.overlap:12.2f} %"


def _buckets(answer: Answer) -> Iterator[str]:
    parts = Counter(part.bucket for part in answer.schedule.parts)
    tensors = sum(len(bucket.tensors) for bucket in answer.buckets)
    yield (
        f"Send {_count(tensors, 'tensor')} in {_count(len(answer.buckets), 'bucket')}, "
        f"{_count(len(answer.schedule.parts), 'launch', 'launches')}"
    )
    yield f"  {'bucket':<8}{'tensors':>8}{'MB':>10}{'release':>12}{'tail':>12}{'launches':>10}"
    for bucket in answer.buckets[:_LISTED]:
        yield (
            f"  {bucket.id:<8}{len(bucket.tensors):>8}{bucket.bytes / 1e6:>10.3f}"
            f"{bucket.release_us / 1e3:>9.3f} ms{bucket.tail_us / 1e3:>9.3f} ms"
            f"{parts[bucket.id]:>10}"
        )
    if len(answer.buckets) > _LISTED:
        yield f"  ... and {len(answer.buckets) - _LISTED} more (--json lists them all)"


def _source(report: Report | None) -> Iterator[str]:
    if report is None:
        return
    yield (
        f"Read from a {report.format} file: {_count(report.ops, 'op')}, "
        f"{_count(report.collectives, 'collective')}, {report.bytes / 1e6:.3f} MB"
    )
    yield from (f"  dropped: {line}" for line in report.dropped)
    yield from (f"  assumed: {line}" for line in report.assumed)


def _meaning(bound: Bound) -> str:
    """Say why no fusion, partition or order is faster."""
    what = f"nothing is faster: {_count(len(bound.tensors), 'tensor')}"
    tail = f"then {(bound.tail_us or 0) / 1e3:.3f} ms of compute"
    match bound.kind:
        case "compute":
            return "nothing is faster: compute alone takes that long"
        case "chain":
            return f"{what} in release order, {tail}"
        case "packing":
            return f"{what} after {(bound.release_us or 0) / 1e3:.3f} ms, {tail}"
        case "nested":
            return f"{what} between their releases and the compute after each"


def _title(baseline: Baseline, *, barrier: bool) -> str:
    """Name a policy, and what sets it apart: parameters that are not the defaults, a barrier."""
    usual = defaults(baseline.policy)
    apart = [f"{k}={v:.15g}" for k, v in baseline.parameters.items() if v != usual.get(k)]
    apart += ["barrier"] if baseline.barrier and not barrier else []
    return ", ".join([TITLES[baseline.policy], *apart])


def _row(title: str, time_us: float, remark: str, width: int) -> str:
    return f"  {title:{width}}{time_us / 1e3:12.3f} ms  {remark}".rstrip()


def _comparison(baseline: Baseline) -> str:
    found = []
    if baseline.speedup is not None:
        found.append(f"this plan is {baseline.speedup:.3f}x as fast")
    if baseline.headroom is not None:
        found.append(f"headroom {100 * baseline.headroom:.2f} %")
    return ", ".join(found)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
