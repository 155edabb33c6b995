"""A planned program as the pass takes it: buckets of collectives, and the host's order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from interlace_client.torch.plans import UnusablePlan

#: What a step may be, and for a bucket which step comes before it.
COMPUTE, PACK, LAUNCH, WAIT, UNPACK = "compute", "pack", "launch", "wait", "unpack"
#: The steps of a bucket of several collectives, in their order.
BUCKET_STEPS = (PACK, LAUNCH, WAIT, UNPACK)
#: How many names an error gives.
_NAMED = 5


@dataclass(frozen=True)
class Collectives:
    """Collectives that are sent as one.

    Attributes
    ----------
    id
        The bucket's name in the plan.
    nodes
        Names of the graph's nodes, in the order in which they lie in the bucket.
    bytes
        Bytes of all of them, each the whole tensor; None where the plan does not say.
    """

    id: str
    nodes: tuple[str, ...]
    bytes: int | None = None


@dataclass(frozen=True)
class CompiledPlan:
    """A program for one compiled graph.

    Attributes
    ----------
    buckets
        Each collective of the graph in one of them.
    steps
        (what to do, the name of a node or of a bucket), in the order of the host.
    fingerprint
        Of the graph that was planned; None where unknown: names and sizes are compared alone.
    """

    buckets: tuple[Collectives, ...]
    steps: tuple[tuple[str, str], ...]
    fingerprint: str | None = None


def read_program(answer: Mapping[str, Any], fingerprint: str | None = None) -> CompiledPlan:
    """Take a program from the answer of ``POST /v1/plans`` or of ``interlace plan --json``.

    Read are ``buckets`` (``id``, ``tensors``, ``bytes``) and ``program`` (``do``, ``id``).

    Raises
    ------
    UnusablePlan
        When there are no such fields; when a collective is in two buckets, or the steps of a bucket
        are not pack, launch, wait, unpack, with copies where it has several collectives; when ops
        run twice.
    """
    try:
        buckets = tuple(
            Collectives(str(b["id"]), tuple(map(str, b["tensors"])), _bytes(b.get("bytes")))
            for b in answer["buckets"]
        )
        steps = tuple((str(step["do"]), str(step["id"])) for step in answer["program"])
    except (KeyError, TypeError, ValueError) as error:
        raise UnusablePlan(
            "No program: it needs buckets (id, tensors) and program (do, id); wrong or missing: "
            f"{error}."
        ) from error
    if twice := (answer.get("recomputed") or {}).get("ops"):
        raise UnusablePlan(
            f"The program cannot be run: {listed(str(each['op']) for each in twice)} run twice. "
            "Put torch.utils.checkpoint around these ops in the model, capture its graph again, "
            "and plan that without recompute."
        )
    faults = [*_bucket_faults(buckets), *_step_faults(buckets, steps)]
    if faults:
        raise UnusablePlan("The program cannot be run: " + "; ".join(faults) + ".")
    return CompiledPlan(buckets, steps, fingerprint)


def listed(names: Iterable[str]) -> str:
    """Write names, the first few and how many more there are."""
    names = list(names)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(map(repr, names[:_NAMED])) + more


def _bytes(value: Any) -> int | None:
    return None if value is None else int(value)


def _bucket_faults(buckets: tuple[Collectives, ...]) -> list[str]:
    faults = [f"bucket {b.id!r} has no collective" for b in buckets if not b.nodes]
    for what, names in (
        ("buckets have the name", [b.id for b in buckets]),
        ("buckets have the collective", [node for b in buckets for node in b.nodes]),
    ):
        seen: dict[str, int] = {}
        for name in names:
            seen[name] = seen.get(name, 0) + 1
        faults += [f"{count} {what} {name!r}" for name, count in seen.items() if count > 1]
    return faults


def _step_faults(buckets: tuple[Collectives, ...], steps: tuple[tuple[str, str], ...]) -> list[str]:
    faults = []
    computed: set[str] = set()
    said: dict[str, list[str]] = {b.id: [] for b in buckets}
    for at, (do, name) in enumerate(steps):
        if do == COMPUTE:
            if name in computed:
                faults.append(f"step {at} computes {name!r} again")
            computed.add(name)
        elif do not in {PACK, LAUNCH, WAIT, UNPACK}:
            faults.append(f"step {at} is to {do!r}, which is no step")
        elif name not in said:
            faults.append(f"step {at} is of bucket {name!r}, which is none")
        else:
            said[name].append(do)
    for bucket in buckets:
        is_one = len(bucket.nodes) == 1
        due = [LAUNCH, WAIT] if is_one else [PACK, LAUNCH, WAIT, UNPACK]
        if said[bucket.id] != due:
            found = ", ".join(said[bucket.id]) or "none"
            faults.append(f"the steps of bucket {bucket.id!r} are {found}, not {', '.join(due)}")
    return faults
