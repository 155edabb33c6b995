"""Clusters in words: how many workers, on what network, at what cost."""

from collections.abc import Iterator

from app.cli.rendering.figures import counted
from app.schemas.clusters import ChannelBody, ClusterBody
from solver.graph import NETWORK


def place(name: str, cluster: ClusterBody, used: set[str]) -> str:
    """Say what runs where; workers and rate of the network only if it is used."""
    if NETWORK not in used:
        return f"{name or 'Unnamed graph'} on {counted(len(used), 'channel')}"
    rate = f" at {cluster.bandwidth_gbps:g} Gbit/s" if cluster.bandwidth_gbps else ""
    return f"{name or 'Unnamed graph'} on {counted(cluster.workers, 'worker')}{rate}"


def cost(cluster: ChannelBody) -> str:
    """Say what a launch costs."""
    model = cluster.cost_model
    if model is None:
        return f"{cluster.algorithm}, start-up {cluster.startup_us:g} us a launch{_more(cluster)}"
    title = " ".join(filter(None, ["cost model", model.name])) + f" ({model.algorithm})"
    measured = f", measured with {counted(model.workers, 'worker')}" if model.workers else ""
    on_top = f", {cluster.startup_us:g} us on top of a launch" if cluster.startup_us else ""
    return f"{title}{measured}{on_top}"


def _more(cluster: ChannelBody) -> str:
    """Say what a formula's launches take besides, where that was stated."""
    said = ""
    if cluster.negotiation_us_per_worker:
        said += f" and {cluster.negotiation_us_per_worker:g} us a worker"
    if cluster.line_rate_share < 1:
        said += f", {cluster.line_rate_share * 100:g} % of the line rate"
    return said


def channels(cluster: ClusterBody) -> Iterator[str]:
    """Say the same of each channel that has a network of its own, and what all do to compute."""
    if cluster.compute_slowdown > 1:
        yield f"compute takes {cluster.compute_slowdown:g} times as long beside communication"
    if cluster.shares is not None:
        yield f"channel {NETWORK}: on the card {cluster.shares}"
    if cluster.path:
        yield f"channel {NETWORK}: over {', '.join(cluster.path)}"
    for link, of in cluster.links.items():
        yield f"link {link}: {of.capacity_gbps:g} Gbit/s"
    for channel, body in cluster.channels.items():
        rate = f" at {body.bandwidth_gbps:g} Gbit/s" if body.bandwidth_gbps else ""
        workers = counted(body.workers or cluster.workers, "worker")
        card = f", on the card {body.shares}" if body.shares is not None else ""
        path = f", over {', '.join(body.path)}" if body.path else ""
        yield f"channel {channel}: {workers}{rate}, {cost(body)}{card}{path}"
