"""Allocations: node sets of a job, ranked while the scheduler waits."""

from typing import Any

from fastapi import APIRouter, Response

from app.http.bodies import PlainBodyDep
from app.http.openapi import answered, json_body, problems
from app.http.work import AnswersDep

router = APIRouter(prefix="/v1/allocations", tags=["allocations"])
EXAMPLE: dict[str, Any] = {
    "topology": {
        "slurm": "SwitchName=leaf1 Nodes=gpu[1-4]\nSwitchName=leaf2 Nodes=gpu[5-8]\n"
        "SwitchName=spine Switches=leaf[1-2]\n",
        "node_gbps": 3600,
        "level_gbps": {"node": 400},
        "oversubscription": {"leaf": 4},
    },
    "job": {"nodes": 4, "compute_us": 80_000, "gradient_bytes": 2_000_000_000},
    "running": [
        {
            "name": "vision",
            "on": ["gpu4", "gpu5"],
            "compute_us": 60_000,
            "gradient_bytes": 1_000_000_000,
        }
    ],
    "count": 2,
}


@router.post(
    "",
    summary="Rank node sets for a job",
    response_description="Node sets with the rank on each node, each job's time, and reasons.",
    openapi_extra=json_body("app.schemas.allocations:AllocationRequest", EXAMPLE),
    responses={
        **answered("app.schemas.allocations:AllocationAnswer"),
        **problems(400, 408, 413, 415, 422, 503),
    },
)
async def rank_allocations(body: PlainBodyDep, answers: AnswersDep) -> Response:
    """Say on which nodes a job runs best, and which rank on which, beside the jobs that run.

    Node sets are given, or searched among the free nodes. The same request has the same answer:
    nothing is kept, and no node is taken.
    """
    return await answers.answer("app.calls.allocations:ranking", body=body)
