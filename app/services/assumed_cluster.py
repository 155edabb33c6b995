"""The cluster where nothing says what it is."""

from typing import Any

from solver.costs.cluster import ASSUMED_STARTUP_US

WORKERS = 8
RING_NETWORK: dict[str, Any] = {"bandwidth_gbps": 10.0, "startup_us": ASSUMED_STARTUP_US}
