"""The files that hand units and their prefetch lists to FSDP2."""

import json
from collections.abc import Sequence

from solver.exports.frameworks.names import program


def unit_files(
    units: Sequence[Sequence[str]],
    reshards: Sequence[bool],
    forward: Sequence[Sequence[int]],
    backward: Sequence[Sequence[int]],
) -> dict[str, str]:
    """Write a script and the same as JSON.

    Parameters
    ----------
    units
        Names of the modules of each unit.
    reshards
        Whether a unit is freed after its forward pass.
    forward, backward
        The units that each asks for ahead of its own compute, by place.
    """
    found = [list(names) for names in units]
    ahead, behind = [list(some) for some in forward], [list(some) for some in backward]
    script = program(
        "fsdp_units.py",
        UNITS=found,
        RESHARD=list(reshards),
        FORWARD_PREFETCH=ahead,
        BACKWARD_PREFETCH=behind,
    )
    content = {
        "units": [
            {
                "modules": modules,
                "reshard_after_forward": reshard,
                "forward_prefetch": first,
                "backward_prefetch": second,
            }
            for modules, reshard, first, second in zip(found, reshards, ahead, behind, strict=True)
        ]
    }
    return {"fsdp_units.py": script, "units.json": json.dumps(content, indent=2) + "\n"}
