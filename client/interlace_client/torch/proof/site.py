"""Where a check runs: which rank, on what device, with what numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Site:
    """One rank of a part of the proof.

    Attributes
    ----------
    rank, ranks
        This one, and how many there are.
    device
        Where models lie, ``cuda:0`` or ``cpu``.
    folder
        For files of this rank.
    is_short
        Whether few steps will do, as in a test of the kit itself.
    planner
        URL of a service that plans; None is the command ``interlace``.
    """

    rank: int
    ranks: int
    device: torch.device
    folder: Path
    is_short: bool = False
    planner: str | None = None

    @property
    def is_cuda(self) -> bool:
        """Whether models lie on a GPU."""
        return self.device.type == "cuda"

    def sync(self) -> None:
        """Wait for all that the device has been given."""
        if self.is_cuda:
            torch.cuda.synchronize(self.device)


@dataclass(frozen=True)
class DrawnBatch:
    """The batch of a step on a rank: the same numbers on every device.

    Attributes
    ----------
    step, rank
        From which the numbers come.
    device
        Where they lie.
    """

    step: int
    rank: int
    device: torch.device = torch.device("cpu")  # noqa: RUF009 - immutable

    def normal(self, *shape: int) -> torch.Tensor:
        """Draw from the normal distribution."""
        seed = torch.Generator().manual_seed(100 * self.step + self.rank)
        return torch.randn(*shape, generator=seed).to(self.device)

    def words(self, *shape: int, of: int = 11) -> torch.Tensor:
        """Draw whole numbers below ``of``."""
        seed = torch.Generator().manual_seed(9 * self.step + self.rank)
        return torch.randint(0, of, shape, generator=seed).to(self.device)
