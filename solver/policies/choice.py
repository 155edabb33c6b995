"""A policy by name with its parameters, checked before it runs."""

import inspect
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import NamedTuple

from solver.chain import Chain
from solver.codes import FaultCode
from solver.costs import Network
from solver.errors import Fault
from solver.fusion.search import Candidate
from solver.graph import Graph
from solver.limits import MAX_BYTES, MAX_POLICY_LAUNCHES
from solver.policies import POLICIES
from solver.policies.bytescheduler import AUTO, PARTITIONS, tune
from solver.policies.ddp import caps
from solver.simulation.engine import Policy
from solver.simulation.rules import slice_count
from solver.wording import meant, must_be, one_of

Value = float | str


class ParameterRange(NamedTuple):
    """What a parameter may be: an integer or any number, in a range, or "auto"; true or false."""

    kind: type[int] | type[float] | type[bool]
    least: float
    most: float
    meaning: str
    auto: bool = False


#: The parameters of all policies; a name means the same in each.
PARAMETERS = {
    "cycle_time_us": ParameterRange(float, 1e-3, 1e9, "Time between two cycles of Horovod [us]."),
    "fusion_threshold_bytes": ParameterRange(int, 1, MAX_BYTES, "Most bytes of a fusion buffer."),
    "waits_for_sends": ParameterRange(
        bool, 0, 1, "The loop waits for the end of each send: MPI and gloo, not NCCL."
    ),
    "tensor_time_us": ParameterRange(
        float, 0, 1e9, "Time of the loop for each tensor, before its buffer is handed over [us]."
    ),
    "bucket_cap_mb": ParameterRange(float, 1e-6, 1e12, "Size at which a bucket closes [MiB]."),
    "first_bucket_mb": ParameterRange(
        float,
        1e-6,
        1e12,
        "The same for the first bucket [MiB]; left out where `bucket_cap_mb` is given, it is that.",
    ),
    "slice_bytes": ParameterRange(int, 1, MAX_BYTES, "Size of a slice."),
    "partition_bytes": ParameterRange(
        int, 1, MAX_BYTES, "Size of a slice; `auto` searches 1 to 64 MB.", auto=True
    ),
    "credit_bytes": ParameterRange(
        int,
        1,
        MAX_BYTES,
        "Most bytes issued and not finished; `auto` searches 1, 2 and 4 slices.",
        auto=True,
    ),
}
_KINDS = {bool: "true or false", int: "an integer", float: "a number"}
_SLICES = ("slice_bytes", "partition_bytes")


@dataclass(frozen=True, slots=True)
class Choice:
    """A policy to compare with.

    Attributes
    ----------
    policy
        Key of :data:`solver.policies.POLICIES`.
    barrier
        Simulate it on :func:`solver.graph.with_barrier` of the graph.
    parameters
        Names and values; what is left out has the policy's default.
    """

    policy: str
    barrier: bool = False
    parameters: tuple[tuple[str, Value], ...] = ()


@cache
def keywords(policy: str) -> dict[str, Value | None]:
    """Keywords of a policy and their defaults, in the order of its signature.

    None is the default of what depends on the other parameters.
    """
    signature = inspect.signature(POLICIES[policy]).parameters.values()
    return {p.name: p.default for p in signature if p.kind is p.KEYWORD_ONLY}


@cache
def defaults(policy: str) -> dict[str, Value]:
    """Parameters of a policy as they are used when none is given."""
    return _used(policy, {})


def _used(policy: str, given: Mapping[str, Value]) -> dict[str, Value]:
    """State all parameters of a policy as they are used when these are given."""
    used = keywords(policy) | dict(given)
    if "bucket_cap_mb" in used:
        names = "bucket_cap_mb", "first_bucket_mb"
        return dict(zip(names, caps(*(_number(used[name]) for name in names)), strict=True))
    return {name: value for name, value in used.items() if value is not None}


def _number(value: Value | None) -> float | None:
    return None if value is None else float(value)


def bind(choice: Choice) -> Policy:
    """Return the policy with its parameters set."""
    return partial(POLICIES[choice.policy], **dict(choice.parameters))


def candidates() -> tuple[Candidate, ...]:
    """Return every policy with its defaults as a plan to begin with, but for PACE.

    Its fusion is one of those that a search makes by itself.
    """
    chosen = []
    for name, policy in POLICIES.items():
        used = defaults(name)
        size = next((int(used[slices]) for slices in _SLICES if slices in used), None)
        if name != "pace":
            chosen.append(Candidate(name, policy, size))
    return tuple(chosen)


#: Where PACE is not defined.
WHERE_NOT = "a collective comes after another, or kinds or fuse_keys share a channel"


def applies(choice: Choice, chain: Chain) -> bool:
    """Tell whether a policy is defined for a chain; PACE plans layered chains alone."""
    return choice.policy != "pace" or chain.is_layered


def resolve(choice: Choice, graph: Graph, network: Network) -> Choice:
    """State all parameters of a choice as they are used: defaults filled in, "auto" searched."""
    used = _used(choice.policy, dict(choice.parameters))
    if choice.policy == "bytescheduler":
        sizes = (used["partition_bytes"], used["credit_bytes"])
        loop = _number(used.get("cycle_time_us")), float(used["tensor_time_us"])
        partition, credit = (s if s == AUTO else int(s) for s in sizes)
        partition, credit = tune(graph, network, partition, credit, *loop)
        used |= {"partition_bytes": partition, "credit_bytes": credit}
    return replace(choice, parameters=tuple(used.items()))


def choice_faults(choice: Choice, chain: Chain) -> Iterator[Fault]:
    """List what is wrong with a choice for this chain.

    Pointers are relative to the choice: ``/name`` of a parameter that was given, else empty.
    """
    if choice.policy not in POLICIES:
        detail = must_be("Policy", one_of(sorted(POLICIES)), choice.policy, POLICIES)
        yield Fault("", FaultCode.OUT_OF_RANGE, detail)
        return
    known = keywords(choice.policy)
    given = dict(choice.parameters)
    wrong = [
        fault
        for name, value in given.items()
        for fault in (
            _value_faults(choice.policy, name, value)
            if name in known
            else [
                Fault(
                    f"/{name}",
                    FaultCode.EXTRA_FIELD,
                    f"{choice.policy} has no parameter {name}.{meant(name, known)}",
                )
            ]
        )
    ]
    has_no_loop = keywords(choice.policy).get("cycle_time_us", 0) is None
    if has_no_loop and given.get("tensor_time_us") and "cycle_time_us" not in given:
        detail = f"{choice.policy}: tensor_time_us needs cycle_time_us: a loop takes that time."
        wrong.append(Fault("/tensor_time_us", FaultCode.EXTRA_FIELD, detail))
    yield from wrong
    if wrong:
        return
    for name in _SLICES:
        if name in known:
            value = (defaults(choice.policy) | given)[name]
            size = PARTITIONS[-1] if value == AUTO else int(value)
            count = slice_count(chain, size)
            if count > MAX_POLICY_LAUNCHES:
                yield Fault(
                    f"/{name}" if name in given else "",
                    FaultCode.OUT_OF_RANGE,
                    f"{choice.policy}: {name} {value} makes {count:,} launches of this graph; at "
                    f"most {MAX_POLICY_LAUNCHES:,} are simulated.",
                )


def _value_faults(policy: str, name: str, value: Value) -> Iterator[Fault]:
    rule = PARAMETERS[name]
    if rule.auto and value == AUTO:
        return
    is_bool = isinstance(value, bool)
    if (
        isinstance(value, str)
        or is_bool != (rule.kind is bool)
        or (rule.kind is int and not isinstance(value, int))
    ):
        wanted = _KINDS[rule.kind] + (f' or "{AUTO}"' if rule.auto else "")
        yield Fault(
            f"/{name}", FaultCode.WRONG_TYPE, f"{policy}: {name} must be {wanted}, got {value!r}."
        )
    elif not math.isfinite(value) or not rule.least <= value <= rule.most:
        most = "2^60" if rule.most == MAX_BYTES else f"{rule.most:g}"
        yield Fault(
            f"/{name}",
            FaultCode.OUT_OF_RANGE,
            f"{policy}: {name} must be {rule.least:g} to {most}, got {value!r}.",
        )
