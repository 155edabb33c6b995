"""How long to wait for a job, and what its end means."""

from __future__ import annotations

from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from interlace_client.errors import (
    Cancelled,
    InterlaceError,
    UnexpectedAnswer,
    Unreachable,
    WaitTimeout,
)
from interlace_client.jobs import Job, Kind
from interlace_client.sending import (
    Deadline,
    ServiceCall,
    Sleep,
    Steps,
    Tell,
    Tries,
    done,
    problem,
    sent,
    shaped,
)

if TYPE_CHECKING:
    from interlace_client.answers import Json
    from interlace_client.options import How

T = TypeVar("T")
#: The longest wait that is asked for: proxies often give up after 60 [s].
_WAIT_S = 50.0
#: How long one is where somebody listens to the progress, and polls are no closer than that [s].
_HEARD_S = 0.5
#: With less than this left of ``timeout_s`` nothing more is asked [s].
_TOO_LATE_S = 0.05
#: How long the cancellation of a job that took too long may take: a service has 7 s to answer [s].
_CANCEL_S = 10.0


def waited(job: Job[T], how: How, tries: Tries, deadline: Deadline) -> Steps[T]:
    """Wait for the end of a job, and tell of its progress.

    Raises
    ------
    WaitTimeout
        The deadline comes first.
    Cancelled, ProblemError
        It ended otherwise than with a result.
    """
    heard = None
    while True:
        if how.on_progress and job.progress != heard:
            heard = job.progress
            yield Tell(how.on_progress, heard)
        if job.has_ended:
            return _result(job)
        left = deadline.left()
        if left is not None and left <= _TOO_LATE_S:
            return (yield from _late(job, how, tries))
        asked, call = monotonic(), ServiceCall("GET", job.path, wait_s=patience(how))
        try:
            known, job = job, job_of(job.kind, (yield from answered(call, tries, deadline)))
        except InterlaceError as error:
            left = deadline.left()
            if isinstance(error, Unreachable) and left is not None and left <= _TOO_LATE_S:
                continue
            error.job_id = job.id
            raise
        short = min(_HEARD_S, _HEARD_S if left is None else left) - (monotonic() - asked)
        if short > 0 and job == known:  # a server that leaves does not wait
            yield Sleep(short)


def stopped(job: Job[T], tries: Tries, deadline: Deadline) -> Steps[Job[T]]:
    """Cancel a job; return what it is then."""
    call = ServiceCall("POST", f"{job.path}/cancel", headers={"Idempotency-Key": str(uuid4())})
    return job_of(job.kind, (yield from answered(call, tries, deadline)))


def answered(call: ServiceCall, tries: Tries, deadline: Deadline) -> Steps[Json]:
    """Send, and read what comes."""
    return done((yield from sent(call, tries, deadline)))


def job_of(kind: Kind[T], raw: Json) -> Job[T]:
    """Read a job."""
    return shaped(partial(Job.of, kind), raw)


def patience(how: How) -> float:
    """Return how long the service may wait before it answers [s]."""
    return _WAIT_S if how.on_progress is None else _HEARD_S


def _late(job: Job[T], how: How, tries: Tries) -> Steps[T]:
    """Give up waiting: cancel the job if that was asked for, and say what becomes of it."""
    if how.cancel_on_timeout:
        once = Tries(min(tries.timeout_s, _CANCEL_S), 0)
        try:
            job = yield from stopped(job, once, Deadline.after(_CANCEL_S))
        except InterlaceError as error:
            detail = f"{job.path} did not end in {how.timeout_s:g} s, nor was it cancelled: {error}"
            raise WaitTimeout(detail, job) from error
        if job.state != "cancelled":
            return _result(job)  # it has ended after all
        detail = f"{job.path} did not end in {how.timeout_s:g} s and was cancelled."
        raise WaitTimeout(detail, job, cancelled=True)
    raise WaitTimeout(f"{job.path} did not end in {how.timeout_s:g} s; it goes on.", job)


def _result(job: Job[T]) -> T:
    """Return the result of a job that has ended, or raise why there is none."""
    if job.state == "cancelled":
        raise Cancelled(f"{job.path} was cancelled.", job)
    if job.error is not None:
        raise problem(job.error, job.path, job.id)
    if job.result is None:
        raise UnexpectedAnswer(f"{job.path} is {job.state}, without a result.", job.id)
    return job.result
