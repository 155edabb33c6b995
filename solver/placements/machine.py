"""What hosts of parameter servers are made of: what transfers pay, cross and wait for."""

from collections.abc import Iterator
from dataclasses import dataclass

from solver.codes import FaultCode
from solver.errors import Fault
from solver.limits import MAX_STARTUP_US, MAX_WORKERS
from solver.placements.ranges import real, whole

#: How cores sum: each its own chunks, or all of a server one chunk after the other.
TALL, WIDE = "tall", "wide"
AGGREGATIONS = (TALL, WIDE)

#: What a transfer may cross inside a host with a server, from its interface inwards.
LINKS = ("pcie", "memory")

#: Times that a byte crosses memory: of a gradient that is summed (two reads, a write), and of a
#: model that is updated with momentum (sum, model and momentum are read, the last two written).
SUM_PASSES, UPDATE_PASSES = 3, 5
#: The same where sums and model stay in caches: momentum is read and written.
CACHED_SUM_PASSES, CACHED_UPDATE_PASSES = 0, 2


@dataclass(frozen=True, slots=True)
class ServerMachine:
    """What a transfer pays besides its bytes, and what all transfers of a server cross.

    By default nothing: transfers take time on network interfaces alone, by their bytes.

    Attributes
    ----------
    startup_us
        That the sending interface spends on each transfer, whatever its bytes [us].
    queue_pairs
        Of each worker with each interface of a server.
    queue_pair_cache
        Queue pairs whose state an interface holds; None for any number.
    queue_pair_us
        To fetch the state of one that it does not hold [us].
    server_gbps
        Bandwidth of each interface of a host with a server, each direction [Gbit/s]; None for that
        of the others.
    pcie_gbytes_per_s, memory_gbytes_per_s
        What all transfers of a host with a server cross, both directions together [10^9 bytes a
        second]; None where it limits nothing.
    aggregation
        ``tall``: each core sums and updates its own chunks. ``wide``: all cores of a server sum one
        array after the other, then update the chunk.
    wide_sync_us
        For which all cores wait after each array, and after the update [us].
    is_cached
        Whether sums and the model stay in caches of the cores; else memory is crossed for each.
    update_gbytes_per_s
        Speed at which a core updates the model [10^9 bytes of it a second]; None where it is in
        that of summing, or takes no time.

    References
    ----------
    .. [1] PHub, Sections 3.2.1, 3.2.2, 3.3, 4.5 to 4.7.
    """

    startup_us: float = 0.0
    queue_pairs: int = 1
    queue_pair_cache: int | None = None
    queue_pair_us: float = 0.0
    server_gbps: float | None = None
    pcie_gbytes_per_s: float | None = None
    memory_gbytes_per_s: float | None = None
    aggregation: str = TALL
    wide_sync_us: float = 0.0
    is_cached: bool = True
    update_gbytes_per_s: float | None = None

    def fetch_us(self, peers: int) -> float:
        """Bring queue pairs of so many peers to an interface, on average of a transfer [us].

        Transfers take turns among q queue pairs of each; a cache of C holds C / (q peers) of them
        on average, so that the others are missed.
        """
        held = peers * self.queue_pairs
        if self.queue_pair_cache is None or held <= self.queue_pair_cache:
            return 0.0
        return self.queue_pair_us * (1 - self.queue_pair_cache / held)

    def memory_passes(self) -> tuple[int, int]:
        """Count how often each byte that is summed, and each that is updated, crosses memory."""
        if self.is_cached:
            return CACHED_SUM_PASSES, CACHED_UPDATE_PASSES
        return SUM_PASSES, UPDATE_PASSES

    @property
    def links(self) -> tuple[str, ...]:
        """Which of :data:`LINKS` take time."""
        return tuple(link for link in LINKS if self._rate(link) is not None)

    def link_per_byte_us(self, link: str) -> float:
        """Time of one of :data:`LINKS` for each byte [us]."""
        rate = self._rate(link)
        return 0.0 if rate is None else 1e-3 / rate

    def _rate(self, link: str) -> float | None:
        return self.pcie_gbytes_per_s if link == "pcie" else self.memory_gbytes_per_s


#: Hosts whose transfers take time on network interfaces alone.
PLAIN = ServerMachine()


def machine_faults(machine: ServerMachine) -> Iterator[Fault]:
    """Find every value that is out of range, from ``/machine`` on."""
    for name in ("startup_us", "queue_pair_us", "wide_sync_us"):
        yield from real(f"/machine/{name}", name, getattr(machine, name), MAX_STARTUP_US, zero=True)
    for name in ("queue_pairs", "queue_pair_cache"):
        count = getattr(machine, name)
        if count is not None:
            yield from whole(f"/machine/{name}", name, count, MAX_WORKERS)
    for name in (
        "server_gbps",
        "pcie_gbytes_per_s",
        "memory_gbytes_per_s",
        "update_gbytes_per_s",
    ):
        rate = getattr(machine, name)
        if rate is not None:
            yield from real(f"/machine/{name}", name, rate)
    if machine.aggregation not in AGGREGATIONS:
        detail = f"aggregation must be {TALL} or {WIDE}, got {machine.aggregation!r}."
        yield Fault("/machine/aggregation", FaultCode.OUT_OF_RANGE, detail)
