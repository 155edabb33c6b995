"""Jobs as answers tell them."""

import msgspec

from app.jobs.kinds import KINDS
from app.jobs.table import Job
from app.schemas.jobs import JobSummary
from app.storage.json_text import with_fields


def text_of(kind: str, job: Job, result: bytes | None) -> bytes:
    """Write a job with its answer, or with nulls in its place: a JSON object."""
    light = job.light()
    if result is None:
        return msgspec.json.encode({**light, **dict.fromkeys(KINDS[kind].fields)})
    return with_fields(light, result)


def row_of(job: Job, summary: type[JobSummary]) -> JobSummary:
    """Write a job for a list; what a draft gave is not told before the end."""
    known = dict.fromkeys(summary.model_fields.keys() - JobSummary.model_fields.keys())
    found = {**known, **(job.summary if job.has_ended else {})}
    kept = {field: found[field] for field in known}
    return summary.model_validate({**job.light(), "name": job.name, **kept})
