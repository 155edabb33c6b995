"""What the methods take by name.

Fields of a request are as the service's ``/docs`` describes them; None leaves one out.

Attributes
----------
tags
    Words to find the job by.
on_progress
    Called with a :class:`Progress` at once, and whenever it has changed, about half a second later.
timeout_s
    How long all of it may take [s]; None is for ever. The blocking client may take longer by what a
    request under way needs to connect and to send, and both by a cancellation.
use_stored
    Whether what the service answered to the same request before will do; by default yes.
cancel_on_timeout
    Whether a job that takes longer is cancelled; by default it goes on.
idempotency_key
    For 24 h the same key with the same request is the same job or run; a new one when left out.
runtime
    What executes the plan of a run, with its version.
predicted_us
    What a step should take under a plan [us]; left out, the service simulates it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, TypedDict, Union

from interlace_client.answers import Progress

if TYPE_CHECKING:
    from interlace_client.answers import Plan

#: What hears of the progress; its result counts only if the asynchronous client can await it.
Listener = Callable[[Progress], object]
_Fields = Mapping[str, Any]
_Policy = Union[str, _Fields]


class WaitOptions(TypedDict, total=False):
    """Of every method that waits for a job that it makes."""

    tags: Sequence[str]
    on_progress: Listener | None
    timeout_s: float | None
    use_stored: bool
    cancel_on_timeout: bool
    idempotency_key: str | None


class Planning(WaitOptions, total=False):
    """Of a plan."""

    options: _Fields | None
    what_if: Sequence[_Fields] | None


class Simulating(WaitOptions, total=False):
    """Of a simulation; a :class:`Plan` stands for its JSON."""

    policy: _Policy | None
    plan: Plan | _Fields | None
    barrier: bool | None
    bins: int | None
    jitter: _Fields | None
    what_if: Sequence[_Fields] | None
    options: _Fields | None


class Sweeping(WaitOptions, total=False):
    """Of a sweep."""

    workers: Sequence[int] | None
    bandwidths_gbps: Sequence[float] | None
    startups_us: Sequence[float] | None
    memory_limits_bytes: Sequence[int] | None
    policies: Sequence[_Policy] | None
    barrier: bool | None
    seed: int | None
    time_limit_s: float | None
    launch_tolerance: float | None
    sweep_limit_s: float | None
    options: _Fields | None


class PredictingParameterServer(WaitOptions, total=False):
    """Of training through parameter servers: profiled steps, or a graph, or the id of one."""

    bandwidths_gbps: Sequence[float] | None
    steps: Sequence[_Fields] | None
    graph: _Fields | str | None
    servers: int | None
    update_us_per_byte: float | None
    name: str | None
    workers: Sequence[int] | None
    flow_control: bool | None
    win_bytes: int | None
    parse_us_per_byte: float | None
    parse_us: float | None
    order: str | None
    simulated_steps: int | None
    dropped_steps: int | None
    seed: int | None
    synchronous: bool | None
    fit: bool | None
    spread: float | None
    explain: bool | None


class RankingShapes(WaitOptions, total=False):
    """Of rankings of shapes: which parts are tried, what is known of the machine, how many."""

    sequence: int | None
    tp: Sequence[int] | None
    pp: Sequence[int] | None
    cp: Sequence[int] | None
    ep: Sequence[int] | None
    micro_batch: Sequence[int] | None
    vpp: Sequence[int] | None
    schedules: Sequence[str] | None
    sequence_parallel: Sequence[bool] | None
    shardings: Sequence[str] | None
    recomputations: Sequence[str] | None
    precision: str | None
    flash_attention: bool | None
    gradient_bytes: int | None
    overlapped_buckets: int | None
    efficiencies: _Fields | None
    rows: Sequence[_Fields] | None
    price_per_gpu_hour: float | None
    count: int | None
    planned: int | None
    launch: str | None


class Placing(TypedDict, total=False):
    """Of placements of parameter servers, whose model is a graph, ``model_bytes`` or ``keys``."""

    model_bytes: int | None
    keys: Sequence[_Fields] | None
    batch_time_us: float | None
    workers: int | None
    bandwidth_gbps: float | None
    cluster: _Fields | None
    servers: int | None
    chunk_bytes: int | None
    interfaces_per_server: int | None
    cores_per_interface: int | None
    aggregate_gbytes_per_s: float | None
    simulate: Sequence[str] | None
    simulated_transfers: int | None
    racks: _Fields | None
    prices: _Fields | None
    jobs: Sequence[_Fields] | None
    machine: _Fields | None
    chunk_sizes: Sequence[int] | None
    systems: Sequence[str] | None


class Importing(WaitOptions, total=False):
    """Of an import; ``parameters`` are the model's gradients, JSON as the API takes it.

    ``rank`` is the place of a file, from 0; left out, that of the slowest rank. ``device`` is what
    runs a program that is HLO text.
    """

    format: str | None
    step: int | None
    rank: int | None
    device: str | None
    parameters: str | None
    name: str | None


class Starting(TypedDict, total=False):
    """Of a run."""

    name: str | None
    barrier: bool | None
    runtime: str | None
    predicted_us: float | None
    idempotency_key: str | None


class TakingOver(TypedDict, total=False):
    """Of a plan that a run takes over; graph and cluster are as before when left out."""

    graph: _Fields | str | None
    cluster: _Fields | None
    predicted_us: float | None


@dataclass(frozen=True)
class How:
    """How to submit a job and to wait for it: the fields of :class:`WaitOptions`."""

    tags: Sequence[str] = ()
    on_progress: Listener | None = None
    timeout_s: float | None = None
    use_stored: bool = True
    cancel_on_timeout: bool = False
    idempotency_key: str | None = None


def split(keywords: Mapping[str, Any]) -> tuple[How, dict[str, Any]]:
    """Tell how to wait from the fields of the request, without those that are None."""
    waiting = {name: keywords[name] for name in How.__dataclass_fields__ if name in keywords}
    fields = {k: v for k, v in keywords.items() if k not in waiting and v is not None}
    return How(**waiting), fields
