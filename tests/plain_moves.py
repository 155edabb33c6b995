"""Random changes of a plan, for the plain search: each says whether it changed anything."""

import random
from collections.abc import Callable, Sequence

from tests.plain_plans import Draft, Problem, Run, Sent

#: How far a launch moves, in the mean.
REACH = 3.0


def change(problem: Problem, draft: Draft, run: Run, generator: random.Random) -> bool:
    """Change a plan in one way; ``run`` is what it was like before."""
    (chosen,) = generator.choices(CHANGES, WEIGHTS)
    channel = generator.choices(range(len(draft.lists)), list(map(len, draft.lists)))[0]
    return chosen(problem, draft, run, channel, generator)


def move(problem: Problem, draft: Draft, run: Run, channel: int, generator: random.Random) -> bool:
    """Put a launch at another place, mostly a near one."""
    launches = draft.lists[channel]
    place = generator.randrange(len(launches))
    there = _near(place, len(launches), generator)
    launches.insert(there, launches.pop(place))
    return there != place


def join(problem: Problem, draft: Draft, run: Run, channel: int, generator: random.Random) -> bool:
    """Send two buckets as one, mostly near ones, in one launch in the place of either."""
    launches = draft.lists[channel]
    one = launches[generator.randrange(len(launches))].bucket
    other = _partner(problem, draft, launches, one, generator)
    if other is None:
        return False
    place = _taken_out(launches, {one, other}, generator)
    members = draft.members[one] + draft.members[other]
    _send(problem, draft, launches, members, place)
    return True


def part(problem: Problem, draft: Draft, run: Run, channel: int, generator: random.Random) -> bool:
    """Send a bucket as two, each in one launch: one tensor and the others, or two runs."""
    launches = draft.lists[channel]
    chosen = launches[generator.randrange(len(launches))].bucket
    members = list(draft.members[chosen])
    if len(members) == 1:
        return False
    if generator.random() < 0.5:
        front = [members.pop(generator.randrange(len(members)))]
    else:
        members.sort(key=lambda i: (run.start[i], problem.rank[i]))
        at = generator.randrange(1, len(members))
        front, members = members[:at], members[at:]
    place = _taken_out(launches, {chosen}, generator)
    _send(problem, draft, launches, members, place)
    there = _near(place, len(launches), generator) if generator.random() < 0.5 else place
    _send(problem, draft, launches, front, there)
    return True


def transfer(
    problem: Problem, draft: Draft, run: Run, channel: int, generator: random.Random
) -> bool:
    """Have a tensor travel in another bucket, mostly a near one; both go in one launch."""
    launches = draft.lists[channel]
    source = launches[generator.randrange(len(launches))].bucket
    target = _partner(problem, draft, launches, source, generator)
    members = list(draft.members[source])
    if target is None or len(members) == 1:
        return False
    tensor = members.pop(generator.randrange(len(members)))
    into = (*draft.members[target], tensor)
    place = _taken_out(launches, {source}, generator)
    _send(problem, draft, launches, members, place)
    place = _taken_out(launches, {target}, generator)
    _send(problem, draft, launches, into, place)
    return True


def cut(problem: Problem, draft: Draft, run: Run, channel: int, generator: random.Random) -> bool:
    """Send what a launch carries in two, the second a few places behind."""
    launches = draft.lists[channel]
    place = generator.randrange(len(launches))
    bucket, total, _ = launches[place]
    size = _share(problem, launches, run, channel, place, total, generator)
    if not 0 < size < total:
        return False
    behind = min(len(launches), place + 1 + int(generator.expovariate(1 / REACH)))
    launches[place] = _sent(problem, bucket, size)
    launches.insert(behind, _sent(problem, bucket, total - size))
    draft.parts[bucket] += 1
    return True


def recut(problem: Problem, draft: Draft, run: Run, channel: int, generator: random.Random) -> bool:
    """Cut a bucket of several parts elsewhere, or send two of them as one."""
    launches = draft.lists[channel]
    cuts = [k for k, sent in enumerate(launches) if draft.parts[sent.bucket] > 1]
    if not cuts:
        return False
    place = generator.choice(cuts)
    bucket, some, _ = launches[place]
    others = [k for k, sent in enumerate(launches) if sent.bucket == bucket and k != place]
    other = generator.choice(others)
    total = some + launches[other].bytes
    if generator.random() < 0.5:
        launches[place] = _sent(problem, bucket, total)
        launches.pop(other)
        draft.parts[bucket] -= 1
        return True
    size = _share(problem, launches, run, channel, place, total, generator)
    if not 0 < size < total:
        return False
    launches[place] = _sent(problem, bucket, size)
    launches[other] = _sent(problem, bucket, total - size)
    return True


#: All changes, and how often each is made.
CHANGES: Sequence[Callable[[Problem, Draft, Run, int, random.Random], bool]]
CHANGES = (move, join, part, transfer, cut, recut)
WEIGHTS = (40, 15, 12, 10, 10, 8)


def _near(place: int, count: int, generator: random.Random) -> int:
    """Another place, some places before or behind."""
    far = 1 + int(generator.expovariate(1 / REACH))
    return min(count - 1, max(0, place + generator.choice((-far, far))))


def _partner(
    problem: Problem,
    draft: Draft,
    launches: Sequence[Sent],
    bucket: int,
    generator: random.Random,
) -> int | None:
    """Another bucket of the same lane, mostly one that is launched near it."""
    lane, seen = problem.lane[bucket], dict.fromkeys(sent.bucket for sent in launches)
    alike = [other for other in seen if problem.lane[other] == lane]
    if len(alike) < 2:
        return None
    here = alike.index(bucket)
    there = _near(here, len(alike), generator)
    return alike[there] if there != here else None


def _taken_out(launches: list[Sent], buckets: set[int], generator: random.Random) -> int:
    """Remove the launches of buckets; say in which place of these one may go."""
    places = [k for k, sent in enumerate(launches) if sent.bucket in buckets]
    chosen = generator.randrange(len(places))
    launches[:] = [sent for sent in launches if sent.bucket not in buckets]
    return places[chosen] - chosen


def _send(
    problem: Problem, draft: Draft, launches: list[Sent], members: Sequence[int], place: int
) -> None:
    """Send collectives as one bucket, whole, at a place."""
    bucket = min(members)
    draft.members[bucket] = tuple(members)
    draft.parts[bucket] = 1
    for i in members:
        draft.home[i] = bucket
    launches.insert(place, _sent(problem, bucket, sum(problem.bytes[i] for i in members)))


def _sent(problem: Problem, bucket: int, size: int) -> Sent:
    return Sent(bucket, size, problem.cost[bucket].time(size))


def _share(
    problem: Problem,
    launches: Sequence[Sent],
    run: Run,
    channel: int,
    place: int,
    total: int,
    generator: random.Random,
) -> int:
    """Bytes of a first part: any, half, or what fits until a bucket of the channel is released."""
    bucket = launches[place].bucket
    way = generator.random()
    if way < 0.3:
        size = generator.randrange(total)
    elif way < 0.4:
        size = total // 2
    else:
        cost, begin = problem.cost[bucket], run.begins[channel][place]
        end = begin + cost.time(total)
        releases = {run.release[sent.bucket] for sent in launches}
        between = sorted(time for time in releases if begin < time < end)
        size = cost.fits(generator.choice(between) - begin, total) if between else 0
    return size - size % problem.element[bucket]
