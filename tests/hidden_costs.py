"""Training steps whose true costs are hidden, and what a calibration would make of them.

Drawn is what is true: an algorithm, start-up and bandwidth, a jump of the library's protocol, how
much slower launches and compute are in a step than in the benchmark. Measured are noisy launches of
a benchmark, at some sizes, some times each, and noisy compute. Believed is what the house's own
calibration fits to these.
"""

from dataclasses import dataclass, replace

import numpy as np

from solver.calibration import calibrate
from solver.chain import chain_of
from solver.costs import Cluster, Cost, Network, alike, cost_of, scale
from solver.graph import COMPUTE, Graph, with_barrier
from solver.models.layers import Layer, iteration

ALGORITHMS = ("ring", "halving_doubling", "double_binary_tree", "recursive_doubling")


@dataclass(frozen=True)
class HiddenCase:
    """A step as it is believed to be and as it is.

    Attributes
    ----------
    believed, true
        Its graph: the compute as it was measured, and as it is.
    believed_network, true_network
        The costs as they were fitted, and as they are.
    error
        How far the fit is from what was measured: the larger of the median error of sizes that it
        was not fitted to, else of all, and of the spread of repeated launches.
    recorded
        What a recorded step takes as a share of what it truly takes; None where none was.
    """

    believed: Graph
    true: Graph
    believed_network: Network
    true_network: Network
    error: float
    recorded: float | None

    def trust_below(self, true_us: float, simulated_us: float, time_us: float) -> float:
        """Return the gain below which nothing follows, as evidence has it.

        Parameters
        ----------
        true_us, simulated_us
            What was recorded, as it is and as it is believed to be [us].
        time_us
            What the plan is compared with, as it is believed to be [us].
        """
        communication = max(0.0, 1 - chain_of(self.believed).compute_time / time_us)
        off = self.error * communication
        if self.recorded is None:
            return off
        return max(off, abs(simulated_us / (true_us * self.recorded) - 1))


def hidden_case(seed: int) -> HiddenCase:
    """Draw a step, what its launches cost, and what was measured of them."""
    random = np.random.default_rng(seed)
    benchmark = _drawn_cost(random)
    samples, spread = _measured(random, benchmark)
    fit = calibrate(samples)
    graph = _drawn_graph(random, benchmark)
    # in a step, beside compute, launches and compute are not quite what they are alone
    launches, startup, compute = np.exp(random.normal(0.0, (0.08, 0.2, 0.03))).tolist()
    noise = float(random.choice((0.005, 0.02, 0.05)))
    held_out = fit.validated.median if fit.validated else 0.0
    return HiddenCase(
        believed=_with_compute(graph, 1.0, random, noise),
        true=_with_compute(graph, compute, random, 0.0),
        believed_network=alike(fit.cost),
        true_network=alike(scale(benchmark, 1 / launches, launches * startup)),
        error=max(fit.errors.median, held_out, spread),
        recorded=None if random.random() < 0.5 else float(np.exp(random.normal(0.0, 0.02))),
    )


def _drawn_cost(random: np.random.Generator) -> Cost:
    """Draw an algorithm, and in half of the cases a protocol for small sizes."""
    cluster = Cluster(
        workers=int(random.choice((4, 8, 16, 64))),
        bandwidth_gbps=float(10 ** random.uniform(0.5, 2.3)),
        startup_us=float(10 ** random.uniform(0.7, 2.8)),
        hop_us=float(random.choice((0.0, 2.0, 10.0))),
        algorithm=str(random.choice(ALGORITHMS)),
    )
    cost = cost_of(cluster)
    if random.random() < 0.5:
        return cost
    jump = int(10 ** random.uniform(4.5, 6.5))
    slower = float(random.uniform(1.05, 1.6))
    sizes = sorted({*np.geomspace(1, 1e10, 60).astype(int).tolist(), jump, jump + 1})
    points, last = [], 0.0
    for size in sizes:
        last = max(last, cost.time(size) * (slower if size > jump else 1.0))
        points.append((size, last))
    return cost_of(Cluster(2, algorithm="table", table=tuple(points)))


def _drawn_graph(random: np.random.Generator, cost: Cost) -> Graph:
    """Draw layers, with compute in proportion to what all gradients take in one launch."""
    count = int(random.integers(4, 40))
    least, most = random.uniform(3, 6), random.uniform(6, 7.7)
    sizes = (10 ** random.uniform(least, most, count)).astype(int)
    times = 10 ** random.uniform(0.0, random.uniform(0.2, 1.5), count)
    times *= cost.time(int(sizes.sum())) * 10 ** random.uniform(-1.0, 1.0) / times.sum() / 3
    layers = []
    for k, (size, time) in enumerate(zip(sizes.tolist(), times.tolist(), strict=True)):
        biases = [(f"b{k}", 4 * max(1, int(size**0.5)))] if random.random() < 0.5 else []
        layers.append(Layer(f"l{k}", time, 2 * time, ((f"w{k}", 4 * size), *biases)))
    graph = iteration("drawn", layers)
    return with_barrier(graph) if random.random() < 0.5 else graph


def _measured(random: np.random.Generator, cost: Cost) -> tuple[list[tuple[int, float]], float]:
    """Draw the samples of a benchmark, and how far those of one size are apart."""
    least, most = random.choice((256, 4096, 65536)), 10 ** random.uniform(6.5, 8.6)
    sizes = np.geomspace(least, most, random.integers(4, 24)).astype(int).tolist()
    noise, repeats = random.choice((0.01, 0.03, 0.1, 0.3)), int(random.choice((1, 3, 10, 30)))
    drawn = np.exp(random.normal(0.0, noise, (len(sizes), repeats)))
    times = drawn * np.array([cost.time(size) for size in sizes])[:, None]
    low, middle, high = np.quantile(times, (0.1, 0.5, 0.9), axis=1)
    samples = [
        (size, time) for size, row in zip(sizes, times, strict=True) for time in row.tolist()
    ]
    return samples, float(np.median((high - low) / middle))


def _with_compute(graph: Graph, factor: float, random: np.random.Generator, noise: float) -> Graph:
    ops = tuple(
        op._replace(duration_us=op.duration_us * factor * float(np.exp(random.normal(0, noise))))
        if op.kind == COMPUTE and op.duration_us is not None
        else op
        for op in graph.ops
    )
    return replace(graph, ops=ops, durations=tuple(op.duration_us or 0.0 for op in ops))
