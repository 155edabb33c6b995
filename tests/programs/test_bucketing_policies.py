"""Rules that fuse what parameters send: on paper what they say, and within the memory they keep."""

import random

from solver.costs import Cluster, network_of
from solver.graph import Buffer, Op, build
from solver.programs.execute import execute
from solver.programs.policies.bucketed_overlap import _OverlapRow, _placed, bucketed_overlap
from solver.programs.policies.deepcompile import deepcompile
from solver.programs.policies.parameter_buckets import size_buckets
from solver.programs.policies.topo_span import topo_span
from solver.programs.policies.transformer_blocks import repeated_blocks, transformer_blocks
from solver.programs.problem import ProgramLimits, ProgramProblem, copies_of
from tests.programs.drawn import drawn
from tests.programs.test_policies import LAYERS, gather, of_ops, said, step
from tests.sampling import cases

WEIGHTS = (Buffer("w1", 100, "g1", ("f1",)), Buffer("w2", 100, "g2", ("f2",)))

AHEAD = [
    "launch g1", "launch g2", "wait g1", "compute f1", "wait g2", "compute f2",
]  # fmt: skip


def scatter(name: str, size: int, *after: str) -> Op:
    return Op(name, "reduce_scatter", bytes=size, after=after, channel="net", cut=False)


def test_blocks_gather_the_next_while_one_is_computed() -> None:
    problem = of_ops(*LAYERS)
    program = transformer_blocks(problem)
    assert said(problem, program) == AHEAD
    assert execute(problem, program).iteration_time == 300.0


def test_a_block_is_one_bucket_of_gathers_and_one_of_scatters() -> None:
    problem = of_ops(
        gather("g1", 40),
        gather("h1", 60),
        step("f1", 100.0, "g1", "h1"),
        scatter("s1", 50, "f1"),
        gather("g2", 40),
        gather("h2", 60),
        step("f2", 100.0, "f1", "g2", "h2"),
        scatter("s2", 50, "f2"),
    )
    program = transformer_blocks(problem)
    assert said(problem, program) == [
        "pack g1+h1", "launch g1+h1", "pack g2+h2", "launch g2+h2",
        "wait g1+h1", "unpack g1+h1", "compute f1", "launch s1",
        "wait g2+h2", "unpack g2+h2", "compute f2", "launch s2", "wait s1", "wait s2",
    ]  # fmt: skip
    # gathers until 200, s1 on the channel behind them until 250, f2 from 200, s2 from 300
    assert execute(problem, program).iteration_time == 350.0


def test_blocks_are_the_periods_of_the_sizes() -> None:
    layer = [1, 4, 2, 2, 4, 1, 7, 7, 7]
    sizes = [9, *layer * 3, 1, 9]
    row = list(range(100, 100 + len(sizes)))
    blocks = repeated_blocks(row, sizes)
    assert [len(block) for block in blocks] == [1, 9, 9, 9, 2]
    assert [i for block in blocks for i in block] == row
    assert repeated_blocks([5, 6, 7], [1, 2, 3]) == [[5, 6, 7]]
    assert repeated_blocks([5, 6, 7], [2, 2, 2]) == [[5], [6], [7]]
    assert repeated_blocks([], []) == []


def test_spans_bound_what_is_fused_before() -> None:
    problem = of_ops(*LAYERS)  # from g1 to g2 it is two ops
    assert topo_span(problem, span=1).buckets == ((0,), (2,))
    assert execute(problem, topo_span(problem, span=1)).iteration_time == 300.0
    assert topo_span(problem, span=2).buckets == ((0, 2),)
    assert execute(problem, topo_span(problem, span=2)).iteration_time == 400.0


def test_deepcompile_prefetches_within_the_memory_only() -> None:
    problem = of_ops(*LAYERS, buffers=WEIGHTS)
    tight = deepcompile(problem, more_bytes=0, more_share=0)
    roomy = deepcompile(problem, more_bytes=100, more_share=0)
    assert execute(problem, tight).iteration_time == 400.0
    assert execute(problem, tight).peak_bytes == 100
    assert said(problem, roomy) == AHEAD
    assert execute(problem, roomy).iteration_time == 300.0
    assert execute(problem, deepcompile(problem, buffered_bytes=99)).iteration_time == 400.0


def test_deepcompile_fuses_what_takes_little_longer_together() -> None:
    table = ((1, 50.0), (1001, 150.0))  # 59.9 us for 100 bytes, 69.9 for 200: less than 1.2 times
    cluster = Cluster(4, algorithm="table", table=table, tables=(("all_gather", table),))
    whole = Cluster(4, channels=(("net", cluster),), algorithm="table", table=table)
    problem = ProgramProblem(build("paper", LAYERS, (), ["gpu"]), network_of(whole))
    assert deepcompile(problem).buckets == ((0, 2),)
    assert deepcompile(problem, longer=1.1).buckets == ((0,), (2,))
    assert deepcompile(problem, fuse_bytes=200).buckets == ((0,), (2,))


def test_simple_overlap_of_buckets_raises_launches_within_the_memory() -> None:
    problem = of_ops(*LAYERS, buffers=WEIGHTS)
    assert bucketed_overlap(problem).buckets == ((0, 2),)
    alone = bucketed_overlap(problem, bucket_bytes=100)
    assert execute(problem, alone).iteration_time == 400.0
    roomy = ProgramProblem(problem.graph, problem.network, None, ProgramLimits(200))
    assert said(roomy, bucketed_overlap(roomy, bucket_bytes=100)) == AHEAD


def test_simple_overlap_sinks_waits_to_the_first_that_needs_them() -> None:
    problem = of_ops(
        step("f1", 100.0), scatter("s1", 50, "f1"), step("f2", 100.0, "f1"), gather("g", 10)
    )
    assert said(problem, bucketed_overlap(problem)) == [
        "compute f1", "launch s1", "launch g", "compute f2", "wait s1", "wait g",
    ]  # fmt: skip


def live(problem: ProgramProblem, buckets: list[tuple[int, ...]], items: list) -> int:
    """Return the most memory of items by what buffers and copies are."""
    at = {item: k for k, item in enumerate(items)}
    home = {i: b for b, members in enumerate(buckets) for i in members}
    index = {op.id: i for i, op in enumerate(problem.graph.ops)}

    def begins(name: str) -> int:
        i = index[name]
        return at["launch", home[i]] if i in home else at["compute", i]

    def ends(name: str) -> int:
        i = index[name]
        return at["wait", home[i]] if i in home else at["compute", i]

    spans = []
    for buffer in problem.graph.buffers:
        names = [*buffer.read_by, *([buffer.written_by] if buffer.written_by else [])]
        if not names and not buffer.kept:
            continue
        start = begins(buffer.written_by) if buffer.written_by else -1
        end = len(items) if buffer.kept else max(map(ends, names))
        spans.append((start, end, buffer.bytes))
    for b, members in enumerate(buckets):
        copies = copies_of(problem, members)
        size = copies.packed_bytes + copies.unpacked_bytes
        spans.append((at["launch", b], at["wait", b], size))
    held = [sum(size for a, b, size in spans if a <= k <= b) for k in range(-1, len(items))]
    return max(held)


def test_simple_overlap_of_buckets_takes_no_more_memory_by_its_own_count() -> None:
    moved = 0
    for seed in range(cases(200)):
        problem = drawn(random.Random(seed), 20, 8)
        buckets = size_buckets(problem, lambda _: 20_000)
        row = _OverlapRow(problem, buckets, _placed(problem, buckets))
        before, first = live(problem, buckets, row.items), list(row.items)
        assert row.most == before, seed
        for item in first:
            if item[0] == "launch":
                row.raise_launch(item)
        for item in reversed(first):
            if item[0] == "wait":
                row.sink_wait(item)
        assert live(problem, buckets, row.items) <= before, seed
        assert [b for do, b in row.items if do == "launch"] == [
            b for do, b in first if do == "launch"
        ], seed
        moved += row.items != first
    assert moved > cases(200) // 2
