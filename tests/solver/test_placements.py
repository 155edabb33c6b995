"""The plan of placements: its parts put together, and every fault at once."""

from dataclasses import replace

import pytest

from solver.chain import chain_of
from solver.costs import PLACEMENTS
from solver.errors import InvalidOptions
from solver.models import MODELS
from solver.placements.bandwidth import bandwidth
from solver.placements.chunks import Key, lay_out
from solver.placements.exchange import exchange
from solver.placements.exchange_graph import Hosts
from solver.placements.job_steps import SharedServer, TrainingJob
from solver.placements.jobs import share
from solver.placements.options import PlacementOptions
from solver.placements.plan import keys_of, plan_placements
from solver.placements.prices import compare_prices
from solver.placements.racks import Racks, reduction
from tests.solver.test_placements_prices import BY_HAND

KEYS = (Key("a", 5_000_000), Key("b", 100_000), Key("c", 32_768))


def test_a_plan_is_made_of_its_parts() -> None:
    racks, server = Racks(2, 4, 10.0, 40.0, 10.0), SharedServer(10.0, 20.0, 2)
    jobs = tuple(TrainingJob(name, KEYS[1:], 500.0, 2) for name in "xy")
    options = PlacementOptions(
        servers=2, interfaces=2, cores=3, aggregate_gbytes_per_s=20.0, simulated=("cs", "ncc"),
        racks=racks, jobs=jobs, server=server, prices=BY_HAND,
    )  # fmt: skip
    found = plan_placements(KEYS, 10_000.0, 4, options)
    assert (found.bytes, found.batch_time_us, found.workers) == (5_132_768, 10_000.0, 4)
    assert (found.chunk_bytes, found.chunks) == (32_768, 153 + 4 + 1)
    assert [each.need.placement for each in found.placements] == list(PLACEMENTS)
    for each in found.placements:
        name, servers = each.need.placement, 2 if each.need.placement in {"ncs", "cs"} else 1
        assert each.need == bandwidth(name, found.bytes, 10_000.0, 4, servers, 2)
        assert each.levels == lay_out(KEYS, 32_768, servers, 2, 3).levels
        expected = exchange(KEYS, Hosts(name, 4, servers, 2, 3, 20.0), 10_000.0, 32_768)
        assert each.simulated == (expected if name in {"cs", "ncc"} else None)
    assert found.reduction == reduction(KEYS, racks)
    assert found.sharing == share(jobs, server)
    assert found.comparison == compare_prices(BY_HAND)
    assert plan_placements(KEYS, 10_000.0, 4, options) == found


def test_what_is_not_wanted_is_left_out() -> None:
    found = plan_placements(KEYS, 10_000.0, 3, PlacementOptions(simulated=()))
    assert [each.need.servers for each in found.placements] == [1, 1, 3, 3]
    assert [each.simulated for each in found.placements] == [None] * 4
    assert (found.reduction, found.sharing, found.comparison) == (None,) * 3


def test_keys_of_a_graph_leave_as_they_are_released() -> None:
    graph = MODELS["vgg16"]()
    keys = keys_of(graph)
    chain = chain_of(graph)
    assert [key.bytes for key in keys] == chain.bytes.tolist()
    assert keys[0].name == graph.ops[int(chain.positions[0])].id
    found = plan_placements(keys, 1e5, 8, PlacementOptions(simulated=()))
    assert found.bytes == int(chain.bytes.sum())


def test_more_servers_than_workers() -> None:
    found = plan_placements(KEYS, 10_000.0, 3, PlacementOptions(servers=6, simulated=("ncs", "cs")))
    by_name = {each.need.placement: each for each in found.placements}
    # with hosts of their own, six hold a sixth each; of the workers' hosts there are three
    assert {name: each.need.servers for name, each in by_name.items()} == {
        "ncc": 1,
        "cc": 1,
        "ncs": 6,
        "cs": 3,
    }
    assert by_name["ncs"].need.server_host_bytes == 2 * found.bytes * 3 / 6
    assert by_name["ncs"].need.busiest == "worker"
    assert by_name["cs"] == plan_placements(KEYS, 10_000.0, 3).placements[3]
    for name, count in (("ncs", 6), ("cs", 3)):
        assert [len(level.load_bytes) for level in by_name[name].levels] == [count] * 3
        simulated = by_name[name].simulated
        assert simulated is not None
        assert simulated.gbps is not None
        assert simulated.gbps >= by_name[name].need.gbps


REJECTED = [
    # every number
    (
        [Key("a", 0), Key("a", 1)],
        0.0,
        0,
        PlacementOptions(0, 0, 0, 0, 0.0, ("cc", "ring")),
        [
            "/keys/0/bytes",
            "/keys/1/name",
            "/batch_time_us",
            "/workers",
            "/servers",
            "/chunk_bytes",
            "/interfaces",
            "/cores",
            "/aggregate_gbytes_per_s",
            "/simulated/1",
        ],
    ),
    # a name that is there twice, and what does not depend on it
    (
        [Key("a", 10**8), Key("a", 1)],
        1.0,
        1000,
        PlacementOptions(chunk_bytes=1, interfaces=100, cores=100),
        ["/keys/1/name", "/workers", "/chunk_bytes"],
    ),
    # chunks are not counted of keys without a size
    (
        [Key("a", 0), Key("b", 10**8)],
        1.0,
        1,
        PlacementOptions(chunk_bytes=1, interfaces=2**20),
        ["/keys/0/bytes", "/interfaces"],
    ),
    # nothing to send
    ([], 1.0, 1, PlacementOptions(), ["/keys"]),
    # more than can be counted
    ([Key("a", 2**60), Key("b", 1)], 1.0, 1, PlacementOptions(), ["/keys"]),
    # each fits by itself
    (
        [Key("a", 10**7)],
        1.0,
        1000,
        PlacementOptions(chunk_bytes=1, interfaces=100, cores=100),
        ["/workers", "/chunk_bytes"],
    ),
    # a server for nobody, and jobs without one
    ([Key("a", 1)], 1.0, 1, PlacementOptions(server=SharedServer(1.0, 1.0)), ["/jobs"]),
    (
        [Key("a", 1)],
        1.0,
        1,
        PlacementOptions(jobs=(TrainingJob("j", (Key("a", 1),), 1.0, 1),)),
        ["/server"],
    ),
    # in the parts
    (
        [Key("a", 1)],
        1.0,
        1,
        PlacementOptions(
            racks=Racks(0, 1, 1.0, 1.0, 1.0),
            prices=replace(BY_HAND, hub_ports=-1.0),
            server=SharedServer(0.0, 1.0),
            jobs=(TrainingJob("j", (), 1.0, 1),),
        ),
        ["/racks/racks", "/prices/hub_ports", "/server/worker_gbps", "/jobs/0/keys"],
    ),
]


@pytest.mark.parametrize(("keys", "batch", "workers", "options", "pointers"), REJECTED)
def test_rejected(keys, batch, workers, options, pointers) -> None:
    with pytest.raises(InvalidOptions) as caught:
        plan_placements(keys, batch, workers, options)
    assert [fault.pointer for fault in caught.value.faults] == pointers
    assert all(fault.detail.endswith((".", "which.")) for fault in caught.value.faults)
