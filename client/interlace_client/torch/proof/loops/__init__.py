"""The table of training loops: each is that of DistributedDataParallel, bit for bit.

A loop trains a :class:`~interlace_client.torch.proof.pair.TrainedPair` in its own way; it raises
AssertionError where the two differ. Its docstring is what the table says of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from interlace_client.torch.proof.loops import (
    buffers,
    gradients,
    parameters,
    states,
    stepping,
    touching,
)

if TYPE_CHECKING:
    from interlace_client.torch.proof.site import Site

#: By name, in the order in which they run.
CHECKS: dict[str, Callable[[Site], None]] = {
    loop.__name__: loop
    for loop in (
        stepping.plain,
        stepping.optimizers,
        stepping.schedulers,
        stepping.parts_and_windows,
        stepping.accumulation,
        stepping.several_passes_before_a_step,
        stepping.gradients_are_kept,
        stepping.zeroing,
        stepping.groups_added_later,
        stepping.two_optimizers,
        stepping.step_hooks_and_closures,
        stepping.sharpness_aware,
        stepping.compressed_gradients,
        gradients.clipping_by_global_norm,
        gradients.gradients_read_in_other_ways,
        gradients.gradients_taken_away,
        gradients.gradients_zeroed_and_read,
        gradients.gradients_written_by_hand,
        gradients.gradient_scaler,
        gradients.autocast,
        gradients.unused_parameters,
        gradients.several_types,
        parameters.shared_and_frozen_parameters,
        parameters.uses_that_bypass_modules,
        parameters.lists_kept_by_the_user,
        parameters.reading_after_a_step,
        touching.optimizer_states,
        touching.options,
        touching.parameters_written,
        touching.steps_left_out,
        touching.kept_and_drained,
        parameters.compiled_parts,
        parameters.scripted_parts,
        parameters.checkpoints,
        parameters.static_graphs,
        buffers.shared,
        buffers.of_each_rank,
        buffers.channels_last,
        buffers.written_after_a_step,
        states.state_dicts,
        states.distributed_checkpoints,
        states.evaluation_and_averages,
        states.another_plan,
        states.a_group_of_its_own,
        states.groups_of_some_ranks,
        states.taken_off,
    )
}
