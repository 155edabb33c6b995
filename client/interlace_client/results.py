"""What the service answers, in the fields that a launcher needs; ``raw`` has all of it.

Fields that a newer server adds are ignored here. Times are microseconds, sizes bytes; what is not
known is None.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, Any]
_T = TypeVar("_T")


@dataclass(frozen=True)
class Bucket:
    """Tensors that are sent as one collective."""

    id: str
    tensors: tuple[str, ...]
    bytes: int
    kind: str
    channel: str
    release_us: float
    tail_us: float


@dataclass(frozen=True)
class Part:
    """A piece of a bucket between two preemptions: one launch."""

    bucket: str
    start_us: float
    end_us: float
    offset_bytes: int
    bytes: int


@dataclass(frozen=True)
class Baseline:
    """What a policy of today takes on the same graph."""

    policy: str
    iteration_time_us: float | None
    speedup: float | None
    headroom: float | None = None
    barrier: bool = False
    parameters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """Which tensors travel together and in which order, with the proof of how good that is."""

    id: str
    state: str
    status: str
    iteration_time_us: float
    compute_time_us: float
    lower_bound_us: float
    gap: float | None
    scaling_factor: float | None
    exposed_us: float
    overlap: float | None
    runtime_s: float
    buckets: tuple[Bucket, ...]
    parts: tuple[Part, ...]
    baselines: tuple[Baseline, ...]
    raw: Json = field(repr=False, compare=False)
    summary: str | None = None
    limited_by: str | None = None

    @classmethod
    def of(cls, raw: Json) -> Plan | None:
        """Read a plan from JSON, as the service or a file gave it; None when it holds none yet."""
        if raw.get("iteration_time_us") is None or raw.get("buckets") is None:
            return None
        baselines = tuple(picked(Baseline, each) for each in raw["baselines"] or ())
        return picked(cls, raw, baselines=baselines, **_sent(raw))


@dataclass(frozen=True)
class Simulation:
    """One iteration under a policy, or under a plan that was given."""

    id: str
    state: str
    iteration_time_us: float
    compute_time_us: float
    scaling_factor: float | None
    exposed_us: float
    overlap: float | None
    runtime_s: float
    buckets: tuple[Bucket, ...]
    parts: tuple[Part, ...]
    raw: Json = field(repr=False, compare=False)
    summary: str | None = None
    limited_by: str | None = None

    @classmethod
    def of(cls, raw: Json) -> Simulation | None:
        """Read a simulation from JSON; None when it holds none yet."""
        if raw.get("iteration_time_us") is None or raw.get("buckets") is None:
            return None
        return picked(cls, raw, **_sent(raw))


@dataclass(frozen=True)
class Cell:
    """One cluster of a sweep, and what each policy takes on it, by label.

    Of programs also a limit of memory, the peaks, and the status of the plan; else None.
    """

    workers: int
    bandwidth_gbps: float | None
    startup_us: float
    compute_time_us: float
    lower_bound_us: float
    iteration_time_us: Mapping[str, float | None]
    best: str | None
    scaling_factor: float | None
    speed: float | None
    memory_limit_bytes: int | None = None
    peak_bytes: Mapping[str, int | None] | None = None
    status: str | None = None


@dataclass(frozen=True)
class Sweep:
    """Cells in the order of workers, then bandwidth, then start-up, all ascending."""

    id: str
    state: str
    runtime_s: float
    summary: tuple[str, ...]
    cells: tuple[Cell, ...]
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Json) -> Sweep | None:
        """Read a sweep from JSON; None when it holds none yet (a list only counts its cells)."""
        if not isinstance(raw.get("cells"), list):
            return None
        cells = tuple(picked(Cell, each) for each in raw["cells"])
        return picked(cls, raw, cells=cells, summary=tuple(raw["summary"]), raw=raw)


@dataclass(frozen=True)
class ThroughputRow:
    """So many workers at a bandwidth, training through parameter servers.

    ``low_examples_per_s`` and ``high_examples_per_s`` are the 95 % interval of the simulation;
    ``utilisation`` has the share of each resource that is used; ``gains`` what each kind of
    resource gains when it is twice as fast, as a share, and ``limited_by`` the one that gains most.
    """

    bandwidth_gbps: float
    workers: int
    examples_per_s: float
    low_examples_per_s: float | None
    high_examples_per_s: float | None
    step_us: float
    limited_by: str | None
    lin_examples_per_s: float
    cynthia_examples_per_s: float
    bound_examples_per_s: float
    utilisation: Mapping[str, float] = field(default_factory=dict)
    gains: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Knee:
    """From how many workers on more of them gain nothing at a bandwidth; None where they do."""

    bandwidth_gbps: float
    workers: int | None
    ceiling_examples_per_s: float | None
    text: str


@dataclass(frozen=True)
class Throughput:
    """Rows in the order of bandwidth, then workers, both ascending; a knee for each bandwidth."""

    id: str
    state: str
    runtime_s: float
    rows: tuple[ThroughputRow, ...]
    knees: tuple[Knee, ...]
    notes: tuple[str, ...]
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Json) -> Throughput | None:
        """Read a prediction from JSON; None when it holds none yet (a list only counts rows)."""
        if not isinstance(raw.get("rows"), list):
            return None
        rows = tuple(_row(each) for each in raw["rows"])
        knees = tuple(picked(Knee, each) for each in raw["knees"])
        return picked(cls, raw, rows=rows, knees=knees, notes=tuple(raw["notes"]), raw=raw)


@dataclass(frozen=True)
class Placement:
    """One way to place parameter servers: ``ncc``, ``cc``, ``ncs`` or ``cs``.

    ``bandwidth_gbps`` and ``simulated_gbps`` hide communication, both directions summed; what
    follows ``busiest`` is None unless a bandwidth was asked about.
    """

    placement: str
    servers: int
    bandwidth_gbps: float
    simulated_gbps: float | None
    bytes_per_step: float
    busiest: str
    is_hidden: bool | None
    headroom: float | None
    most_workers: int | None
    exchange_us: float | None
    simulated_exchange_us: float | None
    iteration_bound_us: float | None
    text: str


@dataclass(frozen=True)
class SharedJob:
    """What a job loses to the others on its server."""

    name: str
    alone_us: float
    together_us: float
    slowdown: float


@dataclass(frozen=True)
class Placements:
    """The four ways to place parameter servers, and what was asked besides."""

    placements: tuple[Placement, ...]
    chunks: Json
    racks: Json | None
    prices: Json | None
    jobs: tuple[SharedJob, ...] | None
    notes: tuple[str, ...]
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Json) -> Placements:
        """Read placements from JSON."""
        jobs = raw["jobs"]
        return picked(
            cls,
            raw,
            placements=tuple(picked(Placement, each) for each in raw["placements"]),
            jobs=None if jobs is None else tuple(picked(SharedJob, each) for each in jobs),
            notes=tuple(raw["notes"]),
            raw=raw,
        )


@dataclass(frozen=True)
class ImportedGraph:
    """A graph that was read from files of another tool.

    ``id`` stands for the graph in requests; it is None when the files hold nothing to plan.
    ``graph`` is None then, and where only the job of the import was asked for. ``cluster`` is what
    the files tell of workers, channels and costs, ready for a request; ``costs`` says what these
    were fitted to, and how well. ``steps`` are those of
    :meth:`Client.predict_parameter_server` where the files are of training through parameter
    servers, else None.
    """

    id: str | None
    graph: Json | None
    report: Json
    raw: Json = field(repr=False, compare=False)
    cluster: Json | None = None
    costs: tuple[Json, ...] = ()
    steps: tuple[Json, ...] | None = None

    @classmethod
    def of(cls, raw: Json) -> ImportedGraph | None:
        """Read a graph, or the job that imported it; None when that has not read it yet."""
        if raw.get("report") is None:
            return None
        name = raw["graph_id"] if "state" in raw else raw["id"]
        steps = raw.get("steps")
        told = (
            raw.get("cluster"),
            tuple(raw.get("costs") or ()),
            None if steps is None else tuple(steps),
        )
        return cls(name, raw.get("graph"), raw["report"], raw, *told)


def picked(kind: type[_T], told: Json, **known: Any) -> _T:
    """Make a result of the fields that it has, and no others."""
    found = {each.name: told[each.name] for each in fields(kind) if each.name in told}  # type: ignore[arg-type]
    return kind(**{**found, **known})


def _row(raw: Json) -> ThroughputRow:
    """Return a row of a prediction, its shares and gains by resource."""
    used = {each["resource"]: each["share"] for each in raw["utilisation"]}
    gains = {each["resource"]: each["gain"] for each in raw["what_if"]}
    return picked(ThroughputRow, raw, utilisation=used, gains=gains)


def _sent(raw: Json) -> Json:
    """Return what is sent, bucket by bucket and launch by launch."""
    return {
        "buckets": tuple(
            picked(Bucket, each, tensors=tuple(each["tensors"])) for each in raw["buckets"]
        ),
        "parts": tuple(picked(Part, each) for each in raw["schedule"]["parts"] or ()),
        "raw": raw,
    }
