"""Record the TensorFlow planes of this folder: two workers with collectives, on one CPU.

Usage: ``python tests/data/tensorflow_planes_record.py FOLDER`` with TensorFlow 2 writes
``tensorflow_planes.xplane.pb.gz``, four steps of the first worker as the profiler keeps them, and
with xprof ``tensorflow_planes.json.gz``, what its trace viewer makes of them.
"""

import gzip
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

STEPS = 4


def address():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{held.getsockname()[1]}"


def train(rank, addresses, logs):
    task = {"type": "worker", "index": rank}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": addresses}, "task": task})
    import tensorflow as tf  # noqa: PLC0415 - reads TF_CONFIG

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weights = [tf.Variable(tf.ones((256, 256)) * 0.01) for _ in range(3)]
    x = tf.ones((128, 256))

    def replica():
        with tf.GradientTape() as tape:
            y = x
            for weight in weights:
                y = tf.tanh(y @ weight)
            loss = tf.reduce_mean(y**2)
        gradients = tape.gradient(loss, weights)
        context = tf.distribute.get_replica_context()
        gradients = context.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.assign_sub(0.001 * gradient)

    @tf.function
    def step():
        strategy.run(replica)

    step()
    if rank == 0:
        tf.profiler.experimental.start(logs)
    for i in range(STEPS):
        with tf.profiler.experimental.Trace("train", step_num=i, _r=1):
            step()
    if rank == 0:
        tf.profiler.experimental.stop()
    step()


def record(folder):
    addresses = [address(), address()]
    with tempfile.TemporaryDirectory() as logs:
        call = [sys.executable, __file__, *addresses, logs]
        workers = [subprocess.Popen([*call, str(rank)]) for rank in range(2)]
        if any(worker.wait() for worker in workers):
            raise SystemExit("A worker failed.")
        found = next(Path(logs).rglob("*.xplane.pb"))
        from xprof.convert import raw_to_tool_data  # noqa: PLC0415 - not in the workers

        text, _ = raw_to_tool_data.xspace_to_tool_data([str(found)], "trace_viewer", {})
        text = text if isinstance(text, bytes) else text.encode()
        for name, content in (("xplane.pb", found.read_bytes()), ("json", text)):
            packed = gzip.compress(content, 9, mtime=0)
            (folder / f"tensorflow_planes.{name}.gz").write_bytes(packed)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        train(int(sys.argv[4]), sys.argv[1:3], sys.argv[3])
    else:
        record(Path(sys.argv[1]))
