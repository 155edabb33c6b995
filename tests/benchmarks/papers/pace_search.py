"""PACE, section V-A: the number of groups R by trying all, and by a stochastic search."""

from solver.buckets import ChannelBuckets, Launch
from solver.chain import chain_of
from solver.costs import Cluster, cost_of
from solver.fusion.chain.maxmin import max_min
from solver.fusion.chain.maxmin_momentum import max_min_momentum
from solver.schedule.execute import cut_at_releases
from tests.benchmarks.papers.pace_cells import START_UP_US, graph, models
from tests.benchmarks.papers.tables import Row, Table

WORKERS, GBPS = 12, 10.0


def counts() -> Table:
    """Compare both on the four models: how much longer, and how many cuts were scheduled."""
    cost = cost_of(Cluster(WORKERS, GBPS, START_UP_US))
    rows = []
    for name in models():
        chain = chain_of(graph(name))
        values: list[float] = []

        def order(
            buckets: ChannelBuckets, values: list[float] = values, least: float = chain.compute_time
        ) -> tuple[list[Launch], float]:
            launches, value = cut_at_releases(buckets, cost=cost)
            values.append(max(value, least))
            return launches, value

        found = []
        for search in (max_min, max_min_momentum):
            values.clear()
            search(chain, cost, order)
            found.append((min(values), len(values)))
        (least, by_all), (value, by_some) = found
        rows.append(
            Row(
                f"{name}: {len(chain)} tensors",
                "",
                f"{100 * (value / least - 1):.2f} % longer, {by_some} cuts for {by_all}",
                None,
                "The paper names the search and gives no figures of it.",
            )
        )
    return Table(
        "PACE, section V-A: the number of groups",
        rows,
        [
            f"`maxmin` tries every R but those that cannot win, `maxmin_momentum` some; {WORKERS} "
            f"workers, {GBPS:g} Gbit/s. Up to 6 log2 n tensors both try all."
        ],
        place="Section V-A",
        decides="The walks: the paper says Momentum-SGD and no more.",
    )
