"""What each runtime sends, in which order, and how long the simulator says that takes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from app.reading.requests import read_parsed
from app.schemas.plans import PlanRequest
from interlace import EXPORTS, Graph, Options, plan, simulate, with_barrier
from solver.chain import chain_of
from solver.costs import Network, network_of
from solver.exports import ExplicitPlan
from solver.graph.names import GRADIENT
from solver.planning.explicit import ExplicitBucket, ExplicitPart, explicit_launches
from solver.planning.plan import compare
from solver.simulation.engine import Policy
from solver.simulation.replay import replay

#: How long a search may take [s]; on the layer lists it ends sooner.
_SEARCH_S = 5.0


@dataclass(frozen=True)
class Question:
    """A training step and a network, as the service is asked about them.

    Attributes
    ----------
    graph, cluster
        The fields of a request of the same names.
    """

    graph: Mapping[str, Any]
    cluster: Mapping[str, Any]

    def read(self) -> tuple[Graph, Network]:
        """Check it, as the service does."""
        graph, request = read_parsed({"graph": self.graph, "cluster": self.cluster}, PlanRequest)
        return graph, network_of(request.cluster.to_cluster())

    def sizes(self) -> dict[str, int]:
        """Bytes of each gradient by the name of its parameter, in the order of the graph."""
        return {
            op["id"].removeprefix(GRADIENT): op["bytes"]
            for op in self.graph["ops"]
            if op["kind"] != "compute"
        }


@dataclass(frozen=True)
class Launches:
    """What a runtime sends.

    Attributes
    ----------
    buckets
        Names of the parameters of each bucket.
    parts
        Bucket and bytes of each launch, in their order.
    barrier
        Whether the optimizer's step waits for all of them.
    """

    buckets: tuple[tuple[str, ...], ...]
    parts: tuple[tuple[int, int], ...]
    barrier: bool

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> Self:
        """Read what :func:`dataclasses.asdict` wrote as JSON."""
        return cls(
            tuple(map(tuple, written["buckets"])),
            tuple(map(tuple, written["parts"])),
            written["barrier"],
        )

    def answer(self, sizes: Mapping[str, int]) -> dict[str, Any]:
        """Write them as the service answers with a plan; ``sizes`` by parameter [bytes]."""
        sent = [0] * len(self.buckets)
        parts = []
        for bucket, size in self.parts:
            parts.append({"bucket": f"b{bucket}", "offset_bytes": sent[bucket], "bytes": size})
            sent[bucket] += size
        buckets = [
            {"id": f"b{k}", "tensors": [GRADIENT + name for name in names], "bytes": sent[k]}
            for k, names in enumerate(self.buckets)
        ]
        assert sent == [sum(sizes[name] for name in names) for names in self.buckets]
        return {"buckets": buckets, "schedule": {"parts": parts}}


def whole(buckets: Iterable[Sequence[str]], sizes: Mapping[str, int], *, barrier: bool) -> Launches:
    """Send buckets of parameters whole, in the order given."""
    groups = tuple(map(tuple, buckets))
    parts = tuple((k, sum(sizes[name] for name in names)) for k, names in enumerate(groups))
    return Launches(groups, parts, barrier)


def planned(question: Question, *, barrier: bool) -> Launches:
    """Plan, with the barrier of an optimizer's step or without."""
    graph, network = question.read()
    found = plan(graph, network, Options(barrier=barrier, baselines=(), time_limit_s=_SEARCH_S))
    place = {bucket.id: k for k, bucket in enumerate(found.buckets)}
    return Launches(
        tuple(tuple(t.removeprefix(GRADIENT) for t in b.tensors) for b in found.buckets),
        tuple((place[part.bucket], part.bytes) for part in found.parts),
        barrier,
    )


def each_alone(question: Question) -> Launches:
    """Send each tensor alone, first released first."""
    graph, _ = question.read()
    chain = chain_of(graph)
    names = [graph.ops[p].id.removeprefix(GRADIENT) for p in chain.positions.tolist()]
    return whole(([name] for name in names), question.sizes(), barrier=False)


def exported(question: Question, launches: Launches) -> str:
    """Write ``ddp_buckets.py`` for launches that were planned with a barrier."""
    graph, network = question.read()
    files = EXPORTS["ddp"](with_barrier(graph), network, _explicit(launches)).files
    return str(files["ddp_buckets.py"])


def predicted(question: Question, launches: Launches) -> float:
    """Simulate a training step with these launches [us]."""
    return simulate(*replayed(question, launches)).iteration_time


def replayed(question: Question, launches: Launches) -> tuple[Graph, Network, Policy]:
    """Return the step, its network, and what sends these launches in their order."""
    graph, network = question.read()
    if launches.barrier:
        graph = with_barrier(graph)
    explicit = _explicit(launches)
    sends = explicit_launches(graph, chain_of(graph), explicit.buckets, explicit.parts)
    return graph, network, replay(sends)


def bound_of(question: Question) -> float:
    """Return what no plan takes less than, each parameter waiting for its own bucket [us]."""
    graph, network = question.read()
    return compare(graph, network, Options(baselines=()))[0]


def launch_time(cluster: Mapping[str, Any], size: int) -> float:
    """Simulate one launch of so many bytes [us]."""
    release = {"id": "release", "kind": "compute", "duration_us": 0.0}
    send = {"id": GRADIENT + "all", "kind": "all_reduce", "bytes": size, "after": ["release"]}
    question = Question({"name": "launch", "ops": [release, send]}, cluster)
    return predicted(question, whole([["all"]], {"all": size}, barrier=False))


def _explicit(launches: Launches) -> ExplicitPlan:
    return ExplicitPlan(
        tuple(
            ExplicitBucket(f"b{k}", tuple(GRADIENT + name for name in names))
            for k, names in enumerate(launches.buckets)
        ),
        tuple(ExplicitPart(f"b{bucket}", size) for bucket, size in launches.parts),
    )
