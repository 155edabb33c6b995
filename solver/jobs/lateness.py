"""How late a job's transfers are against its iteration alone, and what that makes of the next.

What nobody slows down is 0 late, exactly; so it takes the time that it takes alone, to the last
bit.
"""

from solver.jobs.mix import JobTerms
from solver.jobs.profile import BEGINNING, JobProfile

#: How late is not late at all, relative to the iteration: what sums of floats are off by.
_EXACT = 1e-10


class JobUnderWay:
    """A job in progress: how late each transfer is against its iteration alone."""

    __slots__ = (
        "base",
        "begins",
        "count",
        "done",
        "exact",
        "first",
        "late",
        "profile",
        "succs",
        "terms",
        "times",
        "waiting",
    )

    def __init__(self, profile: JobProfile, terms: JobTerms, first: int) -> None:
        self.profile, self.terms, self.first = profile, terms, first
        self.exact = _EXACT * profile.alone_us
        self.succs: list[list[int]] = [[] for _ in profile.transfers]
        for number, transfer in enumerate(profile.transfers):
            for before, _ in transfer.after:
                if before != BEGINNING:
                    self.succs[before].append(number)
        self.base = 0.0
        self.count = 0
        self.late: list[float | None] = []
        self.waiting: list[int] = []
        self.done = 0
        self.begins: list[float] = []
        self.times: list[float] = []

    def start_late(self, number: int) -> float:
        """Return how much later than alone a transfer begins, all before it being done [us]."""
        transfer, late = self.profile.transfers[number], self.late
        before = [each for each, _ in transfer.after if each != BEGINNING]
        if all(late[each] == 0.0 for each in before):
            return 0.0
        transfers = self.profile.transfers
        ready, alone = 0.0, 0.0
        for each, way in transfer.after:
            if each == BEGINNING:
                ready, alone = max(ready, way), max(alone, way)
            else:
                end = transfers[each].end
                ready = max(ready, end + (late[each] or 0.0) + way)
                alone = max(alone, end + way)
        # what the policy waited for beyond that, it waits for again
        if transfer.start > alone + self.exact:
            return max(0.0, ready - transfer.start)
        found = ready - transfer.start
        return 0.0 if abs(found) <= self.exact else found

    def end_late(self) -> float:
        """Return how much longer than alone the iteration takes, all transfers being done [us]."""
        late = self.late
        if not any(late):
            return 0.0
        end = max(
            self.profile.compute_us,
            *(
                transfer.end + (late[number] or 0.0) + (transfer.tail or 0.0)
                for number, transfer in enumerate(self.profile.transfers)
                if transfer.tail is not None
            ),
            0.0,
        )
        found = end - self.profile.alone_us
        return 0.0 if abs(found) <= self.exact else found
