"""Record the XLA trace of this folder: four devices of one CPU, JAX.

Usage: ``python tests/data/jax_record.py FOLDER`` writes ``jax_profile.json.gz``, three steps of a
network of two layers on four devices as ``jax.profiler`` writes them, and ``jax_hlo.txt.gz``, the
program's HLO text. ``jax_planes.xplane.pb.gz`` and ``jax_planes.json.gz`` are two steps more in
both forms, without Python's calls.
"""

import gzip
import os
import re
import sys
import tempfile
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def loss(weights, x):
    return jnp.mean((jnp.maximum(x @ weights["w1"], 0) @ weights["w2"]) ** 2)


@jax.jit
def step(weights, x):
    return jax.tree.map(lambda a, b: a - 0.01 * b, weights, jax.grad(loss)(weights, x))


def record(folder):
    mesh = Mesh(np.array(jax.devices()), ("d",))
    draw = np.random.default_rng(0)

    def put(shape, *axes):
        drawn = draw.normal(size=shape).astype("f")
        return jax.device_put(drawn, NamedSharding(mesh, PartitionSpec(*axes)))

    weights, x = {"w1": put((256, 128)), "w2": put((128, 64))}, put((64, 256), "d")
    text = step.lower(weights, x).compile().as_text()
    text = re.sub(r"\n(FileNames|FunctionNames|FileLocations|StackFrames)\n(?:.+\n)+", "", text)
    (folder / "jax_hlo.txt.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    weights = jax.block_until_ready(step(weights, x))
    every = jax.profiler.ProfileOptions()
    profile(folder, lambda: run(weights, x, 3), every, {"jax_profile.json.gz": "*.trace.json.gz"})
    bare = jax.profiler.ProfileOptions()
    bare.python_tracer_level = 0
    forms = {"jax_planes.xplane.pb.gz": "*.xplane.pb", "jax_planes.json.gz": "*.trace.json.gz"}
    profile(folder, lambda: run(weights, x, 2), bare, forms)


def run(weights, x, steps):
    for _ in range(steps):
        weights = jax.block_until_ready(step(weights, x))


def profile(folder, call, options, forms):
    with tempfile.TemporaryDirectory() as logs:
        with jax.profiler.trace(logs, profiler_options=options):
            call()
        for name, pattern in forms.items():
            found = next(Path(logs).rglob(pattern)).read_bytes()
            found = gzip.decompress(found) if pattern.endswith(".gz") else found
            (folder / name).write_bytes(gzip.compress(found, 9, mtime=0))


if __name__ == "__main__":
    record(Path(sys.argv[1]))
