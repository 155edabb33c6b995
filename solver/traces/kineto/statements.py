"""What the report says of a recording, in sentences."""

from collections.abc import Sequence

from solver.traces.kineto.recording import RankRecording
from solver.traces.kineto.steps import ProfiledStep
from solver.traces.trace import TraceChannel

_SHOWN = 80


def losses(recording: RankRecording, outside: int) -> tuple[str, ...]:
    """Say what of a file is in no step."""
    result = []
    if recording.lost:
        result.append(f"{recording.lost} kernels that were launched before the recording began.")
    if recording.barriers:
        result.append(
            f"{recording.barriers} barriers: they carry nothing; their time is the host's."
        )
    if outside:
        result.append(f"{outside} kernels or ops launched outside of all steps.")
    return tuple(result)


def assumptions(
    recording: RankRecording, step: ProfiledStep, channels: Sequence[TraceChannel]
) -> list[str]:
    """Say how the step was read."""
    number = "The whole file" if step.number is None else f"ProfilerStep#{step.number}"
    what = "All streams of the GPU" if recording.is_gpu else "All threads"
    took = (
        f"{number} took {step.length:.3f} us, from the end of all work of the step before to "
        "the end of its own."
    )
    result = [
        took,
        f"{what} are one line of compute; where nothing runs, the host holds it up.",
    ]
    result += [_channel_said(channel) for channel in channels]
    return result


def order_said(step: ProfiledStep, *, crosses: bool, sharded: bool) -> str:
    """Say where the iteration begins: the step as it was, or with its backward pass."""
    if not step.backward:
        return "No backward pass was recognised: the iteration is the step as it was."
    if sharded:
        return (
            "The iteration is the step as it was: FSDP2 gathers for the forward pass when the "
            "optimizer has run."
        )
    if crosses:
        return (
            "The iteration is the step as it was: a collective runs from the forward pass into the "
            "backward pass, so it cannot begin there."
        )
    return (
        "The iteration begins with the backward pass; the forward pass of the same step stands for "
        "the next one."
    )


def _channel_said(channel: TraceChannel) -> str:
    count = "an unknown number of" if channel.workers is None else str(channel.workers)
    return f"Channel {channel.name}: {count} workers, from {channel.source}."


def warnings(recording: RankRecording, channels: Sequence[TraceChannel], files: int) -> list[str]:
    """Say what of the recording a plan cannot rely on."""
    result = []
    if files < (recording.workers or 2):
        given = "one rank" if files == 1 else f"{files} ranks"
        whole = f"all {recording.workers}" if recording.workers else "all ranks"
        result.append(
            f"The files are of {given}, and the recorded times of collectives include waiting for "
            f"others: give those of {whole} to have the least."
        )
    unknown = [channel.name for channel in channels if channel.workers is None]
    if unknown:
        result.append(
            f"How many workers share {', '.join(unknown)} is not recorded: give the cluster's."
        )
    if len(recording.groups) > 1 and any("no group" in channel.source for channel in channels):
        result.append(
            f"The job has {len(recording.groups)} process groups, but which of them a collective "
            "is of is not recorded: what runs on one stream is one channel."
        )
    if not recording.steps:
        result.append(
            "No ProfilerStep: the whole file was read as one step. Call the profiler's step() "
            "after each iteration."
        )
    return result


def unread_said(recording: RankRecording) -> list[str]:
    """Name the kernels that look like communication and stay compute."""
    result = []
    for kernel in recording.unread:
        name = kernel.name if len(kernel.name) <= _SHOWN else f"{kernel.name[:_SHOWN]}..."
        times = f"{kernel.launches} launches of {name}, {kernel.time:.3f} us in the whole file"
        result.append(f"{times}: looks like communication, is not understood and stays compute.")
    return result
