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
        sizes = self.sizes(total)
        times = [self.time(s) for s in sizes]
        pairs = {(x, y) for x in sizes for z in sizes for y in (z, z - x) if 0 < y <= total - x}
        if times == sorted(times) and all(
            self.time(x) + self.time(y) >= self.time(x + y) for x, y in pairs
        ):
            return self.time(carried)
        return max(min(times), carried * min(t / s for s, t in zip(sizes, times, strict=True)))


def table_of(cluster: dict[str, Any], channel: str, kind: str) -> Table:
    """Return the cost of a kind of collective on a channel of a request's cluster."""
    own = cluster if channel == "network" else cluster["channels"][channel]
    n = own.get("workers") or cluster.get("workers", 1)
    if model := own.get("cost_model"):
        here = {"workers": n, "bandwidth_gbps": own.get("bandwidth_gbps")}
        measured = model["algorithm"] in ("table", "linear")
        if measured and any(model.get(k) and v and model[k] != v for k, v in here.items()):
            raise NotCovered("a cost that was measured elsewhere")
        startup = model.get("startup_us", 0) + own.get("startup_us", 0)
        own = {**model, "startup_us": startup, "bandwidth_gbps": here["bandwidth_gbps"]}
        own["bandwidth_gbps"] = own["bandwidth_gbps"] or model.get("bandwidth_gbps")
    algorithm, fixed = own.get("algorithm", "ring"), Fraction(own.get("startup_us", 0))
    if n == 1:
        return Table([(0, Fraction(0))], Fraction(0))
    if algorithm == "linear":
        return Table([(0, fixed + own.get("constant_us", 0))], Fraction(own["us_per_byte"]))
    if algorithm == "table":
        by_size: dict[int, list[Fraction]] = {}
        for size, time in own["table"] if kind == "all_reduce" else own["tables"][kind]:
            by_size.setdefault(int(size), []).append(Fraction(time))
        points = sorted((size, fixed + sum(t) / len(t)) for size, t in by_size.items())
        last, top = points[-1]
        half, low = min(points[:-1], key=lambda point: (abs(2 * point[0] - last), point[0]))
        return Table(points, max(Fraction(0), (top - low) / (last - half)))
    steps, passes, sums = _effort(algorithm, kind, n, own.get("placement", "cs"))
    fixed += n * Fraction(own.get("negotiation_us_per_worker", 0)) + steps * own.get("hop_us", 0)
    slope = passes / (125 * own["bandwidth_gbps"] * Fraction(own.get("line_rate_share", 1)))
    if adding := own.get("reduction_gbps"):
        slope += sums / (125 * Fraction(adding))
    return Table([(0, fixed)], slope)


def _effort(algorithm: str, kind: str, n: int, placement: str) -> tuple[int, Fraction, Fraction]:
    """Steps, how often all bytes pass a link, and how often they are added."""
    one, share, k = Fraction(1), Fraction(n - 1, n), n.bit_length() - 1
    part, odd = Fraction((1 << k) - 1, 1 << k), n != 1 << k
    servers = {"ncc": 2 * n * one, "cc": 2 * (n - 1) * one, "ncs": 2 * one, "cs": 2 * share}
    rings = {"all_reduce": (2 * (n - 1), 2 * share, share), "reduce_scatter": (n - 1, share, share)}
    rings |= {"broadcast": (n - 1, one, 0 * one), "send_recv": (1, one, 0 * one)}
    known = {
        "ring": rings.get(kind, (n - 1, share, 0 * one)),
        "recursive_doubling": (k + 2 * odd, (k + 2 * odd) * one, (k + odd) * one),
        "halving_doubling": (2 * k + 3 * odd, (2 + 2 * odd) * part + 2 * odd * (1 - part), part),
        "double_binary_tree": (2 * (n - 1).bit_length(), 2 * one, one),
        "in_network": (2, one, 0 * one),
        "parameter_server": (2, servers.get(placement, one), 0 * one),
    }
    if algorithm not in known or (algorithm == "halving_doubling" and odd):
        raise NotCovered(f"the algorithm {algorithm} of {n} workers")
    return known[algorithm]
