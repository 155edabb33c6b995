"""The policies of today: each by hand, against plain loops, and in general.

By hand a launch of n bytes takes 10 + n us, unless said; a tensor is (release, bytes, tail).
"""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from solver.bounds.chain import lower_bound
from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Affine, MeasuredCost, alike
from solver.graph import ALL_REDUCE, COMPUTE, Op, build, with_barrier
from solver.limits import MAX_POLICY_LAUNCHES
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.policies import POLICIES
from solver.policies.bytescheduler import tune
from solver.policies.choice import (
    PARAMETERS,
    Choice,
    bind,
    choice_faults,
    defaults,
    keywords,
    resolve,
)
from solver.policies.horovod import HorovodLoop, Loop
from solver.simulation.engine import simulate
from solver.simulation.replay import replay
from solver.units import slack
from tests import policy_oracles
from tests.sampling import cases
from tests.solver.test_simulate import RING, TWO_LAYERS
from tests.strategies import affine_costs, costs, graphs

COST = Affine(10.0, 1.0)
MIB = 2**20


def tensors(*rows):
    """Each tensor after a compute op that ends at its release and before one of its tail."""
    ops = []
    for i, (release, size, tail) in enumerate(rows):
        ops.append(Op(f"b{i}", COMPUTE, float(release)))
        ops.append(Op(f"g{i}", ALL_REDUCE, None, size, (f"b{i}",)))
        ops.append(Op(f"f{i}", COMPUTE, float(tail), None, (f"g{i}",)))
    return build("by hand", ops)


def choice(policy, **parameters):
    return Choice(policy, parameters=tuple(parameters.items()))


def launches(graph, cost, chosen):
    sent = simulate(graph, alike(cost), bind(chosen)).launches
    return [(part.bucket, part.start, part.end, part.bytes) for part in sent]


# By hand.


def test_wfbp():
    graph = tensors((0, 20, 0), (5, 30, 0), (5, 10, 99), (200, 1, 0))
    assert launches(graph, COST, choice("wfbp")) == [
        ((0,), 0, 30, 20),
        ((1,), 30, 70, 30),  # same release as the next, smaller position; its tail is no matter
        ((2,), 70, 90, 10),
        ((3,), 200, 211, 1),
    ]


def test_single():
    graph = tensors((0, 20, 0), (50, 30, 7))
    assert launches(graph, COST, choice("single")) == [((0, 1), 50, 110, 50)]
    assert simulate(graph, alike(COST), bind(choice("single"))).iteration_time == 117


def test_horovod():
    graph = tensors(
        (0, 30, 0),  # 0: at the first tick
        (60, 20, 0),  # 1
        (100, 40, 0),  # 2: exactly at the second tick
        (101, 10, 0),  # 3: just missed it
        (150, 120, 0),  # 4: larger than a buffer
        (160, 10, 0),  # 5
        (199, 40, 0),  # 6: fills the buffer to the byte
        (410, 5, 0),  # 7: at the tick that the third cycle's sends delay
        (520, 5, 0),  # 8: after an idle tick
        (2210, 5, 0),  # 9: exactly 16 ticks later
    )
    chosen = choice("horovod", cycle_time_us=100.0, fusion_threshold_bytes=50, waits_for_sends=True)
    assert launches(graph, COST, chosen) == [
        ((0,), 0, 40, 30),  # cycle at 0
        ((1,), 100, 130, 20),  # cycle at 100: 20 + 40 do not fit in 50
        ((2,), 130, 180, 40),
        ((3,), 200, 220, 10),  # cycle at max(100 + 100, 180): closed by the tensor of 120
        ((4,), 220, 350, 120),  # alone
        ((5, 6), 350, 410, 50),
        ((7,), 410, 425, 5),  # cycle at max(200 + 100, 410)
        ((8,), 610, 625, 5),  # idle at 510
        ((9,), 2210, 2225, 5),  # idle at 710, 810, ... 2110
    ]


def test_horovod_goes_on_while_nccl_sends():
    graph = tensors(
        (0, 90, 0),  # 0: on the channel until 100
        (40, 190, 0),  # 1: until 300
        (140, 10, 0),  # 2: the cycle at 200 hands it over while 1 is sent
        (210, 10, 0),  # 3: the cycle at 300, so it does not join 2
        (290, 20, 0),  # 4: the same
        (400, 10, 0),  # 5: exactly at a tick
    )
    by_nccl = choice("horovod", cycle_time_us=100.0, fusion_threshold_bytes=500)
    assert launches(graph, COST, by_nccl) == [
        ((0,), 0, 100, 90),
        ((1,), 100, 300, 190),
        ((2,), 300, 320, 10),  # handed over at 200
        ((3, 4), 320, 360, 30),  # handed over at 300
        ((5,), 400, 420, 10),
    ]
    by_mpi = choice(
        "horovod", cycle_time_us=100.0, fusion_threshold_bytes=500, waits_for_sends=True
    )
    assert launches(graph, COST, by_mpi) == [
        ((0,), 0, 100, 90),
        ((1,), 100, 300, 190),
        ((2, 3, 4), 300, 350, 40),  # one cycle at max(200, 300)
        ((5,), 400, 420, 10),
    ]


def test_horovod_takes_time_for_each_tensor():
    graph = tensors((0, 20, 0), (0, 20, 0), (0, 20, 0), (90, 20, 0), (150, 20, 0))
    timed = {"cycle_time_us": 100.0, "fusion_threshold_bytes": 40, "tensor_time_us": 45.0}
    assert launches(graph, COST, choice("horovod", **timed)) == [
        ((0, 1), 90, 140, 40),  # two tensors from 0 on
        ((2,), 140, 170, 20),  # handed over at 135
        ((3,), 180, 210, 20),  # cycle at max(100, 135), handed over at 180
        ((4,), 280, 310, 20),  # cycle at max(235, 180)
    ]
    assert launches(graph, COST, choice("horovod", **timed, waits_for_sends=True)) == [
        ((0, 1), 90, 140, 40),
        ((2,), 185, 215, 20),  # begun when the first has been sent
        ((3, 4), 305, 355, 40),  # cycle at max(100, 215)
    ]


def test_horovod_does_not_poll():
    graph = tensors((0, 1, 0), (1e9, 1, 0))
    timeline = simulate(graph, alike(COST), bind(choice("horovod", cycle_time_us=0.001)))
    assert timeline.events < 20
    # 10^12 ticks later, or a float's rounding after it
    assert timeline.launches[1].start == pytest.approx(1e9, abs=0.002)


def test_horovod_tick_that_the_quotient_overshoots():
    # 0.30000000000000004 / 0.1 is a little more than 3, and 3 * 0.1 is no less than it.
    graph = tensors((0.1 * 3, 7, 0))
    assert launches(graph, COST, choice("horovod", cycle_time_us=0.1))[0][1] == 0.1 * 3


def test_horovod_tick_that_the_quotient_undershoots():
    # (15.500000000000002 - 3.7) / 5.9 rounds to 2, and 3.7 + 2 * 5.9 to a little before it.
    rule = Loop([], [], HorovodLoop(5.9, 1))
    rule._tick = 3.7
    assert rule._tick_from(15.500000000000002) == 15.500000000000002


@given(now=st.floats(0, 1e12), cycle=st.floats(1e-3, 1e9), tick=st.floats(0, 1e12))
def test_horovod_next_tick_is_neither_early_nor_a_cycle_late(now, cycle, tick):
    rule = Loop([], [], HorovodLoop(cycle, 1))
    rule._tick = tick
    found = rule._tick_from(now)
    assert max(now, tick) <= found <= max(tick, now + cycle) + 1e-15 * (now + tick)


PER_MIB = Affine(10.0, 1 / MIB)  # 1 us a MiB


def test_ddp():
    graph = tensors(
        (0, MIB // 2, 0),
        (10, MIB // 2, 0),  # reaches the first cap, 1 MiB
        (20, 2 * MIB, 0),
        (30, 2 * MIB, 0),  # 4 MiB: reaches and exceeds the cap, 3 MiB
        (40, MIB, 0),
        (200, MIB, 0),  # what is left goes when all of it is released
    )
    small_first = choice("ddp", bucket_cap_mb=3.0, first_bucket_mb=1.0)
    assert launches(graph, PER_MIB, small_first) == [
        ((0, 1), 10, 21, MIB),
        ((2, 3), 30, 44, 4 * MIB),
        ((4, 5), 200, 212, 2 * MIB),
    ]
    # PyTorch: a cap that is given holds for the first bucket too
    assert launches(graph, PER_MIB, choice("ddp", bucket_cap_mb=3.0)) == [
        ((0, 1, 2), 20, 33, 3 * MIB),
        ((3, 4), 40, 53, 3 * MIB),
        ((5,), 200, 211, MIB),
    ]
    # first cap 2 MiB: 0.5 + 0.5 + 2; then 2 + 1 reach 3
    assert launches(graph, PER_MIB, choice("ddp", bucket_cap_mb=3.0, first_bucket_mb=2.0)) == [
        ((0, 1, 2), 20, 33, 3 * MIB),
        ((3, 4), 40, 53, 3 * MIB),
        ((5,), 200, 211, MIB),
    ]


@pytest.mark.parametrize("policy", ["ddp", "ddp_priority"])
@pytest.mark.parametrize(
    ("given_caps", "used"),
    [
        ({}, (25, 1)),
        ({"bucket_cap_mb": 25.0}, (25, 25)),  # given, though it is the default
        ({"bucket_cap_mb": 10.0}, (10, 10)),
        ({"first_bucket_mb": 2.0}, (25, 2)),
        ({"bucket_cap_mb": 10.0, "first_bucket_mb": 2.0}, (10, 2)),
    ],
)
def test_the_caps_that_pytorch_chooses(policy, given_caps, used):
    graph = tensors(*[(10 * i, MIB // 2, 0) for i in range(60)])
    resolved = resolve(choice(policy, **given_caps), graph, alike(COST))
    assert dict(resolved.parameters) == {"bucket_cap_mb": used[0], "first_bucket_mb": used[1]}
    assert launches(graph, COST, resolved) == launches(graph, COST, choice(policy, **given_caps))
    sizes = [size / MIB for *_, size in sorted(launches(graph, COST, resolved))]
    assert sizes[: len(sizes) - 1] == [used[1], *[used[0]] * (len(sizes) - 2)]


def test_ddp_is_strict_and_ddp_priority_is_not():
    # The first launch takes 101 us; the other two buckets are released meanwhile.
    graph = tensors((0, MIB, 0), (20, 25 * MIB, 5), (40, 30 * MIB, 6))
    cost = Affine(100.0, 1 / MIB)
    assert launches(graph, cost, choice("ddp")) == [
        ((0,), 0, 101, MIB),
        ((1,), 101, 226, 25 * MIB),
        ((2,), 226, 356, 30 * MIB),
    ]
    assert launches(graph, cost, choice("ddp_priority")) == [
        ((0,), 0, 101, MIB),  # not interrupted
        ((2,), 101, 231, 30 * MIB),  # tail 6
        ((1,), 231, 356, 25 * MIB),  # tail 5
    ]


@pytest.mark.parametrize("policy", ["tictac", "ddp_priority", "p3"])
def test_ties_of_urgency(policy):
    # With caps of a byte a bucket is a tensor; no tensor is longer than a slice.
    graph = tensors((0, 100, 0), (10, 10, 5), (20, 10, 5), (20, 10, 5), (30, 10, 9))
    one = {"bucket_cap_mb": 1e-6, "first_bucket_mb": 1e-6} if policy == "ddp_priority" else {}
    assert launches(graph, COST, choice(policy, **one)) == [
        ((0,), 0, 110, 100),  # not interrupted
        ((4,), 110, 130, 10),  # tail 9
        ((2,), 130, 150, 10),  # tail 5, released at 20, first in the graph
        ((3,), 150, 170, 10),  # tail 5, released at 20
        ((1,), 170, 190, 10),  # tail 5, released at 10
    ]


SLICES = [
    ((0,), 0, 50, 40),
    ((1,), 50, 100, 40),  # released at 30, more urgent, after the slice on the wire
    ((1,), 100, 120, 10),  # the last slice is short
    ((0,), 120, 170, 40),
    ((0,), 170, 200, 20),
]


def test_p3():
    graph = tensors((0, 100, 0), (30, 50, 5))
    assert launches(graph, COST, choice("p3", slice_bytes=40)) == SLICES


def test_bytescheduler_sends_one_slice_even_beyond_its_credit():
    graph = tensors((0, 100, 0), (30, 50, 5))
    chosen = choice("bytescheduler", partition_bytes=40, credit_bytes=30)
    assert launches(graph, COST, chosen) == SLICES


def test_bytescheduler():
    graph = tensors(
        (0, 200, 0),  # 0: five slices of 40, of which two are issued at 0
        (30, 50, 5),  # 1: the credit is exhausted until 50
        (300, 30, 1),  # 2: issued at once, 40 + 30 <= 80
        (310, 30, 9),  # 3: more urgent, but 70 + 30 > 80
        (500, 40, 1),  # 4
        (500, 40, 2),  # 5: released together, so the more urgent is issued first
    )
    chosen = choice("bytescheduler", partition_bytes=40, credit_bytes=80)
    assert launches(graph, COST, chosen) == [
        ((0,), 0, 50, 40),  # issued: 0 0
        ((0,), 50, 100, 40),  # not recalled; at 50 the first slice of 1 is issued: 0 1
        ((1,), 100, 150, 40),  # at 100 the second, of 10; 50 + 40 > 80, so no more: 1 1
        ((1,), 150, 170, 10),  # at 150: 10 + 40 <= 80, 50 + 40 is not: 1 0
        ((0,), 170, 220, 40),  # at 170: 40 + 40 <= 80: 0 0
        ((0,), 220, 270, 40),  # at 220 the last slice of 0
        ((0,), 270, 320, 40),
        ((2,), 320, 360, 30),  # issued at 300, not recalled for 3
        ((3,), 360, 400, 30),
        ((5,), 500, 550, 40),
        ((4,), 550, 600, 40),
    ]


def test_bytescheduler_over_horovod():
    graph = tensors(
        (0, 200, 0),  # 0: five slices of 40, of which two are issued at 0
        (30, 50, 5),  # 1: the credit comes back at 90
        (95, 30, 9),  # 2: taken by the tick at 100
        (500, 20, 1),  # 3: released together, whole and fused
        (500, 10, 2),  # 4
    )
    chosen = choice("bytescheduler", partition_bytes=40, credit_bytes=80, cycle_time_us=100.0)
    assert launches(graph, COST, chosen) == [
        ((0,), 0, 90, 80),  # two slices at the tick at 0, as one launch
        ((1, 2), 100, 190, 80),  # at 90 both slices of 1, at 95 that of 2: now two whole tensors
        ((0,), 200, 290, 80),  # issued at 190
        ((0,), 300, 350, 40),  # the channel is idle until the tick at 300
        ((3, 4), 500, 540, 30),
    ]
    slow = choice(
        "bytescheduler",
        partition_bytes=40,
        credit_bytes=80,
        cycle_time_us=100.0,
        tensor_time_us=10.0,
    )
    assert launches(graph, COST, slow)[0] == ((0,), 20, 110, 80)  # two slices, 10 us each


def test_a_small_credit_leaves_a_fast_network_idle_over_horovod():
    # 100 slices of 4 MB in 1 us each: four at each tick of 1 ms, so 24 idle milliseconds.
    graph = tensors((0, 400_000_000, 0))
    cost = Affine(0.0, 0.25e-6)
    over = choice("bytescheduler", cycle_time_us=1000.0)
    assert simulate(graph, alike(cost), bind(choice("bytescheduler"))).iteration_time < 101
    assert simulate(graph, alike(cost), bind(over)).iteration_time == pytest.approx(24_004)
    whole = choice("bytescheduler", credit_bytes=400_000_000, cycle_time_us=1000.0)
    assert simulate(graph, alike(cost), bind(whole)).iteration_time == pytest.approx(100)


ONE_LARGE = tensors((0, 10_000_000, 0))


@pytest.mark.parametrize(
    ("given_sizes", "found"),
    [
        # 1 us a kB and 50 us a launch: the fewer the better, and 16 MB are the first that make one
        (("auto", "auto"), (16_000_000, 16_000_000)),
        (("auto", 7), (16_000_000, 7)),
        ((3_000_000, "auto"), (3_000_000, 3_000_000)),  # all tie
        ((3_000_000, 7), (3_000_000, 7)),
    ],
)
def test_bytescheduler_auto(given_sizes, found):
    chosen = choice("bytescheduler", partition_bytes=given_sizes[0], credit_bytes=given_sizes[1])
    cost = Affine(50.0, 0.001)
    used = resolve(chosen, ONE_LARGE, alike(cost))
    assert tuple(dict(used.parameters).values()) == (*found, 0)


def test_bytescheduler_auto_tries_no_slice_that_is_too_short(monkeypatch):
    cheap = Affine(0.0, 0.001)  # all tie, so the first that is tried is found
    assert tune(ONE_LARGE, alike(cheap), "auto", 1) == (1_000_000, 1)
    monkeypatch.setitem(tune.__globals__, "MAX_TUNED_LAUNCHES", 3)
    assert tune(ONE_LARGE, alike(cheap), "auto", 1) == (4_000_000, 1)
    monkeypatch.setitem(tune.__globals__, "MAX_TUNED_LAUNCHES", 0)
    assert tune(ONE_LARGE, alike(cheap), "auto", 1) == (64_000_000, 1)


def test_mg_wfbp():
    graph = tensors(
        (0, 20, 0),  # would start at 0
        (10, 5, 0),  # not before 0 + 10: alone, from 30 on
        (39, 5, 0),  # before 30 + 10: merged, now from 39 on
        (49, 5, 0),  # not before 39 + 10: alone, from 59 on
        (60, 5, 0),  # before 59 + 10: merged, now from 60 on
        (69, 5, 0),  # before 60 + 10: merged, now from 69 on
    )
    assert launches(graph, COST, choice("mg_wfbp")) == [
        ((0,), 0, 30, 20),
        ((1, 2), 39, 59, 10),
        ((3, 4, 5), 69, 94, 15),
    ]


def test_mg_wfbp_takes_the_least_launch_of_a_table_as_startup():
    table = MeasuredCost((10, 30), (100.0, 140.0), 2.0, 0.0)
    graph = tensors((0, 20, 0), (99, 10, 0), (199, 10, 0))
    assert launches(graph, table, choice("mg_wfbp")) == [
        ((0, 1), 99, 239, 30),  # 99 < 0 + 100; then 199 is not before 99 + 100
        ((2,), 239, 339, 10),
    ]


def test_ada_fusion():
    # 10 + (B + D) + wait < (10 + B) + (10 + D) when the wait is less than 10
    graph = tensors((0, 20, 0), (9, 5, 0), (19, 5, 0), (28, 5, 0), (28, 5, 0))
    assert launches(graph, COST, choice("ada_fusion")) == [
        ((0, 1), 9, 44, 25),
        ((2, 3, 4), 44, 69, 15),
    ]


def test_ada_fusion_of_times_that_are_the_same():
    # Waiting costs exactly a start-up, so both ways take as long; as floats together is shorter.
    graph = tensors((0.1, 1, 0), (10.1, 7, 0))
    cost = Affine(10.0, 0.9)
    wait = 10.1 - 0.1
    assert cost.time(8) + wait < cost.time(1) + cost.time(7)
    assert launches(graph, cost, choice("ada_fusion")) == [
        ((0,), 0.1, 0.1 + cost.time(1), 1),
        ((1,), 0.1 + cost.time(1), pytest.approx(27.3), 7),
    ]


def test_ada_fusion_by_a_table():
    table = MeasuredCost((10, 20, 40), (10.0, 40.0, 44.0), 0.2, 0.0)
    # t(20) = 40 is not less than t(10) + t(10) = 20; t(10 + 30) = 44 < 10 + 42
    graph = tensors((0, 10, 0), (0, 10, 0), (0, 30, 0))
    assert launches(graph, table, choice("ada_fusion")) == [((0,), 0, 10, 10), ((1, 2), 10, 54, 40)]


def test_pace():
    # One bucket of both: 1700 + 50 + 7000 + 850 = 9600. Two: g2 is cut when g1 is released, so
    # 800..1700 carries 850 / 0.0014 bytes, g1 takes 1450 and the rest of g2 4800, and then 450.
    assert [
        (part.bucket, part.bytes)
        for part in simulate(TWO_LAYERS, alike(RING), POLICIES["pace"]).launches
    ] == [
        ((0,), 607_142),
        ((1,), 1_000_000),
        ((0,), 3_392_858),
    ]


def test_replay():
    parts = [Launch((1,), 20), Launch((0,), 30), Launch((1,), 5)]
    graph = tensors((0, 30, 0), (7, 25, 0))
    sent = simulate(graph, alike(COST), replay(parts)).launches
    assert [(part.start, part.end, part.offset) for part in sent] == [
        (7, 37, 0),
        (37, 77, 0),
        (77, 92, 20),
    ]


def test_a_barrier_makes_all_tails_equal():
    # Without it tictac sends 2 before 1; with it the later release of the two goes first.
    graph = tensors((0, 100, 0), (10, 10, 5), (20, 10, 0))
    order = [bucket for bucket, *_ in launches(graph, COST, choice("tictac"))]
    assert order == [(0,), (1,), (2,)]
    barred = [bucket for bucket, *_ in launches(with_barrier(graph), COST, choice("tictac"))]
    assert barred == [(0,), (2,), (1,)]


def test_baselines_of_a_plan():
    graph = tensors((0, 100, 0), (10, 10, 50), (20, 10, 0))
    chosen = (Choice("tictac"), Choice("tictac", barrier=True), choice("p3", slice_bytes=50))
    free, barred, sliced = plan(graph, alike(COST), Options(baselines=chosen)).baselines
    # 0..110, then 1 (..130) and 2 (..150); tails 0, 50, 0 and with a barrier 50, 50, 50
    assert (free.iteration_time_us, free.barrier) == (180, False)
    assert (barred.iteration_time_us, barred.barrier) == (200, True)
    assert sliced.parameters == (("slice_bytes", 50),)
    # The bound: 10 + 10 bytes after 10 us, and then 50 us; or all 120 bytes in one launch.
    answer = plan(graph, alike(COST), Options(baselines=chosen))
    assert free.headroom == pytest.approx(180 / answer.lower_bound_us - 1)
    whole = plan(graph, alike(COST), Options(baselines=chosen, barrier=True))
    assert [other.barrier for other in whole.baselines] == [True, True, True]
    assert [other.iteration_time_us for other in whole.baselines[:2]] == [200, 200]
    assert whole.lower_bound_us >= answer.lower_bound_us
    assert "barrier" in {op.id for op in whole.fused}


# Parameters.


def test_each_parameter_has_a_rule_and_each_default_keeps_it():
    used = {name for policy in POLICIES for name in keywords(policy)}
    assert used == set(PARAMETERS)
    for policy in POLICIES:
        assert list(choice_faults(choice(policy, **defaults(policy)), chain_of(TWO_LAYERS))) == []


def test_defaults_are_those_of_the_specification():
    assert {policy: defaults(policy) for policy in POLICIES if defaults(policy)} == {
        "horovod": {
            "cycle_time_us": 1000,
            "fusion_threshold_bytes": 128 * MIB,
            "waits_for_sends": False,
            "tensor_time_us": 0,
        },
        "ddp": {"bucket_cap_mb": 25, "first_bucket_mb": 1},
        "ddp_priority": {"bucket_cap_mb": 25, "first_bucket_mb": 1},
        "p3": {"slice_bytes": 200_000},
        "bytescheduler": {
            "partition_bytes": 4_000_000,
            "credit_bytes": 16_000_000,
            "tensor_time_us": 0,
        },
    }


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (choice("fifo"), {("", "out_of_range")}),  # no such policy
        (choice("fifo", x=1), {("", "out_of_range")}),  # and so no rule for its parameters
        (choice("wfbp", slice_bytes=1), {("/slice_bytes", "extra_field")}),  # another's
        (choice("ddp", bucket_cap_mb=0.0), {("/bucket_cap_mb", "out_of_range")}),
        (choice("ddp", bucket_cap_mb=-1), {("/bucket_cap_mb", "out_of_range")}),
        (choice("ddp", bucket_cap_mb=float("nan")), {("/bucket_cap_mb", "out_of_range")}),
        (choice("ddp", first_bucket_mb=float("inf")), {("/first_bucket_mb", "out_of_range")}),
        (choice("ddp", bucket_cap_mb="auto"), {("/bucket_cap_mb", "wrong_type")}),  # has none
        (choice("ddp", bucket_cap_mb=True), {("/bucket_cap_mb", "wrong_type")}),  # no number
        (choice("horovod", cycle_time_us=1e-4), {("/cycle_time_us", "out_of_range")}),
        (
            choice("horovod", fusion_threshold_bytes=2**60 + 1),
            {("/fusion_threshold_bytes", "out_of_range")},
        ),
        (
            choice("horovod", fusion_threshold_bytes=0, cycle_time_us="1"),  # both are named
            {("/fusion_threshold_bytes", "out_of_range"), ("/cycle_time_us", "wrong_type")},
        ),
        (choice("horovod", waits_for_sends=1), {("/waits_for_sends", "wrong_type")}),
        (choice("horovod", waits_for_sends="nccl"), {("/waits_for_sends", "wrong_type")}),
        (choice("horovod", tensor_time_us=-1.0), {("/tensor_time_us", "out_of_range")}),
        (choice("horovod", tensor_time_us=True), {("/tensor_time_us", "wrong_type")}),
        (choice("p3", slice_bytes=0), {("/slice_bytes", "out_of_range")}),
        (choice("p3", slice_bytes=1.5), {("/slice_bytes", "wrong_type")}),  # half a byte
        (choice("bytescheduler", credit_bytes="all"), {("/credit_bytes", "wrong_type")}),
        (choice("bytescheduler", tensor_time_us=9.0), {("/tensor_time_us", "extra_field")}),
        (choice("bytescheduler", cycle_time_us=0.0), {("/cycle_time_us", "out_of_range")}),
        (choice("bytescheduler", partition_bytes=0), {("/partition_bytes", "out_of_range")}),
        # 5,000,000 bytes in slices of 4: more than a million launches
        (choice("p3", slice_bytes=4), {("/slice_bytes", "out_of_range")}),
        (choice("bytescheduler", partition_bytes=4), {("/partition_bytes", "out_of_range")}),
    ],
)
def test_rejected(chosen, expected):
    found = list(choice_faults(chosen, chain_of(TWO_LAYERS)))
    assert {(fault.pointer, fault.code) for fault in found} == expected
    assert all(fault.detail.endswith(".") for fault in found)


@pytest.mark.parametrize(
    ("policy", "most"),
    [("p3", 200_000), ("bytescheduler", 4_000_000)],
)
def test_as_many_launches_as_are_simulated(policy, most):
    chain = chain_of(tensors((0, MAX_POLICY_LAUNCHES * most, 0)))
    assert list(choice_faults(choice(policy), chain)) == []
    chain = chain_of(tensors((0, MAX_POLICY_LAUNCHES * most, 0), (0, 1, 0)))
    (fault,) = choice_faults(choice(policy), chain)
    assert (fault.pointer, fault.code) == ("", "out_of_range")  # not a parameter that was given
    assert "1,000,001 launches" in fault.detail


def test_auto_is_refused_when_its_longest_slice_makes_too_many_launches():
    chain = chain_of(tensors((0, MAX_POLICY_LAUNCHES * 64_000_000 + 1, 0)))
    (fault,) = choice_faults(choice("bytescheduler", partition_bytes="auto"), chain)
    assert (fault.pointer, fault.code) == ("/partition_bytes", "out_of_range")


# Against plain loops.

GRID: dict[str, list[float]] = {
    "cycle_time_us": [50.0, 100.0, 130.0, 1000.0],
    "fusion_threshold_bytes": [1, 300_000, 600_000, 10**9],
    "waits_for_sends": [False, True],
    "tensor_time_us": [0.0, 10.0, 60.0],
    "bucket_cap_mb": [0.1, 0.3, 0.5, 25.0],
    "first_bucket_mb": [0.1, 0.2, 1.0],
    "slice_bytes": [70_000, 100_000, 250_000, 10**6],
    "partition_bytes": [70_000, 100_000, 250_000, 10**6],
    "credit_bytes": [1, 150_000, 300_000, 10**7],
}


def some_parameters(policy):
    """Values of all parameters, and of some that may be left out."""
    names = {name: st.sampled_from(GRID[name]) for name in defaults(policy)}
    left = {name: st.sampled_from(GRID[name]) for name in keywords(policy) if name not in names}
    return st.fixed_dictionaries(names, optional=left)


@pytest.mark.parametrize("policy", ["horovod", "ddp", "bytescheduler"])
@given(data=st.data(), graph=graphs(most=9), cost=costs())
@settings(max_examples=cases(400))
def test_against_a_plain_loop(policy, data, graph, cost):
    parameters = data.draw(some_parameters(policy))
    # over Horovod the oracle does not order what many launches without time do at one instant
    assume(policy != "bytescheduler" or "cycle_time_us" not in parameters or cost.time(1) > 0)
    chain = chain_of(graph)
    columns = (chain.release.tolist(), chain.bytes.tolist(), chain.tail.tolist())
    expected = getattr(policy_oracles, policy)(*columns, cost.time, **parameters)
    assert launches(graph, cost, choice(policy, **parameters)) == expected


@given(graph=graphs(most=9), cost=costs())
@settings(max_examples=cases(400))
def test_mg_wfbp_against_a_plain_loop(graph, cost):
    chain = chain_of(graph)
    columns = (chain.release.tolist(), chain.bytes.tolist(), chain.tail.tolist())
    if isinstance(cost, Affine):
        startup = cost.startup
    else:
        total = sum(columns[1])
        knots = cost.sizes if isinstance(cost, MeasuredCost) else [cost.curve.threshold_bytes]
        startup = min(cost.time(n) for n in (1, total, *knots) if n <= total)
    expected = policy_oracles.mg_wfbp(*columns, cost.time, startup)
    assert launches(graph, cost, choice("mg_wfbp")) == expected


# In general.


@pytest.mark.parametrize("policy", POLICIES)
@given(data=st.data(), graph=graphs(), cost=costs())
def test_bytes_bound_and_determinism(policy, data, graph, cost):
    chosen = choice(policy, **data.draw(some_parameters(policy)))
    timeline = simulate(graph, alike(cost), bind(chosen))
    assert simulate(graph, alike(cost), bind(chosen)) == timeline
    chain = chain_of(graph)
    carried = dict.fromkeys(range(len(chain)), 0)
    now = 0.0
    for part in timeline.launches:
        assert part.start >= max(now, *chain.release[list(part.bucket)].tolist())
        assert part.end == part.start + cost.time(part.bytes)
        now = part.end
        carried[part.bucket[0]] += part.bytes
    heads = {part.bucket[0]: part.bucket for part in timeline.launches}
    assert sorted(i for bucket in heads.values() for i in bucket) == list(range(len(chain)))
    for head, bucket in heads.items():
        assert carried[head] == chain.bytes[list(bucket)].sum()
    time = timeline.iteration_time
    assert lower_bound(chain, cost).value <= time + slack(time)


@pytest.mark.parametrize("policy", ["wfbp", "single", "horovod", "ddp", "mg_wfbp", "ada_fusion"])
@given(data=st.data(), graph=graphs(), cost=costs())
def test_first_in_first_out(policy, data, graph, cost):
    chosen = choice(policy, **data.draw(some_parameters(policy)))
    order = [i for bucket, *_ in launches(graph, cost, chosen) for i in bucket]
    assert order == list(range(len(order)))


@pytest.mark.parametrize("policy", ["ddp_priority", "tictac", "p3"])
@given(data=st.data(), graph=graphs(), cost=affine_costs())
def test_the_most_urgent_goes_at_once(policy, data, graph, cost):
    chosen = choice(policy, **data.draw(some_parameters(policy)))
    sent = launches(graph, cost, chosen)
    chain = chain_of(graph)
    buckets = {bucket for bucket, *_ in sent}
    release = {b: float(chain.release[list(b)].max()) for b in buckets}
    tail = {b: float(chain.tail[list(b)].max()) for b in buckets}
    left = {b: int(chain.bytes[list(b)].sum()) for b in buckets}
    free = 0.0
    for bucket, start, end, size in sent:
        waiting = [b for b in buckets if left[b]]
        assert start == max(free, min(release[b] for b in waiting))  # never idle for nothing
        ready = [b for b in waiting if release[b] <= start]
        assert bucket == min(ready, key=lambda b: (-tail[b], -release[b], b))
        left[bucket] -= size
        free = end
