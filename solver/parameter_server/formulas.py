"""What others compute without a simulation: two formulas of the literature, and a simple bound."""

from collections.abc import Sequence
from typing import NamedTuple

from solver.parameter_server.links import ServerLinks
from solver.parameter_server.record import RunOptions, ServicePeriod
from solver.parameter_server.run import run_steps
from solver.parameter_server.steps import DOWNLINK, UPLINK, ServerStep, servers_of
from solver.units import bytes_per_us

_US_PER_S = 1e6


class StepPhases(NamedTuple):
    """The phases of one worker's step without others beside it, in the mean over steps [us].

    Attributes
    ----------
    downlink
        From the start of the first downlink to the end of the last.
    compute
        What is before the downlink phase, and from its end to the start of the uplink phase; 0
        where they overlap.
    uplink
        From the start of the first uplink to the end of the last.
    update
        What comes after the uplink phase.
    step
        The whole step; less than the sum of the others where phases overlap.
    """

    downlink: float
    compute: float
    uplink: float
    update: float
    step: float


def phases_of(steps: Sequence[ServerStep], links: ServerLinks) -> StepPhases:
    """Measure the phases of one worker: each profiled step runs once, as long as profiled.

    Notes
    -----
    Steps of a worker that is alone do not depend on one another, so the mean over the profiled ones
    is that of a long run without a spread. O(ops log(ops)).
    """
    once = RunOptions(steps=1, dropped=0)
    measured = [
        _phases(step, run_steps([step], 1, links, once, range(1)).services) for step in steps
    ]
    return StepPhases(*(sum(column) / len(measured) for column in zip(*measured, strict=True)))


def _phases(step: ServerStep, services: Sequence[ServicePeriod]) -> StepPhases:
    end = max(service.end for service in services)
    down = [service for service in services if step.ops[service.op].kind == DOWNLINK]
    up = [service for service in services if step.ops[service.op].kind == UPLINK]
    down_start = min((service.start for service in down), default=0.0)
    down_end = max((service.end for service in down), default=0.0)
    up_start = min((service.start for service in up), default=end)
    up_end = max((service.end for service in up), default=end)
    compute = down_start + max(up_start - down_end, 0.0)
    return StepPhases(down_end - down_start, compute, up_end - up_start, end - up_end, end)


class Busiest(NamedTuple):
    """The bytes of a step on the links of the server that carries most, in the mean over steps.

    Attributes
    ----------
    direction
        On the busier of its two directions.
    both
        On both of them.
    """

    direction: float
    both: float


def busiest_of(steps: Sequence[ServerStep]) -> Busiest:
    """Sum the bytes of steps by server and direction, and pick the server that carries most.

    A server's link is busiest by its busier direction; O(ops).
    """
    loads = []
    for server in servers_of(steps):
        down = sum(step.bytes_on(DOWNLINK, server) for step in steps) / len(steps)
        up = sum(step.bytes_on(UPLINK, server) for step in steps) / len(steps)
        loads.append(Busiest(max(down, up), down + up))
    return max(loads, default=Busiest(0.0, 0.0))


def lin(workers: int, batch_size: int, phases: StepPhases) -> float:
    r"""Return Lin et al.'s throughput: a closed queueing network of phases [examples/s].

    Each worker goes round: the downlink phase and the uplink phase at a station each that serves
    all who are there at an equal share, compute and update without others. With n workers, by exact
    mean value analysis from n = 1 on, with demands D and delay Z,

    .. math:: R_i = D_i (1 + Q_i(n-1)), \quad X = n / (Z + \sum_i R_i), \quad Q_i(n) = X R_i.

    Parameters
    ----------
    workers
        W.
    batch_size
        Examples of a step.
    phases
        Of one worker; some time in them.

    Notes
    -----
    Our reading: of [1] what [2] says about it is known here. As a phase holds the waits in it, a
    link is full at one step a phase, though its bytes may take far less. O(W).

    References
    ----------
    .. [1] Lin et al., A Model-Based Approach to Streamlining Distributed Training for Asynchronous
           SGD, 2018. .. [2] Li et al., Throughput Prediction of Asynchronous SGD in TensorFlow,
           2020, sections 1, 4.4 and 6. .. [3] M. Reiser, S. Lavenberg, Mean-Value Analysis of
           Closed Multichain Queuing Networks, 1980.
    """
    down = up = rate = 0.0
    for n in range(1, workers + 1):
        down_time, up_time = phases.downlink * (1 + down), phases.uplink * (1 + up)
        rate = n / (phases.compute + phases.update + down_time + up_time)
        down, up = rate * down_time, rate * up_time
    return batch_size * rate * _US_PER_S


def cynthia(workers: int, batch_size: int, batch_us: float, both_ways_us: float) -> float:
    r"""Return Cynthia's throughput, of one worker's use of the network [examples/s].

    .. math:: W K / (T_P \max(1, W U_1) + 2 T_C), \quad U_1 = 2 T_C / T_P.

    Parameters
    ----------
    workers
        W.
    batch_size
        K.
    batch_us
        T_P: how long one worker has a batch in process, from step to step [us].
    both_ways_us
        2 T_C: the model to the worker and its updates back, at the full bandwidth [us].

    Notes
    -----
    Our reading: [2] says neither what the time to process a batch contains nor of what time the
    utilisation is a share. With the whole step for both the formula is below the measured one from
    one worker on, as [2] reports, and its ceiling is K / (2 T_C), half of what separate directions
    carry; the time of compute alone would put the ceiling above the link's own where communication
    prevails.

    References
    ----------
    .. [1] Zheng et al., Cynthia: Cost-Efficient Cloud Resource Provisioning for Predictable
           Distributed Deep Neural Network Training, 2019. .. [2] Li et al., Throughput Prediction
           of Asynchronous SGD in TensorFlow, 2020, sections 1 and 4.4.
    """
    stretched_us = max(batch_us, workers * both_ways_us)
    return batch_size * workers / (stretched_us + both_ways_us) * _US_PER_S


def ceiling(batch_size: int, direction_bytes: float, bandwidth_gbps: float) -> float | None:
    """Return what the busiest direction of a server's link can carry [examples/s].

    Proven of the long run, with any number of workers: each step has its bytes, and no more than
    the bandwidth is carried. A window may show more: steps that end in it have begun before it, one
    a worker, and those drawn need not have the mean bytes. None when nothing is transferred.

    Parameters
    ----------
    batch_size
        Examples of a step.
    direction_bytes
        Of a step, on that direction; :attr:`Busiest.direction`.
    bandwidth_gbps
        Of a link in each direction [Gbit/s].
    """
    if not direction_bytes:
        return None
    return batch_size * bytes_per_us(bandwidth_gbps) / direction_bytes * _US_PER_S


def simple_bound(workers: int, alone: float, most: float | None) -> float:
    """Return the lesser of so many workers that do not meet and a full link [examples/s].

    The link's part is proven, see :func:`ceiling`. That a worker is not faster beside others than
    alone is likely, not proven: who is delayed may serve its ops in another, better order.

    Parameters
    ----------
    workers
        W.
    alone
        Throughput of one worker without others [examples/s].
    most
        The ceiling [examples/s].
    """
    return workers * alone if most is None else min(workers * alone, most)
