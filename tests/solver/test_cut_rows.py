"""Tables of benchmarks that end in a row."""

import pytest

from solver.calibration.measurements import read_measurements
from solver.calibration.measurements.cut_rows import CUT, without_cut_row
from solver.errors import InterlaceError

OSU = """# OSU MPI Allreduce Latency Test v7.5
# Size       Avg Latency(us)
1024                   10.25
2048                   12.50
65536                  42.75"""


def test_a_row_that_is_there_in_part_is_left_out_and_said():
    whole = read_measurements(OSU)
    assert CUT not in whole.notes
    begin = OSU.index("\n2048") + 1
    for at in range(begin, len(OSU)):
        try:
            found = read_measurements(OSU[:at])
        except InterlaceError:
            continue
        assert found.samples == whole.samples[: len(found.samples)], at
        in_row = OSU[at - 1] != "\n" and not OSU[:at].endswith((".25", ".50"))
        assert (CUT in found.notes) == in_row, at


@pytest.mark.parametrize(
    "text", ["", "8 1.5", "a b\n8 1", f"{OSU}\n", "8 1.5\n# end", "8 1.5\n9 2.5"]
)
def test_what_is_whole_stays(text):
    assert without_cut_row(text) == (text, "")
