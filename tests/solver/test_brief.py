"""What is said first: the verdict with its figures, the limit, and what to do."""

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from solver.evidence.brief import Brief, Moved, brief_of, helps_most, limit_said
from solver.evidence.gain import Gain
from solver.evidence.headline import headline_of


def _gain(verdict: str | None = "worth_it", **other: object) -> Gain:
    fields = {
        "over": "ddp",
        "today_us": 10_000.0,
        "plan_us": 8_000.0,
        "lower_bound_us": 7_500.0,
        "gain": 0.2,
        "gain_low": 0.1,
        "gain_high": 0.25,
        "verdict": verdict,
        "why": "It cannot.",
        "barrier": False,
        "runtime": "PyTorch: PlannedDDP",
    }
    return Gain(**fields | other)  # type: ignore[arg-type]


def _brief(*gains: Gain, moved: Sequence[Moved] = (), barrier: bool | None = False) -> Brief | None:
    return brief_of(headline_of(gains), "bandwidth", 1_000.0, 8_000.0, moved, barrier=barrier)


def test_what_is_worth_it() -> None:
    found = _brief(_gain())
    assert found is not None
    assert found.sentences == (
        "Worth it: what you run, DDP, takes 10.000 ms, planned 8.000 ms without a barrier: "
        "20.0 % less than DDP (10.0 to 25.0 % if costs are off). Nothing is faster than 7.500 ms.",
        "Bandwidth limits it: communication adds 1.000 ms of its 8.000 ms (12.5 %).",
        "Next: run the plan (PyTorch: PlannedDDP).",
    )
    assert (found.verdict, found.over, found.gain) == ("worth_it", "DDP", 0.2)


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (_gain("too_close"), "Next: try it in the run's own steps (interlace_client.torch.Trial)"),
        (_gain("too_close", over="fifo"), "Next: measure the network (interlace calibrate)"),
        (_gain("nothing"), "Next: stay with what you run; half the start-up would save 5.0 %."),
        (_gain("unreachable"), "Next: stay with what you run. It cannot."),
        (_gain(runtime=None), "Next: run the plan (whatever carries launches in its order)."),
    ],
)
def test_what_to_do_follows_from_the_verdict(gain: Gain, words: str) -> None:
    moved = [
        SimpleNamespace(name="bandwidth_double", gain_us=100.0),
        SimpleNamespace(name="startup_half", gain_us=400.0),
        SimpleNamespace(name="startup_free", gain_us=4_000.0),
    ]
    found = _brief(gain, moved=moved)
    assert found is not None
    assert found.next.startswith(words)


@pytest.mark.parametrize(
    ("tuned", "said", "then"),
    [
        (
            _gain(over="ddp_tuned", today_us=8_100.0, gain=1 / 81, gain_low=0.011, bucket_cap_mb=2),
            "At its best cap (bucket_cap_mb 2) DDP takes 8.100 ms, planned 8.000 ms: 1.2 % less "
            "(1.1 to 25.0 % if costs are off): worth it.",
            "Next: run the plan (PyTorch: PlannedDDP).",
        ),
        (
            _gain("nothing", over="ddp_tuned", today_us=8_000.0, gain=0.0, bucket_cap_mb=2.5),
            "At its best cap (bucket_cap_mb 2.5) DDP takes 8.000 ms, planned 8.000 ms: as long "
            "(10.0 to 25.0 % if costs are off): nothing to gain.",
            "Next: set DDP's bucket_cap_mb to 2.5 (beside it: nothing to gain).",
        ),
        (
            _gain(over="ddp_tuned"),
            "No other cap of its buckets is better for DDP.",
            "Next: run the plan (PyTorch: PlannedDDP).",
        ),
        (_gain(None, over="ddp_tuned"), "", "Next: run the plan (PyTorch: PlannedDDP)."),
        (_gain(over="ddp_tuned", barrier=True), "", "Next: run the plan (PyTorch: PlannedDDP)."),
    ],
)
def test_ddp_at_its_best_stands_beside_it_under_the_same_barrier(
    tuned: Gain, said: str, then: str
) -> None:
    found = _brief(_gain(), tuned)
    assert found is not None
    assert (found.tuned, found.next) == (said, then)
    assert (said in found.sentences) is bool(said)


def test_the_gain_that_is_worth_it_is_spoken_of_and_of_which_plan_the_limit_is() -> None:
    found = _brief(_gain("nothing", barrier=True), _gain(), barrier=True)
    assert found is not None
    assert (found.verdict, found.barrier) == ("worth_it", False)
    assert found.limit.startswith("Under PyTorch's barrier: bandwidth limits it: ")
    assert found.next == "Next: plan it without a barrier and run that (PyTorch: PlannedDDP)."


def test_a_program_is_under_no_barrier() -> None:
    found = _brief(_gain(over="inductor", barrier=None, gain_low=None), barrier=None)
    assert found is not None
    assert "planned 8.000 ms: 20.0 % less than inductor. Nothing" in found.sentence


def test_nothing_to_compare_with_and_nothing_that_takes_time() -> None:
    assert _brief() is None
    none = _gain(None, gain=None, today_us=0.0, plan_us=0.0, lower_bound_us=0.0)
    found = _brief(none)
    assert found is not None
    assert found.sentence.startswith("Nothing takes time: what you run, DDP, takes 0.000 ms")
    assert found.next == "Next: stay with what you run."


def test_the_limit_of_an_iteration() -> None:
    assert limit_said(None, 1.0, 2.0) == limit_said("op", 0.0, 0.0) == ""
    assert limit_said("compute", 0.0, 2e5) == "Compute limits it: communication adds nothing."
    assert limit_said("op", 10.0, 2e5).endswith("adds 0.010 ms of its 200.0 ms (under 0.1 %).")
    assert helps_most([SimpleNamespace(name="compute_half", gain_us=1.0)], 1_000.0) == ""
