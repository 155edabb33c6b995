"""Events are read as cycles: exact times, of loops written by hand."""

import pytest

pytest.importorskip("torch")

from interlace_client.torch.capture.cycles import cycles_of
from interlace_client.torch.capture.events import CaptureEvent

FORWARD = [("forward", -1, 1), ("enter", 0, 0), ("enter", 2, 3), ("forward end", -1, 4)]
BACKWARD = [("output", -1, 2), ("ready", 1, 5), ("ready", 0, 7), ("backward end", -1, 1)]
UPDATE = [("step", -1, 6), ("stepped", -1, 10)]


def events(*rows):
    """Events of which each is so long after the one before."""
    at, made = 0.0, []
    for row in rows:
        for kind, subject, later in row:
            at += later
            made.append(CaptureEvent(kind, subject, at))
    return made


def test_a_cycle_goes_from_one_backward_pass_to_the_next():
    (cycle,) = cycles_of(events(FORWARD, BACKWARD, UPDATE, FORWARD, BACKWARD, UPDATE))
    assert cycle.ready_us == {1: 5, 0: 12}
    assert cycle.backward_us == 13
    assert cycle.held_us == 6
    assert cycle.update_us == 10
    assert cycle.between_us == 6 + 1
    assert cycle.entered_us == {0: 0, 2: 3}
    assert cycle.forward_us == 7
    assert cycle.turn_us == 9
    assert cycle.waited_us == 0
    assert cycle.passes == 1
    assert cycle.compute_us == 13 + 6 + 10 + 1 + 9


def test_each_two_steps_make_a_cycle():
    step = (FORWARD, BACKWARD, UPDATE)
    assert len(cycles_of(events(*step * 4))) == 3
    assert cycles_of(events(*step)) == []
    assert cycles_of([]) == []


def test_a_module_that_is_entered_twice_counts_the_first_time():
    twice = [("forward", -1, 1), ("enter", 2, 3), ("enter", 2, 5), ("forward end", -1, 4)]
    (cycle,) = cycles_of(events(FORWARD, BACKWARD, UPDATE, twice, BACKWARD, UPDATE))
    assert cycle.entered_us == {2: 3}


def test_of_several_passes_the_last_has_communication_to_hide():
    step = (FORWARD, BACKWARD, FORWARD, BACKWARD, UPDATE)
    (cycle,) = cycles_of(events(*step, *step))
    assert cycle.passes == 2
    assert cycle.ready_us == {1: 5, 0: 12}
    assert cycle.forward_us == 7
    # the first pass and the second forward pass lie ahead of the last backward pass
    assert cycle.turn_us == 7 + (2 + 5 + 7 + 1) + (1 + 7) + 2
    assert cycle.entered_us == {0: 0, 2: 3}


def test_two_forward_passes_may_have_one_backward_pass():
    both = [("output", -1, 2), ("output", -1, 4), ("ready", 1, 5), ("ready", 0, 7)]
    step = (FORWARD, FORWARD, both, UPDATE)
    (cycle,) = cycles_of(events(*step, *step))
    assert cycle.passes == 1
    assert cycle.ready_us == {1: 9, 0: 16}
    assert cycle.backward_us == 16  # nobody said when it ended


def test_a_step_that_a_scaler_skips_counts_with_the_next():
    skipped = events(
        *(FORWARD, BACKWARD, UPDATE),
        *(FORWARD, BACKWARD, FORWARD, BACKWARD, UPDATE),
        *(FORWARD, BACKWARD, UPDATE),
    )
    assert [cycle.passes for cycle in cycles_of(skipped)] == [2, 1]


def test_waiting_is_no_compute():
    waited = [*BACKWARD, ("backward left", -1, 50)]
    called = [("call", -1, 3), ("forward", -1, 20), *FORWARD[1:]]
    (cycle,) = cycles_of(events(called, waited, UPDATE, called, waited, UPDATE))
    assert cycle.waited_us == 50 + 20
    assert cycle.backward_us == 13
    assert cycle.between_us == 6 + 3
    assert cycle.forward_us == 7


def test_a_gradient_that_comes_twice_is_ready_the_second_time():
    again = [("output", -1, 2), ("ready", 0, 5), ("backward end", -1, 1), ("ready", 0, 7)]
    (cycle,) = cycles_of(events(FORWARD, again, UPDATE, FORWARD, again, UPDATE))
    assert cycle.ready_us == {0: 13}
    assert cycle.backward_us == 13


def test_without_the_gradient_of_an_output_the_pass_begins_after_the_forward_pass():
    (cycle,) = cycles_of(events(*(FORWARD, BACKWARD[1:], UPDATE) * 2))
    assert cycle.ready_us == {1: 5, 0: 12}
    assert cycle.turn_us == cycle.forward_us == 7


def test_a_step_without_a_gradient_makes_no_cycle():
    step, empty = (FORWARD, BACKWARD, UPDATE), (FORWARD, UPDATE)
    assert len(cycles_of(events(*step, *step, *empty, *step))) == 1


def test_a_forward_pass_without_a_backward_pass_lies_in_the_turn():
    (cycle,) = cycles_of(events(FORWARD, BACKWARD, UPDATE, FORWARD, FORWARD, BACKWARD, UPDATE))
    assert cycle.passes == 1
    assert cycle.turn_us == 7 + 1 + 7 + 2


def test_an_optimizer_that_calls_the_model_is_refused():
    within = [("step", -1, 6), *FORWARD, *BACKWARD, ("stepped", -1, 10)]
    closure = events(FORWARD, BACKWARD, within, FORWARD, BACKWARD, within)
    with pytest.raises(ValueError, match="calls the model within its step"):
        cycles_of(closure)


def test_what_the_loss_uses_is_ready_before_the_backward_pass_of_the_model():
    loss = [("ready", 2, 1), *BACKWARD]
    (cycle,) = cycles_of(events(FORWARD, loss, UPDATE, FORWARD, loss, UPDATE))
    assert cycle.ready_us == {2: 0, 1: 7, 0: 14}
    assert cycle.turn_us == 7 + 1
