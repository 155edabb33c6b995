"""Archives and gzip: read as their files, within limits, whole or as far as they go."""

import gzip
import io
import json
import random
import tarfile
import zipfile
from contextlib import suppress

import pytest

import interlace
from app.reading import archives
from app.reading.traces import own_cluster, read_files
from app.reading.unpacking import UnpackedFiles, unpacked_files
from app.services.opened_files import opened, told
from solver.errors import InvalidTrace
from solver.traces import TraceOptions
from tests import trace_files

MOST = 2**20
JOB = trace_files.Job((50, 30, 70), (4_000, 8_000, 1_200))
RANK_0 = trace_files.kineto(JOB)[0]
RANK_1 = RANK_0.replace(b'"rank": 0', b'"rank": 1')
FILES = {"run/rank0.json": RANK_0, "run/rank1.json.gz": gzip.compress(RANK_1, mtime=0)}


def tar(files, mode="w", other=()):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:
        for info in other:
            archive.addfile(info)
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def zipped(files, method=zipfile.ZIP_DEFLATED):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def special(name, kind, link=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.mark.parametrize("pack", [tar, lambda files: tar(files, "w:gz"), zipped])
def test_an_archive_is_read_as_its_files(pack):
    assert read_files([pack(FILES)], None, TraceOptions("x")) == read_files(
        list(FILES.values()), None, TraceOptions("x")
    )
    found = unpacked_files([pack(FILES), b"beside"], MOST)
    assert found == UnpackedFiles([RANK_0, RANK_1, b"beside"], [*FILES, None], (), ())


@pytest.mark.parametrize("pack", [tar, zipped])
def test_python_takes_an_archive(pack, tmp_path):
    """By what it is: its name says nothing."""
    (tmp_path / "run.json").write_bytes(pack(FILES))
    (tmp_path / "rank0.json").write_bytes(RANK_0)
    (tmp_path / "rank1.json").write_bytes(RANK_1)
    options = interlace.Options(time_limit_s=1)
    one = interlace.plan(str(tmp_path / "run.json"), options=options)
    two = interlace.plan(
        [str(tmp_path / name) for name in ("rank0.json", "rank1.json")], options=options
    )
    assert one.iteration_time_us == two.iteration_time_us


def test_what_is_no_file_is_left_out_and_said():
    other = [
        special("run", tarfile.DIRTYPE),
        special("passwords", tarfile.SYMTYPE, "/etc/passwd"),
        special("../up", tarfile.LNKTYPE, "run/rank0.json"),
        special("null", tarfile.CHRTYPE),
    ]
    files = {**FILES, "run/._rank0.json": b"x", "__MACOSX/a": b"x", "none": b""}
    files |= {"n" * 200 + ".json": RANK_0 + b" "}  # a name of two headers
    found = unpacked_files([tar(files, other=other)], MOST)
    assert found.contents == [RANK_0, RANK_1, RANK_0 + b" "]
    assert found.dropped == (
        'File "passwords" of the archive is a link: not read.',
        'File "../up" of the archive is a link: not read.',
        'File "null" of the archive is a device, a pipe or of a kind that nobody knows: not read.',
        'File "run/._rank0.json" of the archive is hidden: not read.',
        'File "__MACOSX/a" of the archive is hidden: not read.',
        'File "none" of the archive is empty: not read.',
    )
    report = read_files([tar(FILES, other=other)], None, TraceOptions("x")).report
    assert report.dropped[:3] == found.dropped[:3]
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    assert unpacked_files([zipped({"a": b"x", link: b"/etc/passwd"})], MOST).dropped == (
        'File "link" of the archive is a link: not read.',
    )


def encrypted():
    packed = bytearray(zipped({"a": b"x"}))
    packed[6] |= 1
    packed[packed.rindex(b"PK\x01\x02") + 8] |= 1
    return bytes(packed)


ZEROS = bytes(MOST + 1)
NOISE = random.Random(0).randbytes(MOST + 1)


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        # bombs: of bytes, by what they pack; of files
        (gzip.compress(NOISE, 1), "too_large", "more than 1,048,576 bytes"),
        (tar({"a": NOISE}), "too_large", 'File "a" of the archive has more than the 1,048,576'),
        (tar({"a": NOISE}, "w:gz"), "too_large", 'File "a" of the archive has more'),
        (zipped({"a": NOISE}), "too_large", 'File "a" of the archive has more'),
        (tar({"a": NOISE[:-9], "b": NOISE[:10]}), "too_large", 'File "b" .* 8 bytes that are left'),
        (tar({"a.gz": gzip.compress(ZEROS)}), "too_large", "unpacks to more than"),
        (tar({str(i): b"x" for i in range(1_025)}), "too_large", "more than the 1,024 files"),
        (zipped({str(i): b"x" for i in range(1_025)}), "too_large", "more than the 1,024 files"),
        (b"PK\x03\x04" + b"PK\x01\x02" * 10_241, "too_large", "more than 10,240 files and folders"),
        # an archive in an archive, packed or not
        (tar({"in": tar(FILES)}), "not_supported", 'File "in" of the archive is an archive'),
        (zipped({"in": tar(FILES, "w:gz")}), "not_supported", "is an archive itself"),
        (tar({"in": zipped(FILES)}), "not_supported", "is an archive itself"),
        # what cannot be unpacked
        (encrypted(), "not_supported", "is encrypted"),
        (
            zipped({"a": b"x"}, zipfile.ZIP_LZMA),
            "not_supported",
            "in a way that is not read",
        ),
        # nothing in it
        (zipped({}), "empty", "No file is in the archive."),
        (tar({}), "empty", "nothing but zeros: an empty tar archive, or never written"),
        (tar({}, "w:gz"), "empty", "nothing but zeros: an empty tar archive, or never written"),
        (tar({"a": b""}), "empty", 'No file is in the archive. File "a" of the archive is empty'),
        # broken
        (zipped(FILES)[:-30], "truncated", "no directory: it was cut off"),
        (zipped(FILES).replace(b"run/rank0", b"run/rank2", 1), "wrong_format", "cannot be read"),
        (
            tar({"a": b"x", "b": b"y"})[:1_124] + b"x" * 500,
            "wrong_format",
            "broken after 1 header",
        ),
        (b"\x1f\x8b\x08" + bytes(7) + b"\xff" * 20, "not_gzip", "begins like gzip, but"),
        (b"\x1f\x8b\x08\0", "truncated", "ends before what it holds"),
    ],
)
def test_refused(content, code, says):
    with pytest.raises(InvalidTrace, match=says) as error:
        unpacked_files([content], MOST)
    assert [fault.code for fault in error.value.faults] == [code]


def test_what_unpacks_to_far_more_than_traces_do_is_refused():
    for content in (tar({"a": ZEROS}, "w:gz"), zipped({"a": ZEROS})):
        with pytest.raises(InvalidTrace, match="unpacks to more than 250 times its size"):
            unpacked_files([content], 2 * MOST)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(RANK_0)[:-300], "The gzip file"),
        (gzip.compress(RANK_0)[:-5], "The gzip file"),
        (tar({"a": RANK_0})[: len(RANK_0) - 100], "The archive"),
        (tar({"a": RANK_0})[: 512 + len(RANK_0)], "The archive"),
        (tar({"a": RANK_0, "b": RANK_1})[: 512 * (len(RANK_0) // 512 + 2) + 100], "The archive"),
        (tar({"a": RANK_0}, "w:gz")[:-300], "The archive"),
        (tar({"a": gzip.compress(RANK_0)[:-300]}), "The archive"),
    ],
)
def test_what_ends_in_the_middle_is_read_as_far_as_it_goes(content, said):
    trace = read_files([content], None, TraceOptions("x"))
    assert trace.report.warnings[0] == (
        f"{said} ends in the middle: what could be unpacked is read."
    )
    assert trace.report.measured_us == 359


def test_a_graph_that_ends_in_the_middle_is_refused():
    graph = gzip.compress(trace_files.pipedream(JOB)[0])[:-5]
    with pytest.raises(InvalidTrace, match="The gzip file ends in the middle") as error:
        read_files([graph], None, TraceOptions())
    assert [fault.code for fault in error.value.faults] == ["truncated"]


def test_a_file_of_an_archive_is_named():
    broken = b'{"nodes": []}'
    for name, content in (("rank2.json", broken), ("noise", b"\xff\xfe"), ("none", b"\0" * 512)):
        says = rf'File 3 \("{name}"\) is of none of the known formats'
        with pytest.raises(InvalidTrace, match=says):
            read_files([tar({**FILES, name: content})], None, TraceOptions())
    with pytest.raises(InvalidTrace, match=r'File 1 \("README"\) is of none of the known formats'):
        read_files([tar({"README": b"hello", "LICENSE": b"MIT"})], None, TraceOptions())
    with pytest.raises(InvalidTrace, match="File 3 is of none of the known formats"):
        read_files([tar(FILES), b"hello"], None, TraceOptions())


@pytest.mark.parametrize("pack", [tar, lambda files: tar(files, "w:gz"), zipped])
@pytest.mark.parametrize("form", [None, "kineto"])
def test_what_is_beside_recordings_in_an_archive_is_left_out_and_said(pack, form):
    beside = {"README.md": b"DATA of one run, NONE lost", "config.json": b'{"lr": 0.1}'}
    trace = read_files([pack({**beside, **FILES})], form, TraceOptions("x"))
    alone = read_files([pack(FILES)], form, TraceOptions("x"))
    assert trace.report.dropped == (
        'File "README.md" of the archive is no recording: not read.',
        'File "config.json" of the archive is no recording: not read.',
        *alone.report.dropped,
    )
    assert (trace.graph, trace.report.ops) == (alone.graph, alone.report.ops)


@pytest.mark.parametrize("pack", [tar, lambda files: tar(files, "w:gz"), zipped])
def test_a_graph_of_our_own_may_lie_beside_a_readme(pack):
    ops = [
        {"id": "a", "kind": "compute", "duration_us": 5},
        {"id": "g", "kind": "all_reduce", "bytes": 8, "after": ["a"]},
    ]
    cluster = {"workers": 4, "bandwidth_gbps": 10}
    own = json.dumps({"graph": {"name": "mine", "ops": ops}, "cluster": cluster}).encode()
    for beside in ({"README.md": b"A graph."}, {"about.json": b'{"by": "us"}'}):
        packed = pack({**beside, "graph.json": own})
        trace = read_files([packed], None, TraceOptions())
        assert [op.id for op in trace.graph.ops] == ["a", "g"]
        (name,) = beside
        assert trace.report.dropped == (f'File "{name}" of the archive is no recording: not read.',)
        assert own_cluster(packed) == cluster
        assert told(opened([packed], "a.tar"))[0]["cluster"] == cluster


@pytest.mark.parametrize("pack", [tar, lambda files: tar(files, "w:gz"), zipped])
def test_broken_archives_are_refused_or_read(pack):
    whole = pack(FILES)
    for seed in range(150):
        draw = random.Random(seed)
        content = bytearray(whole)
        for _ in range(draw.randrange(1, 4)):
            content[draw.randrange(len(content))] = draw.randrange(256)
        at = draw.randrange(len(content)) if draw.random() < 0.3 else len(content)
        with suppress(InvalidTrace):
            unpacked_files([bytes(content[:at])], MOST)


def test_limits_count_what_all_files_unpack_to():
    half = gzip.compress(NOISE[: MOST // 2 + 1], 1)
    assert unpacked_files([half], MOST).contents
    with pytest.raises(InvalidTrace, match="more than 524,287 bytes"):
        unpacked_files([half, half], MOST)
    assert {archives.is_tar(tar(FILES)), archives.is_zip(zipped({}))} == {True}
