"""PHub [SoCC 2018]: its bandwidths beside ours; the rest is in modules of its own."""

from collections.abc import Iterator

from solver.placements.bandwidth import bandwidth
from tests.benchmarks.papers.phub_machine import ceilings, chunks
from tests.benchmarks.papers.phub_money import money
from tests.benchmarks.papers.phub_setup import TABLE_3, WORKERS
from tests.benchmarks.papers.phub_tenants import tenants
from tests.benchmarks.papers.phub_training import trained, without_compute
from tests.benchmarks.papers.tables import Curve, Plot, Row, Table

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
    yield trained()
    yield without_compute()
    yield chunks()
    yield ceilings()
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
