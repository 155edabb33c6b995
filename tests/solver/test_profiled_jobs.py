"""One job in formats of profilers and simulators: each time, size and rank of it counts."""

from contextlib import suppress
from random import Random

import pytest

from solver.errors import InterlaceError
from solver.traces import detect, read_trace
from tests import trace_files
from tests.sampling import cases
from tests.trace_files import MORE_WRITERS

JOB = trace_files.Job((50, 30, 70), (4_000, 8_000, 1_200))


@pytest.mark.parametrize("form", MORE_WRITERS)
def test_all_tell_of_the_same_job(form):
    files = MORE_WRITERS[form](JOB)
    found = read_trace(files)
    (total,) = found.report.collectives.values()
    assert (total.count, total.bytes) == (3, 13_200)
    assert found.report.measured_us in {None, 359}
    assert found.report.recorded_us == found.report.measured_us
    assert [detect([file]) for file in files] == [form]


@pytest.mark.parametrize("form", MORE_WRITERS)
@pytest.mark.parametrize("seed", range(cases(40, 10)))
def test_another_job_is_another_answer(form, seed):
    """A time, a size, and where files tell it the number of ranks."""
    draw = Random(seed)
    job = trace_files.drawn(draw)
    changes = [
        {"computes": (job.computes[0] + draw.randrange(1, 30), *job.computes[1:])},
        {"sizes": (*job.sizes[:-1], job.sizes[-1] + 4 * draw.randrange(1, 500))},
        {"workers": job.workers + draw.choice([-1, 1, 4])},
    ]
    changed = changes[seed % (3 if form == "nsys" else 2)]
    one, two = (read_trace(MORE_WRITERS[form](each)) for each in (job, job._replace(**changed)))
    assert (one.graph, one.channels, one.samples) != (two.graph, two.channels, two.samples)


@pytest.mark.parametrize("form", MORE_WRITERS)
@pytest.mark.parametrize("seed", range(cases(60, 15)))
def test_what_is_damaged_is_refused_or_read(form, seed):
    draw = Random(seed)
    (file,) = MORE_WRITERS[form](trace_files.drawn(draw))
    at, size = draw.randrange(len(file)), draw.choice([1, 8, 100])
    piece = draw.choice([b"", bytes(size), draw.randbytes(size), b"-1", b"1e999", b'"', b"9" * 400])
    for broken in (file[:at], file[:at] + piece + file[at + size :], file[:at] + piece + file[at:]):
        with suppress(InterlaceError):
            read_trace([broken], form=form)
