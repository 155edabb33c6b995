"""Blocks of experts in chunks: the same bytes and work, and one chunk beside the other."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.cli.flags import change
from app.errors import InvalidRequest
from app.schemas.plans import PlanRequest
from app.schemas.simulations import SimulationRequest
from app.services.plans import solve
from app.services.simulations import run as simulated
from solver.costs import Affine, alike
from solver.errors import InvalidOptions
from solver.graph import ALL_TO_ALL, COMPUTE, Buffer, Graph, Op, build
from solver.programs.carried import carried
from solver.programs.execute import execute
from solver.programs.plan import ProgramOptions, plan
from solver.programs.policies.in_order import in_order
from solver.programs.problem import ProgramProblem
from solver.programs.replanned import changed_graph, with_changes
from solver.simulation.chunking import Chunking
from solver.simulation.what_if import Change, apply_changes
from tests.app.test_belief import problem
from tests.sampling import cases


def op(name: str, duration: float, *after: str) -> Op:
    return Op(name, COMPUTE, duration, None, after, stream="gpu")


def sent(name: str, size: int, *after: str) -> Op:
    return Op(name, ALL_TO_ALL, None, size, after, channel="ep", cut=False)


#: Dispatch of 100 us, experts of 100 us, combine of 100 us, then an op that reads it.
BLOCK = build(
    "block",
    [
        op("route", 10.0),
        sent("counts", 8, "route"),
        sent("dispatch", 1000, "route", "counts"),
        op("experts", 100.0, "dispatch"),
        sent("combine", 1000, "experts"),
        op("shared", 50.0, "route"),
        op("out", 10.0, "combine", "shared"),
    ],
    [
        Buffer("tokens", 1001, "dispatch", ("experts", "out")),
        Buffer("weights", 64, None, ("experts",), True),
        Buffer("result", 1000, "combine", ("out",)),
    ],
    ["gpu"],
)


def chunks(count: int, overhead: float = 0.0, least: int = 100) -> Change:
    return Change("*", kind=ALL_TO_ALL, chunks=Chunking(count, overhead, least))


def two_blocks(width: int) -> Graph:
    """A block of so many ops, and another whose ops come after all of them."""
    first = [op(f"a{i}", 1.0, "d1") for i in range(width)]
    names = [each.id for each in first]
    second = [op(f"b{i}", 1.0, "d2", *names) for i in range(width)]
    ends = sent("c1", 1000, *names), sent("d2", 1000, "c1")
    last = sent("c2", 1000, *(each.id for each in second))
    return build("two", [sent("d1", 1000), *first, *ends, *second, last], [], ["gpu"])


def test_edges_between_blocks_are_bounded_before_they_are_made() -> None:
    """On paper: 60 x 60 x 64 x 64 between blocks, and 4 x 60 inside, of 64 each; c1 to d2."""
    made = apply_changes(two_blocks(3), [chunks(4)])
    assert sum(len(each.after) for each in made.ops) == 9 * 16 + 4 * 3 * 4 + 16
    with pytest.raises(InvalidOptions) as error:
        apply_changes(two_blocks(60), [chunks(64)])
    assert f"{3600 * 4096 + 240 * 64 + 4096:,} edges" in str(error.value)


def test_on_paper_two_chunks_travel_beside_each_other() -> None:
    """Dispatch 10-60-110, experts 60-110-160, combine 110-160-210, out -220; 320 as it was."""
    stated = ProgramProblem(BLOCK, alike(Affine(0.0, 0.1)))
    whole = plan(stated, ProgramOptions(baselines=()))
    cut = with_changes(whole, [chunks(2)], ProgramOptions(baselines=()))
    assert whole.iteration_time_us == pytest.approx(320.8)  # the counts take 0.8
    assert cut.iteration_time_us == pytest.approx(220.8)  # the shared op is beside them
    assert cut.lower_bound_us <= cut.iteration_time_us


def test_a_program_is_carried_over_chunk_by_chunk() -> None:
    before = ProgramProblem(BLOCK, alike(Affine(0.0, 0.1)))
    after = replace(before, graph=changed_graph(BLOCK, [chunks(2)]))
    made = carried(in_order(before), before, after)
    assert made is not None
    ops = after.graph.ops
    said = [
        ops[what].id if do == COMPUTE else f"{do} {ops[made.buckets[what][0]].id}"
        for do, what in made.steps
    ]
    assert said[3:9] == [
        "launch dispatch:1", "launch dispatch:2", "wait dispatch:1", "wait dispatch:2",
        "experts:1", "experts:2",
    ]  # fmt: skip
    assert execute(after, made).iteration_time == pytest.approx(370.8)  # all in turn
    other = replace(before, graph=changed_graph(BLOCK, [Change("combine", remove=True)]))
    assert carried(in_order(before), before, other) is None  # it sends one less


def test_the_graph_in_chunks() -> None:
    after = apply_changes(BLOCK, [chunks(2, 5.0)])
    ops = {each.id: each for each in after.ops}
    assert list(ops) == [
        "route", "counts", "dispatch:1", "dispatch:2", "experts:1", "experts:2",
        "combine:1", "combine:2", "shared", "out",
    ]  # fmt: skip
    assert ops["dispatch:2"].after == ("route", "counts")
    assert ops["experts:2"].after == ("dispatch:2",)
    assert ops["experts:2"].duration_us == 55.0
    assert ops["out"].after == ("combine:1", "combine:2", "shared")
    assert after.buffers == (
        Buffer("tokens:1", 500, "dispatch:1", ("experts:1", "out")),
        Buffer("tokens:2", 501, "dispatch:2", ("experts:2", "out")),
        Buffer("weights", 64, None, ("experts:1", "experts:2"), True),
        Buffer("result:1", 500, "combine:1", ("out",)),
        Buffer("result:2", 500, "combine:2", ("out",)),
    )
    assert after.free == BLOCK.free


def test_one_chunk_is_the_graph_as_it_is() -> None:
    assert apply_changes(BLOCK, [chunks(1, 5.0)]) == BLOCK
    assert changed_graph(BLOCK, [chunks(1)]) == BLOCK


@given(
    count=st.integers(1, 9),
    layers=st.integers(1, 3),
    size=st.integers(9, 100),
    element=st.sampled_from([1, 2, 4]),
    times=st.lists(st.sampled_from([0.0, 10.0, 35.0]), min_size=1, max_size=4),
)
@settings(max_examples=cases(150))
def test_work_and_bytes_are_kept(
    count: int, layers: int, size: int, element: int, times: list[float]
) -> None:
    ops, buffers, last = [op("start", 5.0)], [], "start"
    for layer in range(layers):
        ops.append(sent(f"d{layer}", size * element, last)._replace(element_bytes=element))
        last = f"d{layer}"
        for k, time in enumerate(times):
            ops.append(op(f"e{layer}.{k}", time, last))
            buffers.append(Buffer(f"b{layer}.{k}", size, last, (f"e{layer}.{k}",)))
            last = f"e{layer}.{k}"
        ops.append(sent(f"c{layer}", size * element, last)._replace(element_bytes=element))
        ops.append(op(f"a{layer}", 20.0, f"c{layer}"))
        last = f"a{layer}"
    graph = build("layers", ops, buffers, ["gpu"])
    after = apply_changes(graph, [chunks(count, 3.0, 1)])
    assert len(after.collectives) == 2 * layers * count
    assert sum(each.bytes or 0 for each in after.ops) == sum(each.bytes or 0 for each in graph.ops)
    assert all((each.bytes or element) % element == 0 for each in after.ops)
    assert sum(b.bytes for b in after.buffers) == sum(b.bytes for b in graph.buffers)
    cut = sum(time > 0 for time in times) * layers
    more = 3.0 * count * cut if count > 1 else 0.0
    assert sum(after.durations) == pytest.approx(sum(graph.durations) + more)


@pytest.mark.parametrize(
    ("asked", "pointer", "said"),
    [
        (chunks(0), "/changes/0/chunks/count", "count must be 1 to 64"),
        (chunks(65), "/changes/0/chunks/count", "count must be 1 to 64"),
        (chunks(2, -1.0), "/changes/0/chunks/overhead_us", "overhead_us"),
        (chunks(2, float("nan")), "/changes/0/chunks/overhead_us", "overhead_us"),
        (chunks(2, 0.0, 0), "/changes/0/chunks/least_bytes", "least_bytes"),
        (chunks(2, 0.0, 2000), "/changes/0/match", "No collective that matches has 2,000"),
        (chunks(9, 0.0, 1), "/changes/0/match", "'combine'"),  # counts and dispatch are a pair
        (replace(chunks(2), match="experts", kind=None), "/changes/0/match", "No collective"),
        (replace(chunks(2), match="dispatch"), "/changes/0/match", "begins no block"),
    ],
)
def test_rejected(asked: Change, pointer: str, said: str) -> None:
    with pytest.raises(InvalidOptions) as error:
        apply_changes(BLOCK, [asked])
    assert pointer in [fault.pointer for fault in error.value.faults]
    assert any(said in fault.detail for fault in error.value.faults)


def test_a_taken_id_and_too_few_elements_are_refused() -> None:
    taken = build("taken", [*BLOCK.ops, op("experts:1", 1.0)], BLOCK.buffers, ["gpu"])
    small = [each._replace(element_bytes=500) if each.bytes == 1000 else each for each in BLOCK.ops]
    for graph, count, pointer in (
        (taken, 2, "/changes/0/chunks"),
        (build("small", small, BLOCK.buffers, ["gpu"]), 3, "/changes/0/chunks/count"),
    ):
        with pytest.raises(InvalidOptions) as error:
            apply_changes(graph, [chunks(count)])
        assert pointer in [fault.pointer for fault in error.value.faults]


GRAPH = {
    "name": "chain",
    "ops": [
        {"id": "b", "kind": "compute", "duration_us": 10, "after": []},
        {"id": "d", "kind": "all_to_all", "bytes": 4000, "after": ["b"]},
        {"id": "e", "kind": "compute", "duration_us": 50, "after": ["d"]},
        {"id": "c", "kind": "all_to_all", "bytes": 4000, "after": ["e"]},
    ],
}
CUT = [{"match": "*", "chunks": {"count": 2, "overhead_us": 0, "least_bytes": 1}}]


def test_chunks_by_a_flag() -> None:
    assert change("all_to_all*=chunks*2") == {"match": "all_to_all*", "chunks": {"count": 2}}


def test_on_the_wire_it_says_what_it_assumes() -> None:
    answer = solve(problem(PlanRequest, graph=GRAPH, what_if=CUT))
    assert answer.what_if is not None
    assert answer.what_if.gain_us > 0
    (warned,) = [each for each in answer.warnings if each.code == "chunks_assumed"]
    assert warned.pointer == "/what_if/0/chunks"
    assert "2 chunks" in warned.detail
    assert json.loads(answer.model_dump_json())["request"]["what_if"][0]["chunks"]["count"] == 2


def test_launches_of_a_plan_do_not_carry_over() -> None:
    made = solve(problem(PlanRequest, graph=GRAPH)).model_dump(mode="json")
    given = {
        "buckets": [{"id": b["id"], "tensors": b["tensors"]} for b in made["buckets"]],
        "schedule": {
            "parts": [{k: p[k] for k in ("bucket", "bytes")} for p in made["schedule"]["parts"]]
        },
    }
    with pytest.raises(InvalidRequest, match="No launch of the plan sends"):
        simulated(problem(SimulationRequest, graph=GRAPH, plan=given, what_if=CUT))
