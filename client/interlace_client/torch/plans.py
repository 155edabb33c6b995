"""A plan as a runtime takes it: which gradients share a bucket, and the order of the launches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

#: What precedes a parameter's name in the id of its gradient.
GRADIENT = "grad:"
#: Caps of DistributedDataParallel's buckets: of the first, of the others [bytes].
_FIRST_CAP, _CAP = 2**20, 25 * 2**20
#: How many names an error gives.
_NAMED = 5


class UnusablePlan(ValueError):
    """A plan that cannot be run; the message has every fault."""


class PythonPlan(Protocol):
    """What ``interlace.plan`` returns."""

    def __interlace_plan__(self) -> dict[str, Any]:
        """Return the fields of an answer that a runtime reads."""


@dataclass(frozen=True)
class GradientBucket:
    """Gradients that are sent as one.

    Attributes
    ----------
    id
        Its name in the plan.
    parameters
        Names of the parameters, in the order in which their gradients lie in the bucket.
    """

    id: str
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class BucketLaunch:
    """One all-reduce: so many bytes of a bucket, from an offset on [bytes].

    ``bucket`` is its place in the plan's buckets.
    """

    bucket: int
    offset: int
    bytes: int


@dataclass(frozen=True)
class BucketPlan:
    """Buckets, and the launches that carry them in the order in which every rank makes them."""

    buckets: tuple[GradientBucket, ...]
    launches: tuple[BucketLaunch, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of the plan, the same for the same plan."""
        written = [
            [b.parameters for b in self.buckets],
            [tuple(vars(x).values()) for x in self.launches],
        ]
        return hashlib.sha256(json.dumps(written).encode()).hexdigest()


def posted(plan: Any) -> Any:
    """Return a plan of ``interlace.plan`` as an answer; whatever else is given as it is."""
    own = getattr(plan, "__interlace_plan__", None)
    return plan if own is None else own()


def read_plan(answer: Mapping[str, Any] | PythonPlan) -> BucketPlan:
    """Take a plan from the answer of ``POST /v1/plans`` or of ``interlace plan --json``.

    Read are ``buckets`` (``id``, ``tensors``) and ``schedule.parts`` (``bucket``, ``offset_bytes``,
    ``bytes``), whose order is the order of the launches. An id ``grad:NAME`` is the gradient of the
    parameter ``NAME``; so is the id ``NAME``.

    Raises
    ------
    UnusablePlan
        When there are no such fields; when parts name unknown buckets, overlap or leave bytes out.
    """
    found = posted(answer)
    try:
        buckets = tuple(
            GradientBucket(str(b["id"]), tuple(str(t).removeprefix(GRADIENT) for t in b["tensors"]))
            for b in found["buckets"]
        )
        place = {bucket.id: k for k, bucket in enumerate(buckets)}
        sizes = [int(b["bytes"]) for b in found["buckets"]]
        parts = [
            (str(p["bucket"]), int(p["offset_bytes"]), int(p["bytes"]))
            for p in found["schedule"]["parts"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise UnusablePlan(
            f"No plan: it needs buckets (id, tensors, bytes) and schedule.parts (bucket, "
            f"offset_bytes, bytes); wrong or missing: {error}."
        ) from error
    faults = [
        f"part {k} is of bucket {b!r}, which is none"
        for k, (b, _, _) in enumerate(parts)
        if b not in place
    ]
    faults += _coverage_faults(buckets, sizes, parts)
    if faults:
        raise UnusablePlan("The plan cannot be run: " + "; ".join(faults) + ".")
    return BucketPlan(
        buckets, tuple(BucketLaunch(place[b], offset, size) for b, offset, size in parts)
    )


def _coverage_faults(
    buckets: Sequence[GradientBucket], sizes: Sequence[int], parts: Iterable[tuple[str, int, int]]
) -> list[str]:
    """Say of which buckets the parts are not the bytes from the first to the last."""
    ends = dict.fromkeys((bucket.id for bucket in buckets), 0)
    torn = set()
    for bucket, offset, size in parts:
        if bucket in ends:
            if offset != ends[bucket] or size < 1:
                torn.add(bucket)
            ends[bucket] += size
    return [
        f"the parts of bucket {bucket.id!r} are not its {size} bytes in order, without a gap"
        for bucket, size in zip(buckets, sizes)
        if bucket.id in torn or ends[bucket.id] != size
    ]


def whole_buckets(groups: Iterable[Sequence[tuple[str, int]]]) -> BucketPlan:
    """Make a plan that sends groups of parameters (name, bytes) whole, in the order given."""
    groups = [tuple(group) for group in groups]
    return BucketPlan(
        tuple(
            GradientBucket(f"b{k}", tuple(name for name, _ in group))
            for k, group in enumerate(groups)
        ),
        tuple(BucketLaunch(k, 0, sum(size for _, size in group)) for k, group in enumerate(groups)),
    )


def reversed_buckets(parameters: Iterable[tuple[str, int]]) -> BucketPlan:
    """Make the plan that a model has before it has one: DistributedDataParallel's.

    Parameters (name, bytes) in the reverse of the order given, a bucket closed when it reaches its
    cap: 1 MiB for the first, 25 MiB for the others.
    """
    groups: list[list[tuple[str, int]]] = [[]]
    for parameter in reversed(list(parameters)):
        held = sum(size for _, size in groups[-1])
        if held >= (_FIRST_CAP if len(groups) == 1 else _CAP):
            groups.append([])
        groups[-1].append(parameter)
    return whole_buckets(groups)


def check_parameters(plan: BucketPlan, parameters: Mapping[str, int]) -> None:
    """Check that a plan sends a model's gradients: each once, all their bytes, and no others.

    ``parameters`` are those that need a gradient, by name, with their bytes.

    Raises
    ------
    UnusablePlan
        With all differences.
    """
    planned = [name for bucket in plan.buckets for name in bucket.parameters]
    wrong = {
        "in the plan, but no parameter that needs a gradient": [
            n for n in planned if n not in parameters
        ],
        "more than once in the plan": sorted({n for n in planned if planned.count(n) > 1}),
        "in the model, but not in the plan": [n for n in parameters if n not in set(planned)],
    }
    faults = [f"{len(names)} {what}: {some(names)}" for what, names in wrong.items() if names]
    carried = [0] * len(plan.buckets)
    for launch in plan.launches:
        carried[launch.bucket] += launch.bytes
    for bucket, size in zip(plan.buckets, carried):
        held = sum(parameters.get(name, 0) for name in bucket.parameters)
        if held != size and not faults:
            faults.append(
                f"bucket {bucket.id!r} has {size} bytes in the plan and {held} in the model: "
                "another type of numbers, or other shapes"
            )
    if faults:
        raise UnusablePlan("The plan is not of this model: " + "; ".join(faults) + ".")


def some(names: Sequence[str]) -> str:
    """Write the first names of a list, and how many there are besides."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(repr(name) for name in names[:_NAMED]) + more
