"""OSF, Figs. 4 and 6: what a fusion buffer does on 32 GPUs, and what any plan can gain over one."""

from collections.abc import Iterator

from solver.costs import alike
from solver.planning.options import Options
from solver.planning.plan import plan
from tests.benchmarks.papers.osf_setup import (
    HUNDRED_MB,
    ONE_GB,
    TABLE_2,
    factor,
    graph,
    settings,
)
from tests.benchmarks.papers.tables import Curve, Plot, Row, Table


def fusion() -> Table:
    setups = settings()
    none, hundred, giga = (
        {name: [factor(name, s, q) for s in setups] for name in TABLE_2}
        for q in (0, HUNDRED_MB, ONE_GB)
    )
    rows = [
        _gained("ResNet-101, 100 MB over none", "gains", hundred, none, "ResNet101", (0.05, 9)),
        _gained("ResNet-101, 1 GB over 100 MB", "loses", giga, hundred, "ResNet101", (-1, -0.01)),
        _gained("ResNet-101, 1 GB over none", "+40 %", giga, none, "ResNet101", (0.3, 0.5)),
        _gained("VGG-16, 100 MB over none", "unchanged", hundred, none, "VGG16", (-0.05, 0.05)),
        _gained("VGG-16, 1 GB over none", "-9 %", giga, none, "VGG16", (-0.14, -0.04)),
        *_bounds(hundred),
    ]
    sizes = (1e3, 1e4, 1e5, 1e6, 1e7, HUNDRED_MB, ONE_GB)
    curves = tuple(
        Curve(name, sizes, tuple(factor(name, setups[1], size) for size in sizes))
        for name in ("ResNet101", "VGG16")
    )
    return Table(
        "OSF, Fig. 4 and 6: fusion on 32 GPUs",
        rows,
        ["Networks as above."],
        place="Section 3.3 (Figs. 4, 6)",
        decides="Start-up and reached bandwidth; neither is published.",
        plots=[
            Plot("Figs. 4, 6b: fusion buffer", "buffer [B]", "scaling factor", curves, log_x=True)
        ],
    )


def _gained(claim: str, paper: str, over: dict, base: dict, name: str, within: tuple) -> Row:
    ours = [a / b - 1 for a, b in zip(over[name], base[name], strict=True)]
    agrees = within[0] <= ours[1] <= within[1]
    return Row(claim, paper, " | ".join(f"{100 * x:+.0f} %" for x in ours), agrees)


def _bounds(hundred: dict[str, list[float]]) -> Iterator[Row]:
    """Yield what a joint plan, and any plan, gains over a constant buffer."""
    for name in TABLE_2:
        found = [
            plan(graph(name), alike(setting.cost), Options(baselines=())) for setting in settings()
        ]
        gains = [p.scaling_factor / base - 1 for p, base in zip(found, hundred[name], strict=True)]
        most = [
            p.compute_time_us / p.lower_bound_us / base - 1
            for p, base in zip(found, hundred[name], strict=True)
        ]
        joint, bound = (" | ".join(f"{100 * x:.0f} %" for x in xs) for xs in (gains, most))
        yield Row(f"  joint plan over 100 MB, {name}; at most", "", f"{joint}; {bound}")
