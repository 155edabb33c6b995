"""The answer for a reader: times, buckets, proof."""

from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import wrap

from app.schemas.clusters import ChannelBody, ClusterBody
from app.schemas.explanations import CostWarning, ExplainedAnswer
from app.schemas.plans import Baseline, Bound, PlanAnswer
from app.schemas.simulations import SimulationAnswer
from solver.graph import ALL_REDUCE, NETWORK
from solver.policies.choice import WHERE_NOT, Choice, defaults
from solver.traces import Report

#: How many buckets are listed.
_LISTED = 12


#: How many exposed tensors are listed.
_EXPOSED = 5


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


def render(answer: PlanAnswer, name: str, report: Report | None = None) -> str:
    """Write an answer as a page of text, and what a reader dropped and assumed."""
    parts = [
        _head(answer, name),
        _times(answer),
        _why(answer),
        _buckets(answer),
        source(report),
        warned(answer.warnings),
    ]
    return "\n\n".join("\n".join(lines) for part in parts if (lines := list(part)))


def render_simulation(answer: SimulationAnswer, name: str) -> str:
    """Write a simulation as a page of text."""
    asked = answer.request.jitter
    rivals = [_of(rival.to_choice()) for rival in asked.rivals] if asked else []
    parts = [
        _simulated(answer, name),
        _why(answer),
        _phases(answer),
        _spread(answer, rivals),
        warned(answer.warnings),
    ]
    return "\n\n".join("\n".join(lines) for part in parts if (lines := list(part)))


def warned(warnings: Sequence[CostWarning]) -> Iterator[str]:
    """Say what an answer rests on that was not measured."""
    yield from (f"Warning: {warning.detail}" for warning in warnings)


def _simulated(answer: SimulationAnswer, name: str) -> Iterator[str]:
    policy, title = answer.policy, "the plan given"
    if policy:
        title = _titled(policy.policy, policy.parameters)
    cluster = answer.request.cluster
    yield _where(name, cluster)
    yield f"{_launch(cluster)}; {title}{', with a barrier' if answer.request.barrier else ''}"
    yield from _channels(cluster)
    yield ""
    yield _row("one iteration", answer.iteration_time_us, "", _WIDTH)
    yield _row("compute alone", answer.compute_time_us, "with free communication", _WIDTH)
    yield _row("exposed", answer.exposed_us, "what communication adds", _WIDTH)
    for channel in answer.channels:
        used = 100 * channel.busy_us / answer.iteration_time_us if answer.iteration_time_us else 0
        remark = f"{used:.1f} % of the time, {_count(channel.launches, 'launch', 'launches')}"
        yield _row(f"channel {channel.channel}", channel.busy_us, remark, _WIDTH)


def _where(name: str, cluster: ClusterBody) -> str:
    rate = f" at {cluster.bandwidth_gbps:g} Gbit/s" if cluster.bandwidth_gbps else ""
    return f"{name or 'Unnamed graph'} on {_count(cluster.workers, 'worker')}{rate}"


def _launch(cluster: ChannelBody) -> str:
    model = cluster.cost_model
    if model is None:
        return f"{cluster.algorithm}, start-up {cluster.startup_us:g} us a launch"
    called = " ".join(filter(None, ["cost model", model.name])) + f" ({model.algorithm})"
    measured = f", measured with {_count(model.workers, 'worker')}" if model.workers else ""
    on_top = f", {cluster.startup_us:g} us on top of a launch" if cluster.startup_us else ""
    return f"{called}{measured}{on_top}"


def _channels(cluster: ClusterBody) -> Iterator[str]:
    for channel, body in cluster.channels.items():
        rate = f" at {body.bandwidth_gbps:g} Gbit/s" if body.bandwidth_gbps else ""
        yield (
            f"channel {channel}: {_count(body.workers or cluster.workers, 'worker')}{rate}, "
            f"{_launch(body)}"
        )


def _why(answer: ExplainedAnswer) -> Iterator[str]:
    """Say what limits the iteration, and which tensors are exposed."""
    if answer.summary is None or answer.tensors is None:
        yield "Too many ops to explain"
        return
    lines = wrap(answer.summary.replace(" %", "\u00a0%"), 100)
    yield from (line.replace("\u00a0", " ") for line in lines)
    bare = [tensor for tensor in answer.tensors if tensor.exposed_us > 0]
    bare.sort(key=lambda tensor: -tensor.exposed_us)
    if bare:
        total = sum(tensor.exposed_us for tensor in bare)
        yield f"Sent while nothing computes: {_count(len(bare), 'tensor')}, {total / 1e3:.3f} ms"
    for tensor in bare[:_EXPOSED]:
        yield _row(tensor.id, tensor.exposed_us, f"{tensor.bytes / 1e6:.3f} MB", _WIDTH)
    if (other := getattr(answer, "what_if", None)) is not None:
        gain = f"{'saves' if other.gain_us >= 0 else 'costs'} {abs(other.gain_us) / 1e3:.3f} ms"
        yield _row("what if", other.iteration_time_us, f"with the ops changed: {gain}", _WIDTH)


def _phases(answer: SimulationAnswer) -> Iterator[str]:
    phases = answer.breakdown
    if phases is None:
        return
    yield "All buckets' times, from the first tensor ready to the bucket sent, summed"
    yield _row("start-ups", phases.negotiate_us, "", _WIDTH)
    yield _row("on the wire", phases.all_reduce_us, "", _WIDTH)
    yield _row("waiting", phases.wait_us, "for other tensors, or for the channel", _WIDTH)
    yield _row("held back", phases.other_us, "by the policy, the channel idle", _WIDTH)


def _spread(answer: SimulationAnswer, rivals: Sequence[str]) -> Iterator[str]:
    if answer.jitter is None or answer.request.jitter is None:
        return
    asked = answer.request.jitter
    yield (
        f"When each op's time varies by {100 * asked.spread:g} %, launches included "
        f"({_count(asked.runs, 'run')})"
    )
    found = answer.jitter
    rows = [("this", found.p50_us, found.p95_us, "")]
    rows += [
        (name, rival.p50_us, rival.p95_us, f"faster in {100 * rival.faster:.1f} %")
        for name, rival in zip(rivals, found.rivals, strict=True)
    ]
    width = max([_WIDTH, *(len(name) + 1 for name in rivals)])
    yield f"  {'':{width}}{'median':>15}{'95 %':>15}"
    for name, half, most, remark in rows:
        times = f"{half / 1e3:12.3f} ms{most / 1e3:12.3f} ms"
        yield f"  {name:{width}}{times}  {remark}".rstrip()


def _head(answer: PlanAnswer, name: str) -> Iterator[str]:
    cluster, options = answer.request.cluster, answer.request.options
    yield _where(name, cluster)
    solved = f", {'slots by' if options.fusion == 'joint' else 'schedule'} {options.schedule}"
    yield (
        f"{_launch(cluster)}; fusion {options.fusion}{solved if answer.schedule.slots else ''}"
        f"{', with a barrier' if options.barrier else ''}"
    )
    yield from _channels(cluster)


def _times(answer: PlanAnswer) -> Iterator[str]:
    yield "Time of one iteration"
    barrier = answer.request.options.barrier
    titles = [_title(baseline, barrier=barrier) for baseline in answer.baselines]
    width = max([_WIDTH, *(len(title) + 1 for title in titles)])
    for title, baseline in zip(titles, answer.baselines, strict=True):
        if baseline.iteration_time_us is None:
            yield f"  {title:{width}}{'-':>15}  not defined where {WHERE_NOT}"
            continue
        yield _row(title, baseline.iteration_time_us, _comparison(baseline), width)
    verdict = "optimal: equals the lower bound" if answer.status == "optimal" else ""
    yield _row("this plan", answer.iteration_time_us, verdict, width)
    yield _row("lower bound", answer.lower_bound_us, _meaning(answer.bound), width)
    yield _row("compute alone", answer.compute_time_us, "with free communication", width)
    if answer.gap is not None:
        yield f"  {'gap to the lower bound':{width}}{100 * answer.gap:12.2f} %"
    if answer.overlap is not None:
        yield f"  {'communication hidden':{width}}{100 * answer.overlap:12.2f} %"


def _buckets(answer: PlanAnswer) -> Iterator[str]:
    parts = Counter(part.bucket for part in answer.schedule.parts)
    tensors = sum(len(bucket.tensors) for bucket in answer.buckets)
    yield (
        f"Send {_count(tensors, 'tensor')} in {_count(len(answer.buckets), 'bucket')}, "
        f"{_count(len(answer.schedule.parts), 'launch', 'launches')}"
    )
    lanes = {(bucket.kind, bucket.channel) for bucket in answer.buckets}
    usual = lanes <= {(ALL_REDUCE, NETWORK)}
    heads = f"{'bucket':<8}{'tensors':>8}{'MB':>10}{'release':>12}{'tail':>12}{'launches':>10}"
    yield f"  {heads}{'' if usual else '  kind, channel'}"
    for bucket in answer.buckets[:_LISTED]:
        yield (
            f"  {bucket.id:<8}{len(bucket.tensors):>8}{bucket.bytes / 1e6:>10.3f}"
            f"{bucket.release_us / 1e3:>9.3f} ms{bucket.tail_us / 1e3:>9.3f} ms"
            f"{parts[bucket.id]:>10}{'' if usual else f'  {bucket.kind}, {bucket.channel}'}"
        )
    if len(answer.buckets) > _LISTED:
        yield f"  ... and {len(answer.buckets) - _LISTED} more (--json lists them all)"


def source(report: Report | None) -> Iterator[str]:
    """Say what was read from a file, dropped, repaired and assumed; nothing of no report."""
    if report is None:
        return
    count = sum(total.count for total in report.collectives.values())
    size = sum(total.bytes for total in report.collectives.values())
    yield (
        f"Read from a {report.format} file: {_count(report.ops, 'op')}, "
        f"{_count(count, 'collective')}, {size / 1e6:.3f} MB"
    )
    for what in ("dropped", "repaired", "assumed", "warnings"):
        yield from (f"  {what}: {line}" for line in getattr(report, what))


def _meaning(bound: Bound) -> str:
    """Say why no fusion, partition or order is faster."""
    what = _count(len(bound.tensors), "tensor")
    tail = f"then {(bound.tail_us or 0) / 1e3:.3f} ms of compute"
    match bound.kind:
        case "compute":
            return "compute alone takes that long"
        case "path":
            tensors = _count(len(bound.tensors), "tensor")
            return f"the longest path, {tensors} on it"
        case "chain":
            return f"{what} in release order, {tail}"
        case "packing":
            return f"{what} after {(bound.release_us or 0) / 1e3:.3f} ms, {tail}"
        case "nested":
            return f"{what} between their releases and the compute after each"


def _title(baseline: Baseline, *, barrier: bool) -> str:
    """Name a policy, and what sets it apart: parameters that are not the defaults, a barrier."""
    title = _titled(baseline.policy, baseline.parameters)
    return f"{title}, barrier" if baseline.barrier and not barrier else title


def _of(choice: Choice) -> str:
    """Name a policy as it was asked for."""
    numbers = {k: v for k, v in choice.parameters if not isinstance(v, str)}
    return _titled(choice.policy, numbers)


def _titled(policy: str, parameters: dict[str, int | float]) -> str:
    """Name a policy, and parameters that are not the defaults."""
    usual = defaults(policy)
    apart = [f"{k}={v:.15g}" for k, v in parameters.items() if v != usual.get(k)]
    return ", ".join([TITLES[policy], *apart])


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
