"""What a caller is told of a plan while it is made."""

from collections.abc import Callable, Sequence

from solver.result import Plan
from solver.simulate import Send

#: The phases of a plan, in order; slots are solved where releases do not depend on the schedule.
POLICIES, BOUND, SEARCH, SLOTS = "policies", "bound", "search", "slots"

#: Takes launches that are a whole plan of what is searched, and their iteration time [us].
Tell = Callable[[Sequence[Send], float], None]


def nobody(sends: Sequence[Send], value: float) -> None:
    """Tell nobody."""


class Watch:
    """Told how a plan comes along, by the thread that makes it; by itself it does nothing.

    What it is told changes nothing of the plan, unless the time limit cuts the search short.
    """

    def phase(self, name: str, completed: int | None = None, total: int | None = None) -> None:
        """Take note that a phase has begun, or of how many of its steps are done."""

    def bound(self, value_us: float) -> None:
        """Take note of a bound [us]: the compute time at first, then the proven one."""

    def found(self, value_us: float, draft: Callable[[], Plan]) -> None:
        """Take note that a better plan is in hand, and of its iteration time [us].

        ``draft`` makes it, for one simulation, with the bound and the baselines known by then; any
        thread may call it, at any time. The ideal and its slots are left out of it.
        """


#: Nobody watches.
SILENT = Watch()
