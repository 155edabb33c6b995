"""Programs simulated: what a rule of today makes of a graph, or a program that is given."""

import time
from dataclasses import replace
from typing import Any

from app import VERSION
from app.errors import InvalidRequest, within
from app.schemas.problem import CheckedRequest, graph_sha256
from app.schemas.schedules import Launches
from app.schemas.simulations import (
    SimulatedPolicy,
    SimulatedWhatIf,
    SimulationAnswer,
    SimulationRequest,
    SimulationRequestOut,
)
from app.services.executed_programs import (
    assumed_of,
    buckets_of,
    memory_of,
    parts_of,
    steps_of,
)
from app.services.graphs import what_if
from app.services.program_explanations import (
    explained_program,
    explanation_of,
    launch_reasons_of,
)
from app.services.program_problems import program_problem, recomputing
from app.services.warnings import chunks_of, launched, units_of, warnings_of
from solver.codes import FaultCode
from solver.errors import Fault, InvalidPlan
from solver.explanation.usage import Carried, Usage, usage_of
from solver.exports.programs.chrome import trace_of
from solver.programs.check import program_faults
from solver.programs.execute import execute
from solver.programs.explicit import explicit_program
from solver.programs.plan import program_evidence
from solver.programs.policies import POLICIES
from solver.programs.problem import ProgramProblem
from solver.programs.program import Program
from solver.programs.replanned import changed_graph
from solver.programs.result import Executed

#: What a program that is given is called beside rules.
_PLAN = "plan"


def simulate_program(problem: CheckedRequest[SimulationRequest]) -> SimulationAnswer:
    """Execute a program, and say what it does and why it takes that long.

    A limit of memory is what the rules try to keep; that a program takes more is said.

    Raises
    ------
    InvalidRequest
        When there is neither a policy nor a plan or both, the plan is no program of the graph, or a
        change cannot be made.
    """
    began, request = time.perf_counter(), problem.request
    what_if(problem.graph, request.what_if)  # refuses changes that cannot be made
    done = _executed(problem)
    why = explanation_of(done)
    buckets, parts = buckets_of(done), parts_of(done)
    policy = request.policy
    return SimulationAnswer.of(
        explained_program(done, why),
        done,
        policy=policy and SimulatedPolicy(policy=policy.policy, parameters={}),
        buckets=buckets,
        schedule=Launches(parts=parts),
        channels=_channels(done, request.bins),
        jitter=None,
        what_if=_what_if(problem, done),
        program=steps_of(done),
        memory=memory_of(done),
        path_times=None if why is None else why.path_times,
        launch_reasons=None if why is None else launch_reasons_of(done, why),
        evidence=program_evidence(done.problem),
        warnings=([] if problem.graph.buffers else units_of(problem.graph))
        + assumed_of(request.options.copy_gbps)
        + chunks_of(request.what_if)
        + warnings_of(request.cluster, launched(buckets, parts)),
        request=SimulationRequestOut.of(request, graph_sha256=graph_sha256(problem.graph)),
        version=VERSION,
        runtime_s=round(time.perf_counter() - began, 6),
    )


def program_time_us(problem: CheckedRequest[SimulationRequest]) -> float:
    """Execute as :func:`simulate_program` does, and return the time alone [us]."""
    return _executed(problem).run.iteration_time


def simulated_timeline(problem: CheckedRequest[SimulationRequest]) -> dict[str, Any]:
    """Draw a simulated program as a Chrome trace, beside the order of the graph."""
    done, policy = _executed(problem), problem.request.policy
    trace, _ = trace_of(done.problem, done.program, policy.policy if policy else _PLAN)
    return trace


def _executed(problem: CheckedRequest[SimulationRequest]) -> Executed:
    request = problem.request
    if faults := request.source_faults():
        raise InvalidRequest(faults)
    asked = program_problem(problem, request.options.memory_limit_bytes)
    try:
        if request.plan is not None and request.plan.recomputed is not None:
            asked = recomputing(asked, request.plan.recomputed)
        program = _made(asked, request)
    except InvalidPlan as error:
        raise InvalidRequest(within("plan", error.faults)) from error
    return Executed(asked, program, execute(asked, program))


def _made(asked: ProgramProblem, request: SimulationRequest) -> Program:
    """Make the program that the policy makes, or read the one that is given."""
    if request.policy is not None:
        return POLICIES[request.policy.policy](asked)
    assert request.plan is not None, "a policy or a plan"
    return explicit_program(asked, *request.plan.program_by_name())


def _channels(done: Executed, bins: int) -> list[Usage]:
    """Add up what each channel carries; its launches run in the order of the program."""
    ops, buckets = done.problem.graph.ops, done.program.buckets
    by_channel: dict[str, list[Carried]] = {}
    spans = done.launches
    for b in sorted(range(len(buckets)), key=lambda b: spans[b]):
        size = sum(ops[i].bytes or 0 for i in buckets[b])
        carried = by_channel.setdefault(ops[buckets[b][0]].channel, [])
        carried.append(Carried(*spans[b], size))
    return list(usage_of(dict(sorted(by_channel.items())), done.run.iteration_time, bins))


def _what_if(problem: CheckedRequest[SimulationRequest], done: Executed) -> SimulatedWhatIf | None:
    """Execute what the policy makes of the changed graph, or the program that is given."""
    request = problem.request
    if not request.what_if:
        return None
    changes = [change.to_change() for change in request.what_if]
    asked = replace(done.problem, graph=changed_graph(done.problem.graph, changes))
    program = done.program if request.policy is None else POLICIES[request.policy.policy](asked)
    is_carried = asked.graph.collectives == done.problem.graph.collectives
    if request.policy is None and (not is_carried or any(program_faults(asked, program))):
        detail = (
            "What-if: the program that is given is none of the changed graph; simulate a policy, "
            "or plan the changed graph."
        )
        raise InvalidRequest([Fault("/what_if", FaultCode.NOT_SUPPORTED, detail)])
    other = Executed(asked, program, execute(asked, program))
    gain = done.iteration_time_us - other.iteration_time_us
    return SimulatedWhatIf.of(other, gain_us=gain)
