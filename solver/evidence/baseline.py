"""What a policy of today takes beside a plan or a program."""

from dataclasses import dataclass

from solver.units import same


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a policy, or a compiler's rule, would take.

    Attributes
    ----------
    policy, barrier, parameters
        What was simulated, with each parameter as it was used; a rule has neither.
    iteration_time_us
        Its time; None where the policy is not defined: PACE where a collective comes after
        another, or a channel carries several kinds or keys; or where the rule makes no program.
    speedup
        Of the plan: this time over the plan's; None when the plan takes no time, or the time is
        None.
    headroom
        How much any schedule could gain over it: this time / the lower bound - 1; None when the
        bound is 0, or the time is None.
    peak_bytes
        Of a program: its most memory, which may be above the limit.
    """

    policy: str
    barrier: bool
    parameters: tuple[tuple[str, float | str], ...]
    iteration_time_us: float | None
    speedup: float | None
    headroom: float | None
    peak_bytes: int | None = None


def baseline_of(
    policy: str,
    time: float | None,
    plan_time: float,
    bound: float,
    *,
    barrier: bool = False,
    parameters: tuple[tuple[str, float | str], ...] = (),
    peak_bytes: int | None = None,
) -> Baseline:
    """Set the time of a policy beside that of a plan and its lower bound [us]."""
    headroom = None
    if time is not None and bound > 0:
        headroom = 0.0 if same(time, bound) else max(0.0, time / bound - 1)
    speedup = time / plan_time if time is not None and plan_time > 0 else None
    return Baseline(policy, barrier, parameters, time, speedup, headroom, peak_bytes)
