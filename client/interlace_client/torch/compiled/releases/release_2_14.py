"""PyTorch 2.14: as 2.13, but inductor moves collectives and waits unless told not to.

Its ``simple_overlap`` swaps neighbours in the scheduler after all passes over graphs, where no
memory is lost. It is on by default there, and did not exist before.
"""

from __future__ import annotations

from typing import Any

from interlace_client.torch.compiled.releases import release_2_13

#: As in 2.13, and what is new.
SETTINGS: dict[str, Any] = {
    **release_2_13.SETTINGS,
    "aten_distributed_optimizations.enable_simple_overlap": False,
}

#: Both functions of 2.13 that it calls are the same here.
pin = release_2_13.pin
