"""The response body of ``POST /v1/predictions/scaling``. Unknown is null."""

from typing import Annotated

from pydantic import Field

from app.body import Answered
from app.cluster import ClusterBody
from app.warned import Warned

Factor = Annotated[float | None, Field(description="Null when the iteration takes no time.")]


class FusedFactor(Answered):
    """OSF with a fusion buffer."""

    buffer_bytes: int
    factor: Factor


class AdaFusionFactor(Answered):
    """OSF's adaptive fusion, simulated."""

    factor: Factor
    buckets: Annotated[int, Field(description="How many launches it makes.")]


class ScalingRow(Answered):
    """Scaling factors of so many workers: compute time / iteration time, all under a barrier."""

    workers: int
    csf: Annotated[
        float | None, Field(description="All bytes in one all-reduce after the compute.")
    ]
    osf: Annotated[float | None, Field(description="Each layer sent alone, beside the compute.")]
    osf_fusion: Annotated[
        list[FusedFactor], Field(description="Layers sent in fusion buffers, in the order asked.")
    ]
    ada_fusion: AdaFusionFactor
    ddp: Annotated[float | None, Field(description="PyTorch DDP with its defaults, simulated.")]
    horovod: Annotated[float | None, Field(description="Horovod with its defaults, simulated.")]
    mg_wfbp: Annotated[float | None, Field(description="The policy `mg_wfbp`, simulated.")]
    plan: Annotated[float | None, Field(description="Interlace's plan, fusion `joint`.")]
    bound: Annotated[
        float | None, Field(description="No fusion, partition or order has a larger factor.")
    ]
    iteration_time_us: Annotated[
        float, Field(description="Of `osf`: t_comp_us + t_update_us - t_overlap_us [us].")
    ]
    t_comp_us: Annotated[float, Field(description="Compute alone [us].")]
    t_update_us: Annotated[
        float,
        Field(description="From the end of the last layer's backward pass to that of all [us]."),
    ]
    t_overlap_us: Annotated[
        float, Field(description="Backward pass of the other layers, which may hide sends [us].")
    ]


class PredictionRequestOut(Answered):
    """What was asked, defaults filled in; the graph by its hash, that of layers too."""

    cluster: ClusterBody
    workers: list[int]
    buffers_bytes: list[int]
    timeout_us: float
    paper_eq15: bool
    batch_size: int | None
    peak_flops: float | None
    utilisation: float | None
    time_limit_s: float
    graph_sha256: str


class PredictionAnswer(Answered):
    """How the iteration scales."""

    rows: Annotated[list[ScalingRow], Field(description="One a worker count, in the order asked.")]
    warnings: list[Warned]
    request: PredictionRequestOut
    version: str
