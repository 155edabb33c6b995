"""POST /v1/predictions/placements: rows, what is asked besides, and what is refused."""

import copy
import json
from typing import Any

import pytest

from app.errors import InvalidRequest
from app.limits import MAX_PLACED_CHUNKS, MAX_PLACEMENT_TRANSFERS
from app.reading.requests import read_placements
from app.routers.predictions import PLACEMENTS_EXAMPLE
from app.schemas.placement_answer import PlacementRow, PlacementsAnswer
from app.schemas.problem import graph_json
from app.services.placements import answer_of
from solver.graph import Op, build
from tests.app.service import Json, Service, faults, two_layers

PATH = "/v1/predictions/placements"
#: 10^6 bytes in 1 ms are 8 Gbit/s.
MODEL: Json = {"model_bytes": 10**6, "batch_time_us": 1000, "workers": 4, "chunk_bytes": 10**4}
RACKS: Json = {
    "racks": 2,
    "workers_per_rack": 4,
    "worker_gbps": 8,
    "pbox_gbps": 32,
    "core_gbps": 8,
}
PRICES: Json = {"baseline_samples_per_s": 1000, "hub_samples_per_s": 1000}
JOB: Json = {"model_bytes": 10**6, "batch_time_us": 1000, "workers": 2}
GRAPH: Json = {"graph": two_layers()["graph"], "cluster": {"workers": 4, "bandwidth_gbps": 10}}


def ask(base: Json = MODEL, **fields: Any) -> PlacementsAnswer:
    """Compare placements without a server; None leaves a field out, an ellipsis is null."""
    given = {name: value for name, value in (base | fields).items() if value is not None}
    raw = {name: None if value is ... else value for name, value in given.items()}
    return answer_of(*read_placements(json.dumps(raw).encode()))


def refused(base: Json = MODEL, **fields: Any) -> list[tuple[str, str]]:
    """Return pointer and code of each fault."""
    with pytest.raises(InvalidRequest) as error:
        ask(base, **fields)
    return [(fault.pointer, fault.code) for fault in error.value.faults]


def row(answer: PlacementsAnswer, name: str) -> PlacementRow:
    (found,) = [each for each in answer.placements if each.placement == name]
    return found


def near(value: float) -> Any:
    return pytest.approx(value, rel=1e-9)


def test_bandwidths_by_hand() -> None:
    found = ask()
    assert [each.placement for each in found.placements] == ["ncc", "cc", "ncs", "cs"]
    # 2NM/T, 2(N-1)M/T, 2M/T, 4(N-1)M/(NT), with M/T of 8 Gbit/s
    assert [each.bandwidth_gbps for each in found.placements] == [64, 48, 16, 24]
    assert [each.bytes_per_step for each in found.placements] == [8e6, 6e6, 2e6, 3e6]
    assert [each.busiest for each in found.placements] == ["server", "server", "both", "both"]
    assert [each.servers for each in found.placements] == [1, 1, 4, 4]
    for each in found.placements:
        assert each.simulated_gbps is not None
        assert each.bandwidth_gbps <= each.simulated_gbps <= 1.2 * each.bandwidth_gbps
        assert each.simulated_chunk_bytes == 10**4
        assert (each.is_hidden, each.headroom, each.most_workers) == (None, None, None)
        assert (each.exchange_us, each.simulated_exchange_us) == (None, None)
        assert each.iteration_bound_us is None
    assert (found.racks, found.prices, found.jobs, found.jobs_chunk_bytes) == (None,) * 4
    assert found.simulated_chunk_bytes == 10**4


def test_a_bandwidth_says_what_is_hidden() -> None:
    found = ask(bandwidth_gbps=16)  # 32 both ways
    ncc, cc, ncs, cs = found.placements
    assert [each.headroom for each in found.placements] == [0.5, near(32 / 48), 2, near(32 / 24)]
    assert [each.is_hidden for each in found.placements] == [False, False, True, True]
    assert (ncc.most_workers, cc.most_workers) == (2, 3)
    assert (ncs.most_workers, cs.most_workers) == (None, None)  # 16, and less than 32, in the limit
    assert [each.exchange_us for each in found.placements] == [2000, 1500, 500, 750]
    assert [each.iteration_bound_us for each in found.placements] == [2000, 1500, 1000, 1000]
    for each in found.placements:
        assert each.simulated_exchange_us is not None
        assert each.exchange_us is not None
        assert each.exchange_us <= each.simulated_exchange_us <= 1.2 * each.exchange_us
    assert ncc.text == (
        "An interface of a host with a server needs 64 Gbit/s, both directions summed, and is "
        "short by a factor of 2: 32 Gbit/s each way, batches of 2.000 ms or 2 interfaces a server "
        "would hide it. It is hidden with up to 2 workers."
    )
    assert ncs.text == (
        "An interface of every host needs 16 Gbit/s, both directions summed, and has 2 times as "
        "much: hidden with any number of workers up to 1,000,000."
    )
    short = row(ask(bandwidth_gbps=4), "ncs").text  # a worker's interface is short as well
    assert "8 Gbit/s each way or batches of 2.000 ms would hide it." in short
    wide = row(ask(bandwidth_gbps=16, interfaces_per_server=10), "ncc").text
    assert wide.startswith("An interface of a worker's host needs 16 Gbit/s")
    assert "or 2 interfaces a server" in row(ask(bandwidth_gbps=16), "cc").text
    assert row(ask(bandwidth_gbps=4), "cc").text.endswith("It is hidden with one worker alone.")
    assert row(ask(bandwidth_gbps=4), "ncs").text.endswith("Fewer workers do not hide it.")


def test_one_worker_with_the_server_sends_nothing() -> None:
    alone = row(ask(workers=1, bandwidth_gbps=1), "cc")
    assert (alone.bandwidth_gbps, alone.simulated_gbps) == (0, 0)
    assert (alone.is_hidden, alone.headroom) == (True, None)
    assert (alone.exchange_us, alone.simulated_exchange_us) == (0, 0)
    assert alone.text == "Nothing is sent: the one worker's host has the model."


def test_servers_and_interfaces() -> None:
    found = ask(servers=2, interfaces_per_server=2)
    # a server's host moves 2NM/S over two interfaces, a worker's 2M over one
    assert row(found, "ncs").bandwidth_gbps == 16
    assert row(found, "ncs").server_host_bytes == 4e6
    assert row(found, "ncc").bandwidth_gbps == 32
    assert [len(level.load_bytes) for level in found.chunks.sharded] == [2, 4, 4]
    assert [len(level.load_bytes) for level in found.chunks.central] == [1, 2, 2]
    assert found.request.servers == 2
    assert ask().request.servers == 4


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # 64, 48, 16 and 24 Gbit/s are needed of both directions
        (
            {},
            "Take ncs: its interfaces need the least, 16 Gbit/s, both directions summed, on 4 more",
        ),
        ({"workers": 1}, "Take cc: its interfaces need the least, 0 Gbit/s"),
        # all need the same, and one server cannot sum in time
        (
            {"servers": 2, "interfaces_per_server": 8, "aggregate_gbytes_per_s": 0.3},
            "Take cs: its interfaces need the least, 16 Gbit/s, both directions summed, on no more",
        ),
        ({"bandwidth_gbps": 40}, "Take cc: hidden at 40 Gbit/s each way, on no more hosts."),
        ({"bandwidth_gbps": 16}, "Take cs: hidden at 16 Gbit/s each way, on no more hosts."),
        ({"bandwidth_gbps": 10}, "Take ncs: hidden at 10 Gbit/s each way, on 4 more hosts."),
        # hidden by the formula alone
        ({"bandwidth_gbps": 24}, "Take cs: hidden"),
        (
            {"bandwidth_gbps": 4},
            "Take ncs: none is hidden at 4 Gbit/s each way, and its exchange is the shortest, "
            "2.000 ms, on 4 more hosts.",
        ),
    ],
)
def test_a_sentence_decides(fields: Json, expected: str) -> None:
    assert ask(**fields).decision.startswith(expected)


def test_more_servers_than_workers() -> None:
    found = ask(servers=8)
    assert [each.servers for each in found.placements] == [1, 1, 8, 4]
    # a worker's host moves 2M, a server's 2NM/S
    assert (row(found, "ncs").worker_host_bytes, row(found, "ncs").server_host_bytes) == (2e6, 1e6)
    assert row(found, "cs") == row(ask(), "cs")
    assert [len(level.load_bytes) for level in found.chunks.sharded] == [8, 8, 8]
    said = "cs has 4 servers, one on each worker's host, where ncs has 8."
    assert said in found.notes
    assert said not in ask().notes


def test_chunks() -> None:
    keys = [{"name": "a", "bytes": 50}, {"name": "b", "bytes": 45}, {"name": "c", "bytes": 5}]
    found = ask(model_bytes=None, keys=keys, chunk_bytes=20, servers=2).chunks
    # 20 20 10, 20 20 5, 5: the largest first, to the least loaded
    assert (found.count, found.chunk_bytes) == (7, 20)
    server, interface, _ = found.sharded
    assert server.load_bytes == (50, 50)
    assert (server.imbalance, server.proven_ratio) == (1, 1)
    assert server.guarantee == near(4 / 3 - 1 / 6)
    assert interface.guarantee == 1
    assert found.central[0].load_bytes == (100,)


def test_summing_takes_time() -> None:
    free = ask(bandwidth_gbps=16)
    slow = ask(bandwidth_gbps=16, aggregate_gbytes_per_s=10)
    never = ask(bandwidth_gbps=16, aggregate_gbytes_per_s=1)  # 4 MB take 4 ms on the one core
    for name in ("ncc", "cc"):
        assert row(slow, name).simulated_gbps > row(free, name).simulated_gbps
        assert row(slow, name).bandwidth_gbps == row(free, name).bandwidth_gbps
        assert row(never, name).simulated_gbps is None
        assert row(never, name).simulated_exchange_us > 4000
    assert "ncc needs longer to sum than to compute, whatever the bandwidth." in never.notes


def test_larger_chunks_are_simulated_where_transfers_are_many() -> None:
    found = ask(simulated_transfers=100)
    # 2 N chunks of a central server: twelve chunks of 9 x 10^4 make 96 transfers
    assert row(found, "ncc").simulated_chunk_bytes == 90_000
    assert row(found, "ncc").simulated_transfers == 96
    assert found.simulated_chunk_bytes == 90_000
    assert found.chunks.count == 100
    assert any("simulated with larger ones" in note for note in found.notes)
    none = ask(simulated_transfers=7)
    assert row(none, "ncc").simulated_gbps is None
    assert row(none, "cc").simulated_gbps is not None
    assert "ncc was not simulated: the keys alone make more than 7 transfers." in none.notes
    some = ask(simulate=["cs"], bandwidth_gbps=1)
    assert [each.simulated_transfers is None for each in some.placements] == [True] * 3 + [False]
    assert row(some, "ncc").simulated_exchange_us is None
    assert ask(simulate=[]).simulated_chunk_bytes is None


def test_a_graph() -> None:
    found = ask(GRAPH)
    asked = found.request
    assert (asked.batch_time_us, asked.workers, asked.bandwidth_gbps) == (2550, 4, 10)
    assert (asked.model_bytes, asked.keys) == (5_000_000, None)
    assert asked.graph_sha256
    # g2 has 4 MB, released at 800, g1 1 MB at 1700; 10 Gbit/s are 1250 bytes/us; a server takes
    # all four pushes of g2, then of g1, which f1 and f2 wait for
    assert row(found, "ncc").exchange_us == near(4 * 5_000_000 / 1250)
    assert row(found, "ncc").iteration_bound_us >= 800 + 16_000
    ncs = row(found, "ncs")
    assert ncs.exchange_us == near(4000)
    assert ncs.iteration_bound_us == near(800 + 4000 + 450)  # f2 waits for g2, the last one sent
    given = ask(GRAPH, batch_time_us=1e6)
    assert row(given, "ncc").iteration_bound_us == 1e6
    assert any("longest path" in note for note in found.notes)
    assert not any("longest path" in note for note in given.notes)
    top = {"workers": 4, "bandwidth_gbps": 10}
    assert ask({"graph": GRAPH["graph"], **top}).placements == found.placements


def test_racks() -> None:
    found = ask(racks=RACKS).racks
    assert found is not None
    # B of 8 Gbit/s are 1000 bytes/us: N (R-1)/R 1000 us; max(4/4, 1) 1000; (R-1)/R 1000
    assert found.cross_rack_us == near(2000)
    assert (found.in_rack_us, found.between_servers_us) == (near(1000), near(500))
    assert found.right_us == near(1500)
    assert found.is_hierarchical_faster
    assert found.agrees
    assert found.streamed_agrees
    assert found.in_steps is not None
    assert found.in_steps.flat_us >= 2 * 2000
    assert found.text.startswith(
        "2.000 ms > 1.500 ms: reduce in each rack first; simulated in steps,"
    )
    wide = ask(racks=RACKS | {"core_gbps": 32, "cross_rack": "ring"}).racks
    assert wide is not None
    assert not wide.is_hierarchical_faster
    assert wide.text.startswith("0.500 ms <= 1.125 ms: let every worker reach all servers;")
    few = ask(racks=RACKS, simulated_transfers=8).racks
    assert few is not None
    assert (few.in_steps, few.streamed, few.agrees, few.margin_us) == (None,) * 4
    assert "not simulated" in few.text


def test_racks_whose_chunks_stream_may_decide_otherwise() -> None:
    found = ask(racks=RACKS | {"core_gbps": 12}).racks
    assert found is not None
    assert not found.is_hierarchical_faster  # 1333 against 1333 and more
    assert found.streamed_agrees is False
    assert "which decides otherwise" in found.text


def test_prices_of_the_paper() -> None:
    found = ask(prices=PRICES).prices
    assert found is not None
    # N + S + C + 4S + 2C of 795, 21077/32, 94; then W + N + 4G + A
    assert found.baseline.network_dollars == near(795 + 5 * 21077 / 32 + 3 * 94)
    assert found.baseline.hub_dollars == 0
    assert found.baseline.total_dollars == near(4117 + 795 + 4 * 699 + 795 + 5 * 21077 / 32 + 282)
    assert found.workers_per_hub == 65
    port = 21077 / 128
    beyond = port + 31.25 + (4 * port + 62.5) / 2
    assert found.hub.network_dollars == near(260 + beyond)
    assert found.hub.hub_dollars == near((8407 + 20 * (162.5 + 162.5 + beyond)) / 65)
    assert found.gain == near(found.baseline.total_dollars / found.hub.total_dollars - 1)
    assert found.text == "A PHub for 65 workers trains 44.0 % more for the same money."
    less = ask(prices=PRICES | {"hub_samples_per_s": 500, "workers_per_hub": 10}).prices
    assert less is not None
    assert less.workers_per_hub == 10
    assert "% less" in less.text


def test_jobs() -> None:
    # two workers push 2 MB a step: in 1 ms by 20 of the 40 Gbit/s, and both jobs in 400 us each
    found = ask(bandwidth_gbps=40, jobs=[JOB, JOB | {"name": "b", "batch_time_us": 20_000}])
    assert found.jobs is not None
    one, other = found.jobs
    assert (one.name, other.name) == ("job 1", "b")
    assert (one.alone_us, other.alone_us) == (near(1000), near(20_000))
    assert other.slowdown == pytest.approx(1, rel=0.02)
    short = ask(bandwidth_gbps=16, jobs=[JOB, JOB]).jobs
    assert short is not None
    # 4 MB at 2000 bytes/us, where 1 ms of compute hides 2 MB
    assert short[0].slowdown == pytest.approx(2, rel=0.1)
    assert short[0].slowdown == near(short[0].together_us / short[0].alone_us)
    few = ask(bandwidth_gbps=16, jobs=[JOB], simulated_transfers=4)
    assert few.jobs is None
    assert any("Jobs were not simulated" in note for note in few.notes)


def test_same_question_same_bytes() -> None:
    everything: Json = {"racks": RACKS, "prices": PRICES, "jobs": [JOB, JOB], "bandwidth_gbps": 10}
    assert ask(**everything).model_dump_json() == ask(**everything).model_dump_json()


def kinds(**fields: Any) -> Json:
    """Return a graph whose one collective has other fields."""
    ops = copy.deepcopy(GRAPH["graph"]["ops"])
    for op in ops:
        if op["kind"] == "all_reduce":
            op.update(fields)
    return {"name": "", "ops": ops}


NO_TIME = graph_json(
    build("", [Op("a", "compute", 0.0), Op("g", "all_reduce", None, 1, after=("a",))])
)
REFUSED: list[tuple[Json, Json, list[tuple[str, str]]]] = [
    (MODEL, {"model_bytes": None}, [("/model_bytes", "missing_field")]),
    (MODEL, {"keys": [{"name": "a", "bytes": 1}]}, [("/keys", "extra_field")]),
    (MODEL, {"graph": GRAPH["graph"]}, [("/graph", "extra_field")]),
    (GRAPH, {"graph_id": "x"}, [("/graph_id", "extra_field")]),
    (GRAPH, {"graph": None, "graph_id": "x"}, [("/graph_id", "unknown_graph")]),
    (GRAPH, {"graph": ..., "graph_id": "x"}, [("/graph_id", "unknown_graph")]),
    (MODEL, {"batch_time_us": 1e-300}, [("/batch_time_us", "out_of_range")]),
    (MODEL, {"batch_time_us": None}, [("/batch_time_us", "missing_field")]),
    (MODEL, {"workers": None}, [("/workers", "missing_field")]),
    (GRAPH, {"workers": 4}, [("/workers", "extra_field")]),
    (GRAPH, {"bandwidth_gbps": 4}, [("/bandwidth_gbps", "extra_field")]),
    (MODEL, {"servers": 200_000}, [("/servers", "out_of_range")]),  # more cores than are laid out
    (MODEL, {"cores_per_interface": 100_000}, [("/cores_per_interface", "out_of_range")]),
    (MODEL, {"workers": 1_000_000}, [("/workers", "out_of_range")]),  # a server on each
    (MODEL, {"jobs": [JOB]}, [("/bandwidth_gbps", "missing_field")]),
    (
        GRAPH,
        {"cluster": {"workers": 4}, "jobs": [JOB]},
        [("/cluster/bandwidth_gbps", "missing_field")],
    ),
    (MODEL, {"simulate": ["cs", "cs"]}, [("/simulate/1", "out_of_range")]),
    (
        MODEL,
        {"bandwidth_gbps": 1, "jobs": [JOB | {"name": "a"}, JOB, JOB | {"name": "a"}]},
        [("/jobs/2/name", "duplicate_id")],
    ),
    (
        MODEL,  # the second is job 2 as well
        {"bandwidth_gbps": 1, "jobs": [JOB | {"name": "job 2"}, JOB]},
        [("/jobs/1/name", "duplicate_id")],
    ),
    (
        MODEL,
        {"model_bytes": None, "keys": [{"name": "a", "bytes": 1}] * 2},
        [("/keys/1/name", "duplicate_id")],
    ),
    (
        MODEL,
        {"prices": PRICES | {"hub_ports": 100}},
        [("/prices/hub/switch_ports", "out_of_range")],
    ),
    (MODEL, {"simulated_transfers": 40_000}, [("/simulated_transfers", "out_of_range")]),
    (MODEL, {"chunk_bytes": 1}, [("/chunk_bytes", "out_of_range")]),
    (GRAPH, {"graph": NO_TIME}, [("/graph/ops", "out_of_range")]),
    (
        GRAPH,
        {"graph": kinds(kind="all_gather")},
        [(f"/graph/ops/{i}/kind", "not_all_reduce") for i in (1, 3)],
    ),
    (
        GRAPH,
        {"graph": kinds(channel="nvlink")},
        [(f"/graph/ops/{i}/channel", "unknown_channel") for i in (1, 3)],
    ),
    (
        MODEL,  # the schema's
        {"workers": 0, "racks": {"racks": 2, "cross_rack": "tree"}, "colour": 1},
        [
            ("/workers", "out_of_range"),
            ("/racks/workers_per_rack", "missing_field"),
            ("/racks/worker_gbps", "missing_field"),
            ("/racks/pbox_gbps", "missing_field"),
            ("/racks/core_gbps", "missing_field"),
            ("/racks/cross_rack", "out_of_range"),
            ("/colour", "extra_field"),
        ],
    ),
    (  # what is missing or there twice hides nothing
        MODEL,
        {
            "model_bytes": None,
            "keys": [{"name": "a", "bytes": 10**6}] * 2,
            "chunk_bytes": 1,
            "cores_per_interface": 100_000,
            "jobs": [JOB | {"name": "a"}] * 2,
            "prices": PRICES | {"hub_ports": 100},
        },
        [
            ("/bandwidth_gbps", "missing_field"),
            ("/prices/hub/switch_ports", "out_of_range"),
            ("/chunk_bytes", "out_of_range"),  # of an answer
            ("/keys/1/name", "duplicate_id"),
            ("/cores_per_interface", "out_of_range"),
            ("/chunk_bytes", "out_of_range"),  # of the solver
            ("/jobs/1/name", "duplicate_id"),
        ],
    ),
    (
        MODEL,
        {"model_bytes": None, "batch_time_us": None, "workers": None, "servers": 200_000},
        [
            ("/model_bytes", "missing_field"),
            ("/batch_time_us", "missing_field"),
            ("/workers", "missing_field"),
            ("/servers", "out_of_range"),
        ],
    ),
    (
        GRAPH,
        {"graph": kinds(kind="all_gather"), "servers": 200_000, "simulate": ["cs", "cs"]},
        [
            ("/simulate/1", "out_of_range"),
            ("/graph/ops/1/kind", "not_all_reduce"),
            ("/graph/ops/3/kind", "not_all_reduce"),
            ("/servers", "out_of_range"),
        ],
    ),
    (
        GRAPH,
        {"graph": {"ops": []}, "servers": 200_000},
        [
            ("/graph/ops", "no_compute"),
            ("/graph/ops", "no_collective"),
            ("/servers", "out_of_range"),
        ],
    ),
    (  # all at once
        MODEL,
        {"keys": [{"name": "a", "bytes": 1}], "workers": None, "batch_time_us": None},
        [
            ("/keys", "extra_field"),
            ("/batch_time_us", "missing_field"),
            ("/workers", "missing_field"),
        ],
    ),
    (
        MODEL,
        {"servers": 200_000, "simulated_transfers": 90_000},
        [
            ("/simulated_transfers", "out_of_range"),
            ("/servers", "out_of_range"),
        ],
    ),
]


@pytest.mark.parametrize(("base", "fields", "expected"), REFUSED)
def test_refused(base: Json, fields: Json, expected: list[tuple[str, str]]) -> None:
    assert refused(base, **fields) == expected


def test_what_is_too_much_says_what_to_lower() -> None:
    with pytest.raises(InvalidRequest) as error:
        ask(simulated_transfers=40_000, racks=RACKS, chunk_bytes=3)
    transfers, chunks = error.value.faults
    assert transfers.detail == (
        "8 simulations of 40,000 pushes and pulls are more than "
        f"{MAX_PLACEMENT_TRANSFERS:,} in all: lower simulated_transfers to "
        f"{MAX_PLACEMENT_TRANSFERS // 8:,}, or simulate fewer placements."
    )
    assert chunks.detail == (
        f"The keys make 333,334 chunks, more than {MAX_PLACED_CHUNKS:,}: raise chunk_bytes to 4."
    )
    ask(simulated_transfers=MAX_PLACEMENT_TRANSFERS // 8, racks=RACKS, chunk_bytes=10**5)


def test_over_the_wire(service: Service) -> None:
    answer = service.client.post(PATH, json=MODEL)
    assert answer.status_code == 200
    assert answer.json() == ask().model_dump(mode="json")
    broken = GRAPH | {"graph": {"ops": [{"id": "a", "kind": "compute", "after": ["b"]}]}}
    assert faults(service.client.post(PATH, json=broken | {"workers": "2"})) == {
        ("/graph/ops/0/duration_us", "missing_field"),
        ("/graph/ops/0/after/0", "unknown_op"),
        ("/graph/ops", "no_collective"),
        ("/workers", "wrong_type"),
    }


def test_a_stored_graph(service: Service) -> None:
    stored = service.client.post("/v1/graphs", content=json.dumps(GRAPH["graph"]).encode())
    by_id = {"graph_id": stored.json()["id"], "cluster": GRAPH["cluster"]}
    answer = service.client.post(PATH, json=by_id)
    assert answer.status_code == 200, answer.text
    assert answer.json()["placements"] == ask(GRAPH).model_dump(mode="json")["placements"]
    unknown = {"graph_id": "none", "cluster": {"workers": 0}}
    assert faults(service.client.post(PATH, json=unknown)) == {
        ("/graph_id", "unknown_graph"),
        ("/cluster/workers", "out_of_range"),
    }


def test_example_holds_everything() -> None:
    found = ask(PLACEMENTS_EXAMPLE)
    assert None not in (found.racks, found.prices, found.jobs)


def test_summing_counts_where_a_bandwidth_is_asked() -> None:
    fast = ask(bandwidth_gbps=1e4, simulate=["cs"]).placements
    assert all(row.is_hidden for row in fast)
    slow = ask(bandwidth_gbps=1e4, aggregate_gbytes_per_s=0.01, simulate=["cs"])
    for row in slow.placements:
        summing = 4 * slow.request.model_bytes / (row.servers * 10)
        assert row.exchange_us == row.iteration_bound_us == near(summing)
        assert row.headroom == near(slow.request.batch_time_us / summing)
        assert (row.is_hidden, row.most_workers) == (False, 0)
        assert row.text.startswith("Summing alone takes ")
    cs = slow.placements[3]
    assert cs.simulated_exchange_us is not None
    assert cs.exchange_us is not None
    assert cs.simulated_exchange_us >= cs.exchange_us * (1 - 1e-9)


def test_a_simulation_that_is_late_says_why() -> None:
    (row,) = [r for r in ask(bandwidth_gbps=10).placements if r.placement == "cs"]
    edge = row.bandwidth_gbps / 2 * 1.0001
    for transfers, reason in ((10_000, "pipelines fill"), (24, "coarser than")):
        found = ask(bandwidth_gbps=edge, chunk_bytes=50_000, simulated_transfers=transfers)
        assert found.placements[3].is_hidden
        assert "longer than the compute: " in found.placements[3].text
        assert reason in found.placements[3].text


MACHINE: Json = {"preset": "phub", "startup_us": 2.0}
BOX: Json = {
    "machine": MACHINE,
    "bandwidth_gbps": 8,
    "interfaces_per_server": 4,
    "aggregate_gbytes_per_s": 8,
    "simulated_transfers": 800,
}


def test_a_machine_limits_what_its_links_carry() -> None:
    found = ask(**BOX, simulate=["ncc"])
    ncc, cc, ncs, cs = found.placements
    # one server takes and sends 8 MB over interfaces of 8 Gbit/s: 1 ms each way on four of them
    assert (ncc.limited_by, ncc.exchange_us) == ("worker_interfaces", near(1000))
    assert ncc.is_hidden
    assert ncc.text.startswith("Limited by the interfaces of workers, busy for 1.000 ms")
    assert ncc.simulated_exchange_us is not None
    assert ncc.simulated_exchange_us > 1000
    slow = ask(**(BOX | {"machine": {"pcie_gbytes_per_s": 2}}), simulate=[])
    assert (slow.placements[0].limited_by, slow.placements[0].exchange_us) == ("pcie", near(4000))
    assert (slow.placements[0].most_workers, slow.placements[0].headroom) == (1, near(0.25))
    assert slow.placements[0].iteration_bound_us == near(4000)
    fast = ask(**(BOX | {"machine": {"server_gbps": 80}, "interfaces_per_server": 1}), simulate=[])
    assert [each.limited_by for each in fast.placements[:1]] == ["worker_interfaces"]
    assert (cc.limited_by, ncs.limited_by, cs.limited_by) != (None, None, None)


def test_a_preset_is_filled_in_and_told() -> None:
    found = ask(**BOX, simulate=[])
    machine = found.request.machine
    assert machine is not None
    assert (machine.preset, machine.startup_us, machine.pcie_gbytes_per_s) == ("phub", 2.0, 90.0)
    assert any("preset phub" in note for note in found.notes)


def test_without_a_machine_nothing_of_it_is_told() -> None:
    raw = json.loads(ask(bandwidth_gbps=8).model_dump_json())
    assert {"machine", "chunk_sizes", "systems"}.isdisjoint(raw["request"])
    assert {"chunk_curves", "systems", "systems_text"}.isdisjoint(raw)
    assert all("limited_by" not in each for each in raw["placements"])


def test_sizes_of_chunks() -> None:
    found = ask(**BOX, simulate=["ncc", "cs"], chunk_sizes=[1000, 10_000, 500_000])
    assert found.chunk_curves is not None
    assert [curve.placement for curve in found.chunk_curves] == ["ncc", "cs"]
    for curve in found.chunk_curves:
        assert [point.chunk_bytes for point in curve.points] == [1000, 10_000, 500_000]
        assert curve.best_chunk_bytes == 10_000
    assert any("chunk_sizes" in note for note in found.notes)


def test_systems_beside_each_other() -> None:
    found = ask(**BOX, simulate=[], systems=["mxnet", "pshard", "pbox", "gloo_ring_chunked"])
    assert found.systems is not None
    assert [each.system for each in found.systems] == found.request.systems
    assert found.systems[0].speedup == 1
    assert found.systems_text is not None
    assert found.systems_text.startswith("pbox takes the shortest step, ")
    assert found.systems_text.endswith(" times as fast as mxnet.")
    some = ask(**(BOX | {"workers": 3}), simulate=[], systems=["pbox", "gloo_halving_doubling"])
    assert some.systems_text is not None
    assert some.systems_text.startswith("pbox takes the shortest step of those simulated, ")
    three = ask(**(BOX | {"workers": 3}), simulate=[], systems=["gloo_halving_doubling"])
    assert three.systems is not None
    assert three.systems[0].step_us is None
    assert three.systems_text == "None of the systems was simulated."
    assert any("3 workers are no power of two" in note for note in three.notes)


def test_racks_are_compared_for_money() -> None:
    prices = {"baseline_samples_per_s": 557, "hub_samples_per_s": 500}
    found = ask(simulate=[], prices=prices | {"oversubscriptions": [1, 2, 3]}).prices
    assert found is not None
    assert found.racks is not None
    assert [rack.workers_per_hub for rack in found.racks] == [44, 65, 76]
    assert [rack.gain for rack in found.racks] == sorted(rack.gain for rack in found.racks)
    assert found.racks[1].gain == found.gain  # 2:1 is that of the prices
    assert found.decision is not None
    assert found.decision.startswith("Take ncc, a PHub for 76 workers and 3:1 oversubscription: ")
    slow = ask(simulate=[], prices=prices | {"hub_samples_per_s": 300, "oversubscriptions": [2]})
    assert slow.prices is not None
    assert slow.prices.decision is not None
    assert slow.prices.decision.startswith("Take cs, servers on the workers' hosts: 46.12 ")


def test_jobs_share_the_links_of_a_machine() -> None:
    slow: Json = {"machine": {"pcie_gbytes_per_s": 1}, "bandwidth_gbps": 80}
    found = ask(**slow, simulated_transfers=4000, simulate=[], jobs=[JOB, JOB]).jobs
    assert found is not None
    for each in found:  # each moves 4 MB over 1 GB/s, alone in 4 ms
        assert each.alone_us == pytest.approx(4000, rel=0.05)
        assert each.slowdown == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # no bandwidth to simulate at
        ({"systems": ["pbox"]}, [("/bandwidth_gbps", "missing_field")]),
        ({"chunk_sizes": [1000]}, [("/bandwidth_gbps", "missing_field")]),
        # twice
        (
            {"systems": ["pbox", "pbox"], "chunk_sizes": [1, 1], "bandwidth_gbps": 1},
            [("/systems/1", "out_of_range"), ("/chunk_sizes/1", "out_of_range")],
        ),
        # more simulations than an answer may have
        (
            {"systems": ["pbox"], "bandwidth_gbps": 1, "simulated_transfers": 100_000},
            [("/simulated_transfers", "out_of_range")],
        ),
        # no ports for any worker
        (
            {
                "prices": PRICES
                | {"hub": {"switch_ports": 32, "oversubscription": 3}, "oversubscriptions": [3, 1]}
            },
            [("/prices/oversubscriptions/1", "out_of_range")],
        ),
    ],
)
def test_what_a_machine_is_refused_for(fields: Json, expected: list[tuple[str, str]]) -> None:
    assert refused(simulate=[], **fields) == expected
