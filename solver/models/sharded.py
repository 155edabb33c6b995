"""Language models whose parameters are sharded over the GPUs of a node."""

from solver.errors import InvalidGraph
from solver.graph import Graph
from solver.models.language import llama_units
from solver.models.layers import merge_layers
from solver.models.parallel import adam_us, fsdp, not_positive
from solver.models.steps import HALF, layers_of

#: Memory bandwidth of an A100 of 80 GB [bytes/us].
MEMORY = 2.0e6


def fsdp_llama_7b(
    batch: int = 1,
    tokens: int = 2048,
    shards: int = 8,
    limit: int = 2,
    flops_per_us: float = HALF,
    bytes_per_parameter: int = 2,
) -> Graph:
    """LLaMA-7B under hybrid FSDP: 263 collectives of 66 units, 16 bit, Adam on the shards.

    The embedding, each attention and feed-forward block with its norm, and the head with the last
    norm are units of their own. Parameters are sharded over ``shards`` GPUs of a node (channel
    ``nvlink``), gradients are all-reduced between nodes (channel ``network``); both travel at
    ``bytes_per_parameter``. Adam passes over this GPU's shard at the speed of its memory. Nothing
    is computed twice: activations are kept. See :func:`solver.models.parallel.fsdp`.

    Raises
    ------
    InvalidGraph
        An argument that is not positive.

    References
    ----------
    .. [1] H. Touvron et al., LLaMA: Open and Efficient Foundation Language Models, 2023, Table 2.
    """
    faults = not_positive(
        batch=batch,
        tokens=tokens,
        shards=shards,
        limit=limit,
        flops_per_us=flops_per_us,
        bytes_per_parameter=bytes_per_parameter,
    )
    if faults:
        raise InvalidGraph(faults)
    units = [
        merge_layers(name, layers_of(steps, batch, flops_per_us, bytes_per_parameter))
        for name, steps in llama_units(tokens)
    ]
    parameters = sum(size for unit in units for _, size in unit.gradients) / bytes_per_parameter
    step_us = adam_us(parameters / shards, MEMORY)
    return fsdp("LLaMA-7B under FSDP (generated)", units, shards, limit, step_us)
