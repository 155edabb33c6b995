"""Measured steps: what was run, and how long a step took."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, log2
from typing import Final

from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape, faults_of_shape
from solver.shapes.transformer import Transformer, faults_of_transformer


@dataclass(frozen=True, slots=True)
class MeasuredShape:
    """A step that was measured.

    Attributes
    ----------
    model, cluster, shape
        What was run.
    time_us
        Mean time of a step [us].
    stated
        Fields of ``shape`` that the measurement states; others have their defaults, which may not
        be how it was run.
    """

    model: Transformer
    cluster: TrainingCluster
    shape: JobShape
    time_us: float
    stated: frozenset[str] = frozenset()


#: What a layer's times depend on: the first features of a step.
LAYER_FEATURES: Final = ("micro_batch", "hidden", "sequence", "tp", "cp", "ep")

#: All features of a step, each as the logarithm to the base of 2.
FEATURES: Final = (*LAYER_FEATURES, "layers", "dp", "pp", "vpp", "micro_batches")


def features(model: Transformer, shape: JobShape) -> tuple[float, ...]:
    """Return the :data:`FEATURES` of a step."""
    of_model = ("hidden", "sequence", "layers")
    return tuple(log2(getattr(model if name in of_model else shape, name)) for name in FEATURES)


def crosses_nodes(row: MeasuredShape) -> bool:
    """Return whether a step's GPUs are in more than one node: the innermost level."""
    return row.cluster.crossed(row.shape.gpus) > 0


def check_rows(rows: Sequence[MeasuredShape], least: int = 1) -> None:
    """Refuse rows that no step can have.

    Raises
    ------
    InvalidMeasurements
        Fewer rows than ``least``, times that are not positive, shapes that do not fit their model.
    """
    faults = list(faults_of_rows(rows))
    if len(rows) < least:
        detail = f"Rows: at least {least} measured steps are needed, got {len(rows)}."
        faults.append(Fault("", FaultCode.MISSING_FIELD, detail))
    if faults:
        raise InvalidMeasurements(faults)


#: Rows have no more passes together: each is simulated some hundred times.
MOST_PASSES_OF_ROWS = 2_000_000


def faults_of_rows(rows: Sequence[MeasuredShape]) -> Iterator[Fault]:
    """Yield what is wrong with each row, and whether all are too much work."""
    shapes = [row.shape for row in rows]
    passes = sum(shape.passes for shape in shapes)
    if passes > MOST_PASSES_OF_ROWS:
        detail = f"Rows: at most {MOST_PASSES_OF_ROWS:,} passes in all, got {passes:,}."
        yield Fault("", FaultCode.OUT_OF_RANGE, detail)
    for i, row in enumerate(rows):
        if not (isfinite(row.time_us) and row.time_us > 0):
            detail = f"Row {i + 1}: the time of a step must be positive, got {row.time_us:g}."
            yield Fault(f"/{i}/time_us", FaultCode.OUT_OF_RANGE, detail)
        rates = dict(row.cluster.accelerator.tflops)
        if row.shape.precision not in rates:
            detail = f"Row {i + 1}: precision must be one of the GPU's, {', '.join(rates)}."
            yield Fault(f"/{i}/shape/precision", FaultCode.OUT_OF_RANGE, detail)
        of_model = list(faults_of_transformer(row.model))
        of_shape = [] if of_model else list(faults_of_shape(row.shape, row.model))
        for part, found in (("model", of_model), ("shape", of_shape)):
            for fault in found:
                detail = f"Row {i + 1}: {fault.detail}"
                yield Fault(f"/{i}/{part}{fault.pointer}", fault.code, detail)
        if not of_model and not of_shape and 0 < row.time_us < (least := _least_us(row)):
            detail = (
                f"Row {i + 1}: the time of a step must be at least {least:,.0f} us, which the "
                f"model's multiplications take at the GPU's full rate; got {row.time_us:,g} us."
            )
            yield Fault(f"/{i}/time_us", FaultCode.OUT_OF_RANGE, detail)


def _least_us(row: MeasuredShape) -> float:
    """Return the time of a step's multiplications at the highest rate of its GPUs [us].

    Those of attention are left out: a window of the sequence may need fewer.
    """
    shape, fastest = row.shape, max(rate for _, rate in row.cluster.accelerator.tflops)
    sequences = shape.dp * shape.micro_batch * shape.micro_batches
    counts = row.model.layer_counts(0, row.model.layers)
    weights = sum(n * each.active_weights for each, n in counts)
    return 6 * weights * sequences * row.model.sequence / (shape.gpus * fastest * 1e6)
