"""Requests ready to POST: the smallest one that shows everything, and published networks."""

from functools import cache
from typing import TYPE_CHECKING, Any

from app.errors import NotFound
from app.schemas.service import ExampleList, ExampleSummary
from solver.wording import meant

if TYPE_CHECKING:
    from app.schemas.plans import PlanRequest

#: Eight workers on 10 Gbit/s Ethernet, 50 us to negotiate and launch a collective.
CLUSTER: dict[str, Any] = {
    "workers": 8,
    "bandwidth_gbps": 10,
    "startup_us": 50,
    "algorithm": "ring",
}


#: 16 nodes of 8 A100 of 80 GB: NVLink carries 300 GB/s each way, and 8 GPUs share a network of
#: 400 Gbit/s. The start-ups are assumed, here and below.
A100_NODES: dict[str, Any] = {
    "workers": 16,
    "bandwidth_gbps": 50,
    "startup_us": 50,
    "channels": {"nvlink": {"workers": 8, "bandwidth_gbps": 2400, "startup_us": 20}},
}


#: 64 groups of 8 V100, two in a DGX-2H, as Megatron-LM was trained: NVLink carries 150 GB/s each
#: way, and 16 GPUs share a network of 800 Gbit/s.
V100_GROUPS: dict[str, Any] = {
    "workers": 64,
    "bandwidth_gbps": 50,
    "startup_us": 50,
    "channels": {"nvlink": {"workers": 8, "bandwidth_gbps": 1200, "startup_us": 20}},
}


OPTIONS: dict[str, Any] = {
    "fusion": "joint",
    "schedule": "jackson",
    "slot_us": None,
    "baselines": ["wfbp", "pace"],
    "barrier": False,
    "seed": 0,
    "time_limit_s": 60,
    "launch_tolerance": 0.001,
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
    "bert_base": "BERT-base from its published layer shapes, time split by FLOPs.",
    "bert_large": "BERT-large from its published layer shapes, time split by FLOPs.",
    "gpt2": "GPT-2 of 124 million parameters from its published shapes, time split by FLOPs.",
    "llama_7b": "LLaMA-7B from its published layer shapes, time split by FLOPs.",
    "vgg16": "VGG-16 from its published layer shapes, time split by FLOPs.",
    "fsdp_llama_7b": "LLaMA-7B under FSDP: sharded over the 8 GPUs of a node (`nvlink`), gradients "
    "summed between 16 nodes.",
    "tp_gpt_8b": "Megatron-LM's GPT of 8.3 billion parameters: each layer split over 8 GPUs "
    "(`nvlink`), gradients summed between 64 groups.",
    "seq2seq": "Seq2Seq as Sockeye builds it, LSTMs of 512 units in 3 layers on each side, time "
    "split "
    "by FLOPs.",
    "transformer": "The base Transformer as Sockeye builds it, 6 layers of 512 on each side, time "
    "split by FLOPs.",
}


#: The examples with channels of their own: PACE is not defined where collectives wait for others.
_NODES = {"fsdp_llama_7b": A100_NODES, "tp_gpt_8b": V100_GROUPS}


def names() -> ExampleList:
    """List the examples."""
    from solver.models import MODELS  # noqa: PLC0415 - the server wants the smallest alone

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


def is_example(name: str) -> bool:
    """Tell whether an example has this name."""
    from solver.models import MODELS  # noqa: PLC0415 - as above

    return name == "two_layers" or name in MODELS


def unknown_example(name: str) -> str:
    """Say that no example has this name, and which may be meant."""
    from solver.models import MODELS  # noqa: PLC0415 - as above

    return f"No example has this name.{meant(name, ('two_layers', *MODELS))}"


def cluster_of(name: str) -> dict[str, Any]:
    """Return the cluster of an example, as it is posted."""
    return _NODES.get(name, CLUSTER)


@cache
def example(name: str) -> "PlanRequest":
    """Return the request of this name, or raise NotFound."""
    from app.schemas.plans import PlanRequest  # noqa: PLC0415 - as above
    from app.schemas.problem import graph_json  # noqa: PLC0415
    from solver.models import MODELS  # noqa: PLC0415

    if name == "two_layers":
        return PlanRequest.model_validate(TWO_LAYERS)
    if name not in MODELS:
        raise NotFound(unknown_example(name))
    options = OPTIONS | {"baselines": ["wfbp", "tictac"]} if name in _NODES else OPTIONS
    return PlanRequest.model_validate(
        {"graph": graph_json(MODELS[name]()), "cluster": cluster_of(name), "options": options}
    )
