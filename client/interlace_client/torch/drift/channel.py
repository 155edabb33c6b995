"""When the launches of a step ended, and what they took, from when they were seen to be over."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace_client.torch.drift.recorder import StartedLaunch

#: Times that are not known to this share are not counted.
_SURE = 0.02


@dataclass(frozen=True)
class BusyChannel:
    """The channel at work on a launch [us]; its ends may be off by their slack.

    ``is_queued`` says that the launch waited for the one before it.
    """

    begin: float
    end: float
    begin_slack: float
    end_slack: float
    is_queued: bool


def stretches(launches: Sequence[StartedLaunch]) -> list[BusyChannel]:
    """Say when each launch had the channel: one after another, each from its start on.

    The end of a launch lies between when it was last seen under way and when it was first seen to
    be over: the middle is taken.
    """
    found: list[BusyChannel] = []
    end = low = over = -inf
    slack = 0.0
    for launch in launches:
        is_queued = launch.started < over
        begin, begin_slack = max(launch.started, end), slack if is_queued else 0.0
        low = max(low, launch.running)
        over = launch.running if launch.ended is None else launch.ended
        end = max((low + over) / 2, begin)
        slack = inf if launch.ended is None else max(over - low, 0.0) / 2
        found.append(BusyChannel(begin, end, begin_slack, slack, is_queued))
    return found


def ratios(found: Sequence[BusyChannel], expected: Sequence[float]) -> list[float | None]:
    """Say of each launch how many times as long it took as expected; None where nobody can tell.

    Launches whose own ends are not known well are taken together with those that waited for them,
    until their time in all is known to 2 %.

    Parameters
    ----------
    found
        When each had the channel.
    expected
        What each should take [us], more than 0.
    """
    told: list[float | None] = [None] * len(found)
    first = 0
    for k, last in enumerate(found):
        if not last.is_queued:
            first = k
        time = sum(each.end - each.begin for each in found[first : k + 1])
        if found[first].begin_slack + last.end_slack <= _SURE * time:
            ratio = time / sum(expected[first : k + 1])
            told[first : k + 1] = [ratio] * (k + 1 - first)
            first = k + 1
    return told
