"""Where asynchronous SGD saturates [ICPE 2020]: Fig. 2, and formulas beside ours (section 4.4)."""

from collections.abc import Sequence

from tests.benchmarks.papers.async_sgd_cells import (
    CLOUD_GBPS,
    COUNTS,
    PRIVATE_GBPS,
    STEPS,
    inception,
)
from tests.benchmarks.papers.inception import inception_v3
from tests.benchmarks.papers.tables import Curve, Plot, Row, Table, exactly, span

#: Fig. 2: workers from which on throughput is saturated, by batch.
FIG_2 = {16: 4, 32: 4, 64: 5, 128: 7}
#: Images a second of Inception-v3 on a V100 in 32 bit; the paper does not say.
SPEEDS = (200.0, 250.0, 300.0)
MIDDLE = SPEEDS[1]
#: Saturated is within so much of the most.
NEAR = 0.10


def saturated(rates: Sequence[float]) -> int:
    """Return the least count from which on all rates are near the most of them."""
    most = max(rates)
    return 1 + max((i + 1 for i, rate in enumerate(rates) if rate < (1 - NEAR) * most), default=0)


def saturation(speeds: Sequence[float]) -> Table:
    """Fig. 2: Inception-v3 on GPUs in the cloud."""
    rows = []
    for batch, printed in FIG_2.items():
        found = [
            saturated([row.examples_per_s for row in inception(batch, speed).rows])
            for speed in speeds
        ]
        low, high = span(found)
        rows.append(
            Row(
                f"batch {batch}: workers at saturation",
                str(printed),
                f"{low:g}" if low == high else f"{low:g} to {high:g}",
                low <= printed <= high,
                "With a batch this small a GPU computes for less time than the model is on its "
                "way to "
                "and fro. Where and how fast throughput flattens then hangs on how workers meet "
                "on the "
                "link, and on the time to parse what arrives (a line in bytes whose two constants "
                "are not published), which is 0 here.",
            )
        )
    rows.append(
        Row(
            "model of Inception-v3 [MB]",
            "",
            f"{_inception_mb():.1f}",
            None,
            "Not printed; PHub's Table 3 has 91 (of 2^20 bytes).",
            "Section 1",
        )
    )
    share = 0.1 / (0.1 + 0.9 / (CLOUD_GBPS / PRIVATE_GBPS))
    rows.append(
        exactly(
            "overhead of 10 % of a transfer at 1 Gbit/s, at 10 Gbit/s",
            "52.6 %",
            f"{share:.1%}".replace("%", " %"),
            at="Section 4.3",
        )
    )
    curves = [
        Curve(
            f"batch {batch}",
            tuple(map(float, COUNTS)),
            tuple(row.examples_per_s for row in inception(batch, MIDDLE).rows),
        )
        for batch in FIG_2
    ]
    at = {batch: inception(batch, MIDDLE).rows[count - 1] for batch, count in FIG_2.items()}
    stars = Curve(
        "printed saturation",
        tuple(float(FIG_2[batch]) for batch in at),
        tuple(row.examples_per_s for row in at.values()),
        is_printed=True,
    )
    return Table(
        "Asynchronous SGD, Fig. 2: where Inception-v3 saturates",
        rows,
        [
            "Our layers of Inception-v3, one step that is drawn again and again with a spread of "
            "5 % "
            f"of its compute, {STEPS} steps a worker, 1 to 10 workers, one server, "
            f"{CLOUD_GBPS:g} Gbit/s, a window of 28 MB. A GPU that trains "
            + ", ".join(f"{speed:g}" for speed in speeds)
            + f" images/s. Saturated: all larger counts are within {NEAR:.0%} of the most."
        ],
        place="Section 1 (Fig. 2)",
        decides="How fast the GPU is: it is not published for these runs.",
        plots=[
            Plot(
                f"Fig. 2: Inception-v3, {MIDDLE:g} images/s",
                "workers",
                "examples / s",
                (*curves, stars),
            )
        ],
    )


def _inception_mb() -> float:
    return 4 * sum(count for step in inception_v3() for _, count in step.parameters) / 1e6


def formulas() -> Table:
    """Section 4.4: what is said of two formulas beside measurements, said of ours."""
    small, large = inception(16, MIDDLE).rows, inception(128, MIDDLE).rows
    below = [row.cynthia_examples_per_s / row.examples_per_s - 1 for row in (*small, *large)]
    lin_small, lin_large = (
        [row.lin_examples_per_s / row.examples_per_s - 1 for row in rows] for rows in (small, large)
    )
    lin_at, ours_at = (
        saturated([row.lin_examples_per_s for row in large]),
        saturated([row.examples_per_s for row in large]),
    )
    rows = [
        Row(
            "Cynthia's formula below the measured",
            "lower",
            f"{min(below):+.0%} to {max(below):+.0%}",
            max(below) < 0,
        ),
        Row(
            "Lin et al., small batch (16): mean difference",
            "accurate",
            f"{sum(map(abs, lin_small)) / len(lin_small):.0%}",
            sum(map(abs, lin_small)) / len(lin_small) <= 0.2,
            "Their model is a queueing network of phases; of the original we know what this paper "
            "says of it.",
        ),
        Row(
            "Lin et al., large batch (128): saturates earlier",
            "much earlier",
            f"{lin_at} instead of {ours_at}; {min(lin_large):+.0%} at worst",
            lin_at < ours_at,
            "",
        ),
    ]
    return Table(
        "Asynchronous SGD, section 4.4: formulas beside ours",
        rows,
        [
            f"Inception-v3 at {MIDDLE:g} images/s, 1 to 10 workers; in the place of what was "
            "measured stands our simulation."
        ],
        place="Section 4.4 (Figs. 13, 14, 20, 21)",
        decides="How both formulas are read; neither is printed in full.",
        plots=[
            Plot(
                "Section 4.4: Inception-v3, batch 128",
                "workers",
                "examples / s",
                (
                    Curve(
                        "simulated",
                        tuple(map(float, COUNTS)),
                        tuple(row.examples_per_s for row in large),
                    ),
                    Curve(
                        "Lin et al.",
                        tuple(map(float, COUNTS)),
                        tuple(row.lin_examples_per_s for row in large),
                    ),
                    Curve(
                        "Cynthia",
                        tuple(map(float, COUNTS)),
                        tuple(row.cynthia_examples_per_s for row in large),
                    ),
                ),
            )
        ],
    )
