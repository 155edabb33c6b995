"""Asynchronous SGD [ICPE 2020]: what follows from its printed constants, beside its numbers."""

from collections.abc import Iterator

from solver.models.vision import vgg
from solver.parameter_server.throughput import predict
from tests.benchmarks.papers.async_sgd_cells import (
    CLOUD_GBPS,
    PRIVATE_GBPS,
    WIN_BYTES,
    alexnet,
    options,
    step_for,
)
from tests.benchmarks.papers.async_sgd_saturation import (
    MIDDLE,
    SPEEDS,
    formulas,
    saturation,
)
from tests.benchmarks.papers.inception import inception_v3
from tests.benchmarks.papers.tables import Curve, Plot, Row, Table, exactly

CITED = (
    "Z. Li, W. Yan, M. Paolieri, L. Golubchik, *Throughput Prediction of Asynchronous SGD in "
    "TensorFlow*, ICPE 2020."
)
#: A second server that gives so much more is a marginal improvement.
MARGINAL = 0.25
#: AlexNet's batch of 8 on a CPU of the private cluster [us]: as long as its gradients take.
ALEXNET_US = 2e6
_CURVES = (
    "The profiled steps, and throughputs but in plots, are not published. Predicted from a "
    "recording "
    "of one worker and measured beside it is another thing: that needs a testbed, not the paper."
)


def tables(*, quick: bool) -> Iterator[Table]:
    """Yield the tables in the paper's order; ``quick`` takes one speed of the GPU."""
    yield saturation((MIDDLE,) if quick else SPEEDS)
    yield formulas()
    yield exchange()
    yield two_servers()
    yield errors()


def exchange() -> Table:
    """Sections 3.3 and 4.2: streams that take turns, and workers that do."""
    step = step_for(list(alexnet()), ALEXNET_US)
    together, apart = (
        predict([step], options((3,), PRIVATE_GBPS, 8, synchronous=synchronous)).rows[0]
        for synchronous in (True, False)
    )
    with_turns, whole = (
        predict([step], options((1,), PRIVATE_GBPS, 8, win)).rows[0] for win in (WIN_BYTES, None)
    )
    rows = [
        Row(
            "AlexNet, batch 8, 3 workers: out of step over in step",
            "faster",
            f"{apart.examples_per_s / together.examples_per_s:.2f}x",
            apart.examples_per_s > together.examples_per_s,
            at="Section 4.2 (Figs. 15, 16)",
        ),
        Row(
            "AlexNet: step without flow control over one with it",
            "shorter",
            f"{whole.step_us / with_turns.step_us:.3f}x",
            whole.step_us < with_turns.step_us,
            "With AlexNet the large layers come last and their compute is short, so what waits for "
            "the second service of fc6 waits in either way.",
            "Section 3.3 (Fig. 8)",
        ),
    ]
    return Table(
        "Asynchronous SGD, sections 3.3 and 4.2: taking turns",
        rows,
        [
            f"{PRIVATE_GBPS:g} Gbit/s, one server, a batch of 8 takes {ALEXNET_US / 1e6:g} s on a "
            "worker (not published; about what its gradients take), all else as above."
        ],
        place="Sections 3.3 and 4.2",
        decides="Compute beside communication.",
    )


def two_servers() -> Table:
    """Section 5: VGG-11's shards, and what a second server gives."""
    small = list(vgg(11))
    step = step_for(small, 60e3, servers=2)
    sizes = [step.bytes_on("downlink", server) / 2**20 for server in step.servers]
    rows = [
        exactly(
            "VGG-11 on two servers [MB]",
            "407, 100",
            ", ".join(f"{size:.0f}" for size in sizes),
            at="Section 5 (Fig. 23)",
        )
    ]
    curves = []
    for name, steps, batch, batch_us in (
        ("VGG-11", small, 32, 60e3),
        ("Inception-v3", list(inception_v3()), 32, 32 / MIDDLE * 1e6),
    ):
        one, two = (
            predict([step_for(steps, batch_us, servers)], options((1, 2, 4, 8), CLOUD_GBPS, batch))
            for servers in (1, 2)
        )
        more = two.rows[-1].examples_per_s / one.rows[-1].examples_per_s - 1
        is_marginal = name == "VGG-11"
        rows.append(
            Row(
                f"{name}, 8 workers: a second server",
                "only marginal" if is_marginal else "improves",
                f"{more:+.0%}",
                more <= MARGINAL if is_marginal else more > MARGINAL,
            )
        )
        for count, found in (("1 server", one), ("2 servers", two)):
            rates = tuple(row.examples_per_s for row in found.rows)
            curves.append(Curve(f"{name}, {count}", (1.0, 2.0, 4.0, 8.0), rates))
    return Table(
        "Asynchronous SGD, section 5: two servers",
        rows,
        [
            "A layer goes to the server that has fewer bytes, in forward order; MB are 2^20 bytes. "
            f"{CLOUD_GBPS:g} Gbit/s, a batch of 32: 60 ms for VGG-11 (half of PHub's on a GTX 1080 "
            f"Ti), {32 / MIDDLE * 1e3:.0f} ms for Inception-v3. Marginal is {MARGINAL:.0%} at "
            "most: "
            "all bytes over those of the larger shard are 1.25."
        ],
        place="Section 5 (Figs. 23 to 25)",
        decides="That the network is the bound, which it is with 8 workers at either speed.",
        plots=[Plot("Fig. 25: two servers", "workers", "examples / s", tuple(curves))],
    )


def errors() -> Table:
    """Say what cannot be had: errors of predictions from recordings that are not published."""
    rows = [
        Row(claim, paper, "", None, _CURVES, at)
        for claim, paper, at in (
            ("error of a downlink's end, average, CPU cluster", "1.02 to 1.82 %", "Table 1"),
            ("error of a downlink's end, average, cloud", "2.89 to 9.23 %", "Table 1"),
            ("prediction of throughput, CPU cluster", "within 10 %", "Section 4.2 (Figs. 13, 14)"),
            ("without flow control", "within 10 % but one of 20 %", "Section 4.2 (Fig. 17)"),
            ("orders of the streams", "within 10 %, TIC within 5 %", "Section 4.2 (Figs. 18, 19)"),
            (
                "prediction on CPUs in the cloud",
                "within 20 %, once 22.8 %",
                "Section 4.3 (Fig. 20)",
            ),
            ("prediction on GPUs in the cloud", "within 20 to 40 %", "Section 4.3 (Fig. 21)"),
            ("two servers", "within 20 %, some 25 %", "Section 5 (Fig. 25)"),
        )
    ]
    rows.append(
        Row(
            "prediction over measuring, batch 128",
            "117 s of 581 s",
            "",
            None,
            "Times of a clock, which a page of the same bytes cannot have; `python -m "
            "tests.benchmarks.parameter_server` measures ours.",
            "Section 4.5 (Fig. 22)",
        )
    )
    return Table(
        "Asynchronous SGD, section 4: errors of predictions",
        rows,
        place="Section 4",
        decides="The recordings.",
    )
