"""Steps that PyTorch, JAX and TensorFlow recorded on a CPU: each is simulated as it was."""

import gzip
from pathlib import Path

import pytest

from solver.traces import TraceOptions, read_trace

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize(
    ("files", "sizes"),
    [
        (("kineto_gloo_0.json.gz",), None),
        (("kineto_gloo_0.json.gz", "kineto_gloo_1.json.gz"), None),
        (("et_gloo.json.gz", "et_gloo_kineto.json.gz"), None),
        (("jax_profile.json.gz", "jax_hlo.txt.gz"), None),
        (("jax_planes.xplane.pb.gz",), None),
        # MultiWorkerMirroredStrategy sends three variables of 256 x 256 as one
        (("tensorflow_planes.xplane.pb.gz",), (("CollectiveReduceV2", 786_432),)),
    ],
)
def test_every_step_is_simulated_within_a_percent(files, sizes):
    contents = [gzip.decompress((DATA / name).read_bytes()) for name in files]
    steps = read_trace(contents, TraceOptions("run", parameters=sizes)).report.steps
    assert steps > 0
    for step in range(steps):
        report = read_trace(contents, TraceOptions("run", step, sizes)).report
        assert report.recorded_us == pytest.approx(report.measured_us, rel=0.01)
