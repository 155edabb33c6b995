"""Compressed collectives: fewer bytes, and work on the compute stream."""

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from solver.costs import Affine, alike
from solver.errors import InvalidOptions
from solver.graph import ALL_GATHER, ALL_REDUCE, COMPUTE, Graph, Op, build
from solver.policies import POLICIES
from solver.simulation.compression import COMPRESSIONS, MEMORY_BYTES_PER_US, Compression
from solver.simulation.engine import iteration_time
from solver.simulation.what_if import Change, apply_changes
from tests.sampling import cases
from tests.strategies import dags

HALF = Compression(0.5, encode_us_per_byte=0.02, decode_us_per_byte=0.01)
WFBP = POLICIES["wfbp"]


def layered(layers: list[tuple[float, int, float]], stream: str | None) -> Graph:
    """Backward passes from the last layer to the first, then forward ones; or by edges alone."""
    numbers = [*range(len(layers))]
    passes = [*(f"b{i}" for i in reversed(numbers)), *(f"f{i}" for i in numbers)]
    before = dict(pairwise(reversed(passes)))
    ops = []
    for name in passes:
        layer = int(name[1:])
        backward, size, forward = layers[layer]
        after = [before[name]] if name in before else []
        if name[0] == "f":
            after.append(f"g{layer}")
        time = backward if name[0] == "b" else forward
        ops.append(Op(name, COMPUTE, time, None, tuple(after), stream=stream))
        if name[0] == "b":
            ops.append(Op(f"g{layer}", ALL_REDUCE, None, size, (name,)))
    return build("layers", ops)


def by_hand(layers: list[tuple[float, int, float]], how: Compression, cost: Affine) -> float:
    """Simulate layers, first in, first out, in one loop over the passes."""
    now = sent = 0.0
    ends = {}
    for layer, (backward, size, _) in reversed([*enumerate(layers)]):
        now += backward + size * how.encode_us_per_byte
        sent = (
            max(now, sent) + cost.startup + cost.per_byte * max(1, round(size * how.bytes_factor))
        )
        ends[layer] = sent
    for layer, (_, size, forward) in enumerate(layers):
        now = max(now, ends[layer]) + size * how.decode_us_per_byte + forward
    return now


@pytest.mark.parametrize("stream", ["gpu", None])
def test_on_paper(stream: str | None) -> None:
    """b -100, encode -120, b -220, encode -240, sent -300, decode, f 310-360, decode, f -420."""
    graph = layered([(100.0, 1000, 50.0), (100.0, 1000, 50.0)], stream)
    after = apply_changes(graph, [Change("g*", compression=HALF)])
    assert iteration_time(after, alike(Affine(10.0, 0.1)), WFBP) == pytest.approx(420)
    assert [op.bytes for op in after.ops if op.bytes] == [500, 500]
    assert {op.fuse_key for op in after.ops if op.bytes} == {"compressed"}


@given(
    st.lists(
        st.tuples(st.floats(0, 1e3), st.integers(1, 10**5), st.floats(0, 1e3)),
        min_size=1,
        max_size=8,
    ),
    st.floats(0.01, 1),
    st.floats(0, 0.01),
    st.floats(0, 0.01),
    st.sampled_from(["gpu", None]),
)
@example([(1.0, 10, 0.0), (1.0, 10, 0.0), (1.0, 10, 2.0)], 1.0, 0.0, 0.01, None)
@settings(max_examples=cases(300))
def test_layers_take_what_they_take_by_hand(
    layers: list[tuple[float, int, float]],
    factor: float,
    encode: float,
    decode: float,
    stream: str | None,
) -> None:
    how, cost = Compression(factor, encode, decode), Affine(20.0, 0.01)
    graph = apply_changes(layered(layers, stream), [Change("g*", compression=how)])
    assert iteration_time(graph, alike(cost), WFBP) == pytest.approx(by_hand(layers, how, cost))


@given(dags(), st.data())
@settings(max_examples=cases(200))
def test_of_any_graph_the_order_stays(graph: Graph, data: st.DataObject) -> None:
    names = [graph.ops[i].id for i in graph.collectives]
    chosen = data.draw(st.sets(st.sampled_from(names), min_size=1))
    after = apply_changes(graph, [Change(name, compression=HALF) for name in sorted(chosen)])
    ids = [op.id for op in after.ops]
    own = {f"{way}:{name}" for way in ("encode", "decode") for name in chosen}
    assert sorted(ids) == sorted({*(op.id for op in graph.ops), *own})
    place = {name: i for i, name in enumerate(ids)}
    above: dict[int, set[int]] = {}
    for i in after.order:
        above[i] = set(after.preds[i]).union(*(above[j] for j in after.preds[i]))
    for j, preds in enumerate(graph.preds):
        for i in preds:
            earlier, later = graph.ops[i].id, graph.ops[j].id
            assert place[earlier] in above[place[later]]
            if earlier in chosen:
                assert place[f"decode:{earlier}"] in above[place[later]]
    for name in chosen:
        assert place[f"encode:{name}"] in above[place[name]]
        assert place[name] in above[place[f"decode:{name}"]]


def test_names_by_the_size_of_elements() -> None:
    ops = [
        Op("c", COMPUTE, 1.0),
        Op("x", ALL_REDUCE, None, 400, ("c",), element_bytes=4),
        Op("y", ALL_REDUCE, None, 400, ("c",), element_bytes=2),
        Op("z", ALL_GATHER, None, 400, ("c",), fuse_key="k"),
    ]
    graph = build("sizes", ops)

    def sizes(name: str, kind: str | None = None) -> list[int]:
        after = apply_changes(graph, [Change("*", kind=kind, compression=name)])
        return [op.bytes for op in after.ops if op.bytes]

    assert sizes("fp16") == [200, 400, 200]  # y is as narrow already, of z 4 bytes are taken
    assert sizes("int8") == [100, 200, 100]
    assert sizes("topk") == [8, 12, 8]
    assert sizes("bf16", kind=ALL_GATHER) == [400, 400, 200]
    after = apply_changes(graph, [Change("*", compression="fp8")])
    found = {op.id: op for op in after.ops}
    assert found["z"].fuse_key == "k fp8"
    assert found["encode:x"].duration_us == pytest.approx(400 * 2.25 / MEMORY_BYTES_PER_US)
    assert found["decode:x"].duration_us == pytest.approx(400 * 1.25 / MEMORY_BYTES_PER_US)
    assert set(COMPRESSIONS) == {"fp16", "bf16", "fp8", "int8", "topk"}
    same = apply_changes(graph, [Change("y", compression="fp16")])
    assert same.ops == graph.ops


def test_between_collectives_coding_runs_beside_compute() -> None:
    ops = [
        Op("b", COMPUTE, 10.0, stream="gpu"),
        Op("in", ALL_REDUCE, None, 100, ("b",)),
        Op("across", ALL_REDUCE, None, 100, ("in",), "spine"),
        Op("back", ALL_GATHER, None, 100, ("across",)),
        Op("f", COMPUTE, 10.0, None, ("back",), stream="gpu"),
    ]
    after = apply_changes(build("levels", ops), [Change("across", compression=HALF)])
    found = {op.id: op for op in after.ops}
    assert found["encode:across"].after == ("in",)
    assert found["decode:across"].after == ("across",)
    assert found["back"].after == ("decode:across",)
    assert found["encode:across"].stream is found["decode:across"].stream is None


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        (Change("g*", compression="zip"), "/changes/0/compression"),
        (Change("g*", compression=Compression(0.0)), "/changes/0/compression/bytes_factor"),
        (Change("g*", compression=Compression(1.5)), "/changes/0/compression/bytes_factor"),
        (
            Change("g*", compression=Compression(0.5, float("inf"))),
            "/changes/0/compression/encode_us_per_byte",
        ),
        (
            Change("g*", compression=Compression(0.5, 0.0, -1.0)),
            "/changes/0/compression/decode_us_per_byte",
        ),
        (Change("g*", compression=Compression(0.5, 1e300)), "/changes/0/compression"),
        (Change("b*", compression="fp16"), "/changes/0/match"),
        (Change("g*", kind="gossip", compression="fp16"), "/changes/0/kind"),
    ],
)
def test_what_cannot_be(change: Change, pointer: str) -> None:
    graph = layered([(1.0, 100, 1.0)], "gpu")
    with pytest.raises(InvalidOptions) as caught:
        apply_changes(graph, [change])
    assert pointer in {fault.pointer for fault in caught.value.faults}
