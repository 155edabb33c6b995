"""Placements of parameter servers for a reader: a row for each, then what limits it."""

from collections.abc import Iterable, Iterator

from app.cli.rendering.explanations import rests_on
from app.cli.rendering.figures import counted
from app.cli.rendering.page import Line, page
from app.cli.rendering.tables import table
from app.schemas.placement_answer import PlacementRow, PlacementsAnswer
from solver.placements.chunks import Level
from solver.wording import exact_size, ms

_LEGEND = (
    "ncc: one server on a host of its own; cc: on a worker's; ncs: sharded over hosts of their "
    "own; cs: sharded over the workers'."
)


def render(answer: PlacementsAnswer, name: str) -> str:
    """Write placements as a page of text."""
    asked = answer.request
    model = (
        f"{name or 'Unnamed graph'}, {asked.model_bytes:,} B, {counted(asked.workers, 'worker')}"
    )
    hidden = f"bandwidth that hides an exchange in {ms(asked.batch_time_us)}"
    return page(
        [f"{model}: {hidden}"],
        rests_on(answer.evidence),
        [_rows(answer), _LEGEND],
        [answer.decision],
        _limits(answer),
        _chunks(answer),
        [f"Racks: {answer.racks.text}"] if answer.racks else [],
        _sizes(answer),
        _systems(answer),
        _worth(answer),
        _jobs(answer),
        answer.notes,
    )


def _rows(answer: PlacementsAnswer) -> Line:
    heads = ["placement", "servers", "Gbit/s", "simulated", "MB a step", "busiest"]
    if answer.request.bandwidth_gbps is not None:
        heads += ["headroom", "workers", "exchange ms", "bound ms"]
    return table(heads, (_row(row)[: len(heads)] for row in answer.placements))


def _row(row: PlacementRow) -> list[str]:
    most = "any" if row.most_workers is None else f"{row.most_workers:,}"
    return [
        row.placement,
        f"{row.servers:,}",
        _figure(row.bandwidth_gbps),
        _figure(row.simulated_gbps),
        _figure(row.bytes_per_step / 1e6),
        row.busiest,
        _figure(row.headroom),
        most,
        _ms(row.exchange_us),
        _ms(row.iteration_bound_us),
    ]


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3f}"


def _ms(time_us: float | None) -> str:
    return _figure(None if time_us is None else time_us / 1e3)


def _limits(answer: PlacementsAnswer) -> Iterator[str]:
    if (gbps := answer.request.bandwidth_gbps) is not None:
        yield f"At {gbps:g} Gbit/s each way:"
    for row in answer.placements:
        yield f"  {row.placement}: {row.text}"


def _chunks(answer: PlacementsAnswer) -> Iterator[str]:
    chunks = answer.chunks
    many = f"{chunks.count:,} {'chunk' if chunks.count == 1 else 'chunks'}"
    yield f"{many} of {exact_size(chunks.chunk_bytes)} at most:"
    yield f"  one server: {_levels(chunks.central)}"
    yield f"  sharded: {_levels(chunks.sharded)}"


def _levels(levels: Iterable[Level]) -> str:
    said = [
        f"{counted(len(level.load_bytes), level.level)}, the fullest {level.imbalance:.4f} times "
        f"the mean, {_proven(level)}"
        for level in levels
        if level.guarantee > 1
    ]
    return "; ".join(said) or "all on one core"


def _proven(level: Level) -> str:
    if level.proven_ratio == 1:
        return "the least possible"
    beyond = min(level.proven_ratio, level.guarantee) - 1
    return f"at most {100 * beyond:.2f} % above the least possible"


def _worth(answer: PlacementsAnswer) -> Iterator[Line]:
    if (prices := answer.prices) is None:
        return
    yield f"Prices: {prices.text}"
    heads = ["a worker", "network", "PHub", "in all", "samples/s for 1000 dollars"]
    rows = (("servers on workers", prices.baseline), ("with a PHub", prices.hub))
    yield table(
        heads,
        [
            [
                name,
                f"{value.network_dollars:,.2f}",
                f"{value.hub_dollars:,.2f}",
                f"{value.total_dollars:,.2f}",
                f"{value.samples_per_s_per_1000_dollars:,.2f}",
            ]
            for name, value in rows
        ],
    )
    if prices.racks is None:
        return
    yield table(
        ["oversubscription", "workers a PHub", "samples/s for 1000 dollars", "more"],
        [
            [
                f"{rack.oversubscription:g}:1",
                f"{rack.workers_per_hub:g}",
                f"{rack.hub.samples_per_s_per_1000_dollars:,.2f}",
                f"{rack.gain * 100:.1f} %",
            ]
            for rack in prices.racks
        ],
    )
    yield prices.decision or ""


def _sizes(answer: PlacementsAnswer) -> Iterator[Line]:
    """Exchanges by size of chunk, a column for each placement."""
    if not (curves := answer.chunk_curves):
        return
    yield "Sizes of chunks, time of an exchange [ms]:"
    points = zip(*(curve.points for curve in curves), strict=True)
    yield table(
        ["chunk", *(curve.placement for curve in curves)],
        [[exact_size(row[0].chunk_bytes), *(_ms(p.exchange_us) for p in row)] for row in points],
    )
    for curve in curves:
        if curve.best_chunk_bytes is not None and len(curve.points) > 1:
            yield f"{curve.placement}: best with chunks of {exact_size(curve.best_chunk_bytes)}."


def _systems(answer: PlacementsAnswer) -> Iterator[Line]:
    if not answer.systems:
        return
    yield "Systems, at the same bandwidth [ms]:"
    yield table(
        ["system", "placement", "hosts", "exchange", "step", "times as fast"],
        [
            [
                row.system,
                row.placement or "-",
                f"{row.hosts:,}",
                _ms(row.exchange_us),
                _ms(row.step_us),
                _figure(row.speedup),
            ]
            for row in answer.systems
        ],
    )
    yield answer.systems_text or ""


def _jobs(answer: PlacementsAnswer) -> Iterator[Line]:
    if answer.jobs is None:
        return
    yield "Jobs on one server, time of a step [ms]:"
    yield table(
        ["job", "alone", "together", "slowdown"],
        [
            [job.name, _ms(job.coarse_us), _ms(job.together_us), f"{job.slowdown:.3f}"]
            for job in answer.jobs
        ],
    )
