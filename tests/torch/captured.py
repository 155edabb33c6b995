"""What is done with a recording: its graph is posted, and planned."""

from app.schemas.graphs import GraphBody
from interlace import Cluster, Options, Plan, build, network_of, plan


def planned(recording) -> Plan:
    """Plan the graph as it is posted."""
    body = GraphBody.model_validate(recording.graph)
    network = network_of(Cluster(workers=4, bandwidth_gbps=1, startup_us=1))
    return plan(build(body.name, body.ops_of()), network, Options())
