"""How the HLO texts beside this were written: ``python hlo_record.py`` with JAX 0.10 on a CPU.

Eight devices of one host; what the compiler says of its own program goes into ``hlo_facts.json``.
Names of Python files and their lines are left out.
"""

import json
import os
import re
from pathlib import Path

os.environ["XLA_FLAGS"] = (
    "--xla_force_host_platform_device_count=8 "
    "--xla_disable_hlo_passes=all-reduce-combiner,cpu-all-reduce-combiner"
)

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

WIDTH, BATCH = 16, 32
HERE = Path(__file__).parent
DEVICES = np.array(jax.devices())
LINE = Mesh(DEVICES, ("data",))
GRID = Mesh(DEVICES.reshape(4, 2), ("data", "model"))


def loss(weights, batch):
    for first, second in weights:
        batch = batch + jnp.tanh(batch @ first) @ second
    return (batch**2).mean()


def scanned(weights, batch):
    firsts, seconds = (jnp.stack(each) for each in zip(*weights, strict=True))

    def layer(batch, one):
        return batch + jnp.tanh(batch @ one[0]) @ one[1], None

    batch, _ = jax.lax.scan(layer, batch, (firsts, seconds))
    return (batch**2).mean()


def step(of):
    def run(weights, batch):
        gradients = jax.grad(of)(weights, batch)
        return jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradients)

    return run


def exchanged(weights, batch):
    """Send in all other ways: to a neighbour, all to all, in shards."""

    def own(weights, batch):
        batch = jax.lax.ppermute(batch, "data", [(i, (i + 1) % 8) for i in range(8)])
        batch = jax.lax.all_to_all(batch.reshape(8, -1), "data", 0, 0).reshape(batch.shape)
        shard = jax.lax.psum_scatter(batch @ weights[0][0], "data", scatter_dimension=0, tiled=True)
        return jax.lax.all_gather(shard, "data")

    spec = PartitionSpec("data")
    return jax.shard_map(own, mesh=LINE, in_specs=(PartitionSpec(), spec), out_specs=spec)(
        weights, batch
    )


def record(name, run, mesh, first, second, *, layers, donated=True):
    weights = [(jnp.ones((WIDTH, 4 * WIDTH)), jnp.ones((4 * WIDTH, WIDTH)))] * layers
    over = [tuple(NamedSharding(mesh, PartitionSpec(*spec)) for spec in (first, second))] * layers
    rows = NamedSharding(mesh, PartitionSpec("data"))
    jitted = jax.jit(
        run,
        in_shardings=(over, rows),
        out_shardings=over if donated else rows,
        donate_argnums=(0,) if donated else (),
    )
    compiled = jitted.lower(weights, jnp.ones((8 * BATCH, WIDTH))).compile()
    text = re.sub(r", metadata=\{[^}]*\}", "", compiled.as_text())
    text = re.sub(r"\n(?:File|Function|Stack)\w+\n(?:\d+ .*\n)+", "\n", text)
    (HERE / f"hlo_{name}.txt").write_text(text)
    memory, cost = compiled.memory_analysis(), compiled.cost_analysis()
    return {
        "arguments": memory.argument_size_in_bytes,
        "results": memory.output_size_in_bytes,
        "aliased": memory.alias_size_in_bytes,
        "flops": cost["flops"],
    }


facts = {
    "data_parallel": record("data_parallel", step(loss), LINE, (), (), layers=2),
    "sharded": record("sharded", step(loss), LINE, ("data",), ("data",), layers=1),
    "tensor_parallel": record(
        "tensor_parallel", step(loss), GRID, (None, "model"), ("model",), layers=2
    ),
    "scanned": record("scanned", step(scanned), GRID, (None, "model"), ("model",), layers=3),
    "exchanged": record("exchanged", exchanged, LINE, (), (), layers=1, donated=False),
}
(HERE / "hlo_facts.json").write_text(json.dumps(facts, indent=1) + "\n")
