"""A simulation for a reader: times, what limits them, phases, and how they vary."""

from collections.abc import Iterator

from app.cli.rendering.channel_use import channel_rows
from app.cli.rendering.clusters import channels, cost, place
from app.cli.rendering.explanations import limits, recorded, rests_on, warnings
from app.cli.rendering.figures import counted
from app.cli.rendering.first_screen import first_of_simulation
from app.cli.rendering.page import Line, page
from app.cli.rendering.policies import title_of, titled
from app.cli.rendering.programs import simulated
from app.cli.rendering.tables import table, time, times
from app.schemas.simulations import SimulationAnswer
from solver.graph import NETWORK
from solver.wording import ms


def render(answer: SimulationAnswer, name: str) -> str:
    """Write a simulation as a page of text."""
    if answer.program is not None:
        return simulated(answer, name)
    return page(
        first_of_simulation(
            _title(answer),
            answer.iteration_time_us,
            answer.exposed_us,
            answer.limited_by,
            answer.sensitivities,
            answer.critical_path,
        ),
        _head(answer, name),
        rests_on(answer.evidence),
        _times(answer),
        limits(answer),
        _phases(answer),
        _spread(answer),
        warnings(answer.warnings),
    )


def _head(answer: SimulationAnswer, name: str) -> Iterator[str]:
    cluster = answer.request.cluster
    used = {channel.channel for channel in answer.channels}
    yield place(name, cluster, used)
    costs = f"{cost(cluster)}; " if NETWORK in used else ""
    yield f"{costs}{_title(answer)}{', with a barrier' if answer.request.barrier else ''}"
    yield from channels(cluster)


def _title(answer: SimulationAnswer) -> str:
    policy = answer.policy
    return titled(policy.policy, policy.parameters) if policy else "the plan given"


def _times(answer: SimulationAnswer) -> Iterator[Line]:
    rows = [
        *recorded(answer.evidence),
        time("one iteration", answer.iteration_time_us),
        time("compute alone", answer.compute_time_us, "with free communication"),
        time("exposed", answer.exposed_us, "what communication adds"),
        *channel_rows(answer),
    ]
    yield times(rows)


def _phases(answer: SimulationAnswer) -> Iterator[Line]:
    phases = answer.breakdown
    if phases is None:
        return
    yield "All buckets' times, from the first tensor ready to the bucket sent, summed"
    yield times(
        [
            time("start-ups", phases.negotiate_us),
            time("on the wire", phases.all_reduce_us),
            time("waiting", phases.wait_us, "for other tensors, or for the channel"),
            time("held back", phases.other_us, "by the policy, the channel idle"),
        ]
    )


def _spread(answer: SimulationAnswer) -> Iterator[Line]:
    jitter, spread = answer.request.jitter, answer.jitter
    if jitter is None or spread is None:
        return
    yield (
        f"When each op's time varies by {100 * jitter.spread:g} %, launches included "
        f"({counted(jitter.runs, 'run')})"
    )
    rows = [["this", ms(spread.p50_us), ms(spread.p95_us), ""]]
    rows += [
        [
            title_of(rival.to_choice()),
            ms(run.p50_us),
            ms(run.p95_us),
            f"faster in {100 * run.faster:.1f} %",
        ]
        for rival, run in zip(jitter.rivals, spread.rivals, strict=True)
    ]
    yield table(["", "median", "95 %", ""], rows, widths=(26, 13, 13), has_remarks=True)
