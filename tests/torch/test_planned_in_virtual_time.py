"""The runtime beside the simulator, without sockets: a step takes as long as was simulated.

A step is simulated as the runtime makes it: the updates of a bucket's parameters are compute before
the first use of one of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from interlace_client.torch.plans import BucketLaunch, BucketPlan, GradientBucket
from solver.chain import chain_of
from solver.costs import Affine, alike
from solver.graph import ALL_REDUCE, COMPUTE, Graph, Op, build, with_barrier
from solver.models.layers import Layer
from solver.planning.explicit import ExplicitBucket, ExplicitPart, explicit_launches
from solver.simulation.engine import simulate
from solver.simulation.replay import replay
from tests.torch.virtual_time import ELEMENT, step_times


@dataclass(frozen=True)
class Case:
    """Layers in forward order, the times of updates [us], buckets, their parts in order."""

    layers: tuple[Layer, ...]
    updates: Mapping[str, float]
    buckets: tuple[tuple[str, ...], ...]
    parts: tuple[tuple[int, int], ...]
    cost: Affine

    @property
    def sizes(self) -> dict[str, int]:
        return {name: size for layer in self.layers for name, size in layer.gradients}

    def plan(self) -> BucketPlan:
        place = {name: k for k, layer in enumerate(self.layers) for name, _ in layer.gradients}
        sent = [0] * len(self.buckets)
        launches = []
        for bucket, size in self.parts:
            launches.append(BucketLaunch(bucket, sent[bucket], size))
            sent[bucket] += size
        named = (tuple(f"{place[n]}.{n}" for n in names) for names in self.buckets)
        return BucketPlan(
            tuple(GradientBucket(f"b{k}", names) for k, names in enumerate(named)), tuple(launches)
        )

    def graph(self, *, barrier: bool, updates_by_bucket: bool = True) -> Graph:
        """Build the step: the backward pass, and the forward pass with the updates in it."""
        ops: list[Op] = []
        last: tuple[str, ...] = ()
        for k, layer in reversed(list(enumerate(self.layers))):
            ops.append(Op(f"backward:{k}", COMPUTE, layer.backward_us, None, last))
            last = (f"backward:{k}",)
            ops += [Op(f"grad:{n}", ALL_REDUCE, None, size, last) for n, size in layer.gradients]
        if barrier:  # nothing of the forward pass is before the optimizer's step
            last += tuple(f"grad:{name}" for name in self.sizes)
        together = {n: names for names in self.buckets for n in names}
        done: set[str] = set()
        for k, layer in enumerate(self.layers):
            for name, _ in layer.gradients:
                for member in together[name] if updates_by_bucket else (name,):
                    if member not in done:
                        done.add(member)
                        after = (*last, f"grad:{member}")
                        ops.append(
                            Op(f"update:{member}", COMPUTE, self.updates[member], None, after)
                        )
                        last = (f"update:{member}",)
            ops.append(Op(f"forward:{k}", COMPUTE, layer.forward_us, None, last))
            last = (f"forward:{k}",)
        return build("step", ops)

    def simulated(self, graph: Graph) -> float:
        buckets = [
            ExplicitBucket(f"b{k}", tuple(f"grad:{n}" for n in names))
            for k, names in enumerate(self.buckets)
        ]
        parts = [ExplicitPart(f"b{bucket}", size) for bucket, size in self.parts]
        launches = explicit_launches(graph, chain_of(graph), buckets, parts)
        return simulate(graph, alike(self.cost), replay(launches)).iteration_time


def of_time() -> st.SearchStrategy[float]:
    """Times on a coarse grid, so that some are the same, and none [us]."""
    return st.integers(0, 40).map(lambda quarters: quarters / 4)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    counts = draw(st.lists(st.integers(0, 3), min_size=1, max_size=6).filter(any))
    layers = []
    for k, count in enumerate(counts):
        sizes = draw(st.lists(st.integers(1, 30), min_size=count, max_size=count))
        gradients = tuple((f"p{k}_{i}", size * ELEMENT) for i, size in enumerate(sizes))
        layers.append(Layer(f"layer{k}", draw(of_time()), draw(of_time()), gradients))
    widths = {name: size for layer in layers for name, size in layer.gradients}
    groups: dict[int, list[str]] = {}
    for name in draw(st.permutations(list(widths))):
        groups.setdefault(draw(st.integers(0, 4)), []).append(name)
    buckets = tuple(map(tuple, groups.values()))
    parts = []
    for names in buckets:
        count = sum(widths[name] for name in names) // ELEMENT
        cuts = sorted(draw(st.sets(st.integers(1, count), max_size=3)) | {count})
        parts.append([(b - a) * ELEMENT for a, b in pairwise([0, *cuts])])
    turns = draw(st.permutations([b for b, sent in enumerate(parts) for _ in sent]))
    left = [iter(sent) for sent in parts]
    return Case(
        tuple(layers),
        {name: draw(of_time()) for name in widths},
        buckets,
        tuple((bucket, next(left[bucket])) for bucket in turns),
        Affine(draw(of_time()), draw(of_time()) / 40),
    )


@given(cases(), st.booleans())
def test_a_step_takes_the_simulated_time(case, barrier):
    run = step_times(case.layers, case.updates, case.plan(), case.cost.time, barrier=barrier)
    simulated = case.simulated(case.graph(barrier=barrier))
    assert run[1:] == pytest.approx([simulated] * (len(run) - 1), rel=1e-6, abs=1e-6)
    if barrier and case.layers[0].gradients:  # else what is before the first use does not wait
        simulated = case.simulated(with_barrier(case.graph(barrier=False)))
        assert run[-1] == pytest.approx(simulated, rel=1e-6, abs=1e-6)


@given(cases())
def test_updates_in_buckets_take_no_longer_than_each_before_its_use(case):
    run = step_times(case.layers, case.updates, case.plan(), case.cost.time, barrier=False)
    assert run[-1] <= case.simulated(case.graph(barrier=False, updates_by_bucket=False)) + 1e-6


def test_a_step_by_hand():
    """Two layers, two launches, of which the first is awaited by the last forward op.

    Backward 0 to 4 (second layer) and to 8 (first); its launch goes 4 to 10, that of the first
    layer 10 to 13: forward 13 to 14 after an update of 1, to 16 by then with the other update.
    """
    layers = (Layer("first", 1.0, 4.0, (("a", 4),)), Layer("second", 1.0, 4.0, (("b", 16),)))
    case = Case(
        layers, {"a": 1.0, "b": 0.5}, (("b",), ("a",)), ((0, 16), (1, 4)), Affine(2.0, 0.25)
    )
    run = step_times(layers, case.updates, case.plan(), case.cost.time, barrier=False)
    assert run[1:] == [13.0 + 1.0 + 1.0 + 0.5 + 1.0] * 3
    barrier = step_times(layers, case.updates, case.plan(), case.cost.time, barrier=True)
    assert barrier == run  # the launch that is needed first is the last one: nothing to gain
