"""What compute and launches do to each other while both are under way."""

from __future__ import annotations

from dataclasses import dataclass

#: The most that a request for a plan takes.
_MOST = 100.0
#: What a plan may promise beyond what was measured, as a share of the step.
_TOLERANCE = 0.01


@dataclass(frozen=True)
class Overlap:
    """How much longer compute and launches take beside each other; 1 is as long as alone.

    Attributes
    ----------
    compute
        Times as long that compute takes beside launches.
    launches
        Times as long that launches take beside compute.
    """

    compute: float
    launches: float

    @property
    def saved(self) -> float:
        """Time that is saved in each unit of time in which both are under way.

        One where neither slows the other, zero or less where one after the other is as fast.
        """
        return 1 / self.compute + 1 / self.launches - 1

    def slowdown(self, compute_us: float, launches_us: float) -> float:
        r"""Return the slowdown of compute alone that stands for both [times].

        A planner lets launches go on at full speed and compute at :math:`1/f`. In the time in which
        both are under way compute does :math:`a = 1/` ``compute`` and launches :math:`b = 1/`
        ``launches`` of what they do alone, which saves :math:`e = a + b - 1`. For each unit of
        launches :math:`e/b` is saved, so :math:`f = b/e`. But all compute, when it has gone beside
        launches, has saved no more than :math:`C e/a`: where launches outlast it a plan must not
        promise that all of it is hidden, so :math:`f` is no less than :math:`T / (C e / a)`, but
        for 1 % of the step.

        Parameters
        ----------
        compute_us, launches_us
            Time of a step's compute :math:`C` and launches :math:`T`, each alone [us].
        """
        if self.saved <= 1 / _MOST:
            return _MOST
        per_launch = 1 / self.launches / self.saved
        most = compute_us * self.saved * self.compute
        most += _TOLERANCE * (compute_us + launches_us)
        beyond = launches_us / most if min(launches_us / per_launch, compute_us) > most else 1.0
        return min(max(per_launch, beyond, 1.0), _MOST)
