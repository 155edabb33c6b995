"""Record the TensorFlow traces of this folder: a worker and a parameter server in one process.

Usage: ``python tests/data/tensorflow_record.py FOLDER`` with TensorFlow 2 and xprof writes
``tensorflow_timeline.json.gz``, one run of a session as tf.compat.v1's timeline writes it with
``show_memory=True``, and ``tensorflow_profile.json.gz``, two runs as the profiler writes them.
"""

import gzip
import socket
import sys
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.python.client import timeline
from xprof.convert import raw_to_tool_data

tf1 = tf.compat.v1


def address():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{held.getsockname()[1]}"


def written(path, text):
    path.write_bytes(gzip.compress(text, 9, mtime=0))


def record(folder):
    tf1.disable_eager_execution()
    cluster = tf.train.ClusterSpec({"ps": [address()], "worker": [address()]})
    servers = [tf.distribute.Server(cluster, job, 0) for job in ("ps", "worker")]
    place = tf1.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:0")
    with tf1.device(place):
        x = tf1.placeholder(tf.float32, [32, 256], name="x")
        w1, b1 = tf1.get_variable("fc1/kernel", [256, 128]), tf1.get_variable("fc1/bias", [128])
        w2, b2 = tf1.get_variable("fc2/kernel", [128, 10]), tf1.get_variable("fc2/bias", [10])
        y = tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) + b2
        train = tf1.train.GradientDescentOptimizer(0.01).minimize(tf.reduce_mean(tf.square(y)))
    with tf1.Session(servers[1].target) as session, tempfile.TemporaryDirectory() as logs:
        session.run(tf1.global_variables_initializer())
        feed = {x: np.random.default_rng(0).normal(size=(32, 256)).astype("f")}
        for _ in range(3):
            session.run(train, feed)
        found = tf1.RunMetadata()
        full = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
        session.run(train, feed, options=full, run_metadata=found)
        shown = timeline.Timeline(found.step_stats).generate_chrome_trace_format(show_memory=True)
        written(folder / "tensorflow_timeline.json.gz", shown.encode())
        tf.profiler.experimental.start(logs)
        for _ in range(2):
            session.run(train, feed)
        tf.profiler.experimental.stop()
        space = str(next(Path(logs).rglob("*.xplane.pb")))
        text, _ = raw_to_tool_data.xspace_to_tool_data([space], "trace_viewer", {})
        text = text if isinstance(text, bytes) else text.encode()
        written(folder / "tensorflow_profile.json.gz", text)


if __name__ == "__main__":
    record(Path(sys.argv[1]))
