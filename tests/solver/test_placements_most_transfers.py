"""No simulation makes more transfers than it may."""

import pytest

from solver.errors import InvalidOptions
from solver.placements.chunks import Key
from solver.placements.job_steps import SharedServer, TrainingJob
from solver.placements.options import PlacementOptions
from solver.placements.plan import plan_placements
from solver.placements.racks import Racks

KEYS = [Key("a", 600), Key("b", 400)]
RACKS = Racks(2, 2, 10.0, 40.0, 10.0, chunk_bytes=10)
SERVER = SharedServer(10.0, 10.0, chunk_bytes=10)
JOBS = (TrainingJob("j", tuple(KEYS), 1.0, 2),)


@pytest.mark.parametrize("most", [24, 100, 799, 100_000])
def test_chunks_grow_until_there_are_no_more(most: int) -> None:
    options = PlacementOptions(
        chunk_bytes=10, racks=RACKS, jobs=JOBS, server=SERVER, most_transfers=most
    )
    found = plan_placements(KEYS, 1.0, 4, options)
    for each in found.placements:
        assert each.simulated is not None
        assert each.simulated.transfers <= most
        assert (each.simulated.chunk_bytes > 10) == (each.simulated.transfers < 600)
    if found.sharing is not None:
        assert found.sharing.transfers <= most
    assert found.reduction is not None
    # 100 chunks, two ways, 4 pushes and 4 pulls of each, and twice the 2 of each that cross
    size = found.reduction.chunk_bytes
    assert (size == 10) == (most >= 100 * 2 * (4 + 2))
    assert size is None or (-(-600 // size) + -(-400 // size)) * 2 * (4 + 2) <= most


def test_summing_cores_are_simulated_ten_times_with_an_eighth() -> None:
    options = PlacementOptions(chunk_bytes=10, aggregate_gbytes_per_s=100.0, most_transfers=800)
    for each in plan_placements(KEYS, 1.0, 4, options).placements:
        assert each.simulated is not None
        assert each.simulated.transfers <= 100


@pytest.mark.parametrize("most", [0, 100_001])
def test_most_transfers_has_a_range(most: int) -> None:
    with pytest.raises(InvalidOptions) as error:
        plan_placements(KEYS, 1.0, 4, PlacementOptions(most_transfers=most))
    assert [fault.pointer for fault in error.value.faults] == ["/most_transfers"]
