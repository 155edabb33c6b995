"""Asynchronous training by 2 to 8 workers, predicted from steps that one of them recorded."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from solver.parameter_server.fit import TransferFit, fit_transfers
from solver.parameter_server.options import ThroughputOptions
from solver.parameter_server.recorded import RecordedTransfer
from solver.parameter_server.rows import ThroughputRow
from solver.parameter_server.steps import ServerStep, StepOp, build_step
from solver.parameter_server.throughput import predict
from tests.testbed.hosts import Host, namespaces, shape, shape_server
from tests.testbed.programs import HostProgram, answer_of, ask, started

#: Steps of the one worker that are not recorded.
DROPPED = 4
#: Share of a cell's time in which workers settle, and that does not count.
_SETTLING = 0.5
#: Of a layer list: bytes of its parameters, and how long a step sleeps [us].
_BYTES, _COMPUTE_US = 1_000_000, 300_000.0
#: How long the one worker is recorded [s].
_RECORDED_S = 10.0
#: Simulated runs as long as a measured one.
RUNS = 20
#: Before all other programs of the machine, where that is allowed.
_FIRST = ("nice", "-n", "-10")


def measure(
    models: Sequence[str],
    megabits: Sequence[float],
    workers: Sequence[int],
    seconds: float,
) -> Iterator[dict[str, Any]]:
    """Record one worker of each model at each bandwidth, then train with more of them.

    Parameters
    ----------
    models
        For :func:`tests.testbed.served_model.served_model`.
    megabits
        What the links carry [Mbit/s].
    workers
        How many at a time.
    seconds
        How long a cell trains [s]; its first half does not count.

    Yields
    ------
    dict
        ``model``, ``mbit``, ``document``: the recorded request; ``measured``: steps a second,
        ``steps``: how many that are, and ``load``: of the machine before, each by workers.
    """
    with namespaces(max(workers) + 1, megabits[0]) as hosts, started(_commands(hosts)) as programs:
        for mbit in megabits:
            for host in hosts:
                shape(host, mbit)
            shape_server(hosts, mbit)
            for model in models:
                shared = {"model": model, "bytes": _BYTES, "compute_us": _COMPUTE_US}
                cell: dict[str, Any] = {"model": model, "ratio": None, "mbit": mbit}
                cell |= {"measured": {}, "steps": {}, "load": {}}
                for count in (1, *workers):
                    load = os.getloadavg()[0]
                    time = _RECORDED_S if count == 1 else seconds
                    said = _run(programs, hosts[0], {**shared, "seconds": time}, count, mbit)
                    if count == 1:
                        cell["document"] = said[0]["document"]
                    found = pace([settled(each["ends"], time) for each in said])
                    if found is None:
                        continue
                    rate, steps = found
                    cell["measured"][str(count)], cell["steps"][str(count)] = rate, steps
                    cell["load"][str(count)] = load
                yield cell


def settled(ends: Sequence[float], seconds: float) -> list[float]:
    """Return the ends of a worker's steps behind its first :data:`_SETTLING` of so many seconds."""
    since = ends[-1] - (1 - _SETTLING) * seconds if ends else 0.0
    return [end for end in ends if end >= since]


def pace(ends: Sequence[Sequence[float]]) -> tuple[float, int] | None:
    """Return steps a second of all workers while all train, and how many that are.

    Of each worker the time from its first end to its last one counts: whole steps. None where one
    has fewer than two.
    """
    if not all(ends):
        return None
    first, last = max(each[0] for each in ends), min(each[-1] for each in ends)
    counted = [[end for end in each if first <= end <= last] for each in ends]
    if min(map(len, counted)) <= 2:
        return None
    rates = [(len(each) - 1) / (each[-1] - each[0]) for each in counted]
    return sum(rates), sum(len(each) - 1 for each in counted)


def predicted(
    document: Mapping[str, Any], workers: Sequence[int]
) -> tuple[TransferFit, dict[int, ThroughputRow]]:
    """Predict steps a second from what one worker recorded, and nothing else."""
    steps, fit, options = _known(document)
    rows = predict(steps, replace(options, workers=tuple(workers))).rows
    return fit, {row.workers: row for row in rows}


def predicted_runs(document: Mapping[str, Any], workers: int, steps: int) -> list[float]:
    """Simulate :data:`RUNS` runs in which a worker does so many steps, behind as many to settle.

    Returns steps a second of each.
    """
    known, _, options = _known(document)
    short = replace(options, workers=(workers,), steps=2 * steps, dropped=steps)
    runs = [replace(short, seed=seed) for seed in range(RUNS)]
    return [predict(known, each).rows[0].examples_per_s for each in runs]


def _known(
    document: Mapping[str, Any],
) -> tuple[list[ServerStep], TransferFit, ThroughputOptions]:
    """Return recorded steps, the links fitted to them, and options of one worker on these."""
    steps = [_step_of(step["ops"]) for step in document["steps"]]
    fit = fit_transfers([_transfers_of(step["ops"]) for step in document["steps"]])
    options = ThroughputOptions(
        workers=(1,),
        bandwidths_gbps=(fit.bandwidth_gbps,),
        batch_size=1,
        win_bytes=fit.win_bytes,
        parse_us_per_byte=fit.parse_us_per_byte,
        parse_us=fit.parse_us,
        explain=False,
    )
    return steps, fit, options


def _step_of(ops: Sequence[Mapping[str, Any]]) -> ServerStep:
    return build_step(
        StepOp(op["id"], op["resource"], op.get("duration_us"), op.get("bytes"), tuple(op["after"]))
        for op in ops
    )


def _transfers_of(ops: Sequence[Mapping[str, Any]]) -> list[RecordedTransfer]:
    return [
        RecordedTransfer(op["resource"], op["bytes"], op["start_us"], op["end_us"], op["parse_us"])
        for op in ops
        if "start_us" in op
    ]


def _run(
    programs: Sequence[HostProgram],
    server: Host,
    cell: Mapping[str, Any],
    count: int,
    mbit: float,
) -> list[dict[str, Any]]:
    """Have the server and so many workers train; return what the workers say."""
    first, *others = programs
    there = {**cell, "address": server.address, "workers": count}
    ask(first, {**there, "do": "serve"})
    port = answer_of(first)["port"]
    sent_s = cell["bytes"] * 8 / mbit / 1e6
    alone_s = cell["compute_us"] / 1e6 + 2 * sent_s
    apart_s = max(alone_s / count, sent_s)  # as simulated workers begin
    for i, worker in enumerate(others[:count]):
        own = {"port": port, "wait_s": i * apart_s, "dropped": DROPPED}
        ask(worker, {**there, **own, "do": "train", "is_recorded": count == 1})
    said = [answer_of(worker) for worker in others[:count]]
    lost = answer_of(first)["lost"]
    assert not lost, lost
    return said


def _commands(hosts: Sequence[Host]) -> list[list[str]]:
    """Say what runs on each host; the first is the server."""
    return [host.command(*_FIRST, sys.executable, "-m", "tests.testbed.served") for host in hosts]
