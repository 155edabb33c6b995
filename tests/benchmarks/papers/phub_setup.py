"""PHub's testbed and networks: section 4.1 and Table 3."""

from typing import NamedTuple

WORKERS, SLOW_GBPS, FAST_GBPS, INTERFACES = 8, 10.0, 56.0, 10


class Trained(NamedTuple):
    """A row of Table 3: megabytes, milliseconds of a batch, images of it."""

    megabytes: int
    ms: int
    batch: int

    @property
    def bytes(self) -> int:
        return self.megabytes * 10**6

    @property
    def us(self) -> float:
        return self.ms * 1e3


TABLE_3 = {
    "AlexNet": Trained(194, 16, 32),
    "VGG 11": Trained(505, 121, 32),
    "VGG 19": Trained(548, 268, 32),
    "GoogleNet": Trained(38, 100, 32),
    "Inception": Trained(91, 225, 32),
    "ResNet 18": Trained(45, 54, 32),
    "ResNet 50": Trained(97, 161, 32),
    "ResNet 269": Trained(390, 350, 16),
    "ResNext 269": Trained(390, 386, 8),
}
