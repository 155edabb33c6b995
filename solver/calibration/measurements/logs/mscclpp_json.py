"""mscclpp-test with ``-o``: a JSON object a line with name, ranks, size, time, algBw and busBw.

Bytes are those of all ranks, time is in us; the kernel that ran is not told apart.

References
----------
.. [1] MSCCL++, test/mscclpp-test/common.cc, BaseTestEngine::runTest.
"""

import re

from solver.calibration.measurements.lines import Figure
from solver.calibration.measurements.logs.json_records import number, records_of, whole_number
from solver.calibration.measurements.readings import Measurements, Reading, samples_of
from solver.codes import FaultCode
from solver.errors import Fault
from solver.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL
from solver.limits import MAX_BYTES, MAX_WORKERS

FORMAT = "mscclpp_json"


MARK = re.compile(r'"algBw"\s*:')


_KINDS = {"allreduce": ALL_REDUCE, "allgather": ALL_GATHER, "alltoall": ALL_TO_ALL}


def read(text: str) -> tuple[Measurements, ...]:
    """Read the results of each collective and number of ranks as a run.

    Raises
    ------
    InvalidMeasurements
        When no collective is there, and with every result that is broken.

    Notes
    -----
    O(characters).
    """
    rows: dict[tuple[str, int], list[Reading | Fault]] = {}
    broken: list[Reading | Fault] = []
    kernels: dict[str, None] = {}
    for record in records_of(text):
        if isinstance(record, Fault):
            broken.append(record)
        elif record is not None and record.value.get("name") != "sendrecv":
            told = record.value
            kind = _KINDS.get(str(told.get("name")))
            ranks = whole_number(told.get("ranks"), MAX_WORKERS)
            size, time = whole_number(told.get("size"), MAX_BYTES), number(told.get("time"))
            if kind is None or not ranks or size is None or time is None:
                detail = f"Line {record.line}: a result must have name, ranks, size and time."
                broken.append(Fault(f"/{record.line}", FaultCode.MISSING_FIELD, detail))
            else:
                kernels[str(told.get("kernel"))] = None
                reading = Reading(record.line, size, Figure(time, 0.0))
                rows.setdefault((kind, ranks), []).append(reading)
    if broken or not rows:
        samples_of(broken)
    several = (f"Results of several kernels are one: {', '.join(kernels)}.",)
    found = []
    for (kind, ranks), readings in rows.items():
        selection = samples_of(readings)
        notes = selection.notes + (several if len(kernels) > 1 else ())
        found.append(Measurements(FORMAT, selection.samples, ranks, kind, notes))
    return tuple(found)
