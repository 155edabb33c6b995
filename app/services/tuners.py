"""Files for NCCL's tuner plugin, from what benchmarks of its algorithms printed."""

from collections.abc import Iterator
from dataclasses import replace

from app.errors import InvalidRequest
from app.schemas.cost_models import CostModelRequest
from app.schemas.exports import ExportedFile
from app.schemas.tuners import TunerAnswer, TunerRequest
from app.services.benchmarks import measured
from solver.errors import Fault, InvalidMeasurements
from solver.exports.nccl_tuner import AlgorithmRun, tuner_table


def run(request: TunerRequest) -> TunerAnswer:
    """Compare measured algorithms, and write the file.

    Raises
    ------
    InvalidRequest
        With all that is wrong with all texts; when NCCL has no such algorithm or protocol; when
        no collective was measured in two ways.
    """
    runs, notes, faults = list[AlgorithmRun](), list[str](), list[Fault]()
    for i, body in enumerate(request.runs):
        try:
            asked = CostModelRequest(text=body.text, kind=body.kind, workers=request.workers)
            samples, workers, said = measured(asked)
        except InvalidRequest as error:
            faults += _placed(error, i)
        else:
            own = AlgorithmRun(body.algorithm, body.protocol, samples, workers, body.channels)
            runs.append(own)
            notes += [f"{body.algorithm}/{body.protocol}: {note}" for note in said]
    if faults:
        raise InvalidRequest(faults)
    try:
        table = tuner_table(runs, request.nodes)
    except InvalidMeasurements as error:
        raise InvalidRequest(error.faults) from error
    file = ExportedFile(name=table.file, text=table.text, base64=None)
    return TunerAnswer.of(table, files=[file], notes=[*notes, *table.notes])


def _placed(error: InvalidRequest, i: int) -> Iterator[Fault]:
    """Put the faults of a text at the run that it is of."""
    for fault in error.faults:
        yield replace(fault, pointer=f"/runs/{i}{fault.pointer}")
