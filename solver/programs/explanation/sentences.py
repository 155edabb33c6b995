"""An explanation of a program in some sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from solver.evidence.brief import LIMITS
from solver.programs.execute import bucket_id, execute
from solver.programs.explanation.earlier import (
    HOST,
    INPUT,
    LaunchReason,
    MovedLaunch,
)
from solver.programs.explanation.explain import ProgramExplanation
from solver.programs.explanation.holders import CHANNEL, START
from solver.programs.explanation.sensitivity import ProgramSensitivity
from solver.programs.problem import TO_LAUNCH, TO_WAIT
from solver.programs.program import LAUNCH
from solver.programs.result import Executed, ProgramPlan
from solver.units import same
from solver.wording import memory_size, ms

#: So many ops are named.
_NAMED = 5

_NAMES = {
    "compute_faster": "compute 10 % faster",
    "bandwidth_faster": "10 % more bandwidth",
    "startup_lower": "start-ups 10 % lower",
    "startup_free": "no start-ups",
    "copies_free": "free copies",
}


def summary(planned: Executed, why: ProgramExplanation) -> str:
    """Say what limits a program, what would move it, and what holds its most exposed launch."""
    total = planned.run.iteration_time
    if why.limited_by is None:
        return "Nothing in this iteration takes time."
    times = why.path_times
    channels = sorted(times.channels_us.items(), key=lambda each: (-each[1], each[0]))
    pieces = [("compute", times.compute_us), *((f"channel {c!r}", time) for c, time in channels)]
    pieces += [("copies", times.copies_us)]
    on_path = ", ".join(f"{name} {_share(time, total)}" for name, time in pieces if time > 0)
    said = [
        f"{LIMITS[why.limited_by]} this program: its critical path of {ms(total)} is {on_path}.",
        f"The same program with {'; '.join(_gains(why.sensitivities))}.",
    ]
    if (launch := _longest(why)) is not None:
        said.append("The longest launch on it: " + reason(planned, launch))
    return " ".join(said)


def run_twice(planned: Executed) -> str:
    """Say which ops run twice, what that takes and saves; nothing where none was allowed to."""
    twice = planned.recomputation if isinstance(planned, ProgramPlan) else None
    if twice is None:
        return ""
    bound = (
        "The bound is that of the graph without a limit of memory, and holds whatever runs twice."
    )
    if not twice.ops:
        return f"No op was found to be worth running twice. {bound}"
    names = ", ".join(repr(each.op) for each in twice.ops[:_NAMED])
    more = f" and {len(twice.ops) - _NAMED} more" if len(twice.ops) > _NAMED else ""
    number = "1 op runs" if len(twice.ops) == 1 else f"{len(twice.ops)} ops run"
    return (
        f"{number} twice ({names}{more}): {ms(twice.compute_us)} more compute; without, this "
        f"program would take {memory_size(twice.peak_without_bytes)} instead of "
        f"{memory_size(planned.peak_bytes)}. {bound}"
    )


def reason(planned: Executed, launch: LaunchReason) -> str:
    """Say why a launch starts no earlier, with the figures of what was tried."""
    name, by, moved = bucket_id(launch.bucket), launch.by, launch.moved
    starts = f"{name} starts at {ms(launch.start_us)}"
    if launch.why == START:
        return f"{starts}: nothing is before it."
    if launch.why == INPUT:
        return f"{starts} and no earlier, since its input from {by!r} is ready only then."
    if launch.why == CHANNEL:
        ahead = f" Asked for before {moved.before!r} {_would(planned, moved)}" if moved else ""
        return f"{starts} and no earlier, since its channel carries {by} until then.{ahead}"
    if launch.why == HOST:
        return (
            f"{starts}, after {by!r}; right behind its inputs it would start at "
            f"{ms(launch.could_start_us)}, which was not tried."
        )
    if moved is None:
        return f"{starts} and no earlier, since its stream is busy with {by!r} until then."
    return f"{starts}, after {by!r}: asked for before {moved.before!r} {_would(planned, moved)}"


def more_memory(extra_bytes: int, gain_us: float) -> str:
    """Say what more memory would save."""
    saved = f"save {ms(gain_us)}" if gain_us > 0 else "save nothing that was found"
    return f"{memory_size(extra_bytes)} more would {saved}."


def above_limit(planned: Executed) -> str | None:
    """Say by how much a program exceeds the limit of memory; None where it keeps it."""
    limit, run = planned.problem.limits.memory_bytes, planned.run
    if limit is None or run.peak_bytes <= limit:
        return None
    return (
        f"It takes {memory_size(run.peak_bytes)} at {ms(run.peak_us)}, "
        f"{memory_size(run.peak_bytes - limit)} above the limit."
    )


def held_to_waits(planned: Executed) -> str | None:
    """Say how much of the peak is held to waits alone; None where that is nothing."""
    problem, peak = planned.problem, planned.run.peak_bytes
    if problem.inputs_held != TO_WAIT:
        return None
    least = execute(replace(problem, inputs_held=TO_LAUNCH), planned.program).peak_bytes
    if peak <= least:
        return None
    less = memory_size(peak - least)
    return f"With what launches read freed at their ends it would take {less} less."


def _would(planned: Executed, moved: MovedLaunch) -> str:
    """Say what becomes of the program with a launch asked for earlier."""
    starts = f"it would start at {ms(moved.start_us)}"
    limit, before = planned.problem.limits.memory_bytes, planned.run
    if moved.excess_bytes is not None:
        over = memory_size(moved.excess_bytes)
        if limit is not None and moved.peak_bytes > limit:
            at = ms(moved.peak_us)
            return f"{starts}, and memory would exceed the limit by {over} at {at}."
        return f"{starts}, and {over} more than allowed would be under way."
    longer = moved.iteration_time_us - before.iteration_time
    if not same(moved.iteration_time_us, before.iteration_time):
        if longer > 0:
            return f"{starts}, and the iteration would take {ms(longer)} longer."
        return f"{starts}, and save {ms(-longer)}, which the search did not find."
    if moved.peak_bytes > before.peak_bytes:
        more = memory_size(moved.peak_bytes - before.peak_bytes)
        return f"{starts}, and take {more} more memory at the peak for no time."
    return f"{starts}, which would save nothing."


def _share(time: float, total: float) -> str:
    return f"{ms(time)} ({100 * time / total:.1f} %)"


def _gains(sensitivities: Sequence[ProgramSensitivity]) -> Iterator[str]:
    """Say what each change would save; of the channels the one that saves most."""
    for each in sensitivities:
        if each.channel is None:
            yield f"{_NAMES[each.name]} would save {_saved(each)}"
    channels = [each for each in sensitivities if each.channel is not None]
    if channels:
        best = max(channels, key=lambda each: each.gain_us)
        yield f"channel {best.channel!r} alone 10 % faster would save {_saved(best)}"


def _saved(sensitivity: ProgramSensitivity) -> str:
    return ms(sensitivity.gain_us) if sensitivity.gain_us > 0 else "nothing"


def _longest(why: ProgramExplanation) -> LaunchReason | None:
    """Return the launch that takes the most of the critical path; the first of equals."""
    launches = [step for step in why.critical_path if step.do == LAUNCH]
    longest = max(launches, key=lambda step: step.end_us - step.start_us, default=None)
    named = (each for each in why.launches if longest and bucket_id(each.bucket) == longest.id)
    return next(named, None)
