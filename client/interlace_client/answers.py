"""What the service answers, in the fields that a launcher needs; ``raw`` has all of it.

Fields that a newer server adds are ignored here. Times are microseconds, sizes bytes; what is not
known is None. Made of the OpenAPI document by ``python -m app.write_client``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a request.

    Attributes
    ----------
    pointer
        JSON pointer (RFC 6901) into the body; ``/query/...`` is a query parameter.
    code
        The rule that was broken.
    """

    pointer: str
    code: str
    detail: str

    @classmethod
    def of(cls, raw: Json) -> Fault:
        """Read it from JSON."""
        return cls(
            pointer=raw["pointer"],
            code=raw["code"],
            detail=raw["detail"],
        )


@dataclass(frozen=True)
class Failure:
    """Why a job failed: HTTP status, code, sentence, and the faults of its request."""

    status: int
    code: str
    detail: str
    faults: tuple[Fault, ...] = ()

    @classmethod
    def of(cls, raw: Json) -> Failure:
        """Read it from JSON."""
        return cls(
            status=raw["status"],
            code=raw["code"],
            detail=raw["detail"],
            faults=tuple(Fault.of(each) for each in _rows(raw.get("errors"))),
        )


@dataclass(frozen=True)
class Progress:
    """How far a job is; what it does not say is None.

    Attributes
    ----------
    state
        ``timed_out``: its time was over and nothing was in hand; a plan in hand makes it
        ``succeeded``.
    phase
        What it is at; None until it says so.
    completed
        How many of the phase's ``total`` are done.
    total
        None where that is not known.
    incumbent_us
        Iteration time of the best plan so far [us].
    lower_bound_us
        Best bound so far [us].
    gap
        Incumbent / bound - 1.
    heartbeat_at
        When it last showed that it is at work.
    incumbent
        Of a ranking, the best shape so far; other jobs leave it out.
    """

    job_id: str
    state: str
    phase: str | None = None
    completed: int | None = None
    total: int | None = None
    incumbent_us: float | None = None
    lower_bound_us: float | None = None
    gap: float | None = None
    heartbeat_at: str | None = None
    incumbent: str | None = None

    @classmethod
    def of(cls, raw: Json) -> Progress:
        """Read it from JSON."""
        progress = raw.get("progress") or {}
        return cls(
            job_id=raw["id"],
            state=raw["state"],
            phase=progress.get("phase"),
            completed=progress.get("completed"),
            total=progress.get("total"),
            incumbent_us=progress.get("incumbent_us"),
            lower_bound_us=progress.get("lower_bound_us"),
            gap=progress.get("gap"),
            heartbeat_at=progress.get("heartbeat_at"),
            incumbent=progress.get("incumbent"),
        )


@dataclass(frozen=True)
class Bucket:
    """Tensors that are sent as one collective.

    Attributes
    ----------
    kind
        Kind of collective.
    channel
        What carries it.
    release_us
        When its last tensor is ready [us].
    tail_us
        Compute left after it, longest path [us].
    """

    id: str
    tensors: tuple[str, ...]
    bytes: int
    kind: str
    channel: str
    release_us: float
    tail_us: float

    @classmethod
    def of(cls, raw: Json) -> Bucket:
        """Read it from JSON."""
        return cls(
            id=raw["id"],
            tensors=tuple(raw["tensors"]),
            bytes=raw["bytes"],
            kind=raw["kind"],
            channel=raw["channel"],
            release_us=raw["release_us"],
            tail_us=raw["tail_us"],
        )


@dataclass(frozen=True)
class Part:
    """A piece of a bucket between two preemptions: one launch."""

    bucket: str
    start_us: float
    end_us: float
    offset_bytes: int
    bytes: int

    @classmethod
    def of(cls, raw: Json) -> Part:
        """Read it from JSON."""
        return cls(
            bucket=raw["bucket"],
            start_us=raw["start_us"],
            end_us=raw["end_us"],
            offset_bytes=raw["offset_bytes"],
            bytes=raw["bytes"],
        )


@dataclass(frozen=True)
class Baseline:
    """What a policy of today takes on the same graph.

    Attributes
    ----------
    iteration_time_us
        None where the policy is not defined: ``pace`` off its class.
    speedup
        Its time over the plan's.
    headroom
        What any schedule could gain over it: time / lower bound - 1.
    barrier
        Simulated with a barrier.
    parameters
        All parameters, as they were used.
    """

    policy: str
    iteration_time_us: float | None
    speedup: float | None
    headroom: float | None = None
    barrier: bool = False
    parameters: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, raw: Json) -> Baseline:
        """Read it from JSON."""
        return cls(
            policy=raw["policy"],
            iteration_time_us=raw["iteration_time_us"],
            speedup=raw["speedup"],
            headroom=raw.get("headroom"),
            barrier=raw.get("barrier", False),
            parameters=raw.get("parameters") or {},
        )


@dataclass(frozen=True)
class Plan:
    """Which tensors travel together and in which order, with the proof of how good that is.

    Attributes
    ----------
    state
        ``timed_out``: its time was over and nothing was in hand; a plan in hand makes it
        ``succeeded``.
    status
        ``optimal``: the iteration time equals the lower bound; ``within``: the best time found
        does, and the plan takes at most ``launch_tolerance`` longer.
    iteration_time_us
        Simulated time of the plan, start-up paid by each part [us].
    compute_time_us
        The same with free communication [us].
    lower_bound_us
        Nothing is faster, proven [us].
    gap
        Iteration time / lower bound - 1: the most that any plan could gain. Of a ``feasible`` plan
        that may be nothing, for the bound may be too low; of one ``within`` it is the price of few
        launches.
    scaling_factor
        Compute time / iteration time.
    exposed_us
        Iteration time - compute time [us].
    overlap
        1 - exposed / time of all launches, 0 to 1.
    runtime_s
        Time that planning took [s].
    summary
        What limits the iteration, and what would move it by how much.
    limited_by
        The same in a word; None when nothing takes time.
    best_time_us
        The best time found [us]; the plan takes at most ``launch_tolerance`` longer, for fewer
        launches. None in plans of older releases.
    headline
        What plans with PyTorch's barrier and without gain over what you run; None in drafts and
        beyond 200,000 ops and edges.
    evidence
        What was measured, and below which gain nothing follows.
    """

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
    best_time_us: float | None = None
    headline: Json | None = None
    evidence: Json | None = None

    @classmethod
    def of(cls, raw: Json) -> Plan | None:
        """Read it from JSON; None when there is none yet."""
        if raw.get("iteration_time_us") is None or not isinstance(raw.get("buckets"), list):
            return None
        return cls(
            id=raw["id"],
            state=raw["state"],
            status=raw["status"],
            iteration_time_us=raw["iteration_time_us"],
            compute_time_us=raw["compute_time_us"],
            lower_bound_us=raw["lower_bound_us"],
            gap=raw["gap"],
            scaling_factor=raw["scaling_factor"],
            exposed_us=raw["exposed_us"],
            overlap=raw["overlap"],
            runtime_s=raw["runtime_s"],
            buckets=tuple(Bucket.of(each) for each in raw["buckets"]),
            parts=tuple(Part.of(each) for each in raw["schedule"]["parts"] or ()),
            baselines=tuple(Baseline.of(each) for each in raw["baselines"] or ()),
            raw=raw,
            summary=raw.get("summary"),
            limited_by=raw.get("limited_by"),
            best_time_us=raw.get("best_time_us"),
            headline=raw.get("headline"),
            evidence=raw.get("evidence"),
        )


@dataclass(frozen=True)
class Simulation:
    """One iteration under a policy, or under a plan that was given.

    Attributes
    ----------
    state
        ``timed_out``: its time was over and nothing was in hand; a plan in hand makes it
        ``succeeded``.
    compute_time_us
        The same with free communication [us].
    scaling_factor
        Compute time / iteration time.
    exposed_us
        Iteration time - compute time [us].
    overlap
        1 - exposed / time of all launches, 0 to 1.
    runtime_s
        Time that simulating took [s].
    summary
        What limits the iteration, and what would move it by how much.
    limited_by
        The same in a word; None when nothing takes time.
    evidence
        What was measured, and below which gain nothing follows. None in answers of earlier
        versions.
    """

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
    evidence: Json | None = None

    @classmethod
    def of(cls, raw: Json) -> Simulation | None:
        """Read it from JSON; None when there is none yet."""
        if raw.get("iteration_time_us") is None or not isinstance(raw.get("buckets"), list):
            return None
        return cls(
            id=raw["id"],
            state=raw["state"],
            iteration_time_us=raw["iteration_time_us"],
            compute_time_us=raw["compute_time_us"],
            scaling_factor=raw["scaling_factor"],
            exposed_us=raw["exposed_us"],
            overlap=raw["overlap"],
            runtime_s=raw["runtime_s"],
            buckets=tuple(Bucket.of(each) for each in raw["buckets"]),
            parts=tuple(Part.of(each) for each in raw["schedule"]["parts"] or ()),
            raw=raw,
            summary=raw.get("summary"),
            limited_by=raw.get("limited_by"),
            evidence=raw.get("evidence"),
        )


@dataclass(frozen=True)
class Cell:
    """One cluster of a sweep, and what each policy takes on it, by label.

    Attributes
    ----------
    compute_time_us
        An iteration with free communication [us].
    lower_bound_us
        No plan is faster [us].
    iteration_time_us
        Of each policy, by label [us]; None where PACE is not defined, and where no program of
        ``plan`` keeps the limit of memory.
    best
        Label of the fastest that keeps the limit of memory; of equally fast ones (``fastest``) the
        first in the request.
    scaling_factor
        Of the best: compute time / iteration time.
    speed
        Of the best, in workers that never wait: workers x scaling factor.
    memory_limit_bytes
        Of a program: the limit of memory.
    peak_bytes
        Of programs: the most memory of each policy, by label [bytes]; a rule may take more than the
        limit, and is then not called best.
    status
        Of the program of ``plan``; ``infeasible``: none was found that keeps the limit of memory.
    fastest
        Labels of all that are as fast as that, within 0.1 %; empty in sweeps of earlier versions.
    gains
        What the fastest saves over each of what you run; empty in sweeps of earlier versions.
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
    fastest: tuple[str, ...] = ()
    gains: tuple[Json, ...] = ()

    @classmethod
    def of(cls, raw: Json) -> Cell:
        """Read it from JSON."""
        return cls(
            workers=raw["workers"],
            bandwidth_gbps=raw["bandwidth_gbps"],
            startup_us=raw["startup_us"],
            compute_time_us=raw["compute_time_us"],
            lower_bound_us=raw["lower_bound_us"],
            iteration_time_us=raw["iteration_time_us"],
            best=raw["best"],
            scaling_factor=raw["scaling_factor"],
            speed=raw["speed"],
            memory_limit_bytes=raw.get("memory_limit_bytes"),
            peak_bytes=raw.get("peak_bytes"),
            status=raw.get("status"),
            fastest=tuple(raw.get("fastest") or ()),
            gains=tuple(_rows(raw.get("gains"))),
        )


@dataclass(frozen=True)
class Sweep:
    """Cells in the order of workers, then bandwidth, then start-up, all ascending.

    Attributes
    ----------
    state
        ``timed_out``: its time was over and nothing was in hand; a plan in hand makes it
        ``succeeded``.
    runtime_s
        Time that the sweep took [s].
    summary
        What the sweep says, in sentences.
    evidence
        Of the cell where a gain must be largest to follow. None in sweeps of earlier versions.
    """

    id: str
    state: str
    runtime_s: float
    summary: tuple[str, ...]
    cells: tuple[Cell, ...]
    raw: Json = field(repr=False, compare=False)
    evidence: Json | None = None

    @classmethod
    def of(cls, raw: Json) -> Sweep | None:
        """Read it from JSON; None when there is none yet."""
        if not isinstance(raw.get("cells"), list):
            return None
        return cls(
            id=raw["id"],
            state=raw["state"],
            runtime_s=raw["runtime_s"],
            summary=tuple(raw["summary"] or ()),
            cells=tuple(Cell.of(each) for each in raw["cells"]),
            raw=raw,
            evidence=raw.get("evidence"),
        )


@dataclass(frozen=True)
class ThroughputRow:
    """So many workers at a bandwidth, training through parameter servers.

    ``utilisation`` has the share of each resource that is used; ``gains`` what each kind of
    resource gains when it is twice as fast, as a share.

    Attributes
    ----------
    bandwidth_gbps
        Which row it is.
    workers
        Which row it is.
    examples_per_s
        Of all workers, simulated.
    low_examples_per_s
        95 % interval of the simulated mean, widened to the mean of workers that begin in step where
        those that vary begin one after the other; None of too few steps.
    high_examples_per_s
        Its other end.
    step_us
        Mean time of a worker's step [us]; in a synchronous run with its wait for the others.
    limited_by
        The resource that gains most when it is faster, ``links`` only where neither direction gains
        as much; None when none gains more than its interval, or nothing was explained.
    lin_examples_per_s
        By the formula of Lin et al.; ``notes`` say what it knows.
    cynthia_examples_per_s
        By the formula of Cynthia (Zheng et al.).
    bound_examples_per_s
        The simple bound: so many workers as if each were alone, or a server's busiest link
        direction full, whichever is less.
    utilisation
        Of each resource.
    gains
        One for each kind of resource in use, and for both links together. Empty when nothing was
        explained.
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

    @classmethod
    def of(cls, raw: Json) -> ThroughputRow:
        """Read it from JSON."""
        return cls(
            bandwidth_gbps=raw["bandwidth_gbps"],
            workers=raw["workers"],
            examples_per_s=raw["examples_per_s"],
            low_examples_per_s=raw["low_examples_per_s"],
            high_examples_per_s=raw["high_examples_per_s"],
            step_us=raw["step_us"],
            limited_by=raw["limited_by"],
            lin_examples_per_s=raw["lin_examples_per_s"],
            cynthia_examples_per_s=raw["cynthia_examples_per_s"],
            bound_examples_per_s=raw["bound_examples_per_s"],
            utilisation={each["resource"]: each["share"] for each in _rows(raw.get("utilisation"))},
            gains={each["resource"]: each["gain"] for each in _rows(raw.get("what_if"))},
        )


@dataclass(frozen=True)
class Knee:
    """From how many workers on more of them gain nothing at a bandwidth.

    Attributes
    ----------
    bandwidth_gbps
        At which bandwidth.
    workers
        The least count over which no larger one gains more than 1 % or more than the interval; None
        when the largest still does, or there is one alone.
    ceiling_examples_per_s
        ``batch_size`` x bandwidth / bytes of a step on its busiest link: no count of workers does
        more. None when nothing is transferred.
    text
        The same in a sentence.
    """

    bandwidth_gbps: float
    workers: int | None
    ceiling_examples_per_s: float | None
    text: str

    @classmethod
    def of(cls, raw: Json) -> Knee:
        """Read it from JSON."""
        return cls(
            bandwidth_gbps=raw["bandwidth_gbps"],
            workers=raw["workers"],
            ceiling_examples_per_s=raw["ceiling_examples_per_s"],
            text=raw["text"],
        )


@dataclass(frozen=True)
class Throughput:
    """Training through parameter servers: rows, and a knee for each bandwidth.

    Attributes
    ----------
    state
        ``timed_out``: its time was over and nothing was in hand; a plan in hand makes it
        ``succeeded``.
    runtime_s
        Time that the prediction took [s].
    rows
        In the order of bandwidth, then workers, both ascending.
    knees
        One a bandwidth.
    notes
        What was assumed, and what the other formulas know.
    """

    id: str
    state: str
    runtime_s: float
    rows: tuple[ThroughputRow, ...]
    knees: tuple[Knee, ...]
    notes: tuple[str, ...]
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Json) -> Throughput | None:
        """Read it from JSON; None when there is none yet."""
        if not isinstance(raw.get("rows"), list):
            return None
        return cls(
            id=raw["id"],
            state=raw["state"],
            runtime_s=raw["runtime_s"],
            rows=tuple(ThroughputRow.of(each) for each in raw["rows"]),
            knees=tuple(Knee.of(each) for each in raw["knees"] or ()),
            notes=tuple(raw["notes"] or ()),
            raw=raw,
        )


@dataclass(frozen=True)
class ShapeRow:
    """A shape with its figures; ``raw`` has its parts, its launch arguments and its plan.

    Attributes
    ----------
    name
        What differs from 1.
    time_us
        Simulated time of a step [us].
    predicted_us
        With what measured steps tell besides [us].
    low_us
        Nine of ten steps are between [us]; None where rows are too few.
    memory_bytes
        Of the fullest rank, at its peak.
    tokens_per_s_per_gpu
        By the predicted time, without one by the simulated.
    mfu
        Likewise; without what is computed again.
    price_per_billion_tokens
        Likewise; None without a price.
    """

    name: str
    time_us: float
    predicted_us: float | None
    low_us: float | None
    high_us: float | None
    memory_bytes: float
    bubble_us: float
    tokens_per_s_per_gpu: float
    mfu: float
    price_per_billion_tokens: float | None
    why: str
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Json) -> ShapeRow:
        """Read it from JSON."""
        return cls(
            name=raw["name"],
            time_us=raw["time_us"],
            predicted_us=raw["predicted_us"],
            low_us=raw["low_us"],
            high_us=raw["high_us"],
            memory_bytes=raw["memory_bytes"],
            bubble_us=raw["bubble_us"],
            tokens_per_s_per_gpu=raw["tokens_per_s_per_gpu"],
            mfu=raw["mfu"],
            price_per_billion_tokens=raw["price_per_billion_tokens"],
            why=raw["why"],
            raw=raw,
        )


@dataclass(frozen=True)
class Ranking:
    """The best shapes of a job, the fastest first, and what is proven of the others.

    Attributes
    ----------
    state
        ``timed_out``: its time was over and nothing was in hand; a plan in hand makes it
        ``succeeded``.
    too_large
        Shapes that do not fit in memory.
    cut
        Not simulated, as too much work, though perhaps among the best.
    is_proven
        No shape of the space has a shorter simulated step; of the model alone.
    notes
        What was assumed, and what the proof is of.
    """

    id: str
    state: str
    best: tuple[ShapeRow, ...]
    front: tuple[ShapeRow, ...]
    shapes: int
    too_large: int
    simulated: int
    cut: int
    is_proven: bool
    lower_bound_us: float | None
    notes: tuple[str, ...]
    raw: Json = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Json) -> Ranking | None:
        """Read it from JSON; None when there is none yet."""
        if not isinstance(raw.get("best"), list):
            return None
        return cls(
            id=raw["id"],
            state=raw["state"],
            best=tuple(ShapeRow.of(each) for each in raw["best"]),
            front=tuple(ShapeRow.of(each) for each in raw["front"] or ()),
            shapes=raw["shapes"],
            too_large=raw["too_large"],
            simulated=raw["simulated"],
            cut=raw["cut"],
            is_proven=raw["is_proven"],
            lower_bound_us=raw["lower_bound_us"],
            notes=tuple(raw["notes"] or ()),
            raw=raw,
        )


@dataclass(frozen=True)
class Placement:
    """One way to place parameter servers: ``ncc``, ``cc``, ``ncs`` or ``cs``.

    What follows ``busiest`` is None unless a bandwidth was asked about.

    Attributes
    ----------
    placement
        ``ncc``: one server on a host of its own; ``cc``: one on a worker's host; ``ncs``: sharded
        over hosts of their own; ``cs``: sharded over the workers' hosts.
    bandwidth_gbps
        That an interface needs for communication to be hidden, both directions summed, by the
        formula [Gbit/s].
    simulated_gbps
        The same by simulation of an exchange, chunk by chunk [Gbit/s]. None where it was not
        simulated, or summing alone takes longer than the compute.
    bytes_per_step
        What the busiest host sends and receives [bytes].
    busiest
        Which host that is; ``both`` where all move the same.
    is_hidden
        Whether the given bandwidth is enough by the formula, and summing takes no longer than the
        compute; None without a bandwidth.
    headroom
        Compute over exchange, ``exchange_us``: below 1 it is short by that factor. None without a
        bandwidth, or where nothing is sent.
    most_workers
        Up to so many workers stay hidden at the given bandwidth, all else the same; 0 for none.
        None without a bandwidth, or where any number does.
    exchange_us
        Time of an exchange at the given bandwidth, by the formula, or of summing where that takes
        longer [us].
    simulated_exchange_us
        The same, simulated [us]; None where it was not.
    iteration_bound_us
        No iteration is shorter at the given bandwidth, however it sends: the longer of compute and
        exchange; of a graph that is not given a ``batch_time_us``, with the times between which
        each tensor can be sent [us].
    text
        What limits it, and what would move that.
    limited_by
        What is busy for the longest at the given bandwidth, by the formulas; None without a
        machine.
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
    limited_by: str | None = None

    @classmethod
    def of(cls, raw: Json) -> Placement:
        """Read it from JSON."""
        return cls(
            placement=raw["placement"],
            servers=raw["servers"],
            bandwidth_gbps=raw["bandwidth_gbps"],
            simulated_gbps=raw["simulated_gbps"],
            bytes_per_step=raw["bytes_per_step"],
            busiest=raw["busiest"],
            is_hidden=raw["is_hidden"],
            headroom=raw["headroom"],
            most_workers=raw["most_workers"],
            exchange_us=raw["exchange_us"],
            simulated_exchange_us=raw["simulated_exchange_us"],
            iteration_bound_us=raw["iteration_bound_us"],
            text=raw["text"],
            limited_by=raw.get("limited_by"),
        )


@dataclass(frozen=True)
class SharedJob:
    """What a job loses to the others on its server.

    Attributes
    ----------
    name
        The job's.
    alone_us
        Time of a step with the server to itself [us].
    together_us
        The same with all jobs [us].
    slowdown
        The second over the time alone with the same chunks, ``coarse_us``: what others take, and
        nothing of what large chunks do.
    """

    name: str
    alone_us: float
    together_us: float
    slowdown: float

    @classmethod
    def of(cls, raw: Json) -> SharedJob:
        """Read it from JSON."""
        return cls(
            name=raw["name"],
            alone_us=raw["alone_us"],
            together_us=raw["together_us"],
            slowdown=raw["slowdown"],
        )


@dataclass(frozen=True)
class ChunkPoint:
    """An exchange with chunks of one size.

    Attributes
    ----------
    chunk_bytes
        That size.
    exchange_us
        Time of an exchange [us]; None where too few chunks of it could be simulated.
    """

    chunk_bytes: int
    exchange_us: float | None

    @classmethod
    def of(cls, raw: Json) -> ChunkPoint:
        """Read it from JSON."""
        return cls(
            chunk_bytes=raw["chunk_bytes"],
            exchange_us=raw["exchange_us"],
        )


@dataclass(frozen=True)
class ChunkCurve:
    """Exchanges of one placement with chunks of several sizes.

    Attributes
    ----------
    placement
        ``ncc``, ``cc``, ``ncs`` or ``cs``.
    best_chunk_bytes
        The size with the shortest exchange, of equal ones the smallest; None where none is known.
    points
        In the order of the sizes given.
    """

    placement: str
    best_chunk_bytes: int | None
    points: tuple[ChunkPoint, ...]

    @classmethod
    def of(cls, raw: Json) -> ChunkCurve:
        """Read it from JSON."""
        return cls(
            placement=raw["placement"],
            best_chunk_bytes=raw["best_chunk_bytes"],
            points=tuple(ChunkPoint.of(each) for each in raw["points"]),
        )


@dataclass(frozen=True)
class SystemTime:
    """What a step takes with a system.

    Attributes
    ----------
    system
        ``pbox``, ``pshard``, ``mxnet``, or an all-reduce of Gloo.
    placement
        Where its servers are; None of collectives, which have none.
    hosts
        Workers, and the box where there is one.
    exchange_us
        An exchange, or an all-reduce and the update after it [us]; None where it was not simulated:
        too many transfers, or workers that are no power of two.
    step_us
        The longer of compute and exchange [us].
    speedup
        The step of the first system named over this one's: how many times as fast it is.
    """

    system: str
    placement: str | None
    hosts: int
    exchange_us: float | None
    step_us: float | None
    speedup: float | None

    @classmethod
    def of(cls, raw: Json) -> SystemTime:
        """Read it from JSON."""
        return cls(
            system=raw["system"],
            placement=raw["placement"],
            hosts=raw["hosts"],
            exchange_us=raw["exchange_us"],
            step_us=raw["step_us"],
            speedup=raw["speedup"],
        )


@dataclass(frozen=True)
class Placements:
    """The four ways to place parameter servers, and what was asked besides.

    Attributes
    ----------
    placements
        In the order ncc, cc, ncs, cs.
    racks
        None where no racks were given.
    prices
        None where no prices were given.
    jobs
        None where no jobs were given, or they make too many transfers.
    notes
        Units, and what the figures assume.
    chunk_curves
        Of each simulated placement; None where no ``chunk_sizes`` were given.
    systems
        None where no ``systems`` were given.
    systems_text
        Which of the systems takes the shortest step, and how much shorter.
    """

    placements: tuple[Placement, ...]
    chunks: Json
    racks: Json | None
    prices: Json | None
    jobs: tuple[SharedJob, ...] | None
    notes: tuple[str, ...]
    raw: Json = field(repr=False, compare=False)
    chunk_curves: tuple[ChunkCurve, ...] | None = None
    systems: tuple[SystemTime, ...] | None = None
    systems_text: str | None = None

    @classmethod
    def of(cls, raw: Json) -> Placements:
        """Read it from JSON."""
        return cls(
            placements=tuple(Placement.of(each) for each in raw["placements"]),
            chunks=raw["chunks"],
            racks=raw["racks"],
            prices=raw["prices"],
            jobs=None if raw["jobs"] is None else tuple(SharedJob.of(each) for each in raw["jobs"]),
            notes=tuple(raw["notes"]),
            raw=raw,
            chunk_curves=None
            if raw.get("chunk_curves") is None
            else tuple(ChunkCurve.of(each) for each in _rows(raw.get("chunk_curves"))),
            systems=None
            if raw.get("systems") is None
            else tuple(SystemTime.of(each) for each in _rows(raw.get("systems"))),
            systems_text=raw.get("systems_text"),
        )


@dataclass(frozen=True)
class Step:
    """One step of a run, as it is reported and as it is told.

    Attributes
    ----------
    plan
        Index of the plan in use.
    measured_us
        What it took [us].
    predicted_us
        What it should have taken [us]; None: what its plan predicts.
    ready_spread_us
        Between the first and the last worker that was ready [us].
    note
        What is worth knowing of it.
    """

    step: int
    plan: int
    measured_us: float
    predicted_us: float | None = None
    ready_spread_us: float | None = None
    note: str | None = None

    @classmethod
    def of(cls, raw: Json) -> Step:
        """Read it from JSON."""
        return cls(
            step=raw["step"],
            plan=raw["plan"],
            measured_us=raw["measured_us"],
            predicted_us=raw.get("predicted_us"),
            ready_spread_us=raw.get("ready_spread_us"),
            note=raw.get("note"),
        )


@dataclass(frozen=True)
class PredictionError:
    """How far predictions were from what was measured: abs(predicted / measured - 1).

    Attributes
    ----------
    p95
        95 % of the steps were no further off.
    """

    median: float
    p95: float

    @classmethod
    def of(cls, raw: Json) -> PredictionError:
        """Read it from JSON."""
        return cls(
            median=raw["median"],
            p95=raw["p95"],
        )


@dataclass(frozen=True)
class RunPlan:
    """A plan of a run; how its steps went is None where that was not asked for.

    Attributes
    ----------
    index
        Counts from 0; what steps call ``plan``.
    from_step
        The first step that it is executed in.
    why
        Why it was taken over; of the first one ``start``.
    plan_id
        Its id where it was named by that; it may be gone.
    predicted_us
        What a step should take under it [us].
    steps
        How many steps were reported under it.
    measured_us
        Median of what they took [us]; None without steps.
    error
        None without steps.
    """

    index: int
    from_step: int
    why: str
    plan_id: str | None
    predicted_us: float
    buckets: int
    launches: int
    steps: int | None = None
    measured_us: float | None = None
    error: PredictionError | None = None

    @classmethod
    def of(cls, raw: Json) -> RunPlan:
        """Read it from JSON."""
        return cls(
            index=raw["index"],
            from_step=raw["from_step"],
            why=raw["why"],
            plan_id=raw["plan_id"],
            predicted_us=raw["predicted_us"],
            buckets=raw["buckets"],
            launches=raw["launches"],
            steps=raw.get("steps"),
            measured_us=raw.get("measured_us"),
            error=None if raw.get("error") is None else PredictionError.of(raw["error"]),
        )


@dataclass(frozen=True)
class RunArm:
    """What made steps in a trial.

    Attributes
    ----------
    is_plan
        It was a plan, not what the job ran without one.
    median_us
        Median of its measured steps [us].
    """

    name: str
    is_plan: bool
    median_us: float

    @classmethod
    def of(cls, raw: Json) -> RunArm:
        """Read it from JSON."""
        return cls(
            name=raw["name"],
            is_plan=raw["is_plan"],
            median_us=raw["median_us"],
        )


@dataclass(frozen=True)
class RunTrial:
    """A plan tried in the run's own steps, beside what the job ran without it.

    Attributes
    ----------
    before_step
        The first step after it.
    kept
        Index of what went on.
    promised
        Gain that was planned: the others' time over the plan's. None: unknown
    gain
        The same as it was measured.
    gain_low
        Low end of its interval.
    gain_high
        High end of its interval.
    why
        Why that was kept, in a sentence.
    """

    before_step: int
    arms: tuple[RunArm, ...]
    kept: int
    promised: float | None
    gain: float
    gain_low: float
    gain_high: float
    why: str

    @classmethod
    def of(cls, raw: Json) -> RunTrial:
        """Read it from JSON."""
        return cls(
            before_step=raw["before_step"],
            arms=tuple(RunArm.of(each) for each in raw["arms"]),
            kept=raw["kept"],
            promised=raw["promised"],
            gain=raw["gain"],
            gain_low=raw["gain_low"],
            gain_high=raw["gain_high"],
            why=raw["why"],
        )


@dataclass(frozen=True)
class Run:
    """A run as the service told it last; times of day are ISO 8601.

    A list has neither plans nor history.

    Attributes
    ----------
    reported_at
        When something was last heard of it; a job that died says no end.
    steps
        How many steps were reported.
    last_step
        The latest of them.
    error
        Of all steps; None without.
    trials
        In the order of their steps.
    every
        ``history`` has every step that was reported when this is 1, every second one when it is 2,
        and so on; ``/steps`` has all of them.
    history
        In ascending order.
    """

    id: str
    name: str
    state: str
    workers: int
    barrier: bool
    runtime: str
    created_at: str
    reported_at: str
    ended_at: str | None
    ended_why: str | None
    steps: int
    last_step: int | None
    raw: Json = field(repr=False, compare=False)
    error: PredictionError | None = None
    plans: tuple[RunPlan, ...] = ()
    trials: tuple[RunTrial, ...] = ()
    every: int = 1
    history: tuple[Step, ...] = ()

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will be added to it."""
        return self.state == "ended"

    @classmethod
    def of(cls, raw: Json) -> Run:
        """Read it from JSON."""
        return cls(
            id=raw["id"],
            name=raw["name"],
            state=raw["state"],
            workers=raw["workers"],
            barrier=raw["barrier"],
            runtime=raw["runtime"],
            created_at=raw["created_at"],
            reported_at=raw["reported_at"],
            ended_at=raw["ended_at"],
            ended_why=raw["ended_why"],
            steps=raw["steps"],
            last_step=raw["last_step"],
            raw=raw,
            error=None if raw.get("error") is None else PredictionError.of(raw["error"]),
            plans=tuple(RunPlan.of(each) for each in _rows(raw.get("plans"))),
            trials=tuple(RunTrial.of(each) for each in _rows(raw.get("trials"))),
            every=raw.get("every", 1),
            history=tuple(Step.of(each) for each in _rows(raw.get("history"))),
        )


@dataclass(frozen=True)
class RunPage:
    """Runs of a list, the newest first, and the cursor of the next page; None on the last.

    Attributes
    ----------
    next_cursor
        ``cursor`` of the call for the runs before these.
    """

    runs: tuple[Run, ...]
    next_cursor: str | None

    @classmethod
    def of(cls, raw: Json) -> RunPage:
        """Read it from JSON."""
        return cls(
            runs=tuple(Run.of(each) for each in raw["runs"]),
            next_cursor=raw["next_cursor"],
        )


def _rows(found: Any) -> list[Any]:
    """Return rows; none where there are none, or where a list says only how many."""
    return found if isinstance(found, list) else []
