"""Transfers over channels, first in, first out, by a clock that ticks: for tiny cases."""

from typing import NamedTuple


class Task(NamedTuple):
    """What takes so many ticks, on a channel or on none, after others."""

    after: tuple[str, ...]
    channel: str | None
    ticks: int


def ends(tasks: dict[str, Task]) -> dict[str, int]:
    """Return when each task ends.

    What a channel could begin at one time goes in the order of the longest way of compute to it,
    of how many transfers come before it on the longest way, and of the dict.
    """
    compute: dict[str, int] = {}
    depth: dict[str, int] = {}
    for name, task in tasks.items():  # a task stands behind what it comes after
        own = task.ticks if task.channel is None else 0
        compute[name] = own + max((compute[a] for a in task.after), default=0)
        depth[name] = (task.channel is not None) + max((depth[a] for a in task.after), default=0)
    place = {name: i for i, name in enumerate(tasks)}
    done: dict[str, int] = {}
    waiting, queued = dict(tasks), {}
    running: dict[str, int] = {}
    now = 0
    while len(done) < len(tasks):
        moved = True
        while moved:
            moved = False
            for name in [name for name, end in running.items() if end == now]:
                done[name] = running.pop(name)
                moved = True
            for name in [n for n, task in waiting.items() if all(a in done for a in task.after)]:
                task = waiting.pop(name)
                moved = True
                if task.channel is None:
                    running[name] = now + task.ticks
                else:
                    queued[name] = now
        busy = {tasks[name].channel for name in running}
        for name in sorted(queued, key=lambda n: (queued[n], compute[n], depth[n], place[n])):
            if tasks[name].channel not in busy:
                busy.add(tasks[name].channel)
                running[name] = now + tasks[name].ticks
                del queued[name]
        now += 1
    return done
