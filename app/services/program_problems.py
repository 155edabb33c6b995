"""What a request asks of a program, as the solver knows it."""

from dataclasses import replace

from app.schemas.clusters import ClusterBody
from app.schemas.plan_options import OptionsBody
from app.schemas.plans import PlanRequest
from app.schemas.problem import CheckedRequest
from app.schemas.program_options import ProgramOptionsBody
from app.schemas.schedules import RecomputedBody
from app.schemas.simulations import SimulationRequest
from solver.costs import network_of
from solver.graph import Graph
from solver.programs.plan import ProgramOptions
from solver.programs.policies import POLICIES
from solver.programs.problem import TO_WAIT, InputsHeld, ProgramLimits, ProgramProblem
from solver.programs.recomputation.graph import with_recomputed

#: Speed of copies where nothing is said [Gbit/s]: 3.35 TB/s, the memory of an H100.
ASSUMED_COPY_GBPS = 26_800.0

#: So many programs of a request are searched for in full; more share what these may look at.
_WHOLE = 2


#: What a program is made of, and simulated with.
CheckedProgram = CheckedRequest[PlanRequest] | CheckedRequest[SimulationRequest]


def program_problem(problem: CheckedProgram, limit: int | None) -> ProgramProblem:
    """Return what is to be planned or simulated with so much memory [bytes]."""
    request = problem.request
    return problem_on(problem.graph, request.cluster, request.options, limit)


def problem_on(
    graph: Graph, cluster: ClusterBody, options: OptionsBody | ProgramOptionsBody, limit: int | None
) -> ProgramProblem:
    """Return a program's problem on a cluster, with so much memory [bytes]."""
    limits = ProgramLimits(limit, options.max_bucket_bytes, options.max_bytes_under_way)
    copies = ASSUMED_COPY_GBPS if options.copy_gbps is None else options.copy_gbps
    network = network_of(cluster.to_cluster())
    return ProgramProblem(graph, network, copies, limits, held_inputs(options))


def recomputing(problem: ProgramProblem, recomputed: RecomputedBody) -> ProgramProblem:
    """Return the problem of the graph in which these ops run twice.

    Raises
    ------
    InvalidPlan
        When it has no such graph, at ``/recomputed/ops``.
    """
    return replace(problem, graph=with_recomputed(problem.graph, recomputed.to_ops()))


def held_inputs(options: OptionsBody | ProgramOptionsBody) -> InputsHeld:
    """Return until when what a launch reads is held: what is not said is as in PyTorch."""
    return options.inputs_held or TO_WAIT


def program_options(request: PlanRequest) -> ProgramOptions:
    """Return how to plan; what else is planned, a what-if and more memory, shares the search."""
    options = request.options
    given = {} if options.margin_us is None else {"margin_us": options.margin_us}
    plans = 1 + len(options.more_memory_bytes or ()) + bool(request.what_if)
    return ProgramOptions(
        baselines=policies_of(request),
        seed=options.seed,
        launch_tolerance=options.launch_tolerance,
        time_limit_s=options.time_limit_s / plans,
        effort=options.effort,
        share=min(1.0, _WHOLE / plans),
        robust=options.to_robust(),
        **given,
    )


def policies_of(request: PlanRequest) -> tuple[str, ...]:
    """Return the policies to compare a program with."""
    if "baselines" in request.options.model_fields_set:
        return tuple(dict.fromkeys(each.policy for each in request.options.baselines))
    return tuple(POLICIES)
