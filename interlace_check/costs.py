"""What a launch costs, as a table of fractions."""

from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from interlace_check import NotCovered, Refuted


class Table(NamedTuple):
    """Time by size [us]: constant below the first point, linear beyond it, at last of a slope."""

    points: list[tuple[int, Fraction]]
    slope: Fraction

    def time(self, size: int) -> Fraction:
        """Time of one launch."""
        for (x, y), (u, v) in pairwise(self.points):
            if size < u:
                return y + max(0, size - x) * (v - y) / (u - x)
        return self.points[-1][1] + max(0, size - self.points[-1][0]) * self.slope

    def sizes(self, total: int) -> list[int]:
        """Sizes between which time is linear."""
        return sorted({1, total, *(x for x, _ in self.points if 0 < x < total)})

    def check_line(self, a: Fraction, c: Fraction, total: int) -> None:
        """Refute a line a + c s above the cost of some launch."""
        if min(a, c) < 0 or any(a + c * s > self.time(s) for s in self.sizes(total)):
            raise Refuted(f"the line {float(a)} + {float(c)} s is above the cost of some launch")

    def least(self, carried: int, total: int) -> Fraction:
        """Least time of launches that carry so many bytes: of one, if two take no less."""
        sizes, time = self.sizes(total), self.time
        pairs = {(x, y) for x in sizes for z in sizes for y in (z, z - x) if 0 < y <= total - x}
        grows = all(time(x) <= time(y) for x, y in pairwise(sizes))
        if grows and all(time(x) + time(y) >= time(x + y) for x, y in pairs):
            return time(carried)
        return max(min(map(time, sizes)), carried * min(time(s) / s for s in sizes))


def table_of(cluster: dict[str, Any], channel: str, kind: str) -> Table:
    """Return the cost of a kind of collective on a channel of a request's cluster."""
    own = cluster if channel == "network" else cluster["channels"][channel]
    n = own.get("workers") or cluster.get("workers", 1)
    if model := own.get("cost_model"):
        here = {"workers": n, "bandwidth_gbps": own.get("bandwidth_gbps")}
        if model["algorithm"] in ("table", "linear") and any(
            model.get(field) and value and model[field] != value for field, value in here.items()
        ):
            raise NotCovered("a cost that was measured elsewhere")
        startup = Fraction(model.get("startup_us", 0)) + Fraction(own.get("startup_us", 0))
        own = {**model, "startup_us": startup}
        own["bandwidth_gbps"] = here["bandwidth_gbps"] or model.get("bandwidth_gbps")
    algorithm, fixed = own.get("algorithm", "ring"), Fraction(own.get("startup_us", 0))
    if n == 1:
        return Table([(0, Fraction(0))], Fraction(0))
    if algorithm == "linear":
        fixed += Fraction(own.get("constant_us", 0))
        return Table([(0, fixed)], Fraction(own["us_per_byte"]))
    if algorithm == "table":
        by_size: dict[int, list[Fraction]] = {}
        for size, time in own["table"] if kind == "all_reduce" else own["tables"][kind]:
            by_size.setdefault(int(size), []).append(Fraction(time))
        points = [(size, fixed + sum(t, Fraction(0)) / len(t)) for size, t in by_size.items()]
        points.sort()
        last, top = points[-1]
        half, low = min(points[:-1], key=lambda point: (abs(2 * point[0] - last), point[0]))
        return Table(points, max(Fraction(0), (top - low) / (last - half)))
    one, share, k = Fraction(1), Fraction(n - 1, n), n.bit_length() - 1
    rings = {"all_reduce": (2 * n - 2, 2 * share, share), "reduce_scatter": (n - 1, share, share)}
    rings |= {"broadcast": (n - 1, one, 0 * one), "send_recv": (1, one, 0 * one)}
    known = {"ring": rings.get(kind, (n - 1, share, 0 * one)), "in_network": (2, one, 0 * one)}
    known["double_binary_tree"] = (2 * (n - 1).bit_length(), 2 * one, one)
    if n == 1 << k:
        known["recursive_doubling"] = (k, k * one, k * one)
        known["halving_doubling"] = (2 * k, 2 * share, share)
    if algorithm not in known:
        raise NotCovered(f"the algorithm {algorithm} of {n} workers")
    steps, passes, sums = known[algorithm]
    fixed += n * Fraction(own.get("negotiation_us_per_worker", 0)) + steps * own.get("hop_us", 0)
    slope = passes / (125 * own["bandwidth_gbps"] * Fraction(own.get("line_rate_share", 1)))
    adding = own.get("reduction_gbps")
    return Table([(0, fixed)], slope + (sums / (125 * Fraction(adding)) if adding else 0))
