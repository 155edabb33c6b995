"""When layers released the tensors of a timeline, in its clock."""

from collections.abc import Mapping, Sequence

from solver.traces.horovod.layers import LayerTimes
from solver.traces.horovod.loop import is_blocking
from solver.traces.horovod.steps import TimelineStep, buffers

#: Longest default of HOROVOD_CYCLE_TIME, up to 0.20: where the file marks no cycles [us].
_LONGEST_CYCLE = 5_000.0


def released_by(
    layers: Sequence[LayerTimes],
    gradients: Mapping[str, str],
    step: TimelineStep,
    cycle_time: float | None,
) -> dict[str, float]:
    """Return when each tensor of a step was released [us].

    The backward pass begins when the forward pass ends, and that begins when the last operation of
    the step before ended, which is taken to be as long before this step as that of this step is
    before the next. The loop sees a tensor at most a cycle after its release, or after the
    operations that it stayed in, and where in a cycle a step begins differs from step to step by
    one more; what the layers leave unexplained beyond that is no waiting.

    Parameters
    ----------
    layers
        In the order of the forward pass.
    gradients
        Which gradient of the layers each tensor is.
    step
        Its launches; those of no gradient are passed over.
    cycle_time
        Of Horovod's loop [us]; None where the file does not say.

    Notes
    -----
    O(n log n) for n launches.
    """
    at = 0.0
    passed: dict[str, float] = {}
    for layer in reversed(layers):
        at += layer.backward_us
        passed |= dict.fromkeys((name for name, _ in layer.gradients), at)
    forward = sum(layer.forward_us + layer.update_us for layer in layers)
    known = [launch for launch in step.launches if launch.tensor in gradients]
    first = min(passed[gradients[launch.tensor]] for launch in known)
    begin = step.begin - (first if step.rest is None else step.rest - forward)
    stays = [group[0] for group in buffers(step.launches) if is_blocking(group[0])]
    releases = {}
    for launch in known:
        least = launch.ready - 2 * (_LONGEST_CYCLE if cycle_time is None else cycle_time)
        for one in reversed(stays):
            if one.start < least <= one.end:
                least = one.start
        releases[launch.tensor] = max(begin + passed[gradients[launch.tensor]], least)
    return releases
