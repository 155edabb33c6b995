"""A fat tree of 800 hosts in all forms, and jobs on it: what reading, ranking and running take.

``python -m tests.benchmarks.many_hosts``. The tree is told as five numbers, as Slurm's
``topology.conf``, and as labels of Kubernetes nodes; all have to come to the same links.
"""

import time
from random import Random

import numpy as np

from solver.clusters.allocation import AllocationOptions, allocate
from solver.clusters.beside import PlacedJob, Profiles, mix_of
from solver.clusters.figures import with_figures
from solver.clusters.mapping import MappingJudge
from solver.clusters.readers import topology_of_document, topology_of_text
from solver.clusters.regular import fat_tree
from solver.clusters.topology import Topology
from solver.clusters.wiring import Wiring, wiring_of
from solver.clusters.workloads import DataParallelJob
from solver.jobs.mix import fair_terms
from solver.jobs.simulate import simulate_mix, slowdowns_of
from tests.benchmarks.allocations import graph

#: Pods, racks of a pod, hosts of a rack.
PODS, RACKS, HOSTS = 4, 10, 20
UPLINK_GBPS, OVER = 400.0, 4.0


def figured(bare: Topology) -> Topology:
    """Give a tree the figures that neither files nor labels tell."""
    over = {"leaf": OVER, "spine": OVER}
    return with_figures(bare, {"node": UPLINK_GBPS}, over, node_gbps=3600, hop_us=2.0)


def slurm_text(pods: int = PODS, racks: int = RACKS, hosts: int = HOSTS) -> str:
    """Return the tree as Slurm's ``topology.conf``."""
    lines = []
    for pod in range(pods):
        for rack in range(racks):
            first = 1 + hosts * (rack + racks * pod)
            name = f"leaf{pod + 1}-{rack + 1}"
            lines.append(f"SwitchName={name} Nodes=node[{first}-{first + hosts - 1}]")
        lines.append(f"SwitchName=spine{pod + 1} Switches=leaf{pod + 1}-[1-{racks}]")
    return "\n".join([*lines, f"SwitchName=core Switches=spine[1-{pods}]"]) + "\n"


def labelled(pods: int = PODS, racks: int = RACKS, hosts: int = HOSTS) -> dict[str, object]:
    """Return the tree as ``kubectl get nodes -o json`` has Topograph's labels of it."""
    items = []
    for at in range(pods * racks * hosts):
        pod, rack = at // (racks * hosts), at // hosts % racks
        label = "network.topology.nvidia.com/"
        labels = {
            f"{label}leaf": f"leaf{pod + 1}-{rack + 1}",
            f"{label}spine": f"spine{pod + 1}",
            f"{label}core": "core",
        }
        items.append({"kind": "Node", "metadata": {"name": f"node{at + 1}", "labels": labels}})
    return {"kind": "List", "apiVersion": "v1", "items": items}


def placed_jobs(wiring: Wiring, count: int, seed: int = 1) -> tuple[list[PlacedJob], list[int]]:
    """Put data-parallel jobs of 4 to 24 hosts on hosts; return them, and the hosts that are free.

    Most take hosts that follow one another, a third is scattered.
    """
    random = Random(seed)
    free = list(range(len(wiring.topology.nodes)))
    jobs = []
    for k in range(count):
        slots = random.choice([4, 8, 8, 16, 24])
        if random.random() < 1 / 3:
            nodes = sorted(random.sample(free, slots))
        else:
            at = random.randrange(len(free) - slots)
            nodes = free[at : at + slots]
        free = [node for node in free if node not in set(nodes)]
        job = DataParallelJob(
            graph(random.uniform(4e4, 12e4), random.choice([1, 2, 4]) * 10**9, 12), slots, 8
        )
        jobs.append(PlacedJob(f"job{k}", job, MappingJudge(wiring, job)(np.array(nodes))))
    return jobs, free


def main() -> None:
    """Measure."""
    begun = time.process_time()
    numbers = figured(fat_tree(PODS, RACKS, HOSTS, UPLINK_GBPS, OVER))
    marks = [time.process_time()]
    text = figured(topology_of_text(slurm_text(), 8))
    marks.append(time.process_time())
    labels = figured(topology_of_document(labelled(), 8))
    marks.append(time.process_time())
    forms = (numbers, text, labels)
    capacities = [[(link.level, link.capacity_gbps) for link in each.links] for each in forms]
    assert sorted(capacities[0]) == sorted(capacities[1]) == sorted(capacities[2])
    print(
        f"{len(numbers.nodes)} hosts, {len(numbers.links)} links: numbers "
        f"{marks[0] - begun:.2f}, topology.conf {marks[1] - marks[0]:.2f}, labels "
        f"{marks[2] - marks[1]:.2f} s of CPU"
    )
    wiring = wiring_of(text)
    jobs, free = placed_jobs(wiring, 50)
    mix = mix_of(wiring, Profiles(text), tuple(jobs))
    hosts = sum(job.job.slots for job in jobs)
    for account, is_blamed in (("with the account of who slows whom", True), ("without", False)):
        begun = time.process_time()
        run = simulate_mix(mix, fair_terms(mix), 20, is_blamed=is_blamed)
        slow = slowdowns_of(mix, run)
        print(
            f"50 jobs on {hosts} hosts, 20 iterations, {account}: "
            f"{time.process_time() - begun:.1f} s of CPU, {run.events:,} events, {len(mix.links)} "
            f"links shared, mean slow-down {sum(slow) / len(slow):.3f}, worst {max(slow):.3f}",
            flush=True,
        )
    new = DataParallelJob(graph(8e4, 3 * 10**9, 12), 16, 8)
    for count in (0, 3, 25):
        begun = time.process_time()
        found = allocate(wiring, new, np.array(free), (), jobs, AllocationOptions(simulated=count))
        print(
            f"a job of 16 hosts beside them, {len(found.ranked)} sets found and {count} of them "
            f"simulated: {time.process_time() - begun:.1f} s of CPU",
            flush=True,
        )


if __name__ == "__main__":
    main()
