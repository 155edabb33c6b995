"""Cycles of ranks become a graph: written by hand, and planned."""

import pytest

pytest.importorskip("torch")

from interlace_client.torch.capture.cycles import Cycle
from interlace_client.torch.capture.errors import RanksDiffer, Unrecorded
from interlace_client.torch.capture.merging import recording_of
from interlace_client.torch.capture.ranks import RankRecord, compare
from interlace_client.torch.capture.recording import Tensor
from tests.torch.captured import planned

TENSORS = (
    Tensor("in.weight", (4, 2), "float32", 4),
    Tensor("out.weight", (4, 6), "float32", 4),
)
MODULES = ("", "in", "out")


def cycle(ready=(50.0, 20.0), entered=(0.0, 1.0, 11.0), forward=30.0, turn=34.0, **others):
    return Cycle(
        ready_us=dict(enumerate(ready)),
        backward_us=others.get("backward", 60.0),
        update_us=others.get("update", 8.0),
        between_us=others.get("between", 5.0),
        held_us=others.get("held", 0.0),
        entered_us=dict(enumerate(entered)),
        forward_us=forward,
        turn_us=turn,
        waited_us=others.get("waited", 0.0),
        passes=others.get("passes", 1),
    )


def rank(*cycles, tensors=TENSORS, modules=MODULES, uses=None, wrapper=None, failure=None):
    uses = {0: (1,), 1: (2,)} if uses is None else uses
    return RankRecord(tensors, modules, uses, cycles or (cycle(),), (), wrapper, failure)


def rows(recording):
    return [
        (op["id"], op.get("duration_us", op.get("bytes")), op["after"])
        for op in recording.graph["ops"]
    ]


def test_the_graph_of_one_cycle():
    assert rows(recording_of([rank()])) == [
        ("backward:out.weight", 20.0, []),
        ("grad:out.weight", 96, ["backward:out.weight"]),
        ("backward:in.weight", 30.0, []),
        ("grad:in.weight", 32, ["backward:in.weight"]),
        ("backward:end", 10.0, []),
        ("between", 5.0, []),
        ("forward:(model)", 1.0, []),
        ("update:in.weight", 2.0, ["grad:in.weight"]),
        ("forward:in", 10.0, []),
        ("update:out.weight", 6.0, ["grad:out.weight"]),
        ("forward:out", 19.0, []),
        ("loss", 4.0, []),
    ]


def test_the_graph_is_planned():
    recording = recording_of([rank()])
    made = planned(recording)
    assert made.compute_time_us == pytest.approx(recording.compute_us)
    assert sorted(t for bucket in made.buckets for t in bucket.tensors) == [
        "grad:in.weight",
        "grad:out.weight",
    ]


def test_an_op_ends_as_late_as_on_the_slowest_rank():
    slow_backward = rank(cycle(ready=(55.0, 40.0), backward=62.0, forward=28.0))
    slow_forward = rank(cycle(entered=(0.0, 2.0, 25.0), forward=40.0, turn=44.0))
    recording = recording_of([slow_backward, slow_forward])
    durations = {op: value for op, value, _ in rows(recording)}
    assert durations["backward:out.weight"] == 40.0
    assert durations["backward:in.weight"] == 15.0
    assert durations["backward:end"] == 7.0
    assert durations["forward:in"] == 23.0
    assert durations["forward:out"] == 15.0
    assert recording.compute_us == pytest.approx(62 + 5 + 8 + 44)
    assert recording.ranks == 2


def test_the_median_of_the_cycles_counts_and_their_spread_is_kept():
    recording = recording_of(
        [rank(*(cycle(ready=(50.0, at)) for at in (20.0, 22.0, 40.0))), rank()]
    )
    assert rows(recording)[0] == ("backward:out.weight", 22.0, [])
    first, second = recording.spread_us["backward:out.weight"]
    assert first == pytest.approx((22.0, 38.2))
    assert second == (20.0, 20.0)
    assert recording.cycles == 1


def test_what_has_no_gradient_in_a_step_is_released_at_the_end():
    without = cycle()
    del without.ready_us[1]
    recording = recording_of([rank(cycle(), without)])
    assert recording.unused == ("out.weight",)
    assert [row for row in rows(recording) if row[0] == "grad:out.weight"] == [
        ("grad:out.weight", 96, ["backward:end"])
    ]
    assert recording.ready_order == ("in.weight", "out.weight")
    assert any("'out.weight' had no gradient in some steps" in note for note in recording.notes)


def test_what_is_never_trained_is_updated_last_and_for_nothing():
    without = cycle()
    del without.ready_us[1]
    recording = recording_of([rank(without, uses={0: (1,)})])
    assert rows(recording)[-1] == ("update:out.weight", 0.0, ["grad:out.weight"])
    assert recording.first_uses["out.weight"] == ("",)
    assert recording.unknown == ()


def test_what_is_not_seen_to_be_used_is_needed_from_the_start():
    recording = recording_of([rank(uses={0: (1,)})])
    ids = [op["id"] for op in recording.graph["ops"]]
    assert ids.index("update:out.weight") + 1 == ids.index("forward:(model)")
    assert recording.unknown == ("out.weight",)
    assert any("No use of 'out.weight' was seen" in note for note in recording.notes)


def test_of_several_first_uses_the_earliest_counts():
    recording = recording_of([rank(uses={0: (1,), 1: (2,)}), rank(uses={0: (1,), 1: (1,)})])
    assert recording.first_uses == {"in.weight": ("in",), "out.weight": ("out", "in")}
    ids = [op["id"] for op in recording.graph["ops"]]
    assert ids.index("update:out.weight") < ids.index("forward:in")
    assert "forward:out" not in ids


def test_gradients_of_one_moment_are_in_reverse_order_of_registration():
    recording = recording_of([rank(cycle(ready=(50.0, 50.0)))])
    assert recording.ready_order == ("out.weight", "in.weight")


def test_accumulated_passes_lie_ahead_of_the_last():
    recording = recording_of([rank(cycle(passes=3, turn=500.0))])
    assert rows(recording)[-1] == ("accumulation", 470.0, [])


def test_a_module_that_comes_late_in_a_few_steps_takes_no_less_than_no_time():
    late = cycle(entered=(0.0, 1.0, 90.0), forward=95.0, turn=96.0)
    skips = cycle(entered=(0.0, 1.0))
    recording = recording_of([rank(skips, skips, skips, late)])
    assert all(op["duration_us"] >= 0 for op in recording.graph["ops"] if "duration_us" in op)
    assert recording.compute_us == pytest.approx(60 + 8 + 5 + 34)


def test_what_all_ranks_saw_is_said_once():
    ranks = [
        rank(cycle(waited=waited, held=held), wrapper="DistributedDataParallel")
        for waited, held in ((9.0, 4.0), (30.0, 5.0))
    ]
    recording = recording_of(ranks)
    waiting, clipping = recording.notes
    assert waiting.startswith("DistributedDataParallel communicated meanwhile")
    assert "30 us of a step were seen to be waiting" in waiting
    assert clipping.startswith("5 us of a step lie between the backward pass and the optimizer's")
    assert recording.waited_us == 30
    assert recording.step_us == recording.compute_us + 30


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (dict(tensors=TENSORS[:1]), "Rank 1 has no 'out.weight'."),
        (
            dict(tensors=(*TENSORS, Tensor("x", (1,), "float32", 4))),
            "Rank 1 has 'x', rank 0 has not.",
        ),
        (
            dict(tensors=(TENSORS[0], Tensor("out.weight", (), "float16", 2))),
            "'out.weight' is 4 x 6 of float32 on rank 0 and a number of float16 on rank 1.",
        ),
        (dict(tensors=TENSORS[::-1]), "registers its parameters in another order"),
        (
            dict(modules=("", "in", "exit")),
            "Modules that rank 0 or rank 1 alone has: 'exit', 'out'",
        ),
    ],
)
def test_ranks_that_differ_are_refused(other, said):
    with pytest.raises(RanksDiffer, match=said):
        compare([rank(), rank(**other)])


def test_all_differences_are_said_at_once():
    others = rank(tensors=(Tensor("in.weight", (4, 3), "float32", 4),))
    with pytest.raises(RanksDiffer) as refused:
        compare([rank(), others, rank(cycle(passes=2))])
    assert "Rank 1 has no 'out.weight'" in str(refused.value)
    assert "4 x 2 of float32 on rank 0 and 4 x 3 of float32 on rank 1" in str(refused.value)
    assert "1 backward passes on rank 0 and 2 on rank 2" in str(refused.value)


def test_what_failed_on_a_rank_is_said():
    with pytest.raises(Unrecorded, match="Rank 1: 2 of 5 steps are recorded"):
        compare([rank(), rank(failure="2 of 5 steps are recorded.")])


def test_the_file_of_parameters_is_in_reversed_order_of_readiness(tmp_path):
    recording_of([rank(cycle(ready=(20.0, 50.0)))]).write_parameters(tmp_path / "parameters.json")
    text = (tmp_path / "parameters.json").read_text()
    assert text == '[["out.weight", 96], ["in.weight", 32]]\n'
