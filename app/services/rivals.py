"""What is drawn beside a plan: a policy of today, as it was compared or with its defaults."""

from app.errors import InvalidRequest
from app.names import FIFO
from app.schemas.plans import PlanRequest
from app.schemas.problem import CheckedRequest
from solver.chain import chain_of
from solver.codes import FaultCode
from solver.costs import Network
from solver.errors import Fault
from solver.evidence.what_you_run import what_you_run
from solver.graph import Graph, with_barrier
from solver.policies import POLICIES, wfbp
from solver.policies.choice import WHERE_NOT, Choice, applies, bind, choice_faults, resolve
from solver.programs.policies import POLICIES as PROGRAM_POLICIES
from solver.simulation.engine import Timeline, simulate
from solver.wording import meant

_PLACE = "/query/beside"


def ran(
    problem: CheckedRequest[PlanRequest], graph: Graph, network: Network, name: str
) -> tuple[Graph, Timeline]:
    """Simulate what stands beside a plan of a graph; return what it ran on, too.

    A policy has the parameters and the barrier of its first baseline in the request, else its
    defaults and the plan's barrier.

    Raises
    ------
    InvalidRequest
        When the policy is not defined for this graph.
    """
    if name == FIFO:
        return graph, simulate(graph, network, wfbp)
    if name not in POLICIES:
        raise InvalidRequest([_not_supported(name, "a program", (FIFO, *POLICIES))])
    baselines = (each.to_choice() for each in problem.request.options.baselines)
    choice = next((each for each in baselines if each.policy == name), Choice(name))
    if choice.barrier and not problem.request.has_barrier:
        graph = with_barrier(graph)
    chain = chain_of(graph)
    faults = [Fault(_PLACE, fault.code, fault.detail) for fault in choice_faults(choice, chain)]
    if not faults and not applies(choice, chain):
        detail = f"{name} is not defined where {WHERE_NOT}."
        faults = [Fault(_PLACE, FaultCode.NOT_LAYERED, detail)]
    if faults:
        raise InvalidRequest(faults)
    return graph, simulate(graph, network, bind(resolve(choice, graph, network)))


def run_today(graph: Graph, network: Network) -> tuple[str, Graph, Timeline]:
    """Simulate what you run; name it, and return what it ran on, too."""
    first = what_you_run(graph, network)[0]
    return first.name, graph, simulate(graph, network, first.policy(graph, network))


def of_program(name: str | None) -> str | None:
    """Return what stands beside a program; None stands for the compiler's own.

    Raises
    ------
    InvalidRequest
        When it makes no program.
    """
    if name is not None and name not in PROGRAM_POLICIES:
        raise InvalidRequest([_not_supported(name, "any other plan", tuple(PROGRAM_POLICIES))])
    return name


def _not_supported(name: str, where: str, names: tuple[str, ...]) -> Fault:
    detail = (
        f"{name} is drawn beside {where}; here one of {', '.join(names)} is.{meant(name, names)}"
    )
    return Fault(_PLACE, FaultCode.NOT_SUPPORTED, detail)
