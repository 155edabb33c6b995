"""Files for NCCL's tuner plugin."""

from typing import Any

from fastapi import APIRouter, Response

from app.http.bodies import PlainBodyDep
from app.http.openapi import answered, json_body, problems
from app.http.work import AnswersDep

router = APIRouter(prefix="/v1/exports", tags=["exports"])
EXAMPLE: dict[str, Any] = {
    "runs": [
        {
            "algorithm": "Ring",
            "protocol": "Simple",
            "channels": 16,
            "text": "size(B),time(us),workers\n65536,40.1,8\n1048576,74.8,8\n16777216,251.9,8\n",
        },
        {
            "algorithm": "Tree",
            "protocol": "LL",
            "channels": 16,
            "text": "size(B),time(us),workers\n65536,21.5,8\n1048576,96.2,8\n16777216,982.0,8\n",
        },
    ],
    "nodes": 1,
}


@router.post(
    "/nccl-tuner",
    summary="Write a file for NCCL's tuner plugin",
    response_description="The file, its rows, and what was compared.",
    openapi_extra=json_body("app.schemas.tuners:TunerRequest", EXAMPLE),
    responses={
        **answered("app.schemas.tuners:TunerAnswer"),
        **problems(400, 408, 413, 415, 422, 503),
    },
)
async def write_nccl_tuner(body: PlainBodyDep, answers: AnswersDep) -> Response:
    """Compare benchmarks that ran with one algorithm and protocol each: the fastest of each size.

    NVIDIA's example plugin reads the file. Fewer than two runs of a collective at the same sizes
    are refused, with what to measure.
    """
    return await answers.answer("app.calls.predictions:nccl_tuner", body=body)
