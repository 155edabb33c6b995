"""Rankings of shapes: against trying all, bounds that nothing beats, and what a job keeps."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InvalidOptions
from solver.shapes.efficiency import ASSUMED
from solver.shapes.hardware import ACCELERATORS, NetworkLevel, TrainingCluster
from solver.shapes.memory import RankMemory, most_held, peak_memory
from solver.shapes.pipeline.orders import BACKWARD, FORWARD, ORDERS, WEIGHTS, WEIGHTS_APART
from solver.shapes.ranking import rank as ranking_module
from solver.shapes.ranking import space
from solver.shapes.ranking.bound import least_time
from solver.shapes.ranking.rank import MEMORY_SHARE, rank_shapes
from solver.shapes.ranking.space import ShapeSpace, ruled_out, shapes_of
from solver.shapes.stage_times import stage_times
from solver.shapes.step import simulate_step
from solver.shapes.transformer import Transformer

MODEL = Transformer("small", 8, 1024, 8, 4096, 32000, 512, tied=True)
CLUSTER = TrainingCluster(
    replace(ACCELERATORS["a100"], memory_gib=3.0),
    (NetworkLevel("node", 4, 2400.0, 10.0, 1.0), NetworkLevel("spine", 16, 200.0, 20.0, 5.0)),
)
SPACE = ShapeSpace(
    64,
    schedules=("gpipe", "1f1b", "interleaved", "zero_bubble", "zb_v", "dualpipe"),
    shardings=("none", "optimizer", "parameters"),
    micro_batch=(1, 4),
)


def tried() -> list[tuple[float, float]]:
    """Time and memory of every shape that fits, all of them simulated."""
    found = []
    for shape in shapes_of(MODEL, CLUSTER, SPACE):
        peak = peak_memory(MODEL, shape).peak_bytes
        if peak <= MEMORY_SHARE * CLUSTER.accelerator.memory_gib * 2**30:
            found.append((simulate_step(MODEL, CLUSTER, shape, ASSUMED).time_us, peak))
    return found


def test_the_best_and_the_front_are_those_of_trying_all() -> None:
    ranking = rank_shapes(MODEL, CLUSTER, SPACE, ASSUMED, count=5)
    every = tried()
    assert ranking.shapes - ranking.too_large == len(every)
    assert 0 < ranking.simulated < len(every)
    assert [each.step.time_us for each in ranking.best] == sorted(t for t, _ in every)[:5]
    front = sorted(
        {
            (time, peak)
            for time, peak in every
            if not any(t <= time and p <= peak and (t, p) != (time, peak) for t, p in every)
        }
    )
    assert [(each.step.time_us, each.memory.peak_bytes) for each in ranking.front] == front
    assert ranking.is_proven
    assert ranking.lower_bound_us == ranking.best[0].step.time_us


def test_no_shape_beats_its_bound() -> None:
    for shape in shapes_of(MODEL, CLUSTER, replace(SPACE, cp=(1, 2))):
        bound = least_time(shape, stage_times(MODEL, CLUSTER, shape, ASSUMED))
        assert bound <= simulate_step(MODEL, CLUSTER, shape, ASSUMED).time_us * (1 + 1e-9)


def test_a_ranking_that_is_cut_says_its_gap() -> None:
    whole = rank_shapes(MODEL, CLUSTER, SPACE, ASSUMED)
    cut = rank_shapes(MODEL, CLUSTER, SPACE, ASSUMED, most_simulated=1)
    assert cut.simulated == 1
    assert cut.lower_bound_us <= whole.best[0].step.time_us <= cut.best[0].step.time_us
    assert cut.is_proven == (cut.lower_bound_us == cut.best[0].step.time_us)


def test_shapes_of_too_many_passes_have_a_bound(monkeypatch) -> None:
    monkeypatch.setattr(ranking_module, "MOST_PASSES", 100)
    ranking = rank_shapes(MODEL, CLUSTER, SPACE, ASSUMED, count=1)
    assert ranking.least_bound_us is not None
    assert ranking.lower_bound_us <= ranking.best[0].step.time_us


def test_shapes_that_a_limit_cuts_are_counted(monkeypatch) -> None:
    """Once the passes of all shapes are used up, those that may be among the best are cut."""
    whole = rank_shapes(MODEL, CLUSTER, SPACE, ASSUMED, count=5)
    assert whole.cut == 0
    monkeypatch.setattr(ranking_module, "MOST_PASSES_IN_ALL", 300)
    ranking = rank_shapes(MODEL, CLUSTER, SPACE, ASSUMED, count=5)
    assert ranking.cut > 0
    assert ranking.simulated < whole.simulated
    assert ranking.lower_bound_us <= whole.best[0].step.time_us


def test_nothing_is_simulated_where_all_is_too_much_work(monkeypatch) -> None:
    monkeypatch.setattr(ranking_module, "MOST_PASSES", 1)
    ranking = rank_shapes(MODEL, CLUSTER, SPACE, ASSUMED)
    assert ranking.best == ()
    assert ranking.cut == ranking.shapes - ranking.too_large
    assert ranking.lower_bound_us == ranking.least_bound_us is not None
    assert not ranking.is_proven


def test_a_space_has_its_most_shapes(monkeypatch) -> None:
    monkeypatch.setattr(space, "MOST_SHAPES", 10)
    with pytest.raises(InvalidOptions, match="fix some parts"):
        rank_shapes(MODEL, CLUSTER, SPACE, ASSUMED)


def test_how_far_a_ranking_is_is_told_and_changes_nothing() -> None:
    told: list[tuple] = []
    ranking = rank_shapes(MODEL, CLUSTER, SPACE, ASSUMED, told=lambda *each: told.append(each))
    assert ranking == rank_shapes(MODEL, CLUSTER, SPACE, ASSUMED)
    phases = [each[0] for each in told]
    assert phases == sorted(phases)  # bounds, then the simulation
    assert set(phases) == {"bounds", "simulation"}
    assert phases.count("simulation") == ranking.simulated
    best = ranking.best[0].step.time_us
    for phase, done, total, so_far in told:
        assert so_far.best[0].step.time_us >= best  # from the first shape that fits on
        if phase == "bounds":
            assert (total, so_far.lower_bound_us, so_far.is_proven) == (None, None, False)
            assert so_far.shapes == done <= ranking.shapes
        else:
            assert 1 <= done <= total == ranking.shapes - ranking.too_large
            assert so_far.lower_bound_us <= best
            assert so_far.is_proven is (so_far.lower_bound_us == so_far.best[0].step.time_us)
    simulated = [each[3].best[0].step.time_us for each in told if each[0] == "simulation"]
    assert simulated == sorted(simulated, reverse=True)
    assert simulated[-1] == best


def test_what_is_told_is_a_ranking_of_what_was_simulated() -> None:
    """Each is the best of its own, none of them larger and slower; the last lacks nothing."""
    told: list[tuple] = []
    ranking = rank_shapes(MODEL, CLUSTER, SPACE, ASSUMED, 5, told=lambda *each: told.append(each))
    every = {each.shape: each for each in (*ranking.best, *ranking.front)}
    for *_, so_far in told:
        times = [each.step.time_us for each in so_far.best]
        assert times == sorted(times)
        assert len(times) == min(5, so_far.simulated)
        for one in so_far.front:
            beaten = [
                other
                for other in so_far.best
                if other.step.time_us <= one.step.time_us
                and other.memory.peak_bytes < one.memory.peak_bytes
            ]
            assert beaten == []
            assert every.get(one.shape, one) == one
        assert so_far.simulated + so_far.cut <= so_far.shapes - so_far.too_large
    last = told[-1][3]
    assert (last.best, last.front, last.is_proven) == (ranking.best, ranking.front, True)
    assert last.cut == 0


def test_figures_of_a_shape_by_hand() -> None:
    best = rank_shapes(MODEL, CLUSTER, SPACE, ASSUMED, price_per_gpu_hour=2.0).best[0]
    seconds = best.step.time_us / 1e6
    tokens = 64 * 512
    assert best.tokens_per_s_per_gpu == pytest.approx(tokens / seconds / 16)
    assert best.price_per_billion_tokens == pytest.approx(2.0 * 16 * seconds / 3600 / tokens * 1e9)
    weights = 8 * 12 * 1024**2 + 32000 * 1024
    flops = tokens * (6 * weights + 6 * 8 * 512 * 1024)
    assert best.mfu == pytest.approx(flops / seconds / 16 / 312e12)


def test_nothing_fits() -> None:
    tiny = replace(CLUSTER, accelerator=replace(CLUSTER.accelerator, memory_gib=0.01))
    ranking = rank_shapes(MODEL, tiny, SPACE, ASSUMED)
    assert ranking.best == ranking.front == ()
    assert ranking.too_large == ranking.shapes
    assert ranking.lower_bound_us is None
    assert not ranking.is_proven


def test_every_shape_keeps_the_batch_and_uses_all_gpus() -> None:
    shapes = list(shapes_of(MODEL, CLUSTER, SPACE))
    assert len(set(shapes)) == len(shapes)
    assert {shape.gpus for shape in shapes} == {16}
    assert {shape.global_batch for shape in shapes} == {64}
    assert {shape.tp for shape in shapes_of(MODEL, CLUSTER, replace(SPACE, tp=(2,)))} == {2}


@given(
    st.integers(1, 200),
    st.sampled_from([(1, 2), (2, 3), (1, 2, 4, 8), (5, 16)]),
    st.sampled_from([None, (1, 3, 4), (8,)]),
)
@settings(max_examples=30, deadline=None)
def test_what_is_ruled_out_is_in_no_shape(batch, micro, tp) -> None:
    """By hand, of 16 GPUs: what no split of all of them that keeps the batch has."""
    asked = replace(SPACE, global_batch=batch, micro_batch=micro, tp=tp)
    out = {each.part: each.choices for each in ruled_out(MODEL, CLUSTER, asked)}
    kept = [n for n in micro if batch % n == 0]
    assert out.get("micro_batch", ()) == tuple(n for n in micro if n not in kept)
    assert out.get("tp", ()) == tuple(n for n in tp or () if n == 3)
    dps = {16 // (t * p) for t in tp or (1, 2, 4) for p in (1, 2, 4, 8) if 16 % (t * p) == 0}
    wrong = {dp for dp in dps if not any(batch % (dp * n) == 0 for n in kept)}
    assert out.get("dp", ()) == (tuple(sorted(wrong)) if kept else ())


@given(
    st.sampled_from(sorted(ORDERS)),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 8),
    st.lists(st.floats(0.1, 9), min_size=12, max_size=12),
)
@settings(max_examples=40, deadline=None)
def test_the_peak_is_that_of_counting_along_the_order(
    schedule, ranks, chunks, rounds, kept
) -> None:
    chunks = {"interleaved": chunks, "zb_v": 2, "dualpipe": 2}.get(schedule, 1)
    if schedule == "dualpipe":
        ranks, rounds = ranks + ranks % 2, 2 * rounds
    count = rounds * ranks
    frees = WEIGHTS if schedule in WEIGHTS_APART else BACKWARD
    moments = most_held(schedule, ranks, chunks, count)
    for rank, steps in enumerate(ORDERS[schedule](ranks, chunks, count)):
        held = most = 0.0
        for step in steps:
            sign = (step.kind == FORWARD) - (step.kind == frees)
            held += sign * kept[step.stage]
            most = max(most, held)
        own = kept[rank : ranks * chunks : ranks]
        if schedule in ("zb_v", "dualpipe"):
            own = [kept[rank], kept[2 * ranks - 1 - rank]]
        found = [
            sum(n * one for n, one in zip(each.held, own, strict=True)) for each in moments[rank]
        ]
        assert max(found) == pytest.approx(most)


@pytest.mark.parametrize(
    ("changes", "pointers"),
    [
        ({"global_batch": 0}, ["/global_batch"]),  # nothing to train
        ({"tp": (), "pp": (0,)}, ["/tp", "/pp"]),  # no choice, and no ways; all at once
        ({"schedules": ()}, ["/schedules"]),  # none
        ({"schedules": ("2f2b",), "gradient_bytes": 3}, ["/schedules", "/gradient_bytes"]),
        ({"pp": (256,)}, ["/pp"]),  # deeper than any pipeline
        ({"tp": (3,), "micro_batch": (128,)}, ["/tp", "/micro_batch"]),  # nothing that divides
    ],
)
def test_spaces_that_are_refused(changes, pointers) -> None:
    with pytest.raises(InvalidOptions) as caught:
        list(shapes_of(MODEL, CLUSTER, replace(SPACE, **changes)))
    assert [fault.pointer for fault in caught.value.faults] == pointers


def test_a_memory_of_a_rank_is_the_sum_of_its_parts() -> None:
    assert RankMemory(0, 1.0, 2.0, 3.0, 4.0, 5.0, 0, 1).peak_bytes == 15
