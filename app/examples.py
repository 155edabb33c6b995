"""Requests ready to POST: the smallest one that shows everything, and two published networks."""

from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, Field

from app.errors import NotFound
from app.problem import graph_json
from app.requests import PlanRequest
from solver.models import MODELS

#: Eight workers on 10 Gbit/s Ethernet, 50 us to negotiate and launch a collective.
CLUSTER: dict[str, Any] = {
    "workers": 8,
    "bandwidth_gbps": 10,
    "startup_us": 50,
    "algorithm": "ring",
}
OPTIONS: dict[str, Any] = {
    "fusion": "joint",
    "schedule": "jackson",
    "slot_us": None,
    "baselines": ["wfbp", "pace"],
    "barrier": False,
    "seed": 0,
    "time_limit_s": 10,
}
TWO_LAYERS: dict[str, Any] = {
    "graph": {
        "name": "two layers",
        "ops": [
            {"id": "b2", "kind": "compute", "duration_us": 800, "after": []},
            {"id": "g2", "kind": "all_reduce", "bytes": 4_000_000, "after": ["b2"]},
            {"id": "b1", "kind": "compute", "duration_us": 900, "after": ["b2"]},
            {"id": "g1", "kind": "all_reduce", "bytes": 1_000_000, "after": ["b1"]},
            {"id": "f1", "kind": "compute", "duration_us": 400, "after": ["b1", "g1"]},
            {"id": "f2", "kind": "compute", "duration_us": 450, "after": ["f1", "g2"]},
        ],
    },
    "cluster": CLUSTER,
    "options": OPTIONS,
}
_DESCRIPTIONS = {
    "two_layers": "Two layers: small enough to check by hand.",
    "resnet50": "ResNet-50 from its published layer shapes, time split by FLOPs.",
    "t5_small": "T5-small from its published layer shapes, time split by FLOPs.",
    "llama_7b": "LLaMA-7B from its published layer shapes, time split by FLOPs.",
    "vgg16": "VGG-16 from its published layer shapes, time split by FLOPs.",
}


class ExampleSummary(BaseModel):
    """An example in the list."""

    name: Annotated[str, Field(examples=["two_layers"])]
    description: str
    url: Annotated[str, Field(description="Where the request is.")]


class ExampleList(BaseModel):
    """The examples."""

    examples: list[ExampleSummary]


def names() -> ExampleList:
    """List the examples."""
    return ExampleList(
        examples=[
            ExampleSummary(
                name=name,
                description=_DESCRIPTIONS.get(name, f"{name}, made by Interlace."),
                url=f"/v1/examples/{name}",
            )
            for name in ("two_layers", *MODELS)
        ]
    )


@cache
def example(name: str) -> PlanRequest:
    """Return the request of this name, or raise NotFound."""
    if name == "two_layers":
        return PlanRequest.model_validate(TWO_LAYERS)
    if name not in MODELS:
        raise NotFound("No example has this name.")
    return PlanRequest.model_validate(
        {"graph": graph_json(MODELS[name]()), "cluster": CLUSTER, "options": OPTIONS}
    )
