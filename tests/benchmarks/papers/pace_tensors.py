"""PACE's tensors: their sizes (Fig. 4, section II-C), and how long the network idles (Fig. 10)."""

from solver.costs import Cluster, network_of
from solver.policies import POLICIES
from solver.simulation.engine import simulate
from tests.benchmarks.papers.pace_cells import HOROVOD, START_UP_US, graph, models
from tests.benchmarks.papers.tables import Curve, Plot, Row, Table, percents

#: What the paper calls small [bytes].
SMALL = 1e6
#: Workers of Fig. 10; of its bandwidth it says nothing, so the one of Fig. 8.
WORKERS, GBPS = 12, 10.0
FEW_US = 10_000.0


def _sizes(name: str) -> list[int]:
    return sorted(op.bytes for op in graph(name).ops if op.bytes)


def sizes() -> Table:
    """Fig. 4: how many tensors are no larger than so much."""
    vgg = _sizes("VGG16")
    rows = [
        Row("smallest tensor of VGG16 [B]", "256", str(vgg[0]), vgg[0] == 256, at="Section II-C"),
        Row(
            "largest tensor of VGG16 [MB]",
            "over 400",
            f"{vgg[-1] / 1e6:.1f}",
            vgg[-1] > 400e6,
            at="Section II-C",
        ),
        Row(
            "two largest of VGG16 [MB]",
            "67, 410",
            f"{vgg[-2] / 1e6:.0f}, {vgg[-1] / 1e6:.0f}",
            abs(vgg[-1] / 410e6 - 1) < 0.01,
            at="Section VI-C",
        ),
    ]
    for name in models():
        share = sum(size < SMALL for size in _sizes(name)) / len(_sizes(name))
        is_printed = name in {"ResNet50", "Transformer"}
        rows.append(
            Row(
                f"tensors of less than 1 MB, {name}",
                "over 50 %" if is_printed else "",
                percents((share, share)),
                share > 0.5 if is_printed else None,
            )
        )
    curves = []
    for name in models():
        found = _sizes(name)
        steps = {size: (i + 1) / len(found) for i, size in enumerate(found)}
        curves.append(Curve(name, tuple(map(float, steps)), tuple(steps.values())))
    return Table(
        "PACE, Fig. 4: sizes of tensors",
        rows,
        ["The text gives these numbers; the curves themselves are in a plot alone."],
        place="Section II-C (Fig. 4)",
        decides="Which published model is meant (Table II).",
        plots=[
            Plot(
                "Fig. 4: sizes of tensors",
                "tensor size [B]",
                "share",
                tuple(curves),
                log_x=True,
                is_stepped=True,
            )
        ],
    )


def idle() -> Table:
    """Fig. 10: how long nothing is sent in an iteration."""
    network = network_of(Cluster(WORKERS, GBPS, START_UP_US))
    rows = []
    for name in models():
        pauses = []
        for policy in (POLICIES["pace"], HOROVOD):
            run = simulate(graph(name), network, policy)
            sent = sum(launch.end - launch.start for launch in run.launches)
            pauses.append(run.iteration_time - sent)
        few = pauses[0] <= FEW_US
        is_few = "a few ms" if name != "Seq2Seq" else "longer"
        ours = f"{pauses[0] / 1e3:.0f} | {pauses[1] / 1e3:.0f} ms"
        rows.append(
            Row(
                f"nothing is sent in an iteration, {name}: PACE | Horovod",
                f"{is_few} | more",
                ours,
                few == (name != "Seq2Seq") and pauses[0] < pauses[1],
                "The last layers' forward pass and the first backward passes have nothing to "
                "send yet or any more. How long that is follows from the split of the compute over "
                "layers, which is not published.",
            )
        )
    return Table(
        "PACE, Fig. 10: pauses of the network",
        rows,
        [
            f"{WORKERS} workers, {GBPS:g} Gbit/s (the paper does not say of Fig. 10); a few ms are "
            f"{FEW_US / 1e3:g} at most. The paper's plot of the usage has no printed numbers."
        ],
        place="Section VI-E (Fig. 10)",
        decides="The split of the compute over layers.",
    )
