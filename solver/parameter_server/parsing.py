"""What the receiver of a transfer computes before its bytes can be used."""

from collections.abc import Iterator, Sequence

from solver.codes import FaultCode
from solver.errors import Fault, InvalidSteps
from solver.graph import first_of
from solver.limits import MAX_DURATION_US
from solver.parameter_server.steps import DOWNLINK, SERVER, WORKER, ServerStep, StepOp, build_step


def with_parsing(step: ServerStep, us_per_byte: float, us: float) -> ServerStep:
    r"""Put behind each transfer the op ``ID:parse`` that reads it, on who receives it.

    It takes :math:`\alpha \cdot size + \beta`: on the worker for a downlink, on its server for an
    uplink. What came after the transfer comes after that op.

    Parameters
    ----------
    step
        Transfers with the time on the wire alone, as their bytes say.
    us_per_byte, us
        :math:`\alpha` [us/byte] and :math:`\beta` [us], 0 or more. The same step for 0 and 0.

    Raises
    ------
    InvalidSteps
        With each transfer whose parsing would outlast the longest op.

    Notes
    -----
    O(ops + edges). An op's id that is taken gets a prime.

    References
    ----------
    .. [1] Li et al., Throughput Prediction of Asynchronous SGD in TensorFlow, 2020: section 3.2.1.
    """
    if not us_per_byte and not us:
        return step
    times = [us_per_byte * (op.bytes or 0) + us if op.is_transfer else 0.0 for op in step.ops]
    if faults := first_of(_faults(step.ops, times), "/ops"):
        raise InvalidSteps(faults)
    names = {op.id for op in step.ops}
    behind = {op.id: free_name(f"{op.id}:parse", names) for op in step.ops if op.is_transfer}
    return build_step(_parsed(step.ops, times, behind))


def free_name(name: str, names: set[str]) -> str:
    """Take a name that no op has, with as many primes as that needs; it is added to the names."""
    while name in names:
        name += "'"
    names.add(name)
    return name


def _faults(ops: Sequence[StepOp], times: Sequence[float]) -> Iterator[Fault]:
    for i, (op, time) in enumerate(zip(ops, times, strict=True)):
        if time > MAX_DURATION_US:
            detail = (
                f"Op {op.id!r}: parsing its {op.bytes} bytes takes {time:g} us; "
                f"an op takes {MAX_DURATION_US:g} us at most."
            )
            yield Fault(f"/ops/{i}/bytes", FaultCode.OUT_OF_RANGE, detail)


def _parsed(
    ops: Sequence[StepOp], times: Sequence[float], behind: dict[str, str]
) -> Iterator[StepOp]:
    for op, time in zip(ops, times, strict=True):
        yield op._replace(after=tuple(behind.get(other, other) for other in op.after))
        if op.is_transfer:
            receiver = WORKER if op.kind == DOWNLINK else _at_server(op.server)
            yield StepOp(behind[op.id], receiver, time, None, (op.id,))


def _at_server(server: str | None) -> str:
    return f"{SERVER}:{server}" if server else SERVER
