"""A simulation beside what DDP measured of the same iteration."""

from collections.abc import Iterator

from app.cli.rendering.page import Line, page
from app.cli.rendering.tables import table
from app.schemas.simulations import SimulationAnswer
from solver.calibration.measurements.logs.ddp_logging import DdpTimes
from solver.wording import ms

#: Apart by so much, a simulation is not that of the job [share].
_APART = 0.1


def beside(answer: SimulationAnswer, measured: DdpTimes) -> str:
    """Write what both say: buckets, passes and communication; what DDP did not measure is left out.

    DDP's communication is the time from the first launch to the end of the last, so that of the
    simulation is as well; its passes are compared with the compute of the graph, which may hold an
    optimizer too.
    """
    return page(_rows(answer, measured))


def _rows(answer: SimulationAnswer, measured: DdpTimes) -> Iterator[Line]:
    parts = answer.schedule.parts
    ends, starts = [part.end_us for part in parts], [part.start_us for part in parts]
    span = max(ends, default=0.0) - min(starts, default=0.0)
    passes = (measured.forward_us, measured.backward_us)
    both = sum(filter(None, passes)) if all(passes) else None
    rows = [
        ("forward and backward pass", both, answer.compute_time_us),
        ("communication", measured.communication_us, span),
        ("overlap", measured.overlap_us, span - answer.exposed_us),
        ("exposed", measured.exposed_us, answer.exposed_us),
    ]
    known = [(what, told, simulated) for what, told, simulated in rows if told is not None]
    sizes = [("buckets", float(sum(measured.buckets)), float(_bytes(answer)))]
    yield "DDP measured, and this simulates"
    cells = [_buckets(answer, measured)] if measured.buckets else []
    cells += [
        (what, ms(told), ms(simulated), _apart(told, simulated)) for what, told, simulated in known
    ]
    if cells:
        yield table(["", "measured", "simulated", "apart"], cells, widths=(26, 13, 13))
    workers = answer.request.cluster.workers
    if measured.workers not in {None, workers}:
        yield f"DDP ran on {measured.workers} workers, and {workers} are simulated."
    far = [
        what
        for what, told, simulated in (*(sizes if measured.buckets else ()), *known)
        if abs(simulated - told) > _APART * max(told, 1)
    ]
    if far:
        yield f"The simulation is not that of the job: {', '.join(far)} differ by more than 10 %."


def _buckets(answer: SimulationAnswer, measured: DdpTimes) -> tuple[str, str, str, str]:
    told = sum(measured.buckets)
    found = _bytes(answer)
    return (
        "buckets",
        f"{len(measured.buckets)}: {told:,} B",
        f"{len(answer.buckets)}: {found:,} B",
        _apart(told, found),
    )


def _bytes(answer: SimulationAnswer) -> int:
    return sum(bucket.bytes for bucket in answer.buckets)


def _apart(measured: float, simulated: float) -> str:
    return f"{100 * (simulated / measured - 1):+.1f} %" if measured else ""
