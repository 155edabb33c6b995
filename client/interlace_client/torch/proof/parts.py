"""Which parts there are, and on how many ranks of what they run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace_client.torch.proof.machine import ProofMachine

_HERE = "interlace_client.torch.proof"


@dataclass(frozen=True)
class ProofPart:
    """Some checks and where they run.

    Attributes
    ----------
    name
        As ``--parts`` has it.
    title
        What it shows.
    checks
        The module whose ``CHECKS`` they are: functions of a site by name.
    ranks
        How many processes.
    backend
        Of their process group.
    devices
        Of each rank.
    patience_s
        How long a check may take before it counts as hung [s].
    """

    name: str
    title: str
    checks: str
    ranks: int
    backend: str
    devices: tuple[str, ...]
    patience_s: float

    @property
    def where(self) -> str:
        """Ranks, backend and devices in words."""
        used = sorted(set(self.devices))
        ranks = f"{self.ranks} rank{'s' if self.ranks > 1 else ''}"
        return f"{ranks} over {self.backend} on {', '.join(used)}"


#: What each part shows, in the order in which they run.
TITLES = {
    "alone": "One rank: models, streams, graph capture, memory",
    "loops": "Ranks that share a device: the table of loops",
    "paced": "Predicted and measured steps, over launches of a known time",
    "overhead": "What a step costs the host, beside DistributedDataParallel",
    "several": "A rank a device: calibration, plan and trial",
}


def parts_on(
    machine: ProofMachine, device: str, names: Sequence[str], *, is_short: bool
) -> list[ProofPart]:
    """List the parts of a proof, in their order.

    Part ``several`` is left out where there is one GPU only: see :func:`left_out`. On a CPU it has
    two ranks over gloo.

    Parameters
    ----------
    machine
        Where.
    device
        ``cuda`` or ``cpu``.
    names
        Which parts.
    is_short
        Whether two ranks will do for the loops.
    """
    is_cuda = device == "cuda"
    own = "nccl" if is_cuda else "gloo"
    first = "cuda:0" if is_cuda else "cpu"
    ranks = {
        "loops": [2] if is_short else [2, 4],
        "several": [len(machine.gpus)] if is_cuda else [2],
    }
    found = []
    for name, title in TITLES.items():
        for count in ranks.get(name, [1]) if name in names else []:
            if left_out(machine, device, name) is not None:
                continue
            devices = [first] * count
            if name == "several" and is_cuda:
                devices = [f"cuda:{k}" for k in range(count)]
            found.append(
                ProofPart(
                    name,
                    title,
                    f"{_HERE}.{name}",
                    count,
                    "gloo" if name == "loops" else own,
                    tuple(devices),
                    240.0 if name in {"several", "paced"} else 120.0,
                )
            )
    return found


def left_out(machine: ProofMachine, device: str, name: str) -> str | None:
    """Say why a part cannot run at all; None where it can."""
    if name == "several" and device == "cuda" and len(machine.gpus) < 2:  # noqa: PLR2004
        return "It needs two GPUs or more; this machine has one."
    return None
