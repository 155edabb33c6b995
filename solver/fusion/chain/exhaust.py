"""Every fusion and order of a few tensors, with parts on a coarse grid."""

from collections.abc import Iterator, Sequence

from solver.buckets import Launch, Launches, whole_elements
from solver.chain import Chain
from solver.costs import Cost
from solver.fusion.chain.judge import ChainJudge
from solver.fusion.search import Budget, Reporter, unreported

#: Most tensors for which all plans are looked at.
MAX_TENSORS = 7


#: Shares of a bucket that its first part may carry.
_SHARES = (0.25, 0.5, 0.75)


#: How many buckets may be sent in two parts.
_CUT = 1


def best_of_all(
    chain: Chain, cost: Cost, best: Launches, budget: Budget, report: Reporter = unreported
) -> Launches:
    """Return the best plan of all, or the known one when none is better.

    Depth first over launches: any tensors not yet sent as a bucket, whole or a share of it, or the
    rest of a bucket begun. A branch ends when what is left cannot beat the best. Exponential; ends
    early with the best so far when the budget is spent. Each better plan is reported.
    """
    search = _Search(chain, cost, best, budget, report)
    search.visit((1 << len(chain)) - 1, (), 0.0, 0.0, _CUT)
    return search.best


class _Search:
    """The best plan so far, and the launches of the branch at hand."""

    def __init__(
        self, chain: Chain, cost: Cost, best: Launches, budget: Budget, report: Reporter
    ) -> None:
        self._judge = ChainJudge(chain, cost)
        self._budget = budget
        self._report = report
        self._branch: list[Launch] = []
        self._members = [
            tuple(i for i in range(len(chain)) if mask >> i & 1) for mask in range(1 << len(chain))
        ]
        self._rest = [0.0] * (1 << len(chain))
        lines = cost.minorants(int(chain.bytes.sum()))
        for mask in range(1, len(self._rest)):
            self._rest[mask] = self._least(self._members[mask], lines)
        self.best = best
        self._value = self._judge.value(best)

    def _least(self, members: Sequence[int], lines: Sequence[tuple[float, float]]) -> float:
        """Bound the time from now on of sending these tensors and what follows them."""
        bound = 0.0
        carried = 0
        for i in sorted(members, key=lambda i: -self._judge.tail[i]):
            carried += self._judge.bytes[i]
            bound = max(bound, *(self._judge.tail[i] + a + c * carried for a, c in lines))
        return bound

    def visit(
        self, left: int, begun: tuple[Launch, ...], now: float, value: float, cuts: int
    ) -> None:
        """Try every next launch; ``value`` is that of the buckets that are done."""
        if max(value, now + self._rest[left]) >= self._value or not self._budget.spend():
            return
        if not left and not begun:
            self.best, self._value = tuple(self._branch), max(value, self._judge.floor)
            self._report(self.best, self._value)
            return
        for i, launch in enumerate(begun):
            end = now + self._judge.cost.time(launch.bytes)
            done = max(value, end + self._judge.bucket(launch.bucket)[1])
            self._branch.append(launch)
            self.visit(left, (*begun[:i], *begun[i + 1 :]), end, done, cuts)
            self._branch.pop()
        for mask in subsets(left):
            members = self._members[mask]
            release, tail, size = self._judge.bucket(members)
            start = max(now, release)
            for part in [size, *self._parts(size, start)] if cuts else [size]:
                end = start + self._judge.cost.time(part)
                self._branch.append(Launch(members, part))
                if part == size:
                    self.visit(left & ~mask, begun, end, max(value, end + tail), cuts)
                else:
                    rest = Launch(members, size - part)
                    self.visit(left & ~mask, (*begun, rest), end, value, cuts - 1)
                self._branch.pop()

    def _parts(self, size: int, start: float) -> list[int]:
        """Shares of a bucket, and what fits before each later release."""
        shares = {whole_elements(int(size * share), self._judge.element) for share in _SHARES}
        later = {self._judge.fits(r - start, size) for r in self._judge.release if r > start}
        return sorted((shares | later) - {0, size})


def subsets(mask: int) -> Iterator[int]:
    """All non-empty subsets of a bit mask, the largest first."""
    subset = mask
    while subset:
        yield subset
        subset = (subset - 1) & mask
