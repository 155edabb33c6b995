"""Calibration in virtual time: on a channel of known costs these come out exactly."""

from itertools import accumulate, pairwise
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from interlace_client.torch.calibration import Calibration, recheck, sizes_up_to
from interlace_client.torch.calibration.result import calibration_of
from interlace_client.torch.calibration.rounds import ROUNDS, Samples, sampled
from interlace_client.torch.calibration.table import monotone, quantile, time_of
from interlace_client.torch.calibration.trains import costs, round_of, steady_from
from solver.costs import Cluster, network_of
from solver.costs.network import ChannelCost
from tests.torch.virtual import Bucket, Follower

SIZES = sizes_up_to(4 * 2**20)
#: 500 Mbit/s behind a bucket of 256 KiB on a line of 10 Gbit/s, 200 us a launch.
SHAPED: dict[str, Any] = dict(latency=200.0, rate=62.5, line=1250.0, burst=2.0**18)

buckets = st.builds(
    Bucket,
    latency=st.integers(20, 1000).map(float),
    rate=st.integers(10, 500).map(float),
    line=st.just(2000.0),
    burst=st.integers(1, 20).map(lambda n: n * 2.0**19),
)
times = st.dictionaries(st.integers(1, 2**30), st.floats(0.01, 1e6), min_size=1, max_size=30)


def test_sustained_costs_come_out_exactly_where_single_launches_are_off():
    channel = Bucket(**SHAPED)
    found = sampled(channel, SIZES, 30).costs
    assert list(found) == SIZES
    for size, samples in found.items():
        assert samples == pytest.approx([channel.sustained(size)] * ROUNDS)
    assert channel.single(2**18) < 0.2 * channel.sustained(2**18)
    rested = Bucket(**SHAPED, tokens=SHAPED["burst"])
    assert rested.run([2**18]) == [pytest.approx(rested.single(2**18))]


@given(buckets)
def test_sustained_costs_of_any_bucket(channel):
    found = sampled(channel, SIZES, 30)
    for size, samples in found.costs.items():
        assert samples == pytest.approx([channel.sustained(size)] * found.rounds)


@given(buckets, st.lists(st.sampled_from([9_000, 70_000, 2**20, 3 * 2**20]), min_size=1))
def test_launches_in_the_order_of_use(channel, launches):
    found = sampled(channel, SIZES, 60, launches)
    used = launches[: len(launches) - found.unused]
    assert used
    largest = max(SIZES)
    alone = Bucket(channel.latency, channel.rate, channel.line, channel.burst)
    alone.run([largest] * 64)  # no tokens are left
    ends = alone.run(used)
    took = [end - before for before, end in pairwise([0.0, *ends])]
    for size in set(used):
        expected = fmean(t for s, t in zip(used, took, strict=True) if s == size)
        assert found.costs[size] == pytest.approx([expected] * found.rounds)


@given(buckets, st.floats(0.5, 60))
def test_the_limit_is_kept(channel, limit_s):
    found = sampled(channel, sizes_up_to(2**28), limit_s)
    assert channel.now() <= limit_s
    assert 1 <= found.rounds <= ROUNDS
    assert sorted([*found.costs, *found.left_out]) == sizes_up_to(2**28)
    assert len(found.costs) >= 2


@given(buckets, st.floats(0.5, 10), st.sampled_from([0.1, 0.9, 3.0]))
def test_no_rank_stops_before_the_others(first, limit_s, pace):
    one = sampled(first, SIZES, limit_s)
    figures = (first.latency, first.rate, first.line, first.burst)
    other = Follower(*figures, answers=list(first.told), pace=pace)
    assert sampled(other, SIZES, limit_s) == one
    assert other.runs == first.runs
    assert not other.answers


def test_sizes_that_take_too_long_are_left_out():
    channel = Bucket(**{**SHAPED, "rate": 0.625})
    found = sampled(channel, SIZES, 10)
    assert channel.now() <= 10
    assert found.left_out
    assert min(found.left_out) > max(found.costs)


@pytest.mark.parametrize(
    ("ends", "lead"),
    [
        ([10, 20, 30, 40, 50, 60], 1),  # steady from the start
        ([15, 25, 35, 45, 55, 65], 1),  # the first starts the traffic
        ([2, 4, 14, 24, 34, 44], 2),  # two went through early
        ([2, 4, 9, 19, 29, 39], 3),  # and half of a third
        ([2, 12, 22, 32, 41, 52], 1),  # the noise of the second half is no burst
    ],
)
def test_where_the_steady_part_begins(ends, lead):
    assert steady_from(ends) == lead


def test_costs_of_a_round():
    plan = round_of([8, 8], {2: 1, 4: 2}, [4, 1])
    assert plan.sizes == (8, 8, 4, 4, 4, 2, 2, 8, 8, 4, 1)
    ends = [80, 160, 207, 247, 289, 305, 325, 400, 480, 521, 531]
    assert costs(plan, ends) == {1: 10, 2: 20, 4: pytest.approx((40 + 42 + 41) / 3)}


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), min_size=1, max_size=6))
def test_tables_are_the_nearest_monotone_ones(samples):
    table = monotone({2**k: each for k, each in enumerate(samples)})
    assert [size for size, _ in table] == [2**k for k in range(len(samples))]
    times = [us for _, us in table]
    assert times == sorted(times)
    off = sum(abs(us - t) for us, each in zip(times, samples, strict=True) for t in each)
    least = [0] * 10  # of tables whose last time is at most 0..9, by trying all
    for each in samples:
        ending = [least[y] + sum(abs(y - t) for t in each) for y in range(10)]
        least = list(accumulate(ending, min))
    assert off == least[-1]


def test_an_outlier_does_not_count():
    assert monotone({1: [30, 31, 900], 2: [20, 21, 22]}) == ((1, 26.0), (2, 26.0))


@given(times.filter(lambda known: len(known) > 1), st.integers(1, 2**31))
def test_tables_are_read_as_the_planner_reads_them(known, size):
    table = monotone({size: [time] for size, time in known.items()})
    network = network_of(Cluster(workers=4, algorithm="table", table=table))
    cost = network(ChannelCost("network", "all_reduce")).time(size)
    assert time_of(table, size) == pytest.approx(cost)


def test_quantiles():
    assert quantile([3, 1, 2], 0) == 1
    assert quantile([3, 1, 2], 0.75) == 2.5
    assert quantile([3, 1, 2], 1) == 3
    assert quantile([7], 0.05) == 7


def calibration(**tables) -> Calibration:
    made = {
        kind: Samples({s: (t,) for s, t in t.items()}, (), 0, 1, 1) for kind, t in tables.items()
    }
    return calibration_of(4, made, 1.0, ["4 workers over gloo."])


def test_a_calibration_says_what_to_mind():
    rounds = {1024: (10.0, 11.0, 30.0), 2048: (9.0, 9.5, 9.2)}
    found = calibration_of(4, {"all_reduce": Samples(rounds, (4096,), 3, 2, 3)}, 1.5, ["Here."])
    # a tenth of 10, 11, 30 us is below 10.2, a tenth above 26.2: 16 of 11; of the others 0.4 of 9.2
    assert found.apart == pytest.approx((16 / 11 + 0.4 / 9.2) / 2)
    assert found.cluster == {
        "workers": 4,
        "cost_model": {
            "algorithm": "table",
            "workers": 4,
            "table": [[1024, 9.75], [2048, 9.75]],
            "spread": found.apart,
        },
    }
    assert found.spread["all_reduce"][1024] == pytest.approx((10.1, 28.1))
    said = " ".join(found.notes)
    assert "Here." in said
    assert "vary much" in said
    assert "1 size from 4096 bytes on would have taken too long" in said
    assert "the last 3 launches" in said


def test_other_kinds_have_tables_of_their_own():
    found = calibration(all_gather={1: 1.0, 2: 2.0}, broadcast={1: 3.0, 2: 4.0})
    assert found.cluster["cost_model"] == {
        "algorithm": "table",
        "workers": 4,
        "tables": {"all_gather": [[1, 1], [2, 2]], "broadcast": [[1, 3], [2, 4]]},
    }


def test_a_recheck_corrects_the_table():
    before = calibration(all_reduce={1000: 10.0, 2000: 20.0, 4000: 40.0, 8000: 80.0})
    found = recheck(before, [(2000, 22.0), (2000, 22.0), (4000, 60.0), (3000, 37.5)])
    assert found.off == pytest.approx((22 + 22 + 60 + 37.5) / (20 + 20 + 40 + 30) - 1)
    assert list(found.by_size) == [2000, 3000, 4000]
    assert found.by_size == pytest.approx({2000: 0.1, 3000: 0.25, 4000: 0.5})
    assert found.calibration.cluster["cost_model"]["table"] == [
        [1000, 11.0],
        [2000, 22.0],
        [3000, 37.5],
        [4000, 60.0],
        [8000, 120.0],
    ]
    assert "28.6% longer" in found.sentence
    assert "4000 bytes, by +50.0%" in found.sentence


@given(times.filter(lambda known: len(known) > 1), st.data())
def test_a_recheck_that_finds_the_table_changes_nothing(known, data):
    before = calibration(all_reduce=known)
    table = before.tables["all_reduce"]
    sizes = data.draw(st.lists(st.sampled_from(table), min_size=1))
    found = recheck(before, sizes)
    assert found.off == pytest.approx(0, abs=1e-9)
    assert [us for _, us in found.calibration.tables["all_reduce"]] == pytest.approx(
        [us for _, us in table], abs=0.002
    )


def test_rechecks_that_cannot_be():
    before = calibration(all_reduce={1: 1.0, 2: 2.0})
    with pytest.raises(ValueError, match="no launches"):
        recheck(before, [])
    with pytest.raises(ValueError, match="broadcast was not calibrated, only all_reduce"):
        recheck(before, [(1, 1.0)], "broadcast")


def test_sizes_double():
    assert sizes_up_to(100_000) == [1024, 4096, 16384, 32768, 65536, 100_000]
    assert sizes_up_to(70_000)[-2:] == [32768, 70_000]  # 65536 is too near
    assert sizes_up_to(500) == [1024, 2048]  # a table takes two
