"""How large a request may be."""

from typing import Annotated

from fastapi import APIRouter, Depends

from app.http.dependencies import SolvesDep, settings_of
from app.operations.settings import Settings
from app.schemas.limits import BodyLimits, JobLimits, Limits

router = APIRouter(prefix="/v1/limits", tags=["limits"])


@router.get("", summary="How large may a request be?")
async def get_limits(
    settings: Annotated[Settings, Depends(settings_of)], turns: SolvesDep
) -> Limits:
    """Return every limit of the service."""
    job = JobLimits(
        grace_s=settings.job_grace_s,
        memory_bytes=settings.job_memory_bytes,
        at_once=settings.workers,
        queued=settings.max_queued,
        queued_bytes=settings.max_queued_bytes,
        retention_days=settings.retention_days,
        unused_days=settings.unused_days,
    )
    body = BodyLimits(
        bytes=settings.max_body_bytes,
        worked_on=int(turns.total_tokens),
        answer_s=settings.answer_limit_s,
    )
    return Limits(job=job, body=body)
