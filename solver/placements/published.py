"""Machines whose figures were published, by name."""

from solver.placements.machine import ServerMachine

#: The box of PHub, SoCC 2018, and its 56 Gbit/s InfiniBand cards. Printed: memory of 120 GB/s for
#: as many reads as writes (Table 4), 90 GB/s between PCIe and memory (Section 4.7), one queue pair
#: of each worker with each interface (4.6). Not printed, and assumed: a start-up of a round trip
#: over PCIe, 1 us (with 0.5 to 2 us the best chunk is 16 to 64 KiB), which a queue pair that is
#: not held costs as well, of 64 that are held; 10 us for all cores to meet, with which an
#: exchange of ResNet 50 with wide sums takes 16 times as long as with tall ones (20 times in 4.5).
PHUB = ServerMachine(
    startup_us=1.0,
    queue_pair_cache=64,
    queue_pair_us=1.0,
    pcie_gbytes_per_s=90.0,
    memory_gbytes_per_s=120.0,
    wide_sync_us=10.0,
)

#: All of them.
MACHINES = {"phub": PHUB}
