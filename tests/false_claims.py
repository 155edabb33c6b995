"""What a stranger gets of a plan, and what it says when some of it is made false."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from app.schemas.problem import graph_json
from app.schemas.solver_objects import cluster_json
from interlace_check import NotCovered, Refuted
from interlace_check.__main__ import check
from interlace_check.graph import launched, work_of
from solver.costs import Cluster, network_of
from solver.graph import Graph
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.planning.result import Plan

Json = dict[str, Any]
Files = tuple[Json, Json, Json]

#: Changes are larger than this share of the time, of which the tolerance is a tenth or less.
LEAST = 1e-5


def files_of(graph: Graph, cluster: Cluster, options: Options = Options()) -> tuple[Plan, Files]:
    """Plan, and write request, answer and certificate."""
    found = plan(graph, network_of(cluster), options)
    asked = {"barrier": options.barrier, "launch_tolerance": options.launch_tolerance}
    request = {"graph": graph_json(graph), "cluster": cluster_json(cluster), "options": asked}
    return found, (request, answer_of(found), found.certificate())


def answer_of(found: Plan) -> Json:
    """Write what of an answer a checker reads."""
    return {
        **{name: getattr(found, name) for name in ("status", "best_time_us", "lower_bound_us")},
        "iteration_time_us": found.iteration_time_us,
        "buckets": [asdict(bucket) for bucket in found.buckets],
        "schedule": {"parts": [asdict(part) for part in found.parts]},
    }


def checked(files: Files) -> str:
    """Check three files as their texts say; raises what the checker raises."""
    return check(*(json.loads(json.dumps(each), parse_float=Fraction) for each in files))


def is_refuted(files: Files) -> bool:
    """Tell whether the checker names a line that fails, or does not come to an end with it."""
    try:
        checked(files)
    except (
        Refuted,
        NotCovered,
        KeyError,
        IndexError,
        TypeError,
    ):  # a name that is not there is none of its
        return True
    return False


def false_claims(files: Files, seed: int, count: int) -> Iterator[tuple[str, Files]]:
    """Make so many copies of which each has one thing that is not so, by name."""
    generator = random.Random(seed)
    made = 0
    while made < count:
        name = generator.choice(list(FALSE))
        changed = copy.deepcopy(files)
        if FALSE[name](changed, generator):
            made += 1
            yield name, changed


def _share(generator: random.Random) -> float:
    """Draw a share of 0.001 % to 30 %."""
    return float(LEAST * 10 ** generator.uniform(0, 4.4))


def _part(files: Files, generator: random.Random) -> Json:
    return generator.choice(files[1]["schedule"]["parts"])


def _shorter(files: Files, generator: random.Random) -> bool:
    files[1]["iteration_time_us"] *= 1 - _share(generator)
    return True


def _raised(files: Files, generator: random.Random) -> bool:
    """A bound above what the plan takes."""
    files[1]["lower_bound_us"] = files[1]["iteration_time_us"] * (1 + _share(generator))
    return True


def _raised_in_both(files: Files, generator: random.Random) -> bool:
    _raised(files, generator)
    files[2]["lines"][-1]["us"] = files[1]["lower_bound_us"]
    return True


def _within_anything(files: Files, generator: random.Random) -> bool:
    _raised(files, generator)
    files[2]["tolerance"] = str(1e-6 + _share(generator))
    return True


def _called_optimal(files: Files, generator: random.Random) -> bool:
    """A plan that is known not to be the best."""
    files[1]["status"] = "optimal"
    return bool(files[1]["iteration_time_us"] > files[1]["best_time_us"] * (1 + LEAST))


def _slower(files: Files, generator: random.Random) -> bool:
    """Two launches in the other order, with the time that all take, said to be the least."""
    request, answer, certificate = files
    parts, known = answer["schedule"]["parts"], answer["iteration_time_us"]
    one, two = generator.randrange(len(parts)), generator.randrange(len(parts))
    parts[one], parts[two] = parts[two], parts[one]
    try:
        *times, (_, time) = launched(work_of(request), answer)
    except Refuted:  # they wait for one another
        return False
    for part, (start, end) in zip(parts, times, strict=True):
        part["start_us"], part["end_us"] = float(start), float(end)
    answer |= {"iteration_time_us": float(time), "lower_bound_us": float(time)}
    answer["status"] = "optimal"
    certificate["lines"][-1]["us"] = float(time)
    return bool(time > known * (1 + LEAST))


def _moved(files: Files, generator: random.Random) -> bool:
    away = files[1]["iteration_time_us"] * _share(generator) * generator.choice([-1, 1])
    _part(files, generator)[generator.choice(["start_us", "end_us"])] += away
    return True


def _resized(files: Files, generator: random.Random) -> bool:
    _part(files, generator)["bytes"] += generator.choice([-1, 1]) * generator.randint(1, 10**6)
    return True


def _left_out(files: Files, generator: random.Random) -> bool:
    parts = files[1]["schedule"]["parts"]
    parts.remove(_part(files, generator))
    return True


def _sent_twice(files: Files, generator: random.Random) -> bool:
    files[1]["schedule"]["parts"].append(dict(_part(files, generator)))
    return True


def _of_another(files: Files, generator: random.Random) -> bool:
    one, two = _part(files, generator), _part(files, generator)
    one["bucket"], two["bucket"] = two["bucket"], one["bucket"]
    return bool(one["bytes"] != two["bytes"] and one["bucket"] != two["bucket"])


def _lost(files: Files, generator: random.Random) -> bool:
    bucket = generator.choice(files[1]["buckets"])
    bucket["tensors"] = [*bucket["tensors"]][1:]
    return True


def _carried_elsewhere(files: Files, generator: random.Random) -> bool:
    one, two = generator.choice(files[1]["buckets"]), generator.choice(files[1]["buckets"])
    two["tensors"] = [*two["tensors"], one["tensors"][0]]
    return True


def _line_above(files: Files, generator: random.Random) -> bool:
    last = files[2]["lines"][-1]
    if "line" not in last or not max(last["line"]):
        return False
    last["line"][generator.choice([k for k in (0, 1) if last["line"][k]])] *= 1 + _share(generator)
    return True


def _member_twice(files: Files, generator: random.Random) -> bool:
    last = files[2]["lines"][-1]
    return "of" in last and not last["of"].append(generator.choice(last["of"]))


def _unknown_member(files: Files, generator: random.Random) -> bool:
    last = files[2]["lines"][-1]
    name = "nobody"
    return "of" in last and not last["of"].append([name] if last["bound"] == "nested" else name)


def _not_before(files: Files, generator: random.Random) -> bool:
    """A tensor that is said to be carried before its own start, or after its own end."""
    facts = [line for line in files[2]["lines"] if "side" in line]
    if not facts:
        return False
    fact = generator.choice(facts)
    fact["op"] = generator.choice(fact["of"])
    return True


#: What may be made false; each tells whether it could be.
FALSE: dict[str, Callable[[Files, random.Random], bool]] = {
    "a plan that is shorter": _shorter,
    "a bound above the plan": _raised,
    "a bound above the plan in both": _raised_in_both,
    "a bound above the plan within anything": _within_anything,
    "a plan that is not the best called so": _called_optimal,
    "a longer plan called the best": _slower,
    "a launch at another time": _moved,
    "a launch of other bytes": _resized,
    "a launch left out": _left_out,
    "a launch twice": _sent_twice,
    "launches of other buckets": _of_another,
    "a tensor that is lost": _lost,
    "a tensor in two buckets": _carried_elsewhere,
    "a line above the cost": _line_above,
    "a member twice": _member_twice,
    "a member that is not there": _unknown_member,
    "tensors that do not come before": _not_before,
}
