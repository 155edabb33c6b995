"""Predictions: the request body of ``POST /v1/predictions/scaling``, and the answer."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from app.limits import (
    MAX_BATCH_SAMPLES,
    MAX_COLLECTIVES,
    MAX_FLOPS,
    MAX_FUSION_BUFFERS,
    MAX_LAYERS,
    MAX_TIME_LIMIT_S,
    MAX_WORKER_COUNTS,
    MIN_UTILISATION,
)
from app.schemas.base import AnswerModel, Name, RequestModel
from app.schemas.clusters import ClusterBody
from app.schemas.explanations import CostWarning
from app.schemas.graphs import ClusterRequest, GraphBody
from app.schemas.networks import Workers
from app.schemas.plan_options import OptionsBody
from solver.codes import FaultCode
from solver.errors import Fault
from solver.evidence.evidence import Evidence
from solver.limits import MAX_BYTES, MAX_DURATION_US
from solver.models.layers import Layer
from solver.prediction.passes import times_of
from solver.prediction.scaling import ScalingOptions, ScalingRow

#: What turns FLOPs into time.
_SPEED = ("batch_size", "peak_flops", "utilisation")


_TIMES = ("forward_us", "backward_us")


Time = Annotated[float, Field(ge=0, le=MAX_DURATION_US)] | None


class LayerBody(RequestModel):
    """A layer: its gradients, and the time of its passes or their FLOPs."""

    name: Annotated[Name | None, Field(description="For messages.")] = None
    bytes: Annotated[
        int,
        Field(ge=0, le=MAX_BYTES, description="Gradients, sent as one tensor; 0 when it has none."),
    ]
    forward_us: Annotated[Time, Field(description="Time of its forward pass [us].")] = None
    backward_us: Annotated[Time, Field(description="Time of its backward pass [us].")] = None
    flops: Annotated[
        Annotated[float, Field(ge=0, le=MAX_FLOPS)] | None,
        Field(
            description="Instead of times: FLOPs of one sample's forward pass. The backward pass "
            "takes twice as long."
        ),
    ] = None


class PredictionRequest(ClusterRequest):
    """An iteration, a cluster, and the worker counts to predict."""

    layers: Annotated[
        Annotated[list[LayerBody], Field(min_length=1, max_length=MAX_LAYERS)] | None,
        Field(description="The layers, the first of the forward pass first; or a graph."),
    ] = None
    graph: Annotated[
        GraphBody | None,
        Field(
            description="Instead of layers: any graph. OSF's figures are null where its "
            "collectives are no chain of all-reduces."
        ),
    ] = None
    workers: Annotated[
        Annotated[list[Workers], Field(min_length=1, max_length=MAX_WORKER_COUNTS)] | None,
        Field(
            description="Worker counts, a row for each; null for the cluster's own. Channels "
            "without workers of their own follow."
        ),
    ] = None
    buffers_bytes: Annotated[
        list[Annotated[int, Field(ge=0, le=MAX_BYTES)]],
        Field(max_length=MAX_FUSION_BUFFERS, description="Fusion buffers; 0 for no fusion."),
    ] = Field(default=[0, 100 * 2**20])
    timeout_us: Annotated[
        float,
        Field(
            ge=0,
            le=MAX_DURATION_US,
            description="Longest time that a fusion buffer waits for the next layer, anew for each "
            "[us].",
        ),
    ] = 5_000
    paper_eq15: Annotated[
        bool,
        Field(
            description="A fusion buffer waits even while the channel is busy, as OSF prints its "
            "equation 15, against its text."
        ),
    ] = False
    batch_size: Annotated[
        Annotated[int, Field(ge=1, le=MAX_BATCH_SAMPLES)] | None,
        Field(description="Samples of one worker's batch; with `flops`."),
    ] = None
    peak_flops: Annotated[
        Annotated[float, Field(ge=1, le=MAX_FLOPS)] | None,
        Field(description="Peak of a worker [FLOP/s]; with `flops`."),
    ] = None
    utilisation: Annotated[
        Annotated[float, Field(ge=MIN_UTILISATION, le=1)] | None,
        Field(description="Share of the peak that is used; with `flops`."),
    ] = None
    time_limit_s: Annotated[
        float,
        Field(
            gt=0,
            le=MAX_TIME_LIMIT_S,
            description="Of the plans of all rows together, as of a plan [s].",
        ),
    ] = OptionsBody().time_limit_s

    def counts(self) -> list[int]:
        """Return the worker counts, one a row."""
        return self.workers or [self.cluster.workers]

    def to_layers(self) -> list[Layer]:
        """Return the layers as the solver knows them, called by their numbers."""
        return [
            Layer(str(i), *self._times(layer), ((str(i), layer.bytes),))
            for i, layer in enumerate(self.layers or (), 1)
        ]

    def to_options(self) -> ScalingOptions:
        """Return what to predict as the solver knows it."""
        return ScalingOptions(
            tuple(self.buffers_bytes), self.timeout_us, self.paper_eq15, self.time_limit_s
        )

    def own_faults(self) -> list[Fault]:
        """List what is wrong besides the graph and the cluster."""
        found = [*_source_faults(self), *_repeats(self), *_layer_faults(self)]
        return [*super().own_faults(), *found]

    def _times(self, layer: LayerBody) -> tuple[float, float]:
        """Return the time of both passes [us]; what is missing takes none."""
        if layer.flops is None:
            return layer.forward_us or 0.0, layer.backward_us or 0.0
        return times_of(
            layer.flops, self.batch_size or 1, self.peak_flops or 1.0, self.utilisation or 1.0
        )


def _source_faults(request: PredictionRequest) -> Iterator[Fault]:
    """Want layers or a graph, and what turns FLOPs into time where there are FLOPs."""
    if request.layers is None and request.graph is None:
        yield Fault("/layers", FaultCode.MISSING_FIELD, "Give layers, or a graph.")
    if request.layers is not None and request.graph is not None:
        yield Fault("/graph", FaultCode.EXTRA_FIELD, "Give layers or a graph, not both.")
    uses = any(layer.flops is not None for layer in request.layers or ())
    for field in _SPEED:
        is_there = getattr(request, field) is not None
        if uses and not is_there:
            yield Fault(f"/{field}", FaultCode.MISSING_FIELD, f"Layers with flops need {field}.")
        if is_there and not uses:
            detail = f"{field} does not count where no layer has flops; leave it out."
            yield Fault(f"/{field}", FaultCode.EXTRA_FIELD, detail)


def _repeats(request: PredictionRequest) -> Iterator[Fault]:
    for field in ("workers", "buffers_bytes"):
        seen = set()
        for i, value in enumerate(getattr(request, field) or ()):
            if value in seen:
                yield Fault(
                    f"/{field}/{i}", FaultCode.OUT_OF_RANGE, f"{field}: {value} stands there twice."
                )
            seen.add(value)


def _layer_faults(request: PredictionRequest) -> Iterator[Fault]:
    layers = request.layers or []
    for i, layer in enumerate(layers):
        name = f"Layer {i + 1}" + (f" {layer.name!r}" if layer.name else "")
        missing = [field for field in _TIMES if getattr(layer, field) is None]
        if layer.flops is None:
            for field in missing:
                detail = f"{name} needs {field}, or flops instead of times."
                yield Fault(f"/layers/{i}/{field}", FaultCode.MISSING_FIELD, detail)
        elif len(missing) < len(_TIMES):
            detail = f"{name}: give flops or times, not both."
            yield Fault(f"/layers/{i}/flops", FaultCode.EXTRA_FIELD, detail)
    sizes = [layer.bytes for layer in layers]
    sending = sum(map(bool, sizes))
    if layers and not sending:
        yield Fault("/layers", FaultCode.NO_COLLECTIVE, "No layer has bytes to send.")
    if sending > MAX_COLLECTIVES:
        detail = f"At most {MAX_COLLECTIVES:,} layers may have bytes, got {sending:,}."
        yield Fault("/layers", FaultCode.OUT_OF_RANGE, detail)
    if sum(sizes) > MAX_BYTES:
        yield Fault(
            "/layers", FaultCode.OUT_OF_RANGE, f"All layers: 2^60 bytes at most, got {sum(sizes)}."
        )
    time = sum(layer.forward_us + layer.backward_us for layer in request.to_layers())
    known = all(layer.flops is None for layer in layers) or request.peak_flops is not None
    if known and time > MAX_DURATION_US:
        detail = f"All layers: {MAX_DURATION_US:g} us of compute at most, got {time:g}."
        yield Fault("/layers", FaultCode.OUT_OF_RANGE, detail)


class PredictionRequestOut(AnswerModel):
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


class PredictionAnswer(AnswerModel):
    """How the iteration scales."""

    rows: Annotated[list[ScalingRow], Field(description="One a worker count, in the order asked.")]
    why_no_osf: Annotated[
        str | None,
        Field(description="Why OSF's figures are null: the graph is no chain of all-reduces."),
    ]
    notes: Annotated[
        list[str], Field(description="What the rows change, and what is the same in all of them.")
    ]
    evidence: Annotated[
        Evidence | None,
        Field(
            description="What was measured, and below which gain nothing follows; of the first "
            "row. Null in answers of earlier versions."
        ),
    ] = None
    warnings: list[CostWarning]
    request: PredictionRequestOut
    version: str
