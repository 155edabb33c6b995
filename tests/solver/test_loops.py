"""The inner loops on a chain: the same figures with a compiler and without."""

from bisect import bisect_left
from itertools import pairwise

import numpy as np

from solver.buckets import Launch
from solver.fusion.chain.judge import ChainJudge
from solver.fusion.chain.loops import figures, recursion, release_order
from tests.plain import plain
from tests.sampling import cases
from tests.solver.test_joint import drawn

UNKNOWN = float("inf")


def test_ends_in_release_order():
    (source,) = plain(release_order.__name__)
    generator = np.random.default_rng(0)
    for _ in range(cases(200)):
        chain, cost = drawn(generator, 20, layered=False)
        work = (cost.per_byte * chain.bytes).astype(np.float64)
        given = chain.release, work, cost.startup
        assert release_order.ends(*given) == source.ends(*given)
        ends, before = release_order.ends(*given)
        for k, (low, high) in enumerate(pairwise(ends), 1):
            assert low <= high
            start = max(ends[before[k]], chain.release[k - 1])
            assert ends[k] >= start + cost.startup  # the launch that ends there


def test_labels_from_both_ends():
    (source,) = plain(recursion.__name__)
    generator = np.random.default_rng(1)
    for i in range(cases(100)):
        chain, cost = drawn(generator, 30, layered=True)
        count = len(chain)
        cells = np.unique(generator.integers(0, 4000, 12)).astype(float)
        to_beat = UNKNOWN if i % 3 else float(generator.integers(1_000, 9_000))
        two = [m.Recursion(cells, count, cost.startup, to_beat) for m in (recursion, source)]
        prefix = np.concatenate([[0], np.cumsum(chain.bytes)])
        for k in range(1, count):
            sizes = prefix[k] - prefix[:k]
            here = float(chain.release[k - 1]), float(chain.tail[k - 1])
            for labels in two:
                labels.extend(*here, cost.times(sizes), cost.per_byte * sizes, 0.0)
        last = float(chain.release[-1]), float(chain.tail[-1]), cost.times(prefix[-1] - prefix[:-1])
        (value, label), other = (labels.close(*last) for labels in two)
        assert (value, label) == other
        assert two[0].trace(label) == two[1].trace(label)


def kept(labels, most, release, tail, times, work, rest):
    """Labels of the next prefix by the definition: all offers, the least of each cell."""
    earlier = [
        (labels.x[label], labels.y[label], times[j], work[j])
        for j in range(labels.prefixes)
        for label in range(labels.first[j], labels.first[j + 1])
    ]
    offers = [(max(x, release) + time, y) for x, y, time, _ in earlier]
    offers += [(x, max(y, tail) + time) for x, y, time, _ in earlier]
    torn = [(max(x, release) + max(y, tail) + w, max(x, release), w) for x, y, _, w in earlier]
    torn = sorted(torn, key=lambda each: each[0])[:most]
    for end in labels.cells:
        fits = (total for total, ready, w in torn if 0 < end - ready - labels.startup < w)
        offers += [(end, total + 2.0 * labels.startup - end) for total in [*fits][:1]]
    least: dict[int, tuple[float, float]] = {}
    for x, y in offers:
        if x + y + rest < labels.to_beat:
            cell = bisect_left(labels.cells, x)
            least[cell] = min(least.get(cell, (UNKNOWN, UNKNOWN)), (y, x))
    found: list[tuple[float, float]] = []
    for _, (y, x) in sorted(least.items()):
        if not found or y < found[-1][1]:
            found.append((x, y))
    return found


def test_labels_that_need_no_look_would_not_be_kept():
    (source,) = plain(recursion.__name__)
    generator = np.random.default_rng(3)
    for i in range(cases(100)):
        chain, cost = drawn(generator, 30, layered=True)
        cells = np.unique(generator.integers(0, 4000, 12)).astype(float)
        to_beat = UNKNOWN if i % 3 else float(generator.integers(1_000, 9_000))
        labels = source.Recursion(cells, len(chain), cost.startup, to_beat)
        prefix = np.concatenate([[0], np.cumsum(chain.bytes)])
        for k in range(1, len(chain)):
            sizes = prefix[k] - prefix[:k]
            times, work = cost.times(sizes).tolist(), (cost.per_byte * sizes).tolist()
            here = float(chain.release[k - 1]), float(chain.tail[k - 1]), times, work, 0.0
            expected = kept(labels, source._TRIED, *here)
            labels.extend(*here)
            new = slice(labels.first[k], labels.first[k + 1])
            assert [*zip(labels.x[new], labels.y[new], strict=True)] == expected


def test_figures_are_those_of_the_judge():
    (source,) = plain(figures.__name__)
    generator = np.random.default_rng(2)
    for _ in range(cases(100)):
        chain, cost = drawn(generator, 12, layered=False)
        judge = ChainJudge(chain, cost)
        launches = list(judge.alone())
        generator.shuffle(launches)
        launches = [Launch(tuple(map(int, b)), int(s)) for b, s in launches]
        if len(launches) > 2:  # the first bucket in two parts, which are not joined here
            bucket, size = launches[0]
            launches[0] = Launch(bucket, size // 2)
            launches.append(Launch(bucket, size - size // 2))
        inner = slice(1, -1) if len(launches) > 2 else slice(None)
        two = [
            module.EarliestLaunches(
                [judge.release[b[0]] for b, _ in launches],
                [judge.tail[b[0]] for b, _ in launches],
                [cost.time(size) for _, size in launches],
                [int(k > 0 or len(launches) < 3) for k in range(len(launches))],
            )
            for module in (figures, source)
        ]
        for _ in range(20):
            places = range(len(launches))[inner]
            if len(places) < 2:
                break
            at, other = sorted(generator.choice(places, 2, replace=False).tolist())
            place = (at, other)[int(generator.integers(2))]
            bucket = tuple(sorted((*launches[at].bucket, *launches[other].bucket)))
            joined = judge.whole(bucket)
            time = cost.time(joined.bytes)
            plan = [*launches]
            plan[place] = joined
            del plan[at + other - place]
            found = [each.joined(at, other, place, time) for each in two]
            assert found == [judge.stretch(tuple(plan)).value] * 2
            if generator.random() < 0.3:
                for each in two:
                    each.join(at, other, place, time)
                launches = plan


def test_a_bucket_whose_last_part_is_to_come_decides_nothing():
    # three parts of one bucket, of 10 us each, and 5 us of compute behind: the first two as one
    for module in (figures, *plain(figures.__name__)):
        launches = module.EarliestLaunches([0.0] * 3, [5.0] * 3, [10.0] * 3, [0, 0, 1])
        assert launches.joined(0, 1, 0, 15.0) == 15.0 + 10.0 + 5.0
