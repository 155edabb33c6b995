"""Horovod's autotuner (``HOROVOD_AUTOTUNE_LOG``): a score of each cycle time and fusion threshold.

``...,cycle_time_ms,tensor_fusion_threshold,score``; older versions lack some of the columns before
these. The threshold is in MiB, the score is bytes reduced over time: that of whole training steps,
not of launches.

References
----------
.. [1] Horovod 0.16 to 0.28, horovod/common/parameter_manager.cc.
"""

import csv
import math
import re

from solver.calibration.measurements.lines import figure, lines_of
from solver.calibration.measurements.logs.costless import refuse
from solver.calibration.measurements.readings import Measurements
from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.limits import MAX_FAULTS_SOUGHT

FORMAT = "autotune"


MARK = re.compile(r"\bcycle_time_ms,tensor_fusion_threshold,score\b")


_NEEDED = {"cycle_time_ms", "tensor_fusion_threshold", "score"}


def read(text: str) -> tuple[Measurements, ...]:
    """Say which cycle time and threshold were best: there is no cost in the log.

    Raises
    ------
    InvalidMeasurements
        With ``no_cost``; else with every row whose figures are no numbers.
    """
    names: list[str] = []
    best: dict[str, float] = {}
    faults: list[Fault] = []
    many = 0
    for number, line in lines_of(text):
        cells = [cell.strip() for cell in next(csv.reader([line]), [])]
        if MARK.search(line) and set(cells) >= _NEEDED:
            names = cells
        elif names and len(faults) < MAX_FAULTS_SOUGHT:
            figures = [figure(cell) for cell in cells]
            found = [cell.value for cell in figures if cell and math.isfinite(cell.value)]
            if len(found) != len(names) or len(cells) != len(names):
                detail = f"Line {number}: a row has {len(names)} numbers."
                faults.append(Fault(f"/{number}", FaultCode.OUT_OF_RANGE, detail))
                continue
            row = dict(zip(names, found, strict=True))
            many += 1
            if not best or row["score"] > best["score"]:
                best = row
    if not faults and not best:
        faults = [Fault("", FaultCode.WRONG_FORMAT, "No row stands below the header.")]
    if faults:
        raise InvalidMeasurements(faults)
    cycle_ms, mib = best["cycle_time_ms"], best["tensor_fusion_threshold"]
    policy = (
        f"horovod:cycle_time_us={1e3 * cycle_ms:.6g},fusion_threshold_bytes={round(mib * 2**20)}"
    )
    refuse(
        f"This is the log of Horovod's autotuner: of {many} samples the best is a cycle time of "
        f"{cycle_ms:g} ms with a fusion threshold of {mib:g} MiB (score {best['score']:g}).",
        f"Compare a plan with what it chose by `interlace plan --baseline {policy}`. For a cost, "
        "give what nccl-tests prints, or import the job's timeline.",
    )
