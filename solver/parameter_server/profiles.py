"""Steps of one worker from the rows of a profile."""

from collections.abc import Iterable, Iterator, Sequence

from solver.codes import FaultCode
from solver.errors import Fault, InvalidSteps
from solver.graph import first_of
from solver.parameter_server.steps import (
    DOWNLINK,
    SERVER,
    UPLINK,
    WORKER,
    ServerStep,
    StepOp,
    build_step,
)
from solver.traces.profiled import ProfiledOp


def profiled_step(
    rows: Sequence[ProfiledOp],
    worker: str | None = None,
    servers: str = "ps",
    hosts: Sequence[str] = (),
) -> ServerStep:
    """Build the step of a worker and of the servers that it pulls from and pushes to.

    What other workers computed and sent is left out, with the order that it made.

    Parameters
    ----------
    rows
        Of one step, as a reader of traces has them.
    worker
        Its task; None for the only one, or the first by name.
    servers
        Tasks are servers whose name is this and a number. One server needs no name in the step.
    hosts
        Servers of other steps, beside which this one's need their names.

    Raises
    ------
    InvalidSteps
        When there is no worker or no such worker, a server sends to a server, or the step would
        break a rule of :func:`solver.parameter_server.steps.build_step`.

    Notes
    -----
    O(rows and their order).
    """
    workers, own = tasks_of(rows, servers)
    hosts = tuple(dict.fromkeys([*hosts, *own]))
    if not workers or (worker is not None and worker not in workers):
        found = ", ".join(workers) or "none"
        detail = f"No worker {worker or ''!r} in the profile: its workers are {found}."
        raise InvalidSteps([Fault("", FaultCode.MISSING_FIELD, detail)])
    chosen = worker or workers[0]
    faults = first_of(_between(rows, hosts))
    if faults:
        raise InvalidSteps(faults)
    kept = [row for row in rows if _is_of(row, chosen, hosts)]
    ids = {row.id for row in kept}
    suffix = {host: f":{host}" if len(hosts) > 1 else "" for host in hosts}
    return build_step(_step_op(row, chosen, ids, suffix) for row in kept)


def tasks_of(rows: Iterable[ProfiledOp], servers: str = "ps") -> tuple[list[str], list[str]]:
    """Name the workers by name, and the servers in the order of their first row."""
    tasks = dict.fromkeys(task for row in rows for task in (row.task, row.origin) if task)
    hosts = [task for task in tasks if _is_server(task, servers)]
    return sorted(task for task in tasks if task not in hosts), hosts


def _is_server(task: str, servers: str) -> bool:
    return task.startswith(servers) and task[len(servers) :].isdecimal()


def _is_of(row: ProfiledOp, worker: str, hosts: Sequence[str]) -> bool:
    """Tell whether a row is computed by the worker or a server, or sent between them."""
    ours = {worker, *hosts}
    return row.task in ours and (row.origin is None or row.origin in ours)


def _between(rows: Sequence[ProfiledOp], hosts: Sequence[str]) -> Iterator[Fault]:
    for row in rows:
        if row.origin in hosts and row.task in hosts:
            detail = f"{row.id!r} goes from server to server, which a step has no link for."
            yield Fault("", FaultCode.NOT_SUPPORTED, detail)


def _step_op(row: ProfiledOp, worker: str, ids: set[str], suffix: dict[str, str]) -> StepOp:
    after = tuple(name for name in row.after if name in ids)
    if row.origin is None:
        where = WORKER if row.task == worker else f"{SERVER}{suffix[row.task]}"
    elif row.origin == worker:
        where = f"{UPLINK}{suffix[row.task]}"
    else:
        where = f"{DOWNLINK}{suffix[row.origin]}"
    return StepOp(row.id, where, row.duration_us, row.bytes, after)
