"""Jobs as answers tell them."""

import json

from app.jobs.kinds import KINDS
from app.jobs.table import Job
from app.schemas.jobs import JobSummary


def text_of(kind: str, job: Job, result: bytes | None) -> bytes:
    """Write a job with its answer, or with nulls in its place: a JSON object."""
    light = job.light()
    if result is None:
        return json.dumps({**light, **dict.fromkeys(KINDS[kind].fields)}).encode()
    return json.dumps(light)[:-1].encode() + b", " + result[1:]


def row_of(job: Job, summary: type[JobSummary]) -> JobSummary:
    """Write a job for a list; what a draft gave is not told before the end."""
    known = dict.fromkeys(summary.model_fields.keys() - JobSummary.model_fields.keys())
    found = {**known, **(job.summary if job.has_ended else {})}
    kept = {field: found[field] for field in known}
    return summary.model_validate({**job.light(), "name": job.name, **kept})
