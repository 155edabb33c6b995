"""Logs of launches as costs: fitted by the service, and read by the command where costs are."""

import json
import pickle
from pathlib import Path

import pytest

from app.errors import InvalidRequest
from app.schemas.cost_models import CostModelAnswer, CostModelRequest
from app.services.cost_models import run as fit
from app.services.opened_files import opened
from solver.calibration.measurements.logs.flight_recorder import as_text
from solver.errors import InvalidTrace
from tests.app.command import Run
from tests.launch_logs import (
    AUTOTUNE,
    DEEPSPEED,
    MIB,
    RECORDER,
    dumped,
    entry,
    inspected,
    lines_of,
)

#: 20 us and 10^-5 us a byte.
SIZES = (MIB, 4 * MIB, 16 * MIB, 64 * MIB)


def times(late: int) -> list[tuple[int, int]]:
    return [(size, round(20 + size * 1e-5) - late) for size in SIZES]


def of_rank(rank: int, late: int) -> str:
    """What a rank's file of NCCL Inspector has."""
    records = (
        inspected(size=size, us=us, number=number, rank=rank)
        for number, (size, us) in enumerate(times(late))
    )
    return str(lines_of(records))


def ask(*texts: str) -> CostModelAnswer:
    return fit(CostModelRequest(texts=list(texts)))


@pytest.mark.parametrize("order", [1, -1])
def test_files_of_several_ranks_are_one_log(order: int) -> None:
    """The slowest rank of each launch counts, whichever file it is in."""
    answer = ask(*[of_rank(0, 5), of_rank(1, 0)][::order])
    assert (answer.samples, answer.model.workers) == (4, 2)
    assert answer.model.constant_us == pytest.approx(20, abs=1)  # of whole us
    assert answer.notes == []
    alone = ask(of_rank(0, 5))
    assert alone.samples == 4
    assert alone.notes == [
        "4 of 4 launches have no record of some ranks: the slowest of those that are there counts."
    ]
    with pytest.raises(InvalidRequest) as refused:
        ask(of_rank(0, 0), of_rank(1, 0).replace("coll_exec_time_us", "x", 1))
    assert [(fault.pointer, fault.code) for fault in refused.value.faults] == [
        ("/texts/1", "missing_field")
    ]


def test_launches_of_one_size_have_an_assumed_startup() -> None:
    answer = ask(RECORDER)
    assert (answer.model.algorithm, answer.model.workers) == ("linear", 2)
    assert answer.model.constant_us == pytest.approx(50, rel=1e-3)
    assert (
        "launches of 10,485,760 bytes alone do not tell start-up from bandwidth; the start-up"
        in " ".join(answer.notes)
    )


def dump_of_sizes(ms: list[float]) -> str:
    """One of three sizes, from 1 to 100 MB, with the time of each."""
    sizes = (262_144, 2_621_440, 26_214_400)
    entries = [entry(dims=(size,), ms=time) for size, time in zip(sizes, ms, strict=True)]
    hung = entry(dims=sizes[:1], ms=None, state="started")
    return json.dumps(dumped(*entries * 4, hung, world_size=2))


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (
            [2.51] * 3,
            "for 1,048,576 bytes as for 104,857,600: a byte would cost as good as nothing",
        ),  # hung
        ([2.51, 2.51, 2.52], "no bandwidth follows"),  # by 10 us: 80,000 Gbit/s
        ([4e3, 4e4, 4e5], "Gbit/s, less than the 0.01 Gbit/s of the slowest network"),
    ],
)
def test_a_cost_that_no_network_has_is_refused(ms: list[float], said: str) -> None:
    for text in (dump_of_sizes(ms), dump_of_sizes(ms).replace("all_reduce", "all_to_all")):
        with pytest.raises(InvalidRequest) as refused:
            ask(text)
        (fault,) = refused.value.faults
        assert (fault.code, said in fault.detail) == ("no_cost", True)


def test_a_slow_network_is_none_that_hangs() -> None:
    """Of 20 Mbit/s: 42 s for 100 MB."""
    answer = ask(dump_of_sizes([420, 4_195, 41_943]))
    assert answer.model.us_per_byte == pytest.approx(0.4, rel=1e-3)


def test_launches_of_one_size_that_are_fast_have_the_fastest_link() -> None:
    answer = ask(json.dumps(dumped(*[entry(dims=(26_214_400,), ms=0.06)] * 4, world_size=2)))
    assert answer.model.us_per_byte == pytest.approx(8 / 14.4e6, rel=1e-3)
    assert "the bandwidth is that of the fastest link" in " ".join(answer.notes)


def test_dumps_of_several_ranks_are_one_log() -> None:
    """Rank 1 is late: the times of rank 0 hold its wait."""
    dumps = [
        json.dumps(
            dumped(
                *(
                    entry(dims=(size,), ms=ms + wait, collective_seq_id=size)
                    for size, ms in ((10**6, 2.0), (2 * 10**6, 3.0))
                ),
                rank=str(rank),
            )
        )
        for rank, wait in ((0, 3.0), (1, 0.0))
    ]
    answer = ask(*dumps)
    assert (answer.samples, answer.model.workers) == (2, 2)
    assert answer.model.constant_us == pytest.approx(1000)
    assert answer.model.us_per_byte == pytest.approx(1e-3 / 4)


def test_kinds_of_one_size_have_the_bandwidth_of_the_others() -> None:
    answer = ask(DEEPSPEED)
    assert answer.model.workers == 16
    assert sorted(answer.model.tables) == ["all_gather", "reduce_scatter"]
    assert answer.model.tables["reduce_scatter"][-1] == (50 * MIB, 7000.0)
    assert answer.model.table[-1] == (11_796_480, 3090.0)
    assert sum("the bandwidth is that of the other kinds" in note for note in answer.notes) == 2


def test_ranks_that_no_one_says_are_asked_for() -> None:
    osu = "# OSU MPI Allreduce Latency Test v7.5\n# Size       Avg Latency(us)\n"
    answer = ask(osu + "".join(f"{size} {us}.00\n" for size, us in times(0)))
    assert answer.model.workers is None
    assert any("(--workers N)" in note for note in answer.notes)


def test_a_log_without_a_cost_says_what_it_is_good_for() -> None:
    with pytest.raises(InvalidRequest) as refused:
        ask(AUTOTUNE)
    assert [fault.code for fault in refused.value.faults] == ["no_cost"]


def test_the_command_reads_them(tmp_path: Path, run: Run) -> None:
    for rank in (0, 1):
        (tmp_path / f"rank{rank}.log").write_text(of_rank(rank, 5 * rank))
    done = run("calibrate", *(str(tmp_path / f"rank{rank}.log") for rank in (0, 1)), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["samples"] == 4
    entries = [entry(dims=(size // 4,), ms=us / 1e3) for size, us in times(0)]
    (tmp_path / "dump_0").write_bytes(pickle.dumps(dumped(*entries), 2))
    done = run("calibrate", str(tmp_path / "dump_0"), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["model"]["workers"] == 2
    assert as_text(b"{}") is None


def test_a_simulation_stands_beside_what_ddp_measured(tmp_path: Path, run: Run) -> None:
    """The example's step: 2.55 ms of compute, 7.1 ms from the first launch, 6.2 ms exposed."""
    graph, log = tmp_path / "two.json", tmp_path / "ddp.json"
    graph.write_text(run("example", "two_layers").stdout)
    times = {"forward_compute": 0.85, "backward_compute": 1.7, "backward_comm": 7.1}
    told = {f"avg_{name}_time": round(1e6 * ms) for name, ms in times.items()}
    overlap = {"avg_backward_compute_comm_overlap_time": 900_000}
    log.write_text(
        json.dumps({"world_size": 8, "rebuilt_bucket_sizes": "5000000"} | told | overlap)
    )
    asked = ("simulate", str(graph), "--policy", "ddp", "--ddp-log", str(log))
    done = run(*asked)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["exposed", "6.200", "ms", "6.200", "ms", "+0.0", "%"] in rows
    assert ["communication", "7.100", "ms", "7.100", "ms", "+0.0", "%"] in rows
    assert "is not that of the job" not in done.stdout
    log.write_text(json.dumps({"world_size": 16} | told | overlap).replace("7100000", "9000000"))
    far = run(*asked, "--json")
    assert "DDP ran on 16 workers, and 8 are simulated." in far.stderr
    assert "communication, exposed differ by more than 10 %" in " ".join(far.stderr.split())
    assert json.loads(far.stdout)["exposed_us"] == 6200
    log.write_text(json.dumps({"rebuilt_bucket_sizes": "2500000, 3500000"} | told | overlap))
    assert "of the job: buckets differ by more than 10 %" in " ".join(run(*asked).stdout.split())
    log.write_text("{}")
    assert "has no logging data of DDP" in run(*asked).stderr


@pytest.mark.parametrize(
    "log",
    [
        of_rank(0, 0),  # an object a line
        json.dumps({"world_size": 8, "avg_backward_comm_time": 7_100_000}),
        "[1,0]<stdout>:# size count type redop root time algbw busbw #wrong\n",
    ],
)
def test_a_log_that_begins_as_json_is_no_graph(log: str) -> None:
    """It was JSON that ends too early, or a graph without any of its fields."""
    with pytest.raises(InvalidTrace, match="is a log of launches: 'interlace calibrate' reads it"):
        opened([log.encode()], "log")


def test_a_log_stands_where_a_cost_model_does(tmp_path: Path, run: Run) -> None:
    graph = tmp_path / "two.json"
    graph.write_text(run("example", "two_layers").stdout)
    log = tmp_path / "rank0.log"
    log.write_text(of_rank(0, 0))
    done = run("simulate", str(graph), "--cost-model", str(log), "--workers", "2", "--json")
    assert done.returncode == 0
    assert "4 of 4 launches have no record of some ranks" in done.stderr
    model = json.loads(done.stdout)["request"]["cluster"]["cost_model"]
    assert model["workers"] == 2
    log.write_text(AUTOTUNE)
    done = run("simulate", str(graph), "--cost-model", str(log))
    assert done.returncode == 2
    assert "25 ms" in done.stderr
