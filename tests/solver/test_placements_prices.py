"""Throughput for money, by hand."""

from dataclasses import replace

import pytest

from solver.errors import InvalidOptions
from solver.placements.prices import Ports, Prices, compare_prices

BY_HAND = Prices(
    worker_dollars=4000.0,
    gpu_dollars=700.0,
    gpus_per_worker=4.0,
    baseline=Ports(800.0, 3200.0, 32.0, 100.0),
    hub=Ports(250.0, 3200.0, 128.0, 25.0, 2.0),
    hub_dollars=8000.0,
    hub_nic_port_dollars=150.0,
    hub_ports=20.0,
    workers_per_hub=40.0,
    baseline_samples_per_s=500.0,
    hub_samples_per_s=480.0,
)


def test_prices_on_paper() -> None:
    """A switch's port is 100 and 25 dollars."""
    found = compare_prices(BY_HAND)
    assert found.baseline.network_dollars == 800 + 100 + 100 + (4 * 100 + 2 * 100)
    assert found.baseline.total_dollars == 4000 + 800 + 4 * 700 + 1600
    assert found.baseline.hub_dollars == 0
    assert found.baseline.samples_per_s_per_1000_dollars == pytest.approx(500 / 9.2)
    assert found.hub.network_dollars == 250 + 25 + 25 + (4 * 25 + 2 * 25) / 2
    hub = 8000 + 20 * 150 + 20 * (150 + 25 + 25 + 75)
    assert found.hub.hub_dollars == hub / 40
    assert found.hub.total_dollars == 4000 + 250 + 2800 + 375 + hub / 40
    assert found.hub.samples_per_s_per_1000_dollars == pytest.approx(480e3 / (7425 + hub / 40))
    assert found.gain == pytest.approx(480 / (7425 + hub / 40) / (500 / 9200) - 1)


def test_the_setting_of_the_paper_gains_about_a_quarter() -> None:
    """Table 5 cannot be had exactly; its throughputs per worker are not printed either."""
    switch = 21077.0
    prices = Prices(
        4117.0, 699.0, 4.0,
        Ports(795.0, switch, 32.0, 94.0), Ports(260.0, switch, 128.0, 31.25, 2.0),
        8407.0, 162.5, 20.0, 65.0, 500.0, 450.0,
    )  # fmt: skip
    found = compare_prices(prices)
    assert found.hub.total_dollars < 0.72 * found.baseline.total_dollars
    assert 0.2 < found.gain < 0.35


def test_laws() -> None:
    """More oversubscription and more workers for a hub cost less, more of all costs more."""
    found = compare_prices(BY_HAND)
    ports = replace(BY_HAND.hub, oversubscription=3.0)
    assert compare_prices(replace(BY_HAND, hub=ports)).gain > found.gain
    assert compare_prices(replace(BY_HAND, workers_per_hub=60.0)).gain > found.gain
    assert compare_prices(replace(BY_HAND, hub_samples_per_s=960.0)).gain == pytest.approx(
        2 * (1 + found.gain) - 1
    )


@pytest.mark.parametrize(
    ("change", "pointers"),
    [
        # a worker for nothing, and what cannot be
        ({"worker_dollars": 0.0, "gpu_dollars": -1.0}, ["/worker_dollars", "/gpu_dollars"]),
        # without bandwidth to the others
        (
            {"hub": Ports(1.0, 1.0, 0.0, float("inf"), 0.5)},
            ["/hub/switch_ports", "/hub/cable_dollars", "/hub/oversubscription"],
        ),
        ({"baseline": Ports(0.0, 0.0, 1.0, 0.0, 0.0)}, ["/baseline/oversubscription"]),
        ({"workers_per_hub": 0.0, "hub_ports": 0.0}, ["/hub_ports", "/workers_per_hub"]),
    ],
)
def test_rejected(change, pointers) -> None:
    with pytest.raises(InvalidOptions) as caught:
        compare_prices(replace(BY_HAND, **change))
    assert [fault.pointer for fault in caught.value.faults] == pointers


def test_what_is_free_costs_nothing() -> None:
    free = Ports(0.0, 0.0, 1.0, 0.0)
    found = compare_prices(
        replace(BY_HAND, baseline=free, hub=free, hub_dollars=0.0, hub_nic_port_dollars=0.0)
    )
    assert found.baseline.total_dollars == found.hub.total_dollars == 6800
