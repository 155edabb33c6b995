"""Two ranks that train a compiled, sharded transformer with and without a plan."""

import itertools
import sys
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch._inductor.utils import run_and_get_code

from interlace_client.torch.compiled.collectives import KINDS, is_collective, is_work
from interlace_client.torch.compiled.planned_pass import NotThisGraph, PlannedPass
from interlace_client.torch.compiled.program import CompiledPlan, read_program
from interlace_client.torch.compiled.settings import running
from interlace_client.torch.compiled.written import calls_in, planned_calls
from tests.torch.workers import go_through

sys.path.append(str(Path(__file__).parents[2] / "client" / "examples"))
EXAMPLE = import_module("compiled_training")  # dynamo wants a module that can be imported
Block, WIDTH, LAYERS = EXAMPLE.ShardedLayer, EXAMPLE.WIDTH, 2


def trained(context, steps=2):
    """Train; return losses, gradients, and the code of inductor."""
    torch._dynamo.reset()
    torch.manual_seed(dist.get_rank())
    model = nn.Sequential(*(Block() for _ in range(LAYERS)))
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    seen, codes = [], []

    def step(k):
        x = torch.randn(2, 5, WIDTH, generator=torch.Generator().manual_seed(k))
        loss = compiled(x).square().mean()
        loss.backward()
        return loss

    with context, torch._inductor.config.patch(fx_graph_cache=False):
        for k in range(steps):
            if k == 0:
                loss, codes = run_and_get_code(step, k)
            else:
                loss = step(k)
            seen.append(loss.detach().clone())
            seen += [p.grad.clone() for p in model.parameters()]
            optimizer.step()
            optimizer.zero_grad()
    return seen, codes


def programmed(graph, size):  # noqa: C901, PLR0912 - a plan by hand, in one walk
    """Bucket neighbours of a kind in a graph by ``size`` and launch them when the last is ready."""
    nodes = [n for n in graph.nodes if is_work(n) or is_collective(n)]
    groups = []
    for kind in KINDS:
        own = [n for n in nodes if n.target == kind]
        groups += [own[k : k + size] for k in range(0, len(own), size)]
    place = {n: k for k, n in enumerate(graph.nodes)}
    bucket = {n: f"bucket{k + 1}" for k, g in enumerate(groups) for n in g}
    reach = {}  # of each node the nodes behind it that the steps name
    for n in graph.nodes:
        reach[n] = {n} if n in bucket or is_work(n) else set()
        if not reach[n]:
            reach[n] = set().union(*(reach[o] for o in n.all_input_nodes))
    steps, done, waited = [], set(), set()

    def finish(name):
        if name not in waited:
            waited.add(name)
            steps.append({"do": "wait", "id": name})
            if len(groups[int(name[6:]) - 1]) > 1:
                steps.append({"do": "unpack", "id": name})

    launched = set()
    pending = list(nodes)
    while pending:
        for n in list(pending):
            needs = set().union(*(reach[o] for o in n.all_input_nodes))
            if any(o in bucket and bucket[o] not in launched for o in needs):
                continue
            if any(o not in bucket and o not in done for o in needs):
                continue
            if n not in bucket:
                for o in sorted(needs, key=place.get):
                    if o in bucket:
                        finish(bucket[o])
                steps.append({"do": "compute", "id": n.name})
            done.add(n)
            pending.remove(n)
            if n in bucket:
                group = groups[int(bucket[n][6:]) - 1]
                if all(o in done for o in group):
                    for o in group:
                        for each in sorted(
                            set().union(*(reach[i] for i in o.all_input_nodes)), key=place.get
                        ):
                            if each in bucket:
                                finish(bucket[each])
                    if len(group) > 1:
                        steps.append({"do": "pack", "id": bucket[n]})
                    steps.append({"do": "launch", "id": bucket[n]})
                    launched.add(bucket[n])
    for k in range(len(groups)):
        finish(f"bucket{k + 1}")
    buckets = [
        {"id": f"bucket{k + 1}", "tensors": [n.name for n in g]} for k, g in enumerate(groups)
    ]
    return read_program({"buckets": buckets, "program": steps})


@cache
def recorded(size):
    """Train without a plan, once; return what that gave, and a plan of each graph."""
    plans = []

    def look(graph):
        if any(map(is_collective, graph.nodes)):
            plans.append(programmed(graph, size))

    with torch._inductor.config.patch(post_grad_custom_post_pass=look):
        seen, codes = trained(nullcontext())
    return seen, codes, plans


def launches(codes):
    return [calls for calls in map(calls_in, codes) if calls]


def the_same_losses_and_gradients_in_fewer_launches(folder, rank):
    plain, before, plans = recorded(3)
    assert len(plans) == 2
    planned = PlannedPass(plans)
    seen, codes = trained(running(planned))
    for a, b in itertools.zip_longest(plain, seen):
        assert torch.equal(a, b)
    assert [w.differing for w in planned.written] == [0, 0]
    assert launches(codes) == [planned_calls(plan.steps) for plan in plans]
    of = [sum(do == "launch" for do, _ in c) for c in launches(codes)]
    was = [sum(do == "launch" for do, _ in c) for c in launches(before)]
    assert of == [len(plan.buckets) for plan in plans]
    assert 2 * sum(of) < sum(was)


def another_graph_is_refused(folder, rank):
    plain, _, plans = recorded(3)
    wrong = CompiledPlan(plans[0].buckets, (("compute", "nowhere"), *plans[0].steps))
    with pytest.raises(Exception, match="the graph has no node 'nowhere'") as caught:
        trained(running(PlannedPass([wrong])), 1)
    assert isinstance(getattr(caught.value, "inner_exception", caught.value), NotThisGraph)
    with pytest.warns(UserWarning, match="compiled without one"):
        seen, _ = trained(running(PlannedPass([wrong], keep_unplanned=True)))
    assert all(map(torch.equal, plain, seen))


SCENARIOS = {
    each.__name__: each
    for each in (
        the_same_losses_and_gradients_in_fewer_launches,
        another_graph_is_refused,
    )
}

if __name__ == "__main__":
    go_through(SCENARIOS)
