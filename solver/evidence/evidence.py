"""On what an answer rests, and below which gain nothing follows from it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from solver.costs import Network, bytes_on, cost_error_of
from solver.evidence.gain import share_text, trusted
from solver.graph import Graph, RecordedStep
from solver.graph.names import NEGOTIATION
from solver.wording import ms

#: From which share on it is worth saying how measurements become better.
_FAR = 0.03

#: From which share on it is worth saying at all.
_SAID = 0.0005


@dataclass(frozen=True, slots=True)
class FitError:
    """How far costs are from the launches that they were fitted to, by bytes sent.

    Attributes
    ----------
    median, p90
        Of abs(cost / measured time - 1); None where nobody knows.
    """

    median: float | None
    p90: float | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was measured, how well it fits, what was assumed, and what cut the search.

    Attributes
    ----------
    recorded_us
        What the step took when it was recorded [us]; null where nothing was.
    recorded_simulated_us
        The same step as you run it, simulated with the costs of the cluster [us]; null where they
        were scaled to another cluster than was recorded.
    cost_error
        How well the costs fit what was measured; null where they were not fitted.
    spread
        How far repeated measurements of one size were apart, as a share of their time; null where
        nobody knows.
    assumed
        What was not measured, a sentence each.
    cut
        What ended the search before its moves were done; null where nothing did.
    trust_below
        The gain below which nothing follows; null where nothing was measured.
    unsound
        Why no gain is claimed, a sentence each: what is wrong with the recording.
    sentences
        The same in words, as the command and the page show it, with what is assumed of a
        transport; empty where nothing was measured and nothing of the kind assumed.
    """

    recorded_us: float | None = None
    recorded_simulated_us: float | None = None
    cost_error: FitError | None = None
    spread: float | None = None
    assumed: tuple[str, ...] = ()
    cut: str | None = None
    trust_below: float | None = None
    unsound: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()


#: Of an answer of which nothing is known but its figures.
NO_EVIDENCE = Evidence()


def evidence_of(
    graph: Graph,
    network: Network,
    today_us: float | None = None,
    compute_us: float | None = None,
    cut: str | None = None,
    *,
    is_here: bool = True,
) -> Evidence:
    """Gather what an answer about a graph on a network rests on.

    Parameters
    ----------
    graph
        With the step that it was read from, where it was recorded.
    network
        With how far its costs are off, where they were fitted.
    today_us, compute_us
        What you run, and compute alone, simulated [us]; None where that is not known.
    cut
        What ended the search early.
    is_here
        The network is that of the recorded step, as far as anybody says; another one of a sweep or
        a prediction is not, and then the step is no measure of it.

    Notes
    -----
    O(collectives).
    """
    recorded = _recorded_us(graph.recorded) if is_here else None
    scaled = [channel for channel in bytes_on(graph) if channel in network.scaled]
    simulated = None if recorded is None or scaled else today_us
    error = cost_error_of(network, graph)
    fit = None if error is None else FitError(error.median, error.p90)
    spread = None if error is None else error.spread
    share = _share(today_us, compute_us)
    trust = _trust_below(recorded, simulated, _off(fit, spread, share))
    unsound = _unsound(graph)
    return Evidence(
        recorded,
        simulated,
        fit,
        spread,
        tuple(_assumed(graph, network, scaled, is_here=is_here)),
        cut,
        trust,
        unsound,
        (
            *_sentences(recorded, simulated, fit, spread, trust, unsound),
            *_transports(graph, network),
            *_kept(graph),
            *_late_said(graph.recorded if is_here else None),
        ),
    )


def stated_evidence(graph: Graph | None, costs: str) -> Evidence:
    """Gather what an answer rests on that takes no costs of launches.

    Parameters
    ----------
    graph
        None where the answer is about something else, such as profiled steps.
    costs
        What it takes instead, and is not known to be right, such as ``bandwidths``.
    """
    recorded = None if graph is None else _recorded_us(graph.recorded)
    assumed = [_STATED] if graph is not None and graph.recorded is None else []
    assumed.append(f"How far {costs} are off is not known.")
    kept = () if graph is None else tuple(_kept(graph))
    unsound = () if graph is None else _unsound(graph)
    sentences = (*_sentences(recorded, None, None, None, None, unsound), *kept)
    return Evidence(
        recorded_us=recorded, assumed=(*assumed, *kept), unsound=unsound, sentences=sentences
    )


def is_measured(graph: Graph, network: Network) -> bool:
    """Tell whether anything was measured, so that what you run is worth simulating."""
    return graph.recorded is not None or bool(network.errors)


def _recorded_us(recorded: RecordedStep | None) -> float | None:
    return None if recorded is None else recorded.known_us


def _unsound(graph: Graph) -> tuple[str, ...]:
    return () if graph.recorded is None else graph.recorded.unsound


def _share(today_us: float | None, compute_us: float | None) -> float:
    """Return the share of a step that communication adds to compute: costs move this much of it.

    All of it where that is not known.
    """
    if not today_us or compute_us is None:
        return 1.0
    return max(0.0, 1 - compute_us / today_us)


def _off(fit: FitError | None, spread: float | None, share: float) -> float | None:
    """Return how far off costs make a step, by the larger of their error and their spread."""
    known = (None if fit is None else fit.median, spread)
    errors = [each for each in known if each is not None]
    return max(errors) * share if errors else None


def _trust_below(
    recorded_us: float | None, simulated_us: float | None, off: float | None
) -> float | None:
    """Return the largest of what is known to be off, as a share of the step."""
    known = [] if off is None else [off]
    if recorded_us and simulated_us is not None:
        known.append(abs(simulated_us / recorded_us - 1))
    return max(known, default=None)


def _assumed(
    graph: Graph, network: Network, scaled: Iterable[str], *, is_here: bool
) -> Iterator[str]:
    """Say what was not measured."""
    if graph.recorded is None:
        yield _STATED
    elif not is_here:
        yield "No step was recorded on this cluster."
    fitted = {channel for channel, _ in network.errors}
    stated = [channel for channel in bytes_on(graph) if channel not in fitted]
    if stated:
        yield f"How far the costs of {' and '.join(stated)} are off is not known."
    yield from _transports(graph, network)
    for channel in scaled:
        yield f"The costs of {channel} were measured elsewhere, and are scaled as a ring's."
    yield from _kept(graph)


def _transports(graph: Graph, network: Network) -> Iterator[str]:
    """Say what the costs of channels assume of their transports."""
    said = dict(network.assumed)
    for channel in filter(said.__contains__, bytes_on(graph)):
        yield f"The costs of {channel} assume {said[channel]}."


def _kept(graph: Graph) -> Iterator[str]:
    """Say what takes its recorded time on every network, or in every plan."""
    kept = None if graph.recorded is None else graph.recorded.kept()
    if kept is not None:
        yield kept
    negotiated = sum(op.duration_us or 0.0 for op in graph.ops if op.stream == NEGOTIATION)
    if negotiated:
        yield f"{ms(negotiated)} of negotiation stay as recorded: no plan moves them."


def _sentences(
    recorded_us: float | None,
    simulated_us: float | None,
    fit: FitError | None,
    spread: float | None,
    trust: float | None,
    unsound: Sequence[str],
) -> Iterator[str]:
    """Say what was measured, and below which gain nothing follows, or that none is claimed."""
    if recorded_us is not None:
        simulated = "" if simulated_us is None else _beside(recorded_us, simulated_us)
        yield f"The recorded step took {ms(recorded_us)}{simulated}."
    if fit is not None and fit.median is not None:
        within = f"within {share_text(fit.median)} in the median"
        within += "" if fit.p90 is None else f", nine of ten within {share_text(fit.p90)}"
        yield f"The costs fit what was measured {within}."
    if spread is not None:
        yield f"Repeated measurements of one size were {share_text(spread)} apart."
    yield from (f"No gain is claimed: {why}" for why in unsound)
    if trust is not None and trust >= _SAID and not unsound:
        more = "" if trust <= _FAR else _MEASURE if fit is None else _BETTER
        yield f"Trust no gain{trusted(trust)}.{more}"


def _late_said(recorded: RecordedStep | None) -> Iterator[str]:
    """Say what of the recorded steps was lost to a slow rank or link."""
    if recorded is None or recorded.late_us is None:
        return
    whose = "a slow link" if recorded.late_rank is None else f"rank {recorded.late_rank}"
    yield (
        f"Of a recorded step {ms(recorded.late_us)} were lost to {whose}, which no plan wins back "
        "(interlace import says why)."
    )


#: What is assumed of a graph that nobody recorded.
_STATED = "No step was recorded: the times of compute are as stated."

#: How costs become better that no launch was fitted to, and how measured ones do.
_MEASURE = (
    " No launch was measured for the costs of this cluster: a benchmark of the network (interlace "
    "calibrate, --cost-model) tells what they are."
)
_BETTER = (
    " Recorded launches include waiting for other ranks and for the CPU, which no plan shortens; "
    "files of all ranks and more steps, or a benchmark of the network (interlace calibrate, "
    "--cost-model), make the costs better."
)


def _beside(recorded_us: float, simulated_us: float) -> str:
    """Say how far the simulation of what you run is from what was recorded."""
    change = simulated_us / recorded_us - 1 if recorded_us else 0.0
    if share_text(abs(change)) == share_text(0.0):
        return f"; simulated with the costs of this cluster it takes as long, {ms(simulated_us)}"
    return (
        f"; simulated with the costs of this cluster it takes {ms(simulated_us)}, "
        f"{share_text(abs(change))} {'less' if change < 0 else 'more'}"
    )
