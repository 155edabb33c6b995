"""What one of two workers does to calibrate their group."""

import json
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from interlace_client.torch.calibration import Calibration, calibrate, rounds, sizes_up_to
from interlace_client.torch.calibration.channel import KINDS
from tests.torch.workers import go_through


def on_both(value: object) -> list:
    """Return each worker's value."""
    found = [None, None]
    dist.all_gather_object(found, value)
    return found


def check(found: Calibration, kind: str, sizes: list[int]) -> None:
    """Check what holds of every table, and that the workers have the same."""
    assert [size for size, _ in found.tables[kind]] == sizes
    times = [us for _, us in found.tables[kind]]
    assert times == sorted(times)
    assert times[0] > 0
    for size in sizes:
        low, high = found.spread[kind][size]
        assert 0 < low <= high
    one, other = on_both((json.dumps(found.cluster), found))
    assert one == other


def all_reduce(folder: Path, rank: int) -> None:
    found = calibrate(sizes=300_000, limit_s=60)
    assert set(found.cluster) == {"workers", "cost_model"}
    measured = found.cluster["cost_model"]
    assert (measured["workers"], measured["algorithm"]) == (2, "table")
    check(found, "all_reduce", sizes_up_to(300_000))
    assert found.notes[0] == "2 workers over gloo."
    assert found.seconds > 0


def other_kinds(folder: Path, rank: int) -> None:
    sizes = [10, 1000, 5001]  # 5001 is no multiple of a number, nor of the workers
    found = calibrate(sizes=sizes, kinds=tuple(KINDS), limit_s=60)
    kinds = {"all_reduce", "all_gather", "reduce_scatter", "broadcast"}
    lacking = {kind for kind in kinds if f"gloo has no {kind}." in found.notes}
    assert lacking <= {"reduce_scatter"}  # before PyTorch 2.7
    assert set(found.tables) == kinds - lacking
    assert set(found.cluster["cost_model"]["tables"]) == kinds - lacking - {"all_reduce"}
    for kind in found.tables:
        check(found, kind, sizes)


def of_a_plan(folder: Path, rank: int) -> None:
    launches = [5000, 100, 5000, 20_000]
    found = calibrate(sizes=[1000, 50_000], launches=launches, limit_s=60)
    check(found, "all_reduce", [100, 1000, 5000, 20_000, 50_000])


def no_time(folder: Path, rank: int) -> None:
    """The first rank's clock says when it is over, however many rounds were wanted."""
    found = calibrate(sizes=2**24, limit_s=1e-6)
    assert [size for size, _ in found.tables["all_reduce"]] == [1024, 4096]
    assert "each in 1 round " in " ".join(found.notes)
    assert "11 sizes from 16384 bytes on would have taken too long" in " ".join(found.notes)


def given_otherwise_on_the_second(folder: Path, rank: int) -> None:
    found = calibrate(sizes=[100, 200] if rank == 0 else [300, 400, 500], limit_s=60 + rank)
    check(found, "all_reduce", [100, 200])


def faults_are_raised_on_both(folder: Path, rank: int) -> None:
    with pytest.raises(ValueError, match=r"two or more.*launches: 0 is.*'reduce'.*limit_s") as got:
        calibrate(sizes=[5], kinds=("reduce",), limit_s=0, launches=[0])
    assert len(set(on_both(str(got.value)))) == 1


def of_another_group(folder: Path, rank: int) -> None:
    group = dist.new_group([1, 0])
    check(calibrate(group, sizes=[100, 200], limit_s=60), "all_reduce", [100, 200])
    total = torch.ones(1)
    dist.all_reduce(total)  # the user's groups are as before
    assert total == 2


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        all_reduce,
        other_kinds,
        of_a_plan,
        no_time,
        given_otherwise_on_the_second,
        faults_are_raised_on_both,
        of_another_group,
    )
}

if __name__ == "__main__":
    rounds.ROUNDS = 2  # none is for want of time
    go_through(SCENARIOS)
