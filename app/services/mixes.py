"""Jobs beside one another: read, planned together, and said in words."""

from collections.abc import Iterator
from typing import Any

from app import VERSION
from app.errors import InvalidRequest, within
from app.reading.requests import read_parsed
from app.schemas.mixes import (
    JobOverTime,
    LinkUse,
    MixAnswer,
    MixBlame,
    MixedJobBody,
    MixedTime,
    MixRequest,
    MixTerms,
    RuledMixOut,
)
from app.schemas.problem import CheckedRequest
from app.schemas.simulations import SimulationRequest
from app.services.simulations import prepared
from solver.codes import FaultCode
from solver.errors import Fault, InterlaceError
from solver.jobs.blame import blames_of, p95, use_of_links
from solver.jobs.bounds import loads_of
from solver.jobs.condense import profile_of_graph
from solver.jobs.estimate import ESTIMATE_ERROR, estimated_slowdowns
from solver.jobs.holding import SLACK, hold
from solver.jobs.joint import MixPlan, RuledMix, plan_mix, rule_mix
from solver.jobs.mix import Mix, MixedJob, faults_of_mix
from solver.jobs.profile import JobProfile, profile_of_phases
from solver.jobs.simulate import simulate_mix
from solver.jobs.timeline import timelines_of
from solver.policies.choice import Choice, bind
from solver.units import same

#: Plans that are better by less are not worth their while.
_WORTH = 0.005


def answer_of(request: MixRequest) -> MixAnswer:
    """Plan jobs that share links together.

    Raises
    ------
    InvalidRequest
        With all that is wrong with the jobs and their links.
    """
    mix = _mix_of(request)
    is_worst = request.objective == "worst"
    plan = plan_mix(
        mix, request.iterations, request.effort, worst=is_worst, has_classes=request.has_classes
    )
    held = _held(mix, plan, request)
    rules = [
        ruled.rule
        for ruled in plan.rules
        if ruled.terms == plan.joint.terms
        or same(_value(ruled, request), _value(plan.joint, request))
    ]
    loads = loads_of(mix, (0,) * len(mix.jobs))
    return MixAnswer(
        best=rules[0] if rules else "joint",
        joint=_ruled(mix, plan.joint, request),
        rules=[_ruled(mix, ruled, request) for ruled in plan.rules],
        held=None if held is None else _ruled(mix, held, request),
        mean_bound=plan.mean_bound,
        worst_bound=plan.worst_bound,
        loads={name: sum(row) for name, row in loads.items()},
        estimated=list(estimated_slowdowns(mix)),
        estimate_error=ESTIMATE_ERROR,
        tolerated_us=list(plan.tolerated_us),
        simulations=plan.simulations,
        advice=list(_advice(plan, held, request)),
        notes=list(_notes(plan, request)),
        version=VERSION,
    )


def _held(mix: Mix, plan: MixPlan, request: MixRequest) -> RuledMix | None:
    """Return the plan as jobs hold it; None where there is nothing to hold, or it does not last."""
    terms = hold(mix, plan.joint.terms, SLACK)
    if terms is None or terms == plan.joint.terms:
        return None
    return rule_mix(mix, "held", terms, request.iterations)


def _value(ruled: RuledMix, request: MixRequest) -> float:
    return ruled.worst if request.objective == "worst" else ruled.mean


def _mix_of(request: MixRequest) -> Mix:
    """Return the mix that is meant; each job's own step is simulated alone."""
    links = {name: link.capacity_gbps for name, link in request.links.items()}
    faults: list[Fault] = []
    jobs: list[MixedJob] = []
    for i, body in enumerate(request.jobs):
        found: list[Fault] = []
        profiles = _profiles(body, links, found)
        faults += within(f"jobs/{i}", found)
        if profiles:
            jobs.append(MixedJob(body.name, profiles, body.weight, body.gpus))
    mix = Mix(tuple(links.items()), tuple(jobs))
    if len(jobs) == len(request.jobs):
        faults += faults_of_mix(mix)
    if faults:
        raise InvalidRequest(faults)
    return mix


def _profiles(
    body: MixedJobBody, links: dict[str, float], faults: list[Fault]
) -> tuple[JobProfile, ...]:
    """Return a job's iteration under its own plan and the others, or none with what is wrong."""
    if (body.phases is None) == (body.simulation is None):
        detail = f"Job {body.name!r}: give phases or a simulation, one of both."
        code = FaultCode.MISSING_FIELD if body.phases is None else FaultCode.EXTRA_FIELD
        faults.append(Fault("/phases", code, detail))
        return ()
    if body.phases is not None:
        for k, phase in enumerate(body.phases):
            for name in phase.links:
                if name not in links:
                    detail = f"Job {body.name!r} crosses {name!r}, which is not among the links."
                    faults.append(Fault(f"/phases/{k}/links", FaultCode.UNKNOWN_LINK, detail))
        if body.alternatives:
            detail = f"Job {body.name!r}: phases have no policy; alternatives need a simulation."
            faults.append(Fault("/alternatives", FaultCode.EXTRA_FIELD, detail))
        if faults:
            return ()
        return (profile_of_phases([phase.to_phase() for phase in body.phases], links),)
    assert body.simulation is not None, "one of both"
    try:
        return tuple(_simulated(_with_links(body.simulation, links), body.alternatives))
    except InvalidRequest as error:
        faults += within("simulation", error.faults)
    except InterlaceError as error:
        faults += within("simulation", error.faults)
    return ()


def _simulated(raw: dict[str, Any], alternatives: list[str]) -> Iterator[JobProfile]:
    graph, request = read_parsed(raw, SimulationRequest)
    if graph is None:
        detail = "A job of a mix needs its graph in the request."
        raise InvalidRequest([Fault("/graph", FaultCode.MISSING_FIELD, detail)])
    graph, network, choice, rerun = prepared(CheckedRequest(graph, request))
    yield profile_of_graph(graph, network, rerun(graph))
    for name in alternatives:
        if choice is None or name != choice.policy:
            yield profile_of_graph(graph, network, bind(Choice(name)))


def _with_links(raw: dict[str, Any], links: dict[str, float]) -> dict[str, Any]:
    """Give a job's cluster the links of the mix that its channels cross."""
    cluster = raw.get("cluster")
    if not isinstance(cluster, dict):
        return raw
    channels = cluster.get("channels", {})
    bodies = [cluster, *(channels.values() if isinstance(channels, dict) else ())]
    named: dict[str, None] = {}
    for body in bodies:
        path = body.get("path", []) if isinstance(body, dict) else []
        named |= dict.fromkeys(name for name in path if isinstance(name, str))
    shared = {name: {"capacity_gbps": links[name]} for name in named if name in links}
    own = cluster.get("links", {})
    if shared and isinstance(own, dict):
        return {**raw, "cluster": {**cluster, "links": {**own, **shared}}}
    return raw


def _ruled(mix: Mix, ruled: RuledMix, request: MixRequest) -> RuledMixOut:
    run = ruled.run
    traced = simulate_mix(mix, ruled.terms, request.iterations, is_traced=True)
    uses = use_of_links(mix, traced, request.bins)
    told, timelines = timelines_of(mix, traced)
    return RuledMixOut.of(
        ruled,
        jobs=[
            MixedTime(
                job=job.name, alone_us=job.alone_us, mean_us=mean, p95_us=p95(times), slowdown=slow
            )
            for job, mean, times, slow in zip(
                mix.jobs, run.means, run.times, ruled.slowdowns, strict=True
            )
        ],
        terms=[
            MixTerms.of(own, job=body.name, policy=_policy(body, own.profile))
            for body, own in zip(request.jobs, ruled.terms, strict=True)
        ],
        pattern_us=run.pattern_us,
        window_us=list(run.window),
        blames=[MixBlame.of(each) for each in blames_of(mix, ruled.terms, run)],
        links=[LinkUse(link=name, use=list(use)) for name, use in uses.items()],
        told_us=told,
        timeline=[
            JobOverTime.of(own, job=job.name) for job, own in zip(mix.jobs, timelines, strict=True)
        ],
        is_cut=run.is_cut,
    )


def _policy(body: MixedJobBody, profile: int) -> str | None:
    """Return the policy that a job runs instead of its own."""
    if not profile or body.simulation is None:
        return None
    own = body.simulation.get("policy")
    name = own.get("policy") if isinstance(own, dict) else own
    return [each for each in body.alternatives if each != name][profile - 1]


def _advice(plan: MixPlan, held: RuledMix | None, request: MixRequest) -> Iterator[str]:
    """Say what to do."""
    joint, fair = plan.joint, plan.rules[0]
    now, then = _value(fair, request), _value(joint, request)
    if now <= then * (1 + _WORTH):
        yield "Leave the jobs as they are: no plan found is better by half a hundredth."
        return
    for body, own in zip(request.jobs, joint.terms, strict=True):
        parts = []
        if own.profile:
            parts.append(f"run {_policy(body, own.profile)}")
        if own.offset_us:
            parts.append(f"begin {own.offset_us / 1e3:,.1f} ms later")
        if own.period_us is not None:
            parts.append(f"begin an iteration every {own.period_us / 1e3:,.1f} ms at the earliest")
        if len({each.priority for each in joint.terms}) > 1:
            parts.append(f"send in class {own.priority - min(t.priority for t in joint.terms)}")
        if parts:
            yield f"{body.name}: {', '.join(parts)}."
    if any(own.offset_us for own in joint.terms):
        off = [each for each in plan.tolerated_us if each is not None]
        much = f"by more than {min(off) / 1e3:,.1f} ms" if off else "far"
        yield (
            f"Hold the shift: a job that has drifted {much} waits for its place in the pattern; "
            "the plan is then a hundredth worse."
        )
    for body, own in zip(request.jobs, held.terms if held else (), strict=False):
        period = own.period_us or 0.0
        offset = own.offset_us % period
        yield f"{body.name}: hold_phase(offset_us={offset:.0f}, period_us={period:.0f}) holds it."


def _notes(plan: MixPlan, request: MixRequest) -> Iterator[str]:
    """Say what was proven and what was assumed."""
    bound = plan.worst_bound if request.objective == "worst" else plan.mean_bound
    value = _value(plan.joint, request)
    if value <= bound * (1 + 1e-6):
        yield "Proven: in the long run no plan has a smaller slow-down on these links."
    else:
        yield f"Not proven: a plan may be {1 - bound / value:.1%} better, not more."
    if plan.joint.run.pattern_us is None:
        yield "No pattern repeats within the run: means are of its last three quarters."
    if any(ruled.run.is_cut for ruled in plan.rules):
        yield "Under a rule some job was never served: its time is a least one."
    yield (
        "Links are shared max-min fairly in each class; compute and start-ups take what they take "
        "alone."
    )
