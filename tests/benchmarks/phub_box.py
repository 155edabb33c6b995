"""PHub's box as a machine, beside the paper's figures: ``python -m tests.benchmarks.phub_box``.

PROTOCOL.md says what is compared. Each function gives the data of a figure or a table.
"""

from dataclasses import replace

from solver.models import resnet50, vgg19
from solver.models.vision import vgg
from solver.placements.bandwidth import bandwidth
from solver.placements.chunk_sizes import ChunkCurve, chunk_curve, chunk_point
from solver.placements.chunks import CHUNK_BYTES, Key
from solver.placements.exchange_graph import Hosts
from solver.placements.job_steps import SharedServer, TrainingJob
from solver.placements.jobs import share
from solver.placements.machine import ServerMachine
from solver.placements.plan import keys_of
from solver.placements.prices import Comparison, Ports, Prices, compare_prices, workers_beside
from solver.placements.published import PHUB
from solver.placements.resources import busy_us
from solver.placements.systems import Rack, SystemTime, compare_systems

#: Section 4.1: workers, the box's cards, and its 28 cores as whole ones a card; Section 3.3: what
#: a card of 56 Gbit/s carries, 136 GB/s over twenty directions; Section 4.3.2: the slow network.
WORKERS, INTERFACES, CORES, FAST_GBPS, SLOW_GBPS = 8, 10, 2, 54.4, 10.0
#: Assumed: what a core sums from caches [10^9 bytes a second]; the paper says that it is hidden.
CORE_GBYTES_PER_S = 8.0
#: Transfers of a simulation, and of one of jobs.
MOST, MOST_OF_JOBS = 6_000, 20_000
#: MXNet's AlexNet, 194 MiB: five convolutions without groups, three fully connected layers.
ALEXNET = (34_944, 614_656, 885_120, 1_327_488, 884_992, 26_218_496, 16_781_312, 4_097_000)
#: Table 3: bytes of ResNet 18.
RESNET_18 = (Key("model", 45_000_000),)
#: Samples/s of a worker: what its Table 5 makes of the baseline's price, and of the 2:1 rack's.
BASELINE_SAMPLES, HUB_SAMPLES = 557.0, 500.0


def models() -> dict[str, tuple[tuple[Key, ...], float]]:
    """Keys in the order of the backward pass, and compute of a step by Table 3 [us]."""
    alexnet = [Key(f"layer{i}", 4 * count) for i, count in enumerate(ALEXNET, 1)]
    vgg11 = [Key(name, 4 * count) for step in vgg(11) for name, count in step.parameters]
    return {
        "AlexNet": (tuple(reversed(alexnet)), 16e3),
        "VGG 11": (tuple(reversed(vgg11)), 121e3),
        "VGG 19": (keys_of(vgg19()), 268e3),
        "ResNet 50": (keys_of(resnet50()), 161e3),
    }


def box(workers: int = WORKERS, machine: ServerMachine = PHUB) -> Hosts:
    """The box and so many workers."""
    return Hosts("ncc", workers, 1, INTERFACES, CORES, CORE_GBYTES_PER_S, machine)


def rack(gbps: float, workers: int = WORKERS) -> Rack:
    """Workers on cards of a bandwidth, and what their servers would be made of."""
    return Rack(workers, gbps, None, INTERFACES, CORES, CORE_GBYTES_PER_S, PHUB)


def chunk_sizes(startup_us: float = PHUB.startup_us) -> ChunkCurve:
    """Figure 16, left: exchanges by size of chunk, compute of no time."""
    hosts = box(machine=replace(PHUB, startup_us=startup_us))
    return chunk_curve(RESNET_18, hosts, FAST_GBPS, [2**k for k in range(12, 23)], MOST)


def queue_pairs() -> dict[int, float]:
    """Figure 16, right: exchanges a second by queue pairs of a worker with each card."""
    found = {}
    for count in (1, 2, 4, 8, 16, 32):
        hosts = box(machine=replace(PHUB, queue_pairs=count))
        found[count] = 1e6 / _exchange_us(RESNET_18, hosts)
    return found


def ceiling() -> dict[int, float]:
    """Figure 17: bytes that workers send and receive in a second, by their number [10^9]."""
    size = sum(key.bytes for key in models()["VGG 19"][0])
    return {
        n: 2 * n * size / _exchange_us(models()["VGG 19"][0], box(n)) / 1e3
        for n in (1, 2, 4, 8, 12, 16)
    }


def caching() -> dict[str, tuple[float, float]]:
    """Table 4: bytes of memory for each byte sent or received, and exchanges a second of VGG."""
    keys = models()["VGG 19"][0]
    size = sum(key.bytes for key in keys)
    need = bandwidth("ncc", size, 1.0, WORKERS)
    found = {}
    for name, is_cached in (("cached", True), ("bypassed", False)):
        hosts = box(machine=replace(PHUB, is_cached=is_cached))
        crossing = busy_us(need, size, hosts, FAST_GBPS)["memory"] * 120e3
        rate = 1e6 / _exchange_us(keys, hosts)
        found[name] = (crossing / need.server_host_bytes, rate)
    return found


def training(gbps: float, workers: int = WORKERS) -> dict[str, tuple[SystemTime, ...]]:
    """Figures 12 (10 Gbit/s) and 13 (54.4): MXNet's servers, PShard and PBox, by model."""
    systems = ("mxnet", "pshard", "pbox")
    return {
        name: compare_systems(keys, us, rack(gbps, workers), systems, MOST)
        for name, (keys, us) in models().items()
    }


def gloo(gbps: float, workers: int = WORKERS) -> tuple[SystemTime, ...]:
    """Figures 15 and 20: ResNet 18, compute of no time; PBox, PShard and Gloo's algorithms."""
    systems = ("pbox", "pshard", "gloo_ring", "gloo_ring_chunked", "gloo_halving_doubling")
    return compare_systems(RESNET_18, 0.0, rack(gbps, workers), systems, MOST)


def tenants(workers: int = 1) -> dict[str, dict[int, float]]:
    """Figure 18: throughput of a job beside others over that alone, 10 Gbit/s at all cards."""
    server = SharedServer(
        SLOW_GBPS, SLOW_GBPS, INTERFACES, CORES, CORE_GBYTES_PER_S, CHUNK_BYTES, PHUB
    )
    found: dict[str, dict[int, float]] = {}
    for name in ("AlexNet", "ResNet 50"):
        keys, us = models()[name]
        whole = (Key("model", sum(key.bytes for key in keys)),)
        for count in (1, 2, 4, 8):
            jobs = [TrainingJob(f"{name} {i}", whole, us, workers) for i in range(count)]
            sharing = share(jobs, server, MOST_OF_JOBS)
            assert sharing is not None
            slowest = max(job.slowdown for job in sharing.jobs)
            found.setdefault(name, {})[count] = 1 / slowest
    return found


def money() -> dict[str, Comparison]:
    """Table 5, future GPUs: racks with a PHub beside servers on workers."""
    found = {}
    for ratio in (1.0, 2.0, 3.0):
        prices = Prices(
            worker_dollars=4_117,
            gpu_dollars=699,
            gpus_per_worker=4,
            baseline=Ports(795, 21_077, 32, 94),
            hub=Ports(260, 21_077, 128, 31.25, ratio),
            hub_dollars=8_407,
            hub_nic_port_dollars=162.5,
            hub_ports=20,
            workers_per_hub=workers_beside(128, 20, ratio),
            baseline_samples_per_s=BASELINE_SAMPLES,
            hub_samples_per_s=HUB_SAMPLES,
        )
        found[f"{ratio:g}:1"] = compare_prices(prices)
    return found


def _exchange_us(keys: tuple[Key, ...], hosts: Hosts) -> float:
    time = chunk_point(keys, hosts, FAST_GBPS, CHUNK_BYTES, MOST).exchange_us
    assert time is not None
    return time


def main() -> None:
    for startup in (0.5, 1.0, 2.0):
        curve = chunk_sizes(startup)
        print(f"start-up of {startup:g} us: best chunk {curve.best_chunk_bytes:,} B (paper: 32 KB)")
    for point in chunk_sizes().points:
        print(f"  {point.chunk_bytes:>9,} B  {1e6 / (point.exchange_us or 1):6.1f} exchanges/s")
    print("queue pairs:", {n: round(rate, 1) for n, rate in queue_pairs().items()})
    print("GB/s by workers (paper: at most 90):", {n: round(r, 1) for n, r in ceiling().items()})
    for name, (crossing, rate) in caching().items():
        print(f"{name}: memory {crossing:.2f} times what is sent; {rate:.2f} exchanges/s")
    for gbps in (SLOW_GBPS, FAST_GBPS):
        for name, systems in training(gbps).items():
            said = ", ".join(f"{s.system} {s.speedup or 0:.2f}" for s in systems)
            print(f"{gbps:g} Gbit/s, {name}: {said}")
    seven = training(SLOW_GBPS, WORKERS - 1)
    for name, systems in training(SLOW_GBPS).items():
        step, few = systems[0].step_us or 0, seven[name][2].step_us or 1
        print(f"7 workers with PBox over 8 with MXNet, {name}: {7 / 8 * step / few:.2f}")
    for gbps in (SLOW_GBPS, FAST_GBPS):
        said = ", ".join(f"{s.system} {1 / (s.speedup or 1):.2f}" for s in gloo(gbps))
        print(f"{gbps:g} Gbit/s, times as long as PBox: {said}")
    print("jobs of a worker, throughput kept:", tenants())
    for name, compared in money().items():
        value = compared.hub.samples_per_s_per_1000_dollars
        print(f"{name}: {value:.2f} samples/s for 1000 dollars, {compared.gain:+.1%}")


if __name__ == "__main__":
    main()
