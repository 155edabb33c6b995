"""Regular clusters by five numbers: a fat tree, and rails."""

from solver.clusters.figures import with_figures
from solver.clusters.topology import ClusterNode, Topology, wired

#: GPUs of a node where nothing else is said.
_GPUS = 8


def fat_tree(
    pods: int,
    racks: int,
    nodes: int,
    node_uplink_gbps: float,
    oversubscription: float = 1.0,
    gpus: int = _GPUS,
) -> Topology:
    """Return a fat tree: pods of racks of nodes, racks under a leaf, pods under a spine.

    Parameters
    ----------
    pods, racks, nodes
        Pods of the cluster, racks of a pod, nodes of a rack.
    node_uplink_gbps
        Capacity of all cards of a node together, one way [Gbit/s].
    oversubscription
        What comes into a leaf or spine from below over what goes up; 1 for a full bisection.
    gpus
        GPUs of a node.

    Raises
    ------
    InvalidTopology
        When a number is not positive.

    Examples
    --------
    >>> tree = fat_tree(pods=1, racks=4, nodes=16, node_uplink_gbps=3200, oversubscription=2)
    >>> len(tree.nodes), tree.link_by_name["leaf1-1>spine1"].capacity_gbps
    (64, 25600.0)
    """
    core = ("core",) if pods > 1 else ()
    own = [
        ClusterNode(
            f"node{1 + n + nodes * (r + racks * p)}",
            gpus,
            (f"leaf{p + 1}-{r + 1}", f"spine{p + 1}", *core),
        )
        for p in range(pods)
        for r in range(racks)
        for n in range(nodes)
    ]
    levels = ("node", "leaf", "spine", *core)
    return with_figures(
        wired(own, levels),
        {"node": node_uplink_gbps},
        {"leaf": oversubscription, "spine": oversubscription},
    )


def rails(
    pods: int,
    nodes: int,
    cards: int,
    card_gbps: float,
    oversubscription: float = 1.0,
) -> Topology:
    """Return a rail-optimised cluster: card k of every node of a pod on the pod's rail k.

    The rails of a pod are one switch with the capacity of all, as a collective of whole nodes uses
    them: each GPU's ring stays on its rail, what is for another goes over NVLink first. So a rail
    that is busier than others is not seen.

    Parameters
    ----------
    pods, nodes, cards
        Pods of the cluster, nodes of a pod, cards of a node: as many GPUs.
    card_gbps
        Capacity of a card, one way [Gbit/s].
    oversubscription
        What comes into a pod's rails from below over what goes up to the spine.

    Raises
    ------
    InvalidTopology
        When a number is not positive.
    """
    own = [
        ClusterNode(f"node{1 + n + nodes * p}", cards, (f"rails{p + 1}", "spine"))
        for p in range(pods)
        for n in range(nodes)
    ]
    return with_figures(
        wired(own, ("node", "rails", "spine")),
        {"node": cards * card_gbps},
        {"rails": oversubscription},
    )
