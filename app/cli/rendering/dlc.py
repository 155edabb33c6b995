"""What DLC traces tell of training, for a reader: phases, overheads, volume, message lengths."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from app.cli.rendering.figures import counted, percent
from app.cli.rendering.page import Line, page
from app.cli.rendering.tables import table
from solver.traces import Report
from solver.traces.dlc_report import (
    DistributionFit,
    DlcReport,
    Overhead,
    OverheadSpread,
    WorkerIteration,
)

#: More iterations of a worker are shown by their mean.
_LISTED = 20

_HEADS = ("phase 1", "phase 2", "phase 3", "computation", "wait")
_SIZES = ("push send", "push recv", "pull send", "pull recv")


def render(report: Report) -> str:
    """Write the report of DLC traces as a page of text."""
    dlc = report.dlc
    assert dlc is not None
    return page(
        _head(dlc), _iterations(dlc), _overheads(dlc), _keys(dlc), _volume(dlc), _lengths(dlc),
        [f"  warning: {line}" for line in report.warnings],
    )  # fmt: skip


def _head(dlc: DlcReport) -> Iterator[Line]:
    kind = {
        None: "",
        True: "; servers update when all workers have pushed",
        False: "; servers update at each push",
    }
    iterations = counted(len(dlc.iterations), "iteration")
    yield f"Recorded by {', '.join(dlc.nodes)}: {iterations}{kind[dlc.is_synchronous]}"


def _iterations(dlc: DlcReport) -> Iterator[Line]:
    if not dlc.iterations:
        return
    of_node: dict[str, list[WorkerIteration]] = {}
    for each in dlc.iterations:
        of_node.setdefault(each.node, []).append(each)
    rows = []
    for node, iterations in of_node.items():
        if len(iterations) > _LISTED:
            rows.append([node, f"{len(iterations):,}, mean", *_means(iterations)])
        else:
            rows += [[node, f"{one.iteration}", *_means([one])] for one in iterations]
    yield "Phases [us]"
    yield table(["worker", "iteration", *_HEADS, "overlap"], rows, keys=2)


def _means(iterations: Sequence[WorkerIteration]) -> Iterator[str]:
    """Write the means over iterations of which all is known; dashes where that is none."""
    for field in ("phase_1_us", "phase_2_us", "phase_3_us", "computation_us", "wait_us"):
        values = [value for each in iterations if (value := getattr(each, field)) is not None]
        yield f"{fmean(values):,.0f}" if values else "-"
    ratios = [each.overlap_ratio for each in iterations if each.overlap_ratio is not None]
    yield percent(fmean(ratios) if ratios else None)


def _named(dlc: DlcReport) -> Iterator[tuple[str, Overhead]]:
    overheads = dlc.overheads
    yield "computation", overheads.computation
    yield "search", overheads.search
    yield "synchronization", overheads.synchronization
    yield "update", overheads.update
    yield "wait", overheads.wait


def _overheads(dlc: DlcReport) -> Iterator[Line]:
    rows = []
    for name, overhead in _named(dlc):
        spreads = overhead.by_node
        if overhead.overall is not None and len(spreads) > 1:
            spreads = (overhead.overall, *spreads)
        rows += [
            [name, each.node or "all", f"{each.count:,}", *_figures(each), _fit(each.fit)]
            for each in spreads
        ]
    if rows:
        yield "Overheads [us]"
        heads = ["overhead", "node", "count", "least", "mean", "most", "nearest distribution"]
        yield table(heads, rows, keys=2, has_remarks=True)
    for name, overhead in _named(dlc):
        if overhead.overall is None:
            yield f"  {name}: unknown. {overhead.reason}"
        if overhead.left_out:
            yield f"  {name}: {counted(overhead.left_out, 'value')} left out: times run back."


def _figures(spread: OverheadSpread) -> Iterator[str]:
    yield f"{spread.minimum_us:,}"
    yield f"{spread.mean_us:,.1f}"
    yield f"{spread.maximum_us:,}"


def _fit(fit: DistributionFit | None) -> str:
    if fit is None:
        return "-"
    error = f"error {percent(fit.error)}"
    if fit.deviation_us is not None:
        return f"normal, {fit.median_us:,.1f} +- {fit.deviation_us:,.1f} us; {error}"
    return f"log-normal, {fit.median_us:,.1f} us, sigma {fit.log_deviation:.3f}; {error}"


def _keys(dlc: DlcReport) -> Iterator[Line]:
    known = [(name, each) for name, each in _named(dlc) if each.by_key]
    if not known:
        return
    keys = sorted({spread.key or 0 for _, each in known for spread in each.by_key})
    spreads = [{spread.key: spread for spread in each.by_key} for _, each in known]
    heads = [f"{name} {what}" for name, _ in known for what in ("least", "mean", "most")]
    rows = []
    for key in keys:
        row = [f"{key}"]
        for of_key in spreads:
            row += _figures(of_key[key]) if key in of_key else ["-", "-", "-"]
        rows.append(row)
    yield "Overheads by key [us]"
    yield table(["key", *heads], rows)


def _volume(dlc: DlcReport) -> Iterator[Line]:
    if dlc.volume:
        yield "Volume of an iteration [B]"
        rows = [
            [
                each.node,
                f"{each.push_send_bytes:,.0f}",
                f"{each.push_recv_bytes:,.0f}",
                f"{each.pull_send_bytes:,.0f}",
                f"{each.pull_recv_bytes:,.0f}",
            ]
            for each in dlc.volume
        ]
        yield table(["node", *_SIZES], rows)


def _lengths(dlc: DlcReport) -> Iterator[Line]:
    if dlc.message_lengths:
        yield "Message lengths [B]"
        rows = []
        for each in dlc.message_lengths:
            lengths = (
                each.push_send_bytes,
                each.push_recv_bytes,
                each.pull_send_bytes,
                each.pull_recv_bytes,
            )
            sizes = ["-" if length is None else f"{length:,}" for length in lengths]
            rows.append([f"{each.key}", each.server, *sizes])
        yield table(["key", "server", *_SIZES], rows, keys=2)
