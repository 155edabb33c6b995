"""Shapes of a job: the request for a ranking, and the answer."""

from typing import Annotated, Any

from pydantic import Field

from app.limits import JOB_TIME_LIMIT_S
from app.schemas.base import AnswerModel, Name, OneOf, RequestModel
from solver.shapes.communication.shape_plan import ShapePlan
from solver.shapes.efficiency import ASSUMED, FIGURES, Efficiencies
from solver.shapes.fit.figures import FittedFigure
from solver.shapes.hardware import ACCELERATORS, Accelerator, NetworkLevel
from solver.shapes.job_shape import CONTEXTS, RECOMPUTATIONS, SHARDINGS, JobShape
from solver.shapes.kernels import (
    ATTENTIONS,
    MATMULS,
    MOST_SHARE,
    MeasuredAttention,
    MeasuredKernels,
    MeasuredMatmul,
)
from solver.shapes.launch import PROGRAMS, LaunchArguments
from solver.shapes.pipeline.orders import INTERLEAVED, ONE_F_ONE_B, ORDERS
from solver.shapes.published import PUBLISHED
from solver.shapes.ranking.space import ShapeSpace
from solver.shapes.transformer import Transformer

Ways = Annotated[int, Field(ge=1, le=1_048_576)]
Count = Annotated[int, Field(ge=0, le=100_000_000)]
Some = Annotated[int, Field(ge=1, le=100_000_000)]
Bytes = Annotated[int, Field(ge=1, le=1 << 40)]
Figure = Annotated[float, Field(gt=0, le=1e12)]
Choices = Annotated[list[Ways], Field(min_length=1, max_length=64)]
Schedule = Annotated[str, OneOf(tuple(ORDERS))]
Sharding = Annotated[str, OneOf(SHARDINGS)]
Recomputation = Annotated[str, OneOf(RECOMPUTATIONS)]
Program = Annotated[str, OneOf(tuple(PROGRAMS))]


# What counts where nothing is said; pydantic copies it.
_ALONE, _BATCHES, _CHUNKS, _SPLIT = [1], [1, 2, 4, 8], [2, 4], [True]
_SCHEDULES = [ONE_F_ONE_B, INTERLEAVED]
_SHARDINGS = ["optimizer", "parameters"]
_AGAIN = list(RECOMPUTATIONS)
_NONE: list[Any] = []
_NOTHING: dict[str, Any] = {}

KernelShare = Annotated[
    float, Field(gt=0, le=MOST_SHARE, description="Operations per second over the GPU's rate.")
]
Pieces = Annotated[
    int, Field(ge=1, le=256, description="Pieces in which a stage's gradients overlap; 1: none.")
]


class TransformerBody(RequestModel):
    """A transformer by its numbers."""

    name: Name = "model"
    layers: Annotated[int, Field(ge=1, le=10_000)]
    hidden: Some
    heads: Some
    feed_forward: Annotated[Some, Field(description="Width; with experts, of each.")]
    vocabulary: Some
    sequence: Annotated[Some, Field(description="Tokens of a sequence.")]
    kv_heads: Annotated[
        Some | None, Field(description="Heads of keys and values; null for as many as heads.")
    ] = None
    head_size: Annotated[Some | None, Field(description="Null for hidden / heads.")] = None
    gated: Annotated[bool, Field(description="Three matrices in the feed-forward block.")] = False
    experts: Count = 0
    top_k: Annotated[Count, Field(description="Experts that a token is sent to.")] = 0
    shared_feed_forward: Annotated[
        Count, Field(description="Width of what every token passes beside its experts.")
    ] = 0
    dense_layers: Annotated[Count, Field(description="First layers without experts.")] = 0
    dense_feed_forward: Annotated[Count, Field(description="Their width.")] = 0
    attention_parameters: Annotated[
        Some | None, Field(description="Weights of a layer's attention, where heads do not tell.")
    ] = None
    tied: Annotated[bool, Field(description="The head uses the embedding's weights.")] = False

    def to_model(self) -> Transformer:
        """Return the model as the solver knows it."""
        return Transformer(**self.model_dump())


class AcceleratorBody(RequestModel):
    """A GPU by the figures of its data sheet."""

    name: Name = "gpu"
    tflops: Annotated[
        dict[Name, Figure],
        Field(min_length=1, max_length=16, description="Dense, by precision; `bf16` is needed."),
    ]
    memory_gib: Figure
    memory_gbps: Annotated[Figure, Field(description="Bandwidth of the memory [GB/s].")]

    def to_accelerator(self) -> Accelerator:
        """Return the GPU as the solver knows it."""
        rates = tuple(sorted(self.tflops.items()))
        return Accelerator(self.name, rates, self.memory_gib, self.memory_gbps)


class MatmulBody(RequestModel):
    """A multiplication of activations with weights that was measured."""

    computes: Annotated[str, OneOf(MATMULS)]
    tokens: Annotated[Some, Field(description="Rows of the activations.")]
    inputs: Annotated[Some, Field(description="Rows of the weights, as in the forward pass.")]
    outputs: Annotated[Some, Field(description="Their columns.")]
    groups: Annotated[Ways, Field(description="At once, each by its own weights: experts.")] = 1
    share: KernelShare


class AttentionBody(RequestModel):
    """Attention of a layer that was measured."""

    computes: Annotated[str, OneOf(ATTENTIONS)]
    sequence: Annotated[Some, Field(description="Tokens of a sequence.")]
    heads: Annotated[Some, Field(description="Of all sequences of a micro-batch.")]
    kv_heads: Annotated[Some, Field(description="Heads of keys and values of these.")]
    share: KernelShare


class KernelsBody(RequestModel):
    """What sizes of multiplications were measured to reach on the GPU."""

    matmuls: Annotated[list[MatmulBody], Field(min_length=1, max_length=10_000)]
    attention: Annotated[list[AttentionBody], Field(max_length=10_000)] = _NONE
    precision: Annotated[Name, Field(description="That they were measured at.")] = "bf16"

    def to_kernels(self) -> MeasuredKernels:
        """Return the kernels as the solver knows them."""
        return MeasuredKernels(
            tuple(MeasuredMatmul(**each.model_dump()) for each in self.matmuls),
            tuple(MeasuredAttention(**each.model_dump()) for each in self.attention),
            self.precision,
        )


class LevelBody(RequestModel):
    """A network that GPUs cross: of a node, a rack, the spine."""

    name: Name
    gpus: Annotated[Ways, Field(description="GPUs that it joins; of the last, all.")]
    bandwidth_gbps: Annotated[Figure, Field(description="Of each GPU, each direction [Gbit/s].")]
    startup_us: Annotated[float, Field(ge=0, le=1e9, description="Of a launch [us].")] = 0.0
    hop_us: Annotated[float, Field(ge=0, le=1e9, description="Of a ring's step [us].")] = 0.0
    table: Annotated[
        list[Annotated[tuple[Bytes, Figure], Field(strict=False)]],
        Field(max_length=4096, description="Measured all-reduces, instead: bytes and us."),
    ] = _NONE
    table_ranks: Annotated[Ways | None, Field(description="Ranks of the table.")] = None

    def to_level(self) -> NetworkLevel:
        """Return the level as the solver knows it."""
        return NetworkLevel(**self.model_dump() | {"table": tuple(map(tuple, self.table))})


class ShapeBody(RequestModel):
    """How many ways a measured job was split, and how its steps were run."""

    tp: Annotated[Ways, Field(description="Tensor parallelism.")] = 1
    pp: Annotated[Ways, Field(description="Pipeline parallelism.")] = 1
    dp: Annotated[Ways, Field(description="Data parallelism.")] = 1
    cp: Annotated[Ways, Field(description="Context parallelism.")] = 1
    ep: Annotated[Ways, Field(description="Expert parallelism, within cp * dp.")] = 1
    micro_batch: Annotated[Ways, Field(description="Sequences of a micro-batch.")] = 1
    micro_batches: Annotated[Ways, Field(description="Of a step, on each data-parallel rank.")] = 1
    schedule: Annotated[Schedule, Field(description="Of the pipeline.")] = ONE_F_ONE_B
    vpp: Annotated[Ways, Field(description="Chunks of layers a pipeline rank.")] = 1
    sequence_parallel: bool = False
    sharding: Annotated[Sharding, Field(description="What data parallelism shares out.")] = "none"
    shard: Annotated[Ways | None, Field(description="Over how many ranks; null for all.")] = None
    recomputation: Recomputation = "none"
    context: Annotated[str, OneOf(CONTEXTS), Field(description="How keys and values go.")] = "ring"
    flash_attention: bool = True
    precision: Name = "bf16"
    gradient_bytes: Annotated[int, Field(ge=2, le=4, description="2 or 4.")] = 4
    reshard: Annotated[
        bool, Field(description="Gathered parameters are gathered again for the backward pass.")
    ] = True
    overlapped_buckets: Pieces = 1
    layers_of_stages: Annotated[
        list[Annotated[int, Field(ge=0)]] | None,
        Field(max_length=16_384, description="Of each virtual stage; null for even ones."),
    ] = None
    expert_imbalance: Annotated[
        float, Field(ge=1, le=1e6, description="Tokens of the busiest expert rank over the mean.")
    ] = 1.0

    def to_shape(self) -> JobShape:
        """Return the shape as the solver knows it."""
        layers = None if self.layers_of_stages is None else tuple(self.layers_of_stages)
        return JobShape(**{**self.model_dump(), "layers_of_stages": layers})


class MeasuredStepBody(RequestModel):
    """A step that was measured on the same GPUs and networks."""

    shape: ShapeBody
    time_us: Annotated[float, Field(ge=1e-3, le=1e12, description="Mean of a step [us].")]
    model: Annotated[
        Name | TransformerBody | None, Field(description="Null for that of the request.")
    ] = None


class ShapeRequest(RequestModel):
    """A model, a cluster, and the shapes to rank."""

    model: Annotated[
        Name | TransformerBody,
        Field(description=f"Its numbers, or a published one: {', '.join(PUBLISHED)}."),
    ]
    gpu: Annotated[
        Name | AcceleratorBody,
        Field(description=f"Its figures, or one of {', '.join(ACCELERATORS)}."),
    ]
    kernels: Annotated[
        KernelsBody | None,
        Field(description="What sizes of multiplications reach; null for one share of all."),
    ] = None
    gpus: Annotated[Ways, Field(description="GPUs of the job.")]
    levels: Annotated[
        list[LevelBody],
        Field(min_length=1, max_length=8, description="Networks from the innermost."),
    ]
    global_batch: Annotated[Ways, Field(description="Sequences of a step.")]
    sequence: Annotated[
        Some | None, Field(description="Tokens of a sequence; null for the model's.")
    ] = None
    tp: Annotated[
        Choices | None, Field(description="Ways; null for powers of two within a node.")
    ] = None
    pp: Annotated[
        Choices | None, Field(description="Ways, at most 128; null for powers of two.")
    ] = None
    cp: Annotated[Choices, Field(description="Ways of context parallelism.")] = _ALONE
    ep: Annotated[Choices | None, Field(description="Ways; null for powers of two.")] = None
    micro_batch: Annotated[Choices, Field(description="Sequences of a micro-batch.")] = _BATCHES
    vpp: Annotated[Choices, Field(description="Chunks of an interleaved schedule.")] = _CHUNKS
    schedules: Annotated[list[Schedule], Field(min_length=1, max_length=8)] = _SCHEDULES
    sequence_parallel: Annotated[
        list[bool], Field(min_length=1, max_length=2, description="Beside tensor parallelism.")
    ] = _SPLIT
    shardings: Annotated[list[Sharding], Field(min_length=1, max_length=4)] = _SHARDINGS
    recomputations: Annotated[list[Recomputation], Field(min_length=1, max_length=3)] = _AGAIN
    precision: Annotated[Name, Field(description="Of the matrix multiplications.")] = "bf16"
    flash_attention: bool = True
    gradient_bytes: Annotated[int, Field(ge=2, le=4, description="2 or 4.")] = 4
    overlapped_buckets: Pieces = 1
    efficiencies: Annotated[
        dict[Annotated[str, OneOf(FIGURES)], Annotated[float, Field(ge=1e-6, le=1e9)]],
        Field(max_length=len(FIGURES), description="Known figures of the machine, by name."),
    ] = _NOTHING
    rows: Annotated[
        list[MeasuredStepBody],
        Field(max_length=500, description="Measured steps, to which the figures are fitted."),
    ] = _NONE
    price_per_gpu_hour: Annotated[
        float | None, Field(ge=0, le=1e9, description="In any currency.")
    ] = None
    count: Annotated[int, Field(ge=1, le=1_000, description="How many of the best.")] = 10
    planned: Annotated[int, Field(ge=0, le=10, description="How many of the best are planned.")] = 1
    launch: Annotated[
        Program | None, Field(description="A program whose arguments the shapes are to have.")
    ] = None

    @property
    def own_name(self) -> str:
        """What its job is called: as its model."""
        model = self.model if isinstance(self.model, str) else self.model.name
        return f"{model} on {self.gpus:,} GPUs"

    @property
    def asked_s(self) -> float:
        """The time that its job asks for [s]."""
        return JOB_TIME_LIMIT_S

    def to_space(self) -> ShapeSpace:
        """Return the shapes as the solver knows them."""
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name in ShapeSpace.__dataclass_fields__
            for value in [getattr(self, name)]
        }
        return ShapeSpace(**fields)

    def to_efficiencies(self) -> Efficiencies:
        """Return what is known of the machine, and the rest as assumed."""
        known = {name: getattr(ASSUMED, name) for name in FIGURES} | dict(self.efficiencies)
        return Efficiencies(**known)


class ShapeTimelineRequest(ShapeRequest):
    """A ranking, and which of its shapes to draw."""

    shape: Annotated[
        ShapeBody | None, Field(description="As `shape` of a row; null for the best.")
    ] = None


class ExposedGroup(AnswerModel):
    """Exposed communication of a group."""

    group: str
    us: float


class ShapeRow(AnswerModel):
    """A shape with its figures."""

    name: Annotated[str, Field(description="What differs from 1.")]
    shape: JobShape
    time_us: Annotated[float, Field(description="Simulated time of a step [us].")]
    predicted_us: Annotated[
        float | None, Field(description="With what measured steps tell besides [us].")
    ]
    low_us: Annotated[
        float | None,
        Field(description="Nine of ten steps are between [us]; null where rows are too few."),
    ]
    high_us: float | None
    outside: Annotated[list[str], Field(description="What no measured step is near.")]
    memory_bytes: Annotated[float, Field(description="Of the fullest rank, at its peak.")]
    memory_rank: Annotated[int, Field(description="Its position in the pipeline.")]
    bubble_us: float
    tail_us: Annotated[float, Field(description="From the last pass to the end of the step.")]
    exposed: list[ExposedGroup]
    tokens_per_s_per_gpu: Annotated[
        float, Field(description="By the predicted time, without one by the simulated.")
    ]
    mfu: Annotated[float, Field(description="Likewise; without what is computed again.")]
    price_per_billion_tokens: Annotated[
        float | None, Field(description="Likewise; null without a price.")
    ]
    why: str
    launch: Annotated[
        LaunchArguments | None, Field(description="To run it; null unless asked for.")
    ]
    plan: Annotated[
        ShapePlan | None,
        Field(description="Of its data-parallel communication; null beyond the first `planned`."),
    ]


class ShapeAnswer(AnswerModel):
    """The best shapes, the front of time and memory, and what is proven of the others."""

    model: str
    parameters: int
    gpus: int
    best: list[ShapeRow]
    front: list[ShapeRow]
    shapes: int
    too_large: Annotated[int, Field(description="Shapes that do not fit in memory.")]
    simulated: int
    cut: Annotated[
        int, Field(description="Not simulated, as too much work, though perhaps among the best.")
    ]
    is_proven: Annotated[
        bool,
        Field(
            description="No shape of the space has a shorter simulated step; of the model alone."
        ),
    ]
    lower_bound_us: float | None
    figures: Annotated[list[FittedFigure], Field(description="What is taken of the machine.")]
    rows: Annotated[int, Field(description="Measured steps that they were fitted to.")]
    rows_error: Annotated[
        float | None,
        Field(description="Median error of each row as the others predict it, relative."),
    ]
    notes: Annotated[list[str], Field(description="What was assumed, and what the proof is of.")]
    version: str
