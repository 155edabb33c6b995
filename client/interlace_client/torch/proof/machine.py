"""What the machine has, as the page says it."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass

import torch
import torch.distributed as dist


@dataclass(frozen=True)
class ProofMachine:
    """What a proof ran on.

    Attributes
    ----------
    system, python, torch
        Their releases.
    cores
        Of the host; None where not known.
    cuda, nccl
        Their releases; None where there is none.
    gpus
        Their names.
    """

    system: str
    python: str
    torch: str
    cores: int | None
    cuda: str | None
    nccl: str | None
    gpus: tuple[str, ...]


def this_machine() -> ProofMachine:
    """Look at this machine; no GPU is taken."""
    has_gpus = torch.cuda.is_available()
    nccl = None
    if has_gpus and dist.is_nccl_available():
        nccl = ".".join(map(str, torch.cuda.nccl.version()))
    return ProofMachine(
        f"{platform.system()} {platform.release()} {platform.machine()}",
        platform.python_version(),
        str(torch.__version__),
        os.cpu_count(),
        torch.version.cuda,
        nccl,
        tuple(torch.cuda.get_device_name(k) for k in range(torch.cuda.device_count()))
        if has_gpus
        else (),
    )
