"""Benchmarks of a request: read, each collective by itself, and only those of one cluster."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from app.errors import InvalidRequest
from app.schemas.cost_models import AUTO, KINDS, CostModelRequest
from solver.calibration.channels import fit_channel
from solver.calibration.fits import Samples
from solver.calibration.measurements import READERS, Measurements, read_runs
from solver.calibration.measurements.pooling import differences, joined
from solver.calibration.measurements.ranks import OTHER
from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.graph import ALL_REDUCE

#: Ranks that are taken where none are said, to share a bandwidth between kinds.
_PAIR = 2

#: Where the line of a kind that has one size is from.
_BASES = {
    "shared_bandwidth": "the bandwidth is that of the other kinds",
    "assumed_startup": "the start-up is assumed",
    "fastest_link": "the bandwidth is that of the fastest link",
}

#: Where measurements, or a model itself, may stand in a request.
SOURCES = ("model", "samples", "text", "texts")


def measured(request: CostModelRequest) -> tuple[dict[str, Samples], int | None, list[str]]:
    """Return samples by kind, their workers, and what was dropped and assumed.

    Raises
    ------
    InvalidRequest
        When a text cannot be read, does not tell its collective, or is of another cluster.
    """
    if request.samples is not None:
        return {request.kind or ALL_REDUCE: request.samples}, request.workers, []
    runs = list(_runs(request))
    faults = _given_faults(request, runs)
    faults += [fault for run in runs if (fault := _kind_fault(run))]
    measurements = [run.measurements for run in runs]
    if not request.mixed and (several := differences(measurements)):
        detail = f"{several} Fit each by itself, or say with `mixed` that they are one."
        faults.append(Fault(f"/{source_of(request)}", FaultCode.MIXED_CLUSTERS, detail))
    if faults:
        raise InvalidRequest(list(dict.fromkeys(faults)))
    pools: dict[str, list[Measurements]] = {}
    for run in runs:
        pools.setdefault(run.kind or ALL_REDUCE, []).append(run.measurements)
    whole = joined(measurements)
    notes = list(whole.notes)
    if request.workers and whole.workers and request.workers != whole.workers:
        notes.append(
            f"The text says {whole.workers} workers; {request.workers} were given, and count."
        )
    if any(run.kind is None for run in runs):
        notes.append("The collective is not named: taken as all_reduce.")
    samples: dict[str, Samples] = {
        kind: joined(pools[kind]).samples for kind in KINDS if kind in pools
    }
    workers = request.workers or whole.workers
    if workers is None and any(READERS[run.format].mark for run in measurements):
        notes.append(
            "How many ranks took part is not said, so the cost counts for any number: say it by "
            "`workers` (--workers N)."
        )
    if any(READERS[run.format].is_recorded for run in measurements):
        samples, assumed = _with_startups(samples, workers)
        notes += assumed
    return samples, workers, notes


def _with_startups(
    pools: Mapping[str, Samples], workers: int | None
) -> tuple[dict[str, Samples], list[str]]:
    """Give kinds that a job launched in one size a sample of 1 byte, which is assumed and noted.

    One size does not tell start-up from bandwidth: it has the bandwidth of the other kinds, or the
    start-up that a trace's launches are taken to have (:mod:`solver.calibration.channels`).
    """
    lines = {fit.kind: fit for fit in fit_channel(pools, workers or _PAIR)}
    filled = dict(pools)
    notes = []
    for kind, fit in lines.items():
        size, most = fit.measured
        if size == most > 1:
            startup = fit.line.startup_us + fit.line.us_per_byte
            filled[kind] = (*pools[kind], (1, startup))
            notes.append(
                f"{kind}: launches of {size:,} bytes alone do not tell start-up from bandwidth; "
                f"{_BASES[fit.basis]}, and a launch of 1 byte is taken to cost {startup:.4g} us."
            )
    return filled, notes


def source_of(request: CostModelRequest) -> str:
    """Name the field that the measurements stand in."""
    return next(source for source in SOURCES if getattr(request, source) is not None)


class _BenchmarkRun(NamedTuple):
    """A run of a text, where that stands, and which collective the request says it is."""

    source: str
    measurements: Measurements
    given: str | None
    is_given_alone: bool

    @property
    def own(self) -> str | None:
        """The collective that the run says itself; None when it does not."""
        kind = self.measurements.kind
        return None if kind == OTHER else kind

    @property
    def kind(self) -> str | None:
        """What the run says itself, else what was given."""
        return self.own or self.given


def _runs(request: CostModelRequest) -> Iterator[_BenchmarkRun]:
    """Read the runs of all texts.

    Raises
    ------
    InvalidRequest
        With all that is wrong with all texts.
    """
    texts = {"/text": request.text} if request.text is not None else {}
    texts |= {f"/texts/{i}": text for i, text in enumerate(request.texts or ())}
    alone = request.kinds if request.kinds is not None else [None] * len(texts)
    if len(alone) != len(texts):
        detail = f"`kinds` are those of `texts`, one each; {len(alone)} are given."
        raise InvalidRequest([Fault("/kinds", FaultCode.OUT_OF_RANGE, detail)])
    faults: list[Fault] = []
    form = None if request.format == AUTO else request.format
    apart: dict[str, list[str]] = {}
    for (source, text), kind in zip(texts.items(), alone, strict=True):
        try:
            runs = read_runs(text, form, request.workers)
        except InvalidMeasurements as error:
            faults += [Fault(source, f.code, f.detail) for f in error.faults]
            continue
        if len(texts) > 1 and READERS[runs[0].format].is_rank_apart:
            apart.setdefault(runs[0].format, []).append(source)
            continue
        given = kind or request.kind
        yield from (_BenchmarkRun(source, run, given, kind is not None) for run in runs)
    if faults:
        raise InvalidRequest(faults)
    for name, sources in apart.items():  # whose time of a launch counts, the files of all tell
        whole = read_runs("\n".join(texts[source] for source in sources), name, request.workers)
        yield from (
            _BenchmarkRun(sources[0], run, request.kind, is_given_alone=False) for run in whole
        )


def _given_faults(request: CostModelRequest, runs: Sequence[_BenchmarkRun]) -> list[Fault]:
    """Find a collective that was given and counts for no run."""
    named = list(dict.fromkeys(run.own for run in runs if run.own))
    if request.kind is None or request.kind in named:
        return []
    if any(run.own is None and not run.is_given_alone for run in runs):
        return []
    detail = f"All benchmarks say their collective: {', '.join(named)}; leave `kind` out."
    return [Fault("/kind", FaultCode.OUT_OF_RANGE, detail)]


def _kind_fault(run: _BenchmarkRun) -> Fault | None:
    """Say what is wrong with the collective of a run, if anything."""
    own, possible = run.own, run.measurements.possible
    planned = [kind for kind in possible if kind in KINDS]
    if (own is not None and own not in KINDS) or (own is None and possible and not planned):
        kinds = ", ".join(KINDS)
        what = own or f"one of {', '.join(possible)}"
        detail = f"The benchmark is {what}, which graphs do not have; they have {kinds}."
        return Fault(run.source, FaultCode.NOT_SUPPORTED, detail)
    expected = f"{'' if len(planned) == 1 else 'one of '}{', '.join(planned)}"
    if own is None and run.given is None and run.measurements.kind == OTHER:
        detail = (
            f"The benchmark does not say its collective; it is {expected}. Say which by `kind`."
        )
        return Fault(run.source, FaultCode.UNKNOWN_KIND, detail)
    if own is not None and run.is_given_alone and run.given != own:
        detail = f"The benchmark is {own}, not {run.given} as `kind` says."
        return Fault(run.source, FaultCode.OUT_OF_RANGE, detail)
    if run.kind is not None and possible and run.kind not in possible:
        if own is None:
            detail = f"The benchmark is {expected}, not {run.kind} as `kind` says."
        else:
            detail = f"The benchmark names {own}, but its columns redop and root are of {expected}."
        return Fault(run.source, FaultCode.OUT_OF_RANGE, detail)
    return None
