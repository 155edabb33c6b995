"""PHub [SoCC 2018]: bandwidths and training beside ours; the rest is in modules of its own."""

from collections.abc import Iterator

from solver.costs import Cluster, cost_of
from solver.placements.bandwidth import bandwidth
from solver.units import bytes_per_us
from tests.benchmarks.papers.phub_machine import machine, tenants
from tests.benchmarks.papers.phub_money import money
from tests.benchmarks.papers.phub_setup import (
    FAST_GBPS,
    INTERFACES,
    SLOW_GBPS,
    TABLE_3,
    WORKERS,
    Trained,
)
from tests.benchmarks.papers.tables import Curve, Plot, Row, Table, span

CITED = (
    "L. Luo, J. Nelson, L. Ceze, A. Phanishayee, A. Krishnamurthy, *Parameter Hub: a Rack-Scale "
    "Parameter Server for Distributed Deep Neural Network Training*, SoCC 2018."
)
#: Table 2 [Gbit/s], in the order CC, CS, NCC, NCS.
ORDER = ("cc", "cs", "ncc", "ncs")
TABLE_2 = {
    "ResNet 269": (122, 31, 140, 17),
    "Inception": (44, 11, 50, 6),
    "GoogleNet": (40, 10, 46, 6),
    "AlexNet": (1232, 308, 1408, 176),
}
#: Table 1, MXNet: samples/s alone and on 8 nodes; times of a batch are of Table 3.
TABLE_1_ALONE, TABLE_1_EIGHT = 190, 688


def tables(*, quick: bool) -> Iterator[Table]:
    """Yield the tables in the paper's order; ``quick`` leaves out the tenants."""
    yield bandwidths()
    yield training()
    yield machine()
    if not quick:
        yield tenants()
    yield money()


def bandwidths() -> Table:
    """Table 2: bandwidth that hides the communication."""
    rows = []
    for name, printed in TABLE_2.items():
        model = TABLE_3[name]
        for placement, value in zip(ORDER, printed, strict=True):
            need = bandwidth(placement, model.bytes, model.us, WORKERS, WORKERS)
            rows.append(
                Row(
                    f"{name}, {placement.upper()} [Gbit/s]",
                    str(value),
                    f"{need.host_gbps:.0f}",
                    0.9 * need.host_gbps < value <= 1.05 * need.host_gbps,
                )
            )
    most = max(abs(_ratio(name, 0) / _ratio(name, 1) - 1) for name in ("ResNet 269", "AlexNet"))
    rows.append(
        Row(
            "ratios between placements of ResNet 269 and AlexNet: off by",
            "",
            f"{most:.1%}",
            most < 0.03,
        )
    )
    of = TABLE_3["ResNet 50"]
    needed = bandwidth("cs", of.bytes, of.us, WORKERS).host_gbps
    hidden = WORKERS * TABLE_1_ALONE
    rows.append(
        Row(
            "MXNet, ResNet 50 on 8 nodes [samples/s]",
            str(TABLE_1_EIGHT),
            str(hidden),
            agrees=False,
            why=f"It needs {needed:.0f} of the 112 Gbit/s of a 56 Gbit/s link in both directions, "
            "so a "
            "network alone would hide it, and eight would be eight times one. The rest is MXNet's: "
            "copies, sums and locks, which the paper measures in its Fig. 5 and gives no times of.",
            at="Table 1",
        )
    )
    bars = tuple(
        Curve(
            placement.upper(),
            tuple(float(i) for i in range(len(TABLE_2))),
            tuple(
                bandwidth(placement, TABLE_3[n].bytes, TABLE_3[n].us, WORKERS, WORKERS).host_gbps
                for n in TABLE_2
            ),
        )
        for placement in ORDER
    )
    return Table(
        "PHub, Tables 1 and 2: bandwidth that hides communication",
        rows,
        ["8 workers, 8 shards; sizes and times of Table 3. Within 10 %: its inputs are rounded."],
        place="Table 2",
        decides="That servers take no time, as the paper assumes of Table 2.",
        plots=[
            Plot(
                "Table 2: bandwidth that hides it",
                "",
                "Gbit/s",
                bars,
                log_y=True,
                names=tuple(TABLE_2),
            )
        ],
    )


def _ratio(name: str, which: int) -> float:
    """Return NCC over NCS: printed, or ours."""
    if which == 0:
        return TABLE_2[name][2] / TABLE_2[name][3]
    model = TABLE_3[name]
    ncc, ncs = (
        bandwidth(p, model.bytes, model.us, WORKERS, WORKERS).host_bytes for p in ("ncc", "ncs")
    )
    return ncc / ncs


def _step_us(placement: str, model: Trained, gbps: float, interfaces: int = 1) -> float:
    """Time of a step by bandwidth alone, compute beside it [us]."""
    need = bandwidth(placement, model.bytes, model.us, WORKERS, WORKERS, interfaces)
    return max(model.us, need.gbps * model.us / (2 * gbps))


def training() -> Table:
    """Figs. 12, 13, 15 and 20: PBox beside sharded servers and Gloo."""
    gains = {
        gbps: {
            name: _step_us("cs", model, gbps) / _step_us("ncc", model, gbps, INTERFACES)
            for name, model in TABLE_3.items()
        }
        for gbps in (SLOW_GBPS, FAST_GBPS)
    }
    slow, fast = span(gains[SLOW_GBPS].values()), span(gains[FAST_GBPS].values())
    software = (
        "The baseline is MXNet with servers that copy, sum and lock; without them, bandwidth alone "
        "gives at most 4 (N - 1) / 2 N. How long MXNet's servers take is not published."
    )
    faster = [n for n, g in gains[FAST_GBPS].items() if g > 1.005]
    size = TABLE_3["ResNet 18"].bytes
    rate = bytes_per_us(SLOW_GBPS)
    gloo = cost_of(Cluster(WORKERS, SLOW_GBPS, algorithm="halving_doubling")).time(size)
    rows = [
        Row(
            "PBox over sharded MXNet, 10 Gbit/s: the most",
            "up to 2.7x",
            f"{slow[0]:.2f} to {slow[1]:.2f}x",
            slow[1] >= 2.65,
            software,
            "Abstract (Fig. 12)",
        ),
        Row(
            "networks that PBox speeds up at 56 Gbit/s",
            "AlexNet, VGG",
            ", ".join(faster) or "none",
            faster == ["AlexNet", "VGG 11", "VGG 19"],
            software,
            "Section 4.3.2 (Fig. 13)",
        ),
        Row("  by", "", f"{fast[0]:.2f} to {fast[1]:.2f}x", None, "In a plot alone.", "Fig. 13"),
        Row(
            "PBox over PShard, compute of no time",
            "2x",
            f"{2 * (WORKERS - 1) / WORKERS:.2f}x",
            abs(2 * (WORKERS - 1) / WORKERS / 2 - 1) <= 0.15,
            at="Section 4.4 (Fig. 15)",
        ),
        Row(
            "8 workers over one on PBox, compute of no time",
            "linear",
            f"{_scaling():.2f}x",
            abs(_scaling() / WORKERS - 1) < 0.05,
            at="Section 4.4 (Fig. 15)",
        ),
        Row(
            "PBox over Gloo's halving and doubling, 10 Gbit/s",
            "nearly 2x",
            f"{gloo / (size / rate):.2f}x",
            1.5 <= gloo / (size / rate) < 2,
            at="Section 5 (Fig. 20)",
        ),
    ]
    counts = tuple(range(1, WORKERS + 1))
    return Table(
        "PHub, Figs. 12 to 15 and 20: training",
        rows,
        [
            "A step takes the longer of its compute and of its bytes over the bandwidth; 8 "
            "workers, "
            f"PBox with {INTERFACES} interfaces. *Nearly 2x* is of Gloo's bytes: 2 (N - 1) / N of "
            "the model in each direction of an interface where PBox has one model.",
        ],
        place="Section 4.3",
        decides="Time of the servers' software: none here.",
        plots=[
            Plot(
                "Fig. 12: speed over sharded servers",
                "",
                "PBox over CS",
                tuple(
                    Curve(
                        f"{gbps:g} Gbit/s",
                        tuple(map(float, range(len(gains[gbps])))),
                        tuple(gains[gbps].values()),
                    )
                    for gbps in gains
                ),
                names=tuple(_short(name) for name in TABLE_3),
            ),
            Plot(
                "Fig. 15: ResNet 18, compute of no time",
                "workers",
                "exchanges / s",
                (
                    Curve(
                        "PBox",
                        tuple(map(float, counts)),
                        tuple(_exchanges(n, "ncc") for n in counts),
                    ),
                    Curve(
                        "PShard",
                        tuple(map(float, counts[1:])),
                        tuple(_exchanges(n, "cs") for n in counts[1:]),
                    ),
                ),
            ),
        ],
    )


def _short(name: str) -> str:
    """Abbreviate as the paper's plots do."""
    first, *rest = name.split()
    return {"AlexNet": "AN", "VGG": "V", "GoogleNet": "GN", "Inception": "I3", "ResNet": "RN"}.get(
        first, "RX"
    ) + "".join(rest)


def _exchanges(workers: int, placement: str) -> float:
    """Exchanges a second of all workers where nothing but the network takes time."""
    size = TABLE_3["ResNet 18"].bytes
    interfaces = INTERFACES if placement == "ncc" else 1
    need = bandwidth(placement, size, 1.0, workers, workers, interfaces)
    return workers * 1e6 / (need.gbps / (2 * FAST_GBPS))


def _scaling() -> float:
    return _exchanges(WORKERS, "ncc") / _exchanges(1, "ncc")
