r"""Whether a few tensors of one channel can be sent in less than a time, by trying every beginning.

Suppose a plan takes T or less, at an affine cost a + c n: each bucket starts when its members are
released and ends its tail before T, or earlier. A beginning is the tensors that are sent, the
buckets that are begun, when the channel is free, and a *credit*. The next launch is

- a bucket of tensors not yet sent, whole;
- the first part of such a bucket: it pays a, and has no bytes so far;
- the last part of a bucket begun: it pays a and the bucket's work, less what the credit has of it.

While a bucket is begun the time for which the channel waits is credit: bytes of a begun bucket
might have gone there, at no further start-up and in no whole elements. That can only favour the
plan, so where no beginning comes to an end, no plan with any buckets, parts and order takes T
(MODEL.md section 5). Of two beginnings with the same tensors sent and buckets begun, one that is
free as early with as much credit stands for the other.

Where no bucket has been cut so far, two launches that another plan is better without are left out:
one that waits while a tensor could be sent by itself (its later bucket then ends earlier), and one
whose bucket could join the launch before, which has no larger tail.
"""

from collections.abc import Callable, Iterator
from math import inf
from typing import NamedTuple

from solver.bounds.chain import LowerBound
from solver.bounds.kinds import TRIED
from solver.chain import Chain
from solver.costs import Affine, Cost
from solver.fusion.chain.exhaust import subsets
from solver.units import same, slack

#: Most tensors, and how often at most it is looked at whether a launch may come next.
MAX_TENSORS, _LOOKS = 14, 200_000
#: How many of these looks are made between two questions whether to stop.
_ASKED = 10_000


def tried(
    chain: Chain,
    cost: Cost,
    best: LowerBound,
    to_beat: float,
    more_looks: int = 0,
    is_over: Callable[[], bool] = lambda: False,
) -> LowerBound:
    """Return a plan's time [us] as the bound where nothing shorter is left; else the known one.

    Only of up to :data:`MAX_TENSORS` tensors and at an affine cost, and unless there are too many
    beginnings. 300,000 looks take about a second; ``is_over`` tells whether to stop before.
    """
    if not isinstance(cost, Affine) or len(chain) > MAX_TENSORS or same(best.value, to_beat):
        return best
    most = to_beat - slack(to_beat) / 2
    search = _Beginnings(chain, cost, most, _LOOKS + more_looks, is_over)
    if search.comes_to_an_end(_Beginning(search.all)):
        return best
    return LowerBound(to_beat, TRIED, tuple(range(len(chain))))


class _Beginning(NamedTuple):
    """Tensors in no bucket so far, buckets begun, when the channel is free [us], the credit [us].

    Then whether a bucket was cut, and of a launch before that was whole its bucket and start [us].
    """

    left: int
    begun: tuple[int, ...] = ()
    now: float = 0.0
    credit: float = 0.0
    cut: bool = False
    before: int = 0
    started: float = 0.0


class _Beginnings:
    """The beginnings of plans of a chain that might take ``most`` [us] or less."""

    def __init__(
        self, chain: Chain, cost: Affine, most: float, looks: int, is_over: Callable[[], bool]
    ) -> None:
        self.startup = cost.startup
        self.most = most
        self.all = (1 << len(chain)) - 1
        self.looks = looks
        self.is_over = is_over
        count = self.all + 1
        self.release, self.tail, self.work = [0.0] * count, [0.0] * count, [0.0] * count
        work = (cost.per_byte * chain.bytes).tolist()
        for mask in range(1, count):
            i = mask.bit_length() - 1
            rest = mask ^ 1 << i
            self.release[mask] = max(self.release[rest], float(chain.release[i]))
            self.tail[mask] = max(self.tail[rest], float(chain.tail[i]))
            self.work[mask] = self.work[rest] + work[i]
        self.ones = [1 << i for i in range(len(chain))]
        self.by_tail = sorted(self.ones, key=lambda one: (-self.tail[one], one))
        self.latest: dict[int, float] = {}
        self.known: dict[tuple[int, tuple[int, ...]], list[tuple[float, float]]] = {}

    def comes_to_an_end(self, here: _Beginning) -> bool:
        """Tell whether some plan with this beginning takes no longer, or there are too many."""
        if not here.left and not here.begun:
            return True
        if self._is_late(here) or self._is_known(here):
            return False
        for following in self._following(here):
            if self.looks < 0 or self.comes_to_an_end(following):
                return True
        return self.looks < 0

    def _following(self, here: _Beginning) -> Iterator[_Beginning]:
        """Yield what the next launch may lead to."""
        for bucket in here.begun:
            others = tuple(other for other in here.begun if other != bucket)
            sent = min(here.credit, self.work[bucket])
            end = here.now + self.startup + self.work[bucket] - sent
            if end + self.tail[bucket] <= self.most:
                credit = here.credit - sent if others else 0.0
                yield _Beginning(here.left, others, end, credit, cut=True)
        for bucket in subsets(here.left):
            self.looks -= 1
            if not self.looks % _ASKED and self.is_over():
                self.looks = -1
            start = max(here.now, self.release[bucket])
            begins = start + self.startup
            end = begins + self.work[bucket]
            if end + self.tail[bucket] > self.most or self._is_needless(here, bucket, start):
                continue
            credit = here.credit + start - here.now if here.begun else 0.0
            left = here.left ^ bucket
            yield _Beginning(left, here.begun, end, credit, here.cut, bucket, start)
            begun = tuple(sorted((*here.begun, bucket)))
            yield _Beginning(left, begun, begins, credit, cut=True)

    def _is_known(self, here: _Beginning) -> bool:
        """Tell whether another beginning stands for this one; remember it."""
        known = self.known.setdefault((here.left, here.begun), [])
        if any(now <= here.now and credit >= here.credit for now, credit in known):
            return True
        known.append((here.now, here.credit))
        return False

    def _is_late(self, here: _Beginning) -> bool:
        """Tell whether what is left would end too late in one launch for each least tail."""
        unsent = here.left
        for bucket in here.begun:
            unsent |= bucket
        latest = self.latest.get(unsent)
        if latest is None:
            latest, some = inf, 0
            for one in self.by_tail:
                if one & unsent:
                    some |= one
                    spare = self.most - self.tail[one] - self.startup
                    latest = min(latest, spare - self.work[some])
            self.latest[unsent] = latest
        return here.now - here.credit > latest

    def _is_needless(self, here: _Beginning, bucket: int, start: float) -> bool:
        """Tell whether some plan is better without this launch, where no bucket was cut so far."""
        if here.cut or not self.startup:
            return False
        if here.before and self.release[bucket] <= here.started:
            return self.tail[here.before] <= self.tail[bucket]
        return start > here.now and any(
            one & here.left
            and max(here.now, self.release[one]) + self.startup + self.work[one] <= start
            for one in self.ones
        )
