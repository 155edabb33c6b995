"""Launches that dumps of several ranks share: each counts once, with the least of its times.

A rank's time of a launch holds its wait for the others. The rank that comes last waits for nobody,
so the least time is that of the launch itself, as for the traces of several ranks.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from solver.calibration.measurements.readings import Reading
from solver.flight_recorder.dump import Dump, DumpEntry


class RankLaunch(NamedTuple):
    """A launch as one rank recorded it.

    Attributes
    ----------
    run
        Its collective, and the number of ranks.
    key
        What it has alike on all of its ranks; None where nothing tells, and it stays by itself.
    rank
        Whose record it is.
    reading
        Its bytes and its time.
    """

    run: tuple[str | None, int | None]
    key: Hashable
    rank: int
    reading: Reading


class SharedLaunches(NamedTuple):
    """The launches of all dumps, and how many lack the times of some ranks."""

    launches: list[RankLaunch]
    few: int

    @property
    def notes(self) -> tuple[str, ...]:
        """Say where times may hold waiting."""
        if not self.few:
            return ()
        note = (
            f"{self.few:,} of {len(self.launches):,} launches lack the times of some ranks, and "
            "may hold waiting for late ones: give the dumps of all ranks to have the least."
        )
        return (note,)


def shared(launches: Sequence[RankLaunch]) -> SharedLaunches:
    """Keep of each launch the record of the rank that took the least. O(launches)."""
    least: dict[Hashable, RankLaunch] = {}
    ranks: dict[Hashable, int] = {}
    seen: dict[tuple[Hashable, int], int] = {}
    for place, one in enumerate(launches):
        key: Hashable = ("alone", place)
        if one.key is not None:
            again = seen.get((one.key, one.rank), 0)  # once more of one rank: another run
            seen[one.key, one.rank] = again + 1
            key = (one.run[0], one.key, again)
        ranks[key] = ranks.get(key, 0) + 1
        old = least.get(key)
        if old is None:
            least[key] = one
        else:  # a dump that was cut off may not tell its groups
            run = (one.run[0], old.run[1] or one.run[1])
            least[key] = min(old, one, key=_time)._replace(run=run)
    few = sum(1 < (one.run[1] or 0) > ranks[key] for key, one in least.items())
    return SharedLaunches(list(least.values()), few)


def _time(one: RankLaunch) -> float:
    time = one.reading.time
    return float("inf") if time is None else time.value


def launch_key(entry: DumpEntry) -> Hashable:
    """Return what an entry has alike on all ranks of its group; None where it has no number."""
    number = entry.collective_seq_id
    if not isinstance(number, int) or isinstance(number, bool):
        return None
    return (entry.group[0], number, str(entry.input_sizes), str(entry.output_sizes))


def dump_ranks(dumps: Sequence[Dump]) -> Iterator[int]:
    """Yield the ranks of dumps: as they say, or as they were given where one does not."""
    told = [str(dump.rank) for dump in dumps]
    are_numbers = all(rank.isdecimal() and len(rank) < 8 for rank in told)  # noqa: PLR2004
    yield from (int(rank) for rank in told) if are_numbers else range(len(told))
