"""What a file is, by looking at it."""

import bz2
import gc
import gzip
import lzma
import re
import tarfile
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from solver.errors import InvalidTrace
from solver.traces import FORMATS, READERS, detect, read_trace
from solver.traces.foreign import description
from solver.traces.readers import is_aside
from tests import trace_files

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


@pytest.mark.parametrize(
    ("content", "aside"),
    [
        (b"DATA of one run, NONE lost", True),
        ("é".encode() * 2**15 + b"!", True),  # a character is cut where it is looked at
        (b'{"lr": 0.1}', True),
        # a recording that is broken, perhaps
        (b'{"nodes": []}', False),
        (b"\xff\xfe", False),
        (b"a\0", False),
    ],
)
def test_what_stands_beside_recordings(content, aside):
    assert is_aside(content) == aside


def test_a_format_that_is_none():
    with pytest.raises(InvalidTrace, match="Format must be one of pipedream"):
        read_trace([PROFILE], form="vtune")


LOG = """# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20
#                                                              out-of-place
#       size         count      type   redop    root     time   algbw   busbw #wrong
           8             2     float     sum      -1    34.20    0.00    0.00      0
"""


def archive():
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        info = tarfile.TarInfo("rank0.json")
        info.size = 2
        tar.addfile(info, BytesIO(b"{}"))
    return packed.getvalue()


def zipped():
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("rank0.json", "{}")
    return packed.getvalue()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (archive(), "a tar archive: unpack it"),
        (zipped(), "a zip archive: unpack it"),
        (gzip.compress(b"{}", mtime=0), "gzip: unpack it"),
        (bz2.compress(b"{}"), "compressed by bzip2: unpack it"),
        (lzma.compress(b"{}"), "compressed by xz: unpack it"),
        (LOG.encode(), "'interlace calibrate' reads it"),
        (
            b"# OSU MPI Allreduce Latency Test v5.9\n# Size       Avg Latency(us)\n4 1.0\n",
            "calibrate",
        ),
        ((LOG * 300).encode() + "µ".encode(), "calibrate"),  # longer than what is looked at
    ],
)
def test_a_file_of_another_kind_is_named(content, says):
    with pytest.raises(InvalidTrace, match=says) as error:
        detect([content])
    assert [fault.code for fault in error.value.faults] == ["wrong_format"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'("traceEvents": [("ph"', 'kineto: the file has "traceEvents", "ph"; it lacks "cat".'),
        (
            b"node1 -- parameter_size=4",
            "pipedream: the file has parameter_size=; it lacks forward_",
        ),
        (b'{"nodes": [], "edges": []}', 'dnn_partitioning: the file has "nodes", "edges"; it la'),
        (b"x OP:= Push_Send_Worker", "dlc: the file has OP:=, Push_Send; it lacks num_workers, t"),
        (b'{"schema": "1", "x": []}', 'pytorch_et: the file has "schema"; it lacks "nodes", "c'),
    ],
)
def test_how_near_the_best_guess_came_is_said(content, says):
    with pytest.raises(InvalidTrace, match=f"formats: .*chakra. Nearest is {re.escape(says)}"):
        detect([content])


def test_formats_say_what_they_are():
    assert list(READERS) == [form.name for form in FORMATS]
    assert len(set(READERS)) == len(FORMATS)
    for form in FORMATS:
        assert all((form.source, form.versions, form.reads, form.assumes, form.refuses))


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_a_file_has_the_signs_of_its_format(form):
    if form.name in trace_files.WRITERS and form.signs:
        file = trace_files.WRITERS[form.name](trace_files.Job((50, 30), (4_000, 800)))[0]
        there = [sign.words for sign in form.signs if sign.is_in(file)]
        assert there, form.name
        assert form.looks_like(file)


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"\xff\xfe\x00", b""])
def test_what_nobody_knows_is_not_named(content):
    """A table of commas may be anything."""
    assert description(content) is None


@pytest.mark.parametrize("is_on", [True, False])
def test_the_collector_is_as_it_was(is_on):
    was_on = gc.isenabled()
    try:
        (gc.enable if is_on else gc.disable)()
        read_trace([PROFILE])
        with pytest.raises(InvalidTrace):
            read_trace([b"{}"], form="kineto")
        assert gc.isenabled() == is_on
    finally:
        (gc.enable if was_on else gc.disable)()
