"""The answer for a reader: times, buckets, proof."""

from collections import Counter
from collections.abc import Iterator

from app.answers import Answer

#: How many buckets are listed.
_LISTED = 12
_TITLES = {
    "wfbp": "today, FIFO (wfbp)",
    "pace": "PACE (maxmin, jackson)",
}
_WIDTH = 26


def render(answer: Answer, name: str) -> str:
    """Write an answer as a page of text."""
    return "\n".join([*_head(answer, name), "", *_times(answer), "", *_buckets(answer)])


def _head(answer: Answer, name: str) -> Iterator[str]:
    cluster, options = answer.request.cluster, answer.request.options
    rate = f" at {cluster.bandwidth_gbps:g} Gbit/s" if cluster.bandwidth_gbps else ""
    yield f"{name or 'Unnamed graph'} on {cluster.workers} workers{rate}"
    yield (
        f"{cluster.algorithm} all-reduce, start-up {cluster.startup_us:g} us a launch; "
        f"fusion {options.fusion}, schedule {options.schedule}"
    )


def _times(answer: Answer) -> Iterator[str]:
    yield "Time of one iteration"
    for baseline in answer.baselines:
        title = _TITLES.get(baseline.policy, baseline.policy)
        yield _row(title, baseline.iteration_time_us, _speedup(baseline.speedup))
    verdict = "optimal: equals the lower bound" if answer.status == "optimal" else ""
    yield _row("this plan", answer.iteration_time_us, verdict)
    yield _row("lower bound", answer.lower_bound_us, "no fusion, partition or order is faster")
    yield _row("compute alone", answer.compute_time_us, "with free communication")
    if answer.gap is not None:
        yield f"  {'gap to the lower bound':{_WIDTH}}{100 * answer.gap:12.2f} %"
    if answer.overlap is not None:
        yield f"  {'communication hidden':{_WIDTH}}{100 * answer.overlap:12.2f} %"


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


def _row(title: str, time_us: float, remark: str) -> str:
    return f"  {title:{_WIDTH}}{time_us / 1e3:12.3f} ms  {remark}".rstrip()


def _speedup(speedup: float | None) -> str:
    if speedup is None:
        return ""
    return f"this plan is {speedup:.3f}x as fast"


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
