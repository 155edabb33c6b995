"""Files of every format, changed and broken: the answer changes, warns or is refused.

A change of a time, of bytes or of the number of ranks that leaves the answer as it was, without a
warning, is a silent error; so is a change of what means nothing that changes the answer.
"""

import re
from random import Random
from typing import Any, NamedTuple

import pytest

from solver.errors import InterlaceError
from solver.traces import FORMATS, Trace, TraceOptions, read_trace
from tests import trace_files
from tests.sampling import cases
from tests.trace_files import ALL_WRITERS, WRITERS, Job

#: Formats whose files tell how many ranks there are.
OF_RANKS = {"kineto", "pytorch_et", "horovod", "xla", "dlc"}
#: Formats whose files tell when each launch of a channel ran.
OF_LAUNCHES = ("kineto", "pytorch_et", "horovod", "tensorflow", "xla", "nsys")
_OVERLAPS = "launches? overlap|while another"

_KERNEL = r'"cat": "kernel", "name": "%s[^"]*", "pid": 0, "tid": \d+, "ts": \d+, "dur": (\d+)'
_SHORT, _LONG, _ANY = (0.5,), (2.0, 3.0), (0.5, 2.0, 3.0)
#: Where files have a time, bytes or ranks that a graph or its cost rests on, by format: the number
#: is group 1, and what it is multiplied by is beside it. A kernel that outlasts the next one of
#: its stream is none that there is: compute is only shortened.
TOKENS: dict[str, list[tuple[str, tuple[float, ...]]]] = {
    "kineto": [
        (_KERNEL % "gemm", _SHORT),
        (_KERNEL % "nccl", _ANY),
        (r'"(?:In|Out) msg nelems": (\d+)', _ANY),
        (r'"world_size": (\d+)', _LONG),
    ],
    "pytorch_et": [(r'"in_msg_nelems", "type": "", "value": (\d+)', _LONG)],
    "horovod": [(r'"NCCL_ALLREDUCE", "ts": (\d+)', (1.001,)), (r'"shape": "\[(\d+)\]"', _ANY)],
    "tensorflow": [(r'"dur": (\d+)', _ANY), (r"requested_bytes: (\d+)", _ANY)],
    "xla": [(r'"dur": (\d+)', _ANY)],
    "dlc": [
        (r"Push_Send_Worker\t\t\d+-(?:4|8)-s0\t\t1\t\t7\t\t15\d+\t\t(\d+)", (1.001,)),
        (r"Pull_Send_Worker\t\t\d+-6-s0\t\t1\t\t7\t\t(15\d+)", _LONG),
        (r"P..._Recv_Worker\t\t\d+-(?:5|7)-s0\t\t1\t\t7\t\t(15\d+)", _SHORT),
        (r"num_workers: = (\d+)", _LONG),
        (r"^\d+\t\d\t\d\t(\d+)\t\t(?:4|8)\t\tOP:= Push_Send", _ANY),
    ],
    "pipedream": [(r"ward_compute_time=(\d+)", _ANY), (r"parameter_size=(\d+)", _ANY)],
    "dnn_partitioning": [(r'"fpgaLatency": ([\d.]+)', _ANY)],
    "astra_text": [(r"-1 (\d+)", _ANY), (r"NONE 0 (\d+) ALL", _ANY), (r"ALLREDUCE (\d+)", _ANY)],
}


class Answer(NamedTuple):
    """What a plan rests on, and what is said."""

    facts: tuple[Any, ...]
    warnings: tuple[str, ...]


def answer(files: list[bytes]) -> Answer | None:
    """Return what files tell; None where they are refused. Whatever else is raised is a crash."""
    try:
        trace = read_trace(files, TraceOptions("x"))
    except InterlaceError:
        return None
    return Answer(facts(trace), (*trace.report.warnings, *trace.report.repaired))


def facts(trace: Trace) -> tuple[Any, ...]:
    report = trace.report
    of_graph = trace.graph and trace.graph.ops
    told = (report.collectives, report.measured_us, report.recorded_us, report.communication)
    read = (trace.measured, trace.samples, trace.channels, trace.profiled)
    return (of_graph, *read, *told, report.dlc)


def changed_job(job: Job, draw: Random, form: str) -> Job:
    """Change one time or size, or the number of ranks."""
    what = draw.choice(["time", "bytes", "ranks"] if form in OF_RANKS else ["time", "bytes"])
    if what == "ranks":
        return job._replace(workers=job.workers + draw.choice([-1, 1, 4]))
    values = list(job.computes if what == "time" else job.sizes)
    layer = draw.randrange(len(values))
    values[layer] += draw.randrange(1, 30) if what == "time" else 4 * draw.randrange(1, 500)
    changed = tuple(values)
    return job._replace(computes=changed) if what == "time" else job._replace(sizes=changed)


def changed_token(file: bytes, draw: Random, form: str) -> bytes:
    """Change one number that is a time, bytes or ranks, and nothing that belongs to it."""
    text = file.decode()
    pattern, factors = draw.choice(TOKENS[form])
    found = draw.choice(list(re.finditer(pattern, text, re.MULTILINE)))
    other = float(found[1]) * draw.choice(factors)
    written = f"{other}" if "." in found[1] else f"{round(other) + 1}"
    return f"{text[: found.start(1)]}{written}{text[found.end(1) :]}".encode()


def damaged(file: bytes, draw: Random) -> bytes:
    """Break a file anywhere."""
    at, size = draw.randrange(len(file)), draw.choice([1, 8, 100])
    match draw.randrange(6):
        case 0:
            return file[:at]
        case 1:
            return file[:at] + bytes(size) + file[at + size :]
        case 2:
            return file[:at] + draw.randbytes(size) + file[at + size :]
        case 3:
            return file[:at] + file[at + size :]
        case 4:
            return file[:at] + file[at : at + size] + file[at:]
        case _:
            words = [b"NaN", b"-1", b"1e999", b"null", b"[", b"}", b'"', b"9" * 400]
            return file[:at] + draw.choice(words) + file[at:]


def drawn(seed: int) -> tuple[Random, str, Job]:
    draw = Random(seed)
    form = list(WRITERS)[seed % len(WRITERS)]
    return draw, form, trace_files.drawn(draw)


def test_every_format_is_written_here() -> None:
    known = {form.name for form in FORMATS}
    assert set(WRITERS) <= known
    assert set(TOKENS) <= set(WRITERS)


@pytest.mark.parametrize("form", WRITERS)
def test_all_formats_tell_of_the_same_job(form: str) -> None:
    job = Job((50, 30, 70), (4_000, 8_000, 1_200))
    found = read_trace(WRITERS[form](job))
    (total,) = found.report.collectives.values()
    assert (total.count, total.bytes) == (3, 13_200)
    assert found.report.measured_us in {None, 359}
    assert found.report.recorded_us in {None, 359}


@pytest.mark.parametrize("seed", range(cases(150, 20)))
def test_another_job_is_another_answer(seed: int) -> None:
    draw, form, job = drawn(seed)
    other = changed_job(job, draw, form)
    one, two = answer(WRITERS[form](job)), answer(WRITERS[form](other))
    assert one is not None
    assert two is not None
    assert one.facts != two.facts, (form, job, other)


@pytest.mark.parametrize("seed", range(cases(150, 20)))
def test_a_number_that_changes_alone_changes_the_answer_or_warns(seed: int) -> None:
    """A file of one step, or of two where a step ends when the next one begins."""
    draw, form, job = drawn(seed)
    job = job._replace(steps=2 if form in {"horovod", "dlc"} else 1)
    if form not in TOKENS:
        return
    file, *beside = WRITERS[form](job)
    broken = changed_token(file, draw, form)
    one, two = answer([file, *beside]), answer([broken, *beside])
    assert one is not None
    assert two is None or two != one, (form, job)


@pytest.mark.parametrize("seed", range(cases(150, 20)))
def test_what_is_damaged_is_refused_read_or_said(seed: int) -> None:
    draw, form, job = drawn(seed)
    files = WRITERS[form](job)
    for _ in range(5):
        place = draw.randrange(len(files))
        answer([damaged(file, draw) if i == place else file for i, file in enumerate(files)])


@pytest.mark.parametrize("form", WRITERS)
def test_what_means_nothing_changes_nothing(form: str) -> None:
    files = WRITERS[form](Job((50, 30, 70), (4_000, 8_000, 1_200)))
    one = answer(files)
    assert answer(files[::-1]) == one
    if form != "chakra":
        assert answer([b"\xef\xbb\xbf" + files[0], *files[1:]]) == one
        assert answer([file + b"\n" for file in files]) == one
        assert answer([files[0].replace(b"\n", b"\r\n"), *files[1:]]) == one


@pytest.mark.parametrize("early", [10, 100])
@pytest.mark.parametrize("form", OF_LAUNCHES)
def test_launches_of_one_channel_that_overlap_are_said(form: str, early: int) -> None:
    """The second of three, which was ready 140 us before the first one was over."""
    job = Job((50, 30, 70), (8_000, 8_000, 1_200))
    files, broken = (ALL_WRITERS[form](each) for each in (job, job._replace(early=early)))
    one, two = answer(files), answer(broken)
    assert one is not None
    assert two is not None
    assert not [said for said in one.warnings if re.search(_OVERLAPS, said)]
    assert [said for said in two.warnings if re.search(_OVERLAPS, said)]
    assert one.facts != two.facts


def test_ranks_that_are_missing_are_said() -> None:
    job = Job((50, 30, 70), (4_000, 8_000, 1_200), workers=2)
    rank = WRITERS["kineto"](job)[0]
    both = answer([rank, rank.replace(b'"rank": 0', b'"rank": 1')])
    one = answer([rank])
    assert both is not None
    assert one is not None
    assert not both.warnings
    assert one.warnings
