"""What a gain is called, by its interval and by what was measured; and what it is said as."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.costs import Affine, alike
from solver.costs.network import ChannelCost
from solver.evidence.doubts import DOUBTS, DoubtedGain, doubted_graph, doubted_network, under_doubts
from solver.evidence.gain import HIDDEN, LEAST_GAIN, NOTHING, gain_over
from solver.evidence.headline import gain_sentence, share_said
from solver.graph import COMPUTE, NETWORK, Op, build
from solver.policies import POLICIES
from solver.simulation.engine import iteration_time


def doubted(*gains):
    return [DoubtedGain("d", 100.0, 100 * (1 - gain), gain) for gain in gains]


@pytest.mark.parametrize(
    ("plan_us", "gains", "more", "verdict", "why"),
    [
        (90, (0.05, 0.2), {}, "worth_it", "It saves at least 5.0 % where the costs are off"),
        (90, (-0.02, 0.2), {}, "too_close", "Were the costs off, it might be a loss of 2.0 %."),
        (90, (0.0, 0.2), {}, "too_close", "Were the costs off, it might save nothing."),
        (90, (0.05,), {"trust_below": 0.1}, "too_close", "carry no gain below 10.0 %."),
        (90, (0.05,), {"trust_below": 1.5}, "too_close", "no gain: measured and simulated times"),
        (90, (0.05,), {"trust_below": 0.09}, "too_close", "below 9.0 %, and it might be 5.0 %."),
        (90, (0.05,), {"trust_below": 0.04}, "worth_it", "It saves at least 5.0 %"),
        (90, (0.05,), {"unreachable": "No runtime."}, "unreachable", "No runtime."),
        (90, (-0.1,), {"unreachable": "No runtime."}, "too_close", "a loss of 10.0 %."),
        (99.5, (0.3,), {}, "too_close", "less than 1.0 %; another might save more."),
        (99.5, (0.3,), {"headroom_high": 0.015}, "nothing", "saves more than 1.5 %, proven."),
        (99.5, (0.3,), {"headroom_high": 0.021}, "too_close", "less than 1.0 %"),
        (100, (0.0,), {"headroom_high": 0.0}, "nothing", "No schedule is faster, proven."),
        (100, (0.0,), {"headroom_high": 0.0, "trust_below": 0.03}, "nothing", "is faster, proven."),
        (100, (0.0,), {"headroom_high": 0.0, "trust_below": 0.031}, "too_close", "below 3.1 %."),
        (98.5, (0.01,), {"headroom_high": 0.016}, "worth_it", "It saves at least 1.0 %"),
        (110, (-0.2,), {}, "too_close", "less than 1.0 %"),
        (50, (0.5,), {"unsound": ["It is off.", "Too."]}, "too_close", "claimed: It is off."),
        (100, (0.0,), {"headroom_high": 0.0, "unsound": ["It is off."]}, "too_close", "is off."),
        (50, (0.5,), {"unsound": ["It is off."], "unreachable": "No."}, "too_close", "is off."),
    ],
)
def test_verdicts(plan_us, gains, more, verdict, why):
    gain = gain_over("ddp", 100.0, plan_us, 0.0, doubted(*gains), **more)
    assert gain.verdict == verdict
    assert why in gain.why
    assert gain.gain == pytest.approx(1 - plan_us / 100)
    assert (gain.gain_low, gain.gain_high) == (
        min(gain.gain, *gains),
        max(gain.gain, *gains),
    )


def test_of_no_time_there_is_nothing_to_judge():
    gain = gain_over("ddp", 0.0, 0.0, 0.0)
    assert (gain.gain, gain.gain_low, gain.gain_high, gain.verdict) == (None,) * 4
    assert gain_sentence([gain]) == gain.why == "Nothing takes time."
    assert gain_sentence([]) == ""


@given(
    plan_us=st.floats(1, 200),
    gains=st.lists(st.floats(-1, 1), max_size=7),
    trust=st.none() | st.floats(0, 1),
    headroom=st.none() | st.floats(0, 1),
)
def test_no_verdict_contradicts_its_evidence(plan_us, gains, trust, headroom):
    gain = gain_over(
        "fifo", 100.0, plan_us, 0.0, doubted(*gains), trust_below=trust, headroom_high=headroom
    )
    if gain.verdict == "worth_it":
        assert gain.gain_low > 0
        assert gain.gain >= LEAST_GAIN
        assert trust is None or gain.gain_low > trust
    if gain.verdict == "nothing":
        assert headroom <= NOTHING
        assert trust is None or trust <= HIDDEN


def test_sentences_say_each_verdict_once():
    over = gain_over("ddp", 100.0, 70.0, 0.0, doubted(0.2), barrier=True)
    tuned = gain_over(
        "ddp_tuned", 70.0, 70.0, 0.0, headroom_high=0.0, barrier=True, bucket_cap_mb=5
    )
    free = gain_over("ddp", 100.0, 60.0, 0.0, doubted(0.2), barrier=False)
    assert gain_sentence([over, tuned, free]) == (
        "30.0 % less than DDP: worth it. It saves at least 20.0 % where the costs are off as well. "
        "As long as DDP tuned (bucket_cap_mb 5): nothing to gain."
    )
    assert gain_sentence([free, over]) == (
        "40.0 % less than DDP: worth it. It saves at least 20.0 % where the costs are off as well."
    )
    better = gain_over("ddp_tuned", 70.0, 60.0, 0.0, doubted(0.1), barrier=False, bucket_cap_mb=2)
    assert gain_sentence([over, tuned, free, better]) == (
        "30.0 % less than DDP: worth it. It saves at least 20.0 % where the costs are off as well. "
        "As long as DDP tuned (bucket_cap_mb 5): nothing to gain under PyTorch's barrier; "
        "without a barrier 14.3 % less than DDP tuned (bucket_cap_mb 2): worth it."
    )
    assert gain_sentence([better, tuned]) == (  # worth it where it is first: nothing is hidden
        "14.3 % less than DDP tuned (bucket_cap_mb 2): worth it. "
        "It saves at least 10.0 % where the costs are off as well."
    )
    worse = gain_over("ddp_tuned", 70.0, 70.0, 0.0, headroom_high=0.0, barrier=False)
    assert "under" not in gain_sentence([tuned, worse])
    assert share_said(gain_over("recorded", 100.0, 110.0, 0.0)) == (
        "10.0 % more than what was recorded"
    )


def test_doubts_change_what_they_say_and_nothing_else():
    # A launch is 10 us and 1 us a byte. One op of 100 us, then 5 bytes: 115 us.
    graph = build("one", [Op("b", COMPUTE, 100.0), Op("g", "all_reduce", None, 5, ("b",))])
    network = alike(Affine(10.0, 1.0))
    lane = ChannelCost(NETWORK, "all_reduce")
    seen = {}
    for doubt in DOUBTS:
        cost = doubted_network(network, doubt)(lane)
        seen[doubt.name] = (doubted_graph(graph, doubt).durations[0], cost.time(5), cost.time(1))
    assert seen == {
        "half the start-up": (100, pytest.approx(10), pytest.approx(6)),
        "twice the start-up": (100, pytest.approx(25), pytest.approx(21)),
        "bandwidth x 0.8": (100, pytest.approx(16.25), pytest.approx(11.25)),
        "bandwidth x 1.25": (100, pytest.approx(14), pytest.approx(10.8)),
        "launches x 1.3": (100, pytest.approx(19.5), pytest.approx(14.3)),
        "compute x 0.9": (pytest.approx(90), 15, 11),
        "compute x 1.1": (pytest.approx(110), 15, 11),
    }

    def times(other, costs):
        return 2 * iteration_time(other, costs, POLICIES["wfbp"]), 100.0

    rows = under_doubts(graph, network, times)
    assert [row.name for row in rows] == [doubt.name for doubt in DOUBTS]
    assert rows[0].today_us == pytest.approx(220)
    assert rows[0].gain == pytest.approx(1 - 100 / 220)
