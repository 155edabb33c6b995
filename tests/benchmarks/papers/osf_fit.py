"""OSF, Fig. 10: a line and a piecewise curve as costs, where launches begin slowly."""

import math
from collections.abc import Sequence

from solver.calibration.fits import cost_of_model, fit_linear, fit_piecewise
from solver.costs import Cost
from solver.prediction.osf import osf_fusion
from solver.prediction.passes import passes_of
from tests.benchmarks.papers.osf_setup import (
    HUNDRED_MB,
    NO_TIMEOUT,
    TABLE_2,
    graph,
    models,
    reached,
)
from tests.benchmarks.papers.tables import Curve, Plot, Row, Table, exactly, percents

#: Bandwidth-delay product of the paper, and a first window of one segment [bytes].
BDP, WINDOW = 45_000, 1_460
SAMPLES = tuple(2**k for k in range(8, 29))
BUFFERS = (0.0, 64e3, 1e6, HUNDRED_MB)
_PLOT = "In a plot alone."


def truth(size: float) -> float:
    """Time of a launch [us]: windows that double below the BDP, the cost of Fig. 3 above."""
    cost = reached().cost
    if size >= BDP:
        return cost.time(round(size))
    windows = max(1.0, math.log2(1 + size / WINDOW))
    return cost.time(BDP) * windows / math.log2(1 + BDP / WINDOW)


def errors() -> Table:
    """Fit both to the same samples, and predict what ResNet-101 sends with four buffers."""
    samples = [(size, truth(size)) for size in SAMPLES]
    line = cost_of_model(fit_linear(samples).parameters)
    curve = cost_of_model(fit_piecewise(samples, BDP).parameters)
    fixed = {size: truth(size) for size in (2**20, 2**28)}
    slope = (fixed[2**28] - fixed[2**20]) / (2**28 - 2**20)
    sent = sorted(
        {
            each.bytes
            for buffer in BUFFERS
            for each in osf_fusion(
                passes_of(graph("ResNet101")), reached().cost, buffer, NO_TIMEOUT
            ).buffers
        }
    )
    small = [size for size in sent if size < BDP]
    sizes = [
        4 * count for name in TABLE_2 for step in models()[name] for _, count in step.parameters
    ]
    share = sum(size < BDP for size in sizes) / len(sizes)
    fc6 = 4 * (25088 * 4096 + 4096)
    total = sum(reached().cost.time(op.bytes) for op in graph("VGG16").ops if op.bytes)
    of_fc6 = reached().cost.time(fc6) / total
    rows = [
        exactly(
            "OSF's error below CSF's: 8.4 of 51.9 %",
            "83.8 %",
            f"{100 * (1 - 8.4 / 51.9):.1f} %",
            at="Section 3.2",
        ),
        Row(
            "one fully connected layer of VGG-16: share of the communication",
            "74.2 %",
            f"{100 * of_fc6:.1f} %",
            abs(of_fc6 - 0.742) <= 0.05,
            "The start-ups of the other tensors are in our total.",
            "Section 3.2",
        ),
        Row(
            "tensors of less than 45 KB, five models",
            "53.1 %",
            f"{100 * share:.1f} %",
            abs(share - 0.531) <= 0.05,
            "The paper counts tensors that were sent in its runs with fusion, of models that it "
            "does "
            "not name; ours are the tensors of the five models, of which most are shifts and "
            "scales "
            "of normalisations.",
            "Section 4.2",
        ),
        Row("line off, all sizes: median, worst", "", _said(line, sent), None, _PLOT),
        Row(
            "piecewise off, all sizes: median, worst",
            "much lower",
            _said(curve, sent),
            _median(curve, sent) < 0.5 * _median(line, sent),
            "A curve in the logarithm is not that of windows either.",
        ),
        Row(
            "line, then piecewise off below 45 KB: median, worst",
            "",
            f"{_said(line, small)}; {_said(curve, small)}",
            None,
            _PLOT,
        ),
        Row(
            "line through 1 and 256 MiB at the least size that is sent",
            "underestimates",
            f"{100 * ((fixed[2**20] - slope * 2**20) / truth(sent[0]) - 1):+.0f} %",
            fixed[2**20] - slope * 2**20 < truth(sent[0]),
            "Where launches begin slowly a small one takes less than the start-up that large ones "
            "show, so a line overestimates it. For it to underestimate, small launches must cost "
            "more than large ones tell, as with a start-up that a line through the origin leaves "
            "out.",
        ),
    ]
    x = tuple(map(float, sent))
    curves = tuple(
        Curve(label, x, tuple(100 * (cost.time(size) / truth(size) - 1) for size in sent))
        for label, cost in (("linear", line), ("piecewise", curve))
    )
    return Table(
        "OSF, Fig. 10: error of linear and piecewise costs",
        rows,
        [
            "What a launch took is not published. Assumed: below the bandwidth-delay product of 45 "
            "KB a window of 1,460 bytes doubles, from there on the cost above. Both are fitted to "
            f"{len(SAMPLES)} sizes of 256 B to 256 MiB by relative error, and predict what "
            "ResNet-101 "
            "sends without fusion and with buffers of 64 KB, 1 MB and 100 MB.",
        ],
        place="Section 4.2 (Fig. 10)",
        decides="How a launch begins: the measured times are not published.",
        plots=[
            Plot(
                "Fig. 10: error, ResNet-101",
                "size [B]",
                "error [%]",
                curves,
                log_x=True,
                is_signed=True,
            )
        ],
    )


def _off(cost: Cost, sizes: Sequence[int]) -> list[float]:
    return sorted(abs(cost.time(size) / truth(size) - 1) for size in sizes)


def _median(cost: Cost, sizes: Sequence[int]) -> float:
    return _off(cost, sizes)[len(sizes) // 2]


def _said(cost: Cost, sizes: Sequence[int]) -> str:
    off = _off(cost, sizes)
    return f"{percents((off[len(off) // 2],) * 2)}, {percents((off[-1],) * 2)}"
