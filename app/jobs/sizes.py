"""How long a job will take, as far as its request tells: small work waits for no large work."""

from typing import TYPE_CHECKING, Any

from app.jobs.kinds import PLAN, SIMULATION
from solver.graph.graph import Graph
from solver.watchdog import WALL

if TYPE_CHECKING:
    from app.schemas.plans import PlanRequest
    from app.schemas.simulations import SimulationRequest

#: What is estimated to take no more processor time is small [s].
SMALL_S = 1.0


#: Measured on graphs of 6 to 600 ops, which took 0.6 to 1.1 times what is estimated with these: a
#: plan takes so long for each op, and for each op and unit of effort [s].
_PLAN_S, _EFFORT_S = 1.5e-3, 0.5e-3


#: A simulation takes so long for each op, and for each op and run of its jitter [s].
_SIMULATION_S, _RUN_S = 5e-5, 2e-7


def is_small(kind: str, graph: Graph | None, request: Any) -> bool:
    """Tell whether a job takes about a second of processor time at most.

    Imports, sweeps, programs, slots of a given length, and requests that the job itself is the
    first to read are not: their size does not tell it.
    """
    if graph is None or graph.buffers or graph.free:
        return False
    if kind not in (PLAN, SIMULATION) or request.asks_for_program:
        return False
    takes_s = _plan_s if kind == PLAN else _simulation_s
    return takes_s(len(graph.ops), request) <= SMALL_S


def _plan_s(ops: int, request: "PlanRequest") -> float:
    options = request.options
    if options.slot_us is not None or options.prove_s:
        return float("inf")
    plans = request.asked_s / (WALL * options.time_limit_s)
    return plans * ops * (_PLAN_S + _EFFORT_S * options.effort)


def _simulation_s(ops: int, request: "SimulationRequest") -> float:
    jitter = request.jitter
    runs = 0 if jitter is None else jitter.runs * (1 + len(jitter.rivals))
    return ops * (_SIMULATION_S * (1 + bool(request.what_if)) + _RUN_S * runs)
