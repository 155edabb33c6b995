"""How long a sweep takes on all cores, and what its time goes into.

``python -m tests.benchmarks.sweep``: ResNet-50 (generated, 161 tensors) on 8 worker counts x 8
bandwidths x 4 start-ups under five policies of today and the plan.
"""

import time

from app.operations.cores import cores
from app.schemas.clusters import ClusterBody
from app.schemas.graphs import GraphBody
from app.schemas.problem import CheckedRequest
from app.schemas.sweeps import SweepRequest
from app.services.sweeps.run import run
from solver.costs import network_of
from solver.models import MODELS
from solver.planning.options import Options
from solver.planning.plan import compare, plan
from solver.prediction.sweep import PLAN

REQUEST = SweepRequest(
    graph=GraphBody(ops=[]),
    cluster=ClusterBody(workers=8, bandwidth_gbps=10),
    workers=[2, 4, 8, 16, 32, 64, 128, 256],
    bandwidths_gbps=[1, 5, 10, 25, 40, 56, 100, 200],
    startups_us=[0, 20, 50, 200],
)
#: Of the cells that are timed by policy, in this process, only every so manyth.
STEP = 9


def main() -> None:
    graph = MODELS["resnet50"]()
    began = time.perf_counter()
    answer = run(CheckedRequest(graph, REQUEST))
    took = time.perf_counter() - began
    count = len(answer.cells)
    print(
        f"{graph.name}: {count} cells x {len(answer.policies)} policies on {cores()} cores: "
        f"{took:.1f} s, {count / took:.1f} cells/s"
    )
    for sentence in answer.summary:
        print(f"  {sentence}")
    times: dict[str, float] = {}
    points = REQUEST.points()[::STEP]
    for point in points:
        network = network_of(REQUEST.cluster.model_copy(update=point).to_cluster())
        times["bound"] = times.get("bound", 0) + timed(
            compare, graph, network, Options(baselines=())
        )
        for choice in REQUEST.choices():
            is_plan = choice.policy == PLAN
            asked = Options(baselines=() if is_plan else (choice,))
            spent = timed(plan if is_plan else compare, graph, network, asked)
            times[choice.policy] = times.get(choice.policy, 0) + spent
    bound = times["bound"]  # is in every one of the others
    own = {name: spent - (bound if name != "bound" else 0) for name, spent in times.items()}
    print(f"Time of a cell in one process, mean of {len(points)}:")
    for name, spent in own.items():
        share = spent / sum(own.values())
        print(f"  {name:<10}{spent / len(points) * 1000:>8.1f} ms {share:>6.0%}")


def timed(work, *inputs) -> float:
    """Time of some work [s]."""
    began = time.perf_counter()
    work(*inputs)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
