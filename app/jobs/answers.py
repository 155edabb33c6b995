"""Jobs as answers tell them."""

import msgspec
from cachetools import LRUCache

from app.jobs import table as jobs
from app.jobs.kinds import KINDS
from app.jobs.rows import RESULT
from app.jobs.table import JobRecord
from app.limits import LARGE_ANSWER_BYTES
from app.operations.callers import working_for
from app.operations.large_answers import LargeAnswers
from app.schemas.lists import JobSummary
from app.storage.database import Store
from app.storage.json_text import with_fields

#: Of jobs that have ended the answers asked for last are kept, so many bytes; of large ones none.
_KEPT_BYTES = 2**25


class Answers:
    """What is answered about the jobs of a store; for its event loop.

    A job that has ended stays as its revision is, so that its text is written once.
    """

    def __init__(self, store: Store) -> None:
        self._store, self.large = store, LargeAnswers()
        self._kept: LRUCache[tuple[str, int], bytes] = LRUCache(_KEPT_BYTES, len)

    async def text_of(self, job: JobRecord) -> bytes:
        """Write a job with its answer when it has ended, as JSON text."""
        if not job.has_ended:
            return text_of(job.kind, job, None)
        text = self._kept.get((job.id, job.revision))
        if text is None:
            which = self._store, job.number, RESULT
            text = await self.large.written(
                lambda: jobs.payload_bytes(*which),
                lambda: text_of(job.kind, job, jobs.payload(*which)),
                working_for(job.owner, job.team),
            )
            if len(text) <= LARGE_ANSWER_BYTES:
                self._kept[job.id, job.revision] = text
        return text


def text_of(kind: str, job: JobRecord, result: bytes | None) -> bytes:
    """Write a job with its answer, or with nulls in its place: a JSON object."""
    light = job.light()
    if result is None:
        return msgspec.json.encode({**light, **dict.fromkeys(KINDS[kind].fields)})
    return with_fields(light, result)


def row_of(job: JobRecord, summary: type[JobSummary]) -> JobSummary:
    """Write a job for a list; what a draft gave is not told before the end."""
    known = dict.fromkeys(summary.model_fields.keys() - JobSummary.model_fields.keys())
    found = {**known, **(job.summary if job.has_ended else {}), "kind": job.kind}
    kept = {field: found[field] for field in known}
    return summary.model_validate({**job.light(), "name": job.name, **kept})
