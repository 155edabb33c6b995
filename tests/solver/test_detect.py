"""What a file is, by looking at it."""

import gzip
from pathlib import Path

import pytest

from solver.errors import InvalidTrace
from solver.traces import detect

DATA = Path(__file__).parents[1] / "data"
PROFILE = b"node1 -- Linear -- forward_compute_time=1, backward_compute_time=1, parameter_size=4"


def unzipped(name):
    return gzip.decompress((DATA / name).read_bytes())


def test_files_of_one_format():
    kineto = unzipped("kineto_gloo_0.json.gz")
    assert detect([PROFILE]) == "pipedream"
    assert detect([kineto]) == detect([kineto, unzipped("kineto_gloo_1.json.gz")]) == "kineto"


def test_an_execution_trace_leads_its_profile():
    trace, profile = unzipped("et_gloo.json.gz"), unzipped("et_gloo_kineto.json.gz")
    assert detect([trace]) == detect([trace, profile]) == detect([profile, trace]) == "pytorch_et"


@pytest.mark.parametrize(
    ("files", "code", "says"),
    [
        ([], "empty", "No file was given."),
        ([b"hello"], "wrong_format", "The file is of none of the known formats: pipedream"),
        ([PROFILE, b"hello"], "wrong_format", "File 2 is of none of the known formats"),
        (
            [PROFILE, b'{"traceEvents": []}'],
            "wrong_format",
            "The files are of several formats: pipedream, kineto.",
        ),
    ],
)
def test_what_is_refused(files, code, says):
    with pytest.raises(InvalidTrace, match=says) as error:
        detect(files)
    assert [fault.code for fault in error.value.faults] == [code]
