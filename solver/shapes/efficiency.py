"""What a machine makes of its data sheet: efficiencies, and costs that no sheet tells.

None is a constant of the code: each has an assumed value with its spread, which measured steps
replace (:mod:`solver.shapes.fit`).
"""

from dataclasses import dataclass, fields
from typing import Final


@dataclass(frozen=True, slots=True)
class Efficiencies:
    """Efficiencies and costs of a machine and its software.

    Attributes
    ----------
    matmul
        Share of the GPU's operations that large matrix multiplications reach; over the assumed one
        it is a factor of the shares of kernels that were measured.
    memory
        Share of the memory's bandwidth that element-wise kernels reach.
    kernels_us
        Time of a layer's forward pass on the GPU that no smaller size shortens [us].
    activations
        Bytes of activations that kernels move over those counted.
    scores
        Bytes of attention's scores that kernels move over those counted, where they are written.
    head
        Time of the head and its loss over what is counted.
    host_us
        Time in which the host launches a layer's forward pass [us].
    host_group_us, host_rank_us
        What a tensor-parallel group adds to it, and each further rank of the group [us].
    host_unfused_us
        What attention without its fused softmax adds to it [us]
        (:func:`solver.shapes.layer_times.has_fused_softmax`).
    host_backward
        Time in which the host launches a layer's backward pass over that of its forward pass.
    batch_us
        Time of the host for a micro-batch besides its layers [us].
    launch_us
        What a collective of a layer takes beside its level's cost [us].
    links
        Time of a layer's collectives over their level's cost, within the innermost level.
    uplinks
        Time of collectives over their level's cost on every other level.
    reductions
        Time of the sum of gradients over its level's cost.
    reduction_us
        What the sum of gradients takes besides [us].
    send_us
        Time of a stage for handing over to the next [us].
    message_us
        Start-up of a message between stages [us].
    optimizer
        Time of the optimizer over its memory traffic at full bandwidth.
    optimizer_layer_us
        Time of the optimizer for each layer besides [us].
    step_us
        Time of a step besides all of that [us].
    """

    matmul: float = 0.5
    memory: float = 0.6
    kernels_us: float = 60.0
    activations: float = 1.0
    scores: float = 1.0
    head: float = 1.0
    host_us: float = 800.0
    host_group_us: float = 300.0
    host_rank_us: float = 50.0
    host_unfused_us: float = 200.0
    host_backward: float = 1.5
    batch_us: float = 2000.0
    launch_us: float = 30.0
    links: float = 1.0
    uplinks: float = 1.0
    reductions: float = 1.0
    reduction_us: float = 500.0
    send_us: float = 200.0
    message_us: float = 50.0
    optimizer: float = 1.0
    optimizer_layer_us: float = 300.0
    step_us: float = 2000.0


#: What is assumed where nothing was measured.
ASSUMED: Final = Efficiencies()

#: Names of the figures, in order.
FIGURES: Final = tuple(field.name for field in fields(Efficiencies))

#: Spread of what is assumed: standard deviation of its logarithm.
SPREAD: Final[dict[str, float]] = {
    **dict.fromkeys(FIGURES, 1.0),
    "matmul": 0.3,
    "memory": 0.3,
    "activations": 0.5,
    "scores": 0.5,
    "head": 0.4,
    "host_backward": 0.3,
    "launch_us": 0.7,
    "links": 0.3,
    "uplinks": 0.7,
    "reductions": 0.4,
    "optimizer": 0.5,
}
