"""What limits an iteration, what would move it, and what contention costs, in some sentences."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from solver.chain import chain_of
from solver.costs import Network
from solver.evidence.brief import Limit
from solver.explanation.critical import WAIT
from solver.explanation.explain import Explanation
from solver.explanation.sensitivity import (
    BANDWIDTH_DOUBLE,
    BANDWIDTH_FREE,
    CHANNEL_DOUBLE,
    COMPUTE_HALF,
    OP_HALF,
    STARTUP_FREE,
    STARTUP_HALF,
    TENSOR_FREE,
    Sensitivity,
    sensitivities,
)
from solver.graph import COMPUTE, Graph
from solver.simulation.engine import Timeline
from solver.simulation.what_if import Rerun
from solver.units import same


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about an iteration's time.

    Attributes
    ----------
    limited_by
        None when the iteration takes no time.
    summary
        The same in words, with what would help and by how much, and what contention costs on the
        critical path.
    sensitivities
        What was simulated to know it.
    """

    limited_by: Limit | None
    summary: str
    sensitivities: tuple[Sensitivity, ...]


def advise(
    graph: Graph, network: Network, rerun: Rerun, timeline: Timeline, explanation: Explanation
) -> Advice:
    """Say what limits a simulated iteration.

    It is what saves most when it takes half: compute, the bandwidth term, start-ups, or the waits
    that the policy's rule puts on the critical path (half their length: this one is not simulated).
    The first of equals counts. When halving no single one helps, it is what takes most of the
    critical path. Compute becomes one op when that op at half its time brings more than half of
    what all compute brings; the network becomes one tensor when doing without it brings more than
    half of free bandwidth or of free start-ups, whichever brings more.

    Parameters
    ----------
    graph, network, rerun, timeline, explanation
        As for :func:`solver.explanation.sensitivity.sensitivities`.
    """
    changes = sensitivities(graph, network, rerun, timeline, explanation)
    facts = _Facts(timeline, explanation, chain_of(graph).compute_time, changes)
    word = _limit(facts)
    return Advice(word, _SENTENCES[word](facts) + _contention(facts), changes)


class _Facts:
    """What the sentences are made of."""

    def __init__(
        self,
        timeline: Timeline,
        explanation: Explanation,
        compute_time: float,
        sensitivities: tuple[Sensitivity, ...],
    ) -> None:
        self.total = timeline.iteration_time
        self.launches = len(timeline.launches)
        self.compute_time = compute_time
        self.explanation = explanation
        several = {TENSOR_FREE, CHANNEL_DOUBLE}
        self.gain = {s.name: s.gain_us for s in sensitivities if s.name not in several}
        channels = [s for s in sensitivities if s.name == CHANNEL_DOUBLE]
        self.channel = max(channels, key=lambda s: s.gain_us, default=None)
        tensors = [s for s in sensitivities if s.name == TENSOR_FREE]
        best = max(tensors, key=lambda s: s.gain_us, default=None)
        self.gain[TENSOR_FREE] = best.gain_us if best else 0.0
        self.tensor = next((t for t in explanation.tensors if best and t.id == best.op), None)
        self.op = next((s.op for s in sensitivities if s.name == OP_HALF), None)

    def on_path(self, *kinds: str) -> float:
        """Time of some kinds of step on the critical path [us]."""
        path = self.explanation.critical_path
        return sum(step.end_us - step.start_us for step in path if step.kind in kinds)

    def of_all(self, time: float) -> str:
        """Write a time as a share of the iteration."""
        return f"{_time(time)} of its {_time(self.total)} ({_percent(time / self.total)})"

    def slowed(self, *, computes: bool) -> float:
        """Time that contention costs compute, or launches, on the critical path [us]."""
        path = self.explanation.critical_path
        return sum(step.slowed_us for step in path if (step.kind == COMPUTE) == computes)

    def parts(self) -> str:
        """Tell what compute takes alone, and what communication adds."""
        exposed = self.total - self.compute_time
        added = f"{_time(exposed)} ({_percent(exposed / self.total)})"
        if same(self.compute_time, self.total):
            added = "nothing"
        return f"compute alone takes {_time(self.compute_time)}, communication adds {added}"

    def would(self, name: str) -> str:
        """Tell what a change brings."""
        return self.saving(self.gain[name])

    def saving(self, gain: float) -> str:
        """Write what a change brings."""
        if not gain:
            return "would save nothing"
        amount = f"{_time(abs(gain))} ({_percent(abs(gain) / self.total)})"
        return f"would save {amount}" if gain > 0 else f"would cost {amount} more"


def _limit(facts: _Facts) -> Limit | None:
    gain = facts.gain
    halves: dict[Limit, float] = {
        "compute": gain[COMPUTE_HALF],
        "bandwidth": gain[BANDWIDTH_DOUBLE],
        "startup": gain[STARTUP_HALF],
        "policy": facts.on_path(WAIT) / 2,
    }
    word = max(halves, key=lambda word: halves[word])
    if not facts.total:
        return None
    if halves[word] <= 0:
        computing = facts.on_path(COMPUTE)
        phases = facts.explanation.breakdown
        network: Limit = "startup" if phases.negotiate_us > phases.all_reduce_us else "bandwidth"
        return "compute" if 2 * computing >= facts.total else network
    if word == "compute" and _most(gain.get(OP_HALF, 0.0), gain[COMPUTE_HALF]):
        return "op"
    free = max(gain[BANDWIDTH_FREE], gain[STARTUP_FREE])
    if word in {"bandwidth", "startup"} and _most(gain[TENSOR_FREE], free):
        return "tensor"
    return word


def _most(part: float, whole: float) -> bool:
    return 2 * part > whole and not same(2 * part, whole)


def _contention(facts: _Facts) -> str:
    """Say what contention costs, as a further sentence; nothing where it costs nothing."""
    compute, launches = facts.slowed(computes=True), facts.slowed(computes=False)
    what = []
    if compute:
        what.append(f"compute beside communication {_time(compute)}")
    if launches:
        what.append(f"launches beside other work {_time(launches)}")
    if not what:
        return ""
    return f" On the critical path contention costs {' and '.join(what)}."


def _nothing(facts: _Facts) -> str:
    return "Nothing in this iteration takes time."


def _compute(facts: _Facts) -> str:
    return (
        f"Compute limits this iteration: {facts.parts()}. Compute twice as fast "
        f"{facts.would(COMPUTE_HALF)}, twice the bandwidth {facts.would(BANDWIDTH_DOUBLE)}."
    )


def _op(facts: _Facts) -> str:
    path = facts.explanation.critical_path
    time = next(step.end_us - step.start_us for step in path if step.ops == (facts.op,))
    return (
        f"One op limits this iteration: {facts.op!r} takes {facts.of_all(time)}. Half its time "
        f"{facts.would(OP_HALF)}, twice the bandwidth {facts.would(BANDWIDTH_DOUBLE)}."
    )


def _bandwidth(facts: _Facts) -> str:
    one = ""
    if facts.channel is not None:
        one = f" ({facts.channel.channel!r} alone {facts.saving(facts.channel.gain_us)})"
    return (
        f"Bandwidth limits this iteration: {facts.parts()}. Twice the bandwidth "
        f"{facts.would(BANDWIDTH_DOUBLE)}{one}, free bandwidth {facts.would(BANDWIDTH_FREE)}."
    )


def _startup(facts: _Facts) -> str:
    spent = facts.explanation.breakdown.negotiate_us
    return (
        f"Start-ups limit this iteration: its {facts.launches:,} launches spend {_time(spent)} on "
        f"them. Half the start-up {facts.would(STARTUP_HALF)}, no start-up "
        f"{facts.would(STARTUP_FREE)}, twice the bandwidth {facts.would(BANDWIDTH_DOUBLE)}."
    )


def _tensor(facts: _Facts) -> str:
    tensor = facts.tensor
    assert tensor is not None, "a tensor is the limit"
    return (
        f"One tensor limits this iteration: {tensor.id!r} ({_size(tensor.bytes)}) is ready at "
        f"{_time(tensor.release_us)} and sent by {_time(tensor.end_us)} of {_time(facts.total)}. "
        f"Doing without it {facts.would(TENSOR_FREE)}, twice the bandwidth "
        f"{facts.would(BANDWIDTH_DOUBLE)}."
    )


def _policy(facts: _Facts) -> str:
    return (
        f"The policy limits this iteration: its rule holds launches back for "
        f"{facts.of_all(facts.on_path(WAIT))}. Twice the bandwidth "
        f"{facts.would(BANDWIDTH_DOUBLE)}, compute twice as fast {facts.would(COMPUTE_HALF)}."
    )


_SENTENCES: dict[str | None, Callable[[_Facts], str]] = {
    None: _nothing,
    "compute": _compute,
    "op": _op,
    "bandwidth": _bandwidth,
    "startup": _startup,
    "tensor": _tensor,
    "policy": _policy,
}


def _time(us: float) -> str:
    """Write a time with three digits, in the unit that keeps it below 1,000."""
    if 0 < us < 0.001:  # noqa: PLR2004 - as it says
        return "under 0.001 us"
    return _scaled(us, ("us", "ms", "s"))


def _size(size: int) -> str:
    return _scaled(size, ("bytes", "kB", "MB", "GB", "TB"))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.001 else "under 0.1 %"  # noqa: PLR2004 - as it says


def _scaled(value: float, units: tuple[str, ...]) -> str:
    value = float(f"{value:.3g}")
    unit = 0
    while value >= 1000 and unit < len(units) - 1:  # noqa: PLR2004 - the next unit
        value /= 1000
        unit += 1
    return f"{_digits(value)} {units[unit]}"


def _digits(value: float) -> str:
    """Three significant digits, never with an exponent."""
    return np.format_float_positional(value, precision=3, fractional=False, trim="-")
