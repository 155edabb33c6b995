"""Jobs that share links: each alone, all at once, shifted, and by priorities."""

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple

from solver.jobs.condense import profile_of_graph
from solver.jobs.holding import SLACK, hold
from solver.jobs.joint import plan_mix
from solver.jobs.mix import JobTerms, Mix, MixedJob
from solver.jobs.simulate import simulate_mix
from tests.testbed.hosts import Host, racks, real_time, share_racks
from tests.testbed.plans import Launches, Question, replayed
from tests.testbed.programs import HostProgram, answer_of, ask, started

#: Bytes of payload that a segment of so many carries: five of TCP's in one, headers once.
_PAYLOAD, _SEGMENT = 7240, 7306
#: How often each cell is measured, and the rounds of one.
REPEATS, ROUNDS = 2, 3
#: From when a cell is said to begin until it does [s].
_AHEAD_S = 0.5
#: What a cell of a mix is called: each alone, as they are, and so on.
ALONE, FAIR, SHIFTED, PRIORITIES, JOINT = "alone", "fair", "shifted", "priorities", "joint"


class TrainedJob(NamedTuple):
    """A job of a mix, with a worker at each end of its path.

    Attributes
    ----------
    model
        Key of :data:`tests.testbed.layers.MODELS`.
    megabytes, compute_ms
        Of its gradients, and of a step without communication.
    is_whole
        Whether it sends all gradients at once after its backward pass; else by a plan.
    path
        The switches between which it sends.
    """

    model: str
    megabytes: float
    compute_ms: float
    is_whole: bool
    path: tuple[int, int] = (0, 1)


#: By name; at 100 Mbit/s a megabyte takes 84 ms.
MIXES: dict[str, tuple[TrainedJob, ...]] = {
    "alike": (TrainedJob("vgg16", 1.5, 126, True), TrainedJob("vgg16", 1.5, 126, True)),
    "alike, by plans": (
        TrainedJob("resnet50", 1.5, 240, False),
        TrainedJob("resnet50", 1.5, 240, False),
    ),
    "unlike": (TrainedJob("gpt2", 1.2, 150, True), TrainedJob("vgg16", 1.5, 126, True)),
    "one nearly twice as often": (
        TrainedJob("resnet50", 0.6, 70, True),
        TrainedJob("vgg16", 1.5, 126, True),
    ),
    "no common multiple": (TrainedJob("gpt2", 0.9, 100, True), TrainedJob("vgg16", 1.5, 126, True)),
    "much beside little": (TrainedJob("vgg16", 2.5, 60, True), TrainedJob("gpt2", 0.5, 225, True)),
    "6 % apart": (TrainedJob("vgg16", 1.5, 126, True), TrainedJob("vgg16", 1.5, 142, True)),
    "more than fits": (TrainedJob("vgg16", 2.0, 100, True), TrainedJob("vgg16", 2.0, 100, True)),
    "three": (
        TrainedJob("vgg16", 1.0, 165, True),
        TrainedJob("vgg16", 1.0, 165, True),
        TrainedJob("gpt2", 1.0, 160, True),
    ),
    "three on two links": (
        TrainedJob("vgg16", 1.2, 150, True),
        TrainedJob("vgg16", 1.2, 150, True, (0, 2)),
        TrainedJob("vgg16", 1.2, 150, True, (1, 2)),
    ),
}


def link(k: int) -> str:
    """Name the link between a switch and the next."""
    return f"link{k}"


def mix_of(cell: Mapping[str, Any]) -> Mix:
    """Return what was learned of jobs alone as the solver knows it, and nothing else."""
    capacity = cell["mbit"] / 1e3 * _PAYLOAD / _SEGMENT
    last = max(job["path"][1] for job in cell["jobs"])
    links = {link(k): {"capacity_gbps": capacity} for k in range(last)}
    jobs = []
    for i, job in enumerate(cell["jobs"]):
        path = [link(k) for k in range(*job["path"])]
        own = {"path": path, "links": {name: links[name] for name in path}}
        question = Question(job["graph"], {**job["cluster"], **own})
        profile = profile_of_graph(*replayed(question, Launches.of(job["launches"])))
        jobs.append(MixedJob(f"{i + 1}: {job['model']}", (profile,)))
    return Mix(tuple((name, capacity) for name in links), tuple(jobs))


def measured_terms(mix: Mix) -> dict[str, tuple[JobTerms, ...]]:
    """Return the terms that are measured: by name, without those that are as others.

    As the jobs are; the joint plan without classes, held; Crux's priorities; and the joint plan
    where it has classes.
    """
    plan = plan_mix(mix)
    shifted = plan_mix(mix, has_classes=False)
    fair, _, crux = (rule.terms for rule in plan.rules)
    found = {FAIR: fair, SHIFTED: _held(mix, shifted.joint.terms), PRIORITIES: crux}
    if len({own.priority for own in plan.joint.terms}) > 1:
        found[JOINT] = _held(mix, plan.joint.terms)
    kept: dict[str, tuple[JobTerms, ...]] = {}
    for name, terms in found.items():
        if terms not in kept.values():
            kept[name] = terms
    return kept


def _held(mix: Mix, terms: tuple[JobTerms, ...]) -> tuple[JobTerms, ...]:
    """Return terms as jobs hold them, or as they are where no place keeps."""
    return hold(mix, terms, SLACK) or terms


def measure(
    names: Sequence[str], mbit: float, calibration_s: float, steps: int, shifted_steps: int
) -> Iterator[dict[str, Any]]:
    """Learn the jobs of each mix alone, and train them beside one another, twice on all terms.

    What holds no shift is trained in rounds of few steps that begin anew: nothing brings jobs back
    that were apart once, by a packet that was lost.

    Parameters
    ----------
    names
        Keys of :data:`MIXES`.
    mbit
        What each link carries in each direction [Mbit/s].
    calibration_s
        How long the costs of a job's launches may be measured [s].
    steps, shifted_steps
        Of the longest job in a round, and in a cell with shifts, which has one; half as many when
        it is measured again.

    Yields
    ------
    dict
        ``mix``, ``mbit``, ``load``: of the machine before; ``jobs``: what was learned, and
        ``runs``: of each cell its name, the terms, and what each job said.
    """
    first = real_time()
    for name in names:
        jobs, load = MIXES[name], os.getloadavg()[0]
        places = [switch for job in jobs for switch in job.path]
        with ExitStack() as stack:
            hosts = stack.enter_context(racks(places, mbit))
            commands = [
                host.command(*first, sys.executable, "-m", "tests.testbed.mixed") for host in hosts
            ]
            programs = stack.enter_context(started(commands, _environments(hosts)))
            pairs = [programs[2 * i : 2 * i + 2] for i in range(len(jobs))]
            cell: dict[str, Any] = {"mix": name, "mbit": mbit, "load": load}
            cell |= {"jobs": [], "runs": []}
            learned: dict[TrainedJob, dict[str, Any]] = {}
            for job, pair in zip(jobs, pairs, strict=True):
                # one that is as another is recorded once, as a user does who runs it twice
                plain = job._replace(path=(0, 1))
                learned[plain] = _learn(job, pair, calibration_s, learned.get(plain))
                cell["jobs"].append({**learned[plain], "path": job.path})
            mix = mix_of(cell)
            every = measured_terms(mix)
            for repeat in range(REPEATS):
                for i in range(len(jobs)):
                    cell["runs"].append(_run(ALONE, {i: JobTerms()}, steps, 1, mix, cell, pairs))
                for rule, terms in every.items():
                    classes = [own.priority for own in terms for _ in range(2)]
                    share_racks(hosts, places, classes, mbit)
                    is_held = any(own.offset_us for own in terms)
                    often = (shifted_steps // (1 + repeat), 1) if is_held else (steps, ROUNDS)
                    some = dict(enumerate(terms))
                    cell["runs"].append(_run(rule, some, *often, mix, cell, pairs))
                share_racks(hosts, places, [0] * len(places), mbit)
            yield cell


def _environments(hosts: Sequence[Host]) -> list[dict[str, str]]:
    """Say whom each worker meets where: each two hosts are a job."""
    return [
        {
            "MASTER_ADDR": hosts[i - i % 2].address,
            "MASTER_PORT": "29500",
            "RANK": str(i % 2),
            "WORLD_SIZE": "2",
            "GLOO_SOCKET_IFNAME": host.interface,
        }
        for i, host in enumerate(hosts)
    ]


def _learn(
    job: TrainedJob,
    pair: Sequence[HostProgram],
    calibration_s: float,
    known: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Have a job's workers make it; return what is known of it, or what they then find."""
    asked = {
        "do": "learn",
        "model": job.model,
        "bytes": round(job.megabytes * 1e6),
        "compute_us": job.compute_ms * 1e3,
        "is_whole": job.is_whole,
        "calibration_s": calibration_s,
        "launches": known["launches"] if known else None,
    }
    for program in pair:
        ask(program, asked)
    found = _first_of(pair)
    return {**known} if known else {**job._asdict(), **found}


def _first_of(pair: Sequence[HostProgram]) -> dict[str, Any]:
    """Hear all workers of a job; return what the first says."""
    first, *_ = [answer_of(program) for program in pair]
    return first


def _run(
    rule: str,
    terms: Mapping[int, JobTerms],
    steps: int,
    rounds: int,
    mix: Mix,
    cell: Mapping[str, Any],
    pairs: Sequence[Sequence[HostProgram]],
) -> dict[str, Any]:
    """Train some jobs on these terms in rounds, and say what each job said in each."""
    load = os.getloadavg()[0]
    return {
        "rule": rule,
        "steps": steps,
        "terms": {str(i): asdict(own) for i, own in terms.items()},
        "load": load,
        "rounds": [_round(terms, steps, mix, cell, pairs) for _ in range(rounds)],
    }


def _round(
    terms: Mapping[int, JobTerms],
    steps: int,
    mix: Mix,
    cell: Mapping[str, Any],
    pairs: Sequence[Sequence[HostProgram]],
) -> dict[str, Any]:
    """Train some jobs from a common time on until the longest has made so many steps."""
    means = means_of(mix, terms, steps)
    forwards = {i: cell["jobs"][i]["forward_us"] for i in terms}
    start_us = (time.time() + _AHEAD_S) * 1e6
    for (i, own), mean in zip(terms.items(), means, strict=True):
        asked = {
            "do": "train",
            "steps": ceil(max(means) * steps / mean),
            "start_us": start_us,
            # a step begins with its forward pass, an iteration of a graph with its backward pass
            "begin_us": own.offset_us + max(forwards.values()) - forwards[i],
            "period_us": own.period_us,
        }
        for program in pairs[i]:
            ask(program, asked)
    return {str(i): _first_of(pairs[i]) for i in terms}


def counted(said: Mapping[str, Mapping[str, Any]]) -> list[list[float]]:
    """Return the steps of each job that count [us]: while all train, but their first quarter."""
    until = min(each["ends_us"][-1] for each in said.values())
    found = []
    for each in said.values():
        ends = [end for end in each["ends_us"] if end <= until]
        found.append([end - begin for begin, end in pairwise(ends[(len(ends) - 1) // 4 :])])
    return found


def means_of(mix: Mix, terms: Mapping[int, JobTerms], steps: int) -> tuple[float, ...]:
    """Predict what a step of each of some jobs takes in the mean [us]."""
    some = Mix(mix.links, tuple(mix.jobs[i] for i in terms))
    return simulate_mix(some, tuple(terms.values()), steps).means
