"""The response bodies of simulations. Unknown is null."""

from typing import Annotated

from pydantic import Field

from app.answers import Bucket, Part
from app.body import Answered
from app.cluster import ClusterBody
from app.explained import Explained
from app.simulation_request import JitterBody
from app.warned import Warned
from app.what_if import ChangeBody
from solver.explanation.usage import Usage
from solver.simulation.jitter import Jitter


class SimulatedPolicy(Answered):
    """The policy, with each parameter as it was used."""

    policy: str
    parameters: dict[str, int | float]


class Launches(Answered):
    """What was launched, in the order of starts."""

    parts: list[Part]


class SimulatedWhatIf(Answered):
    """The changed graph under the same policy, or the plan carried over to it."""

    iteration_time_us: float
    compute_time_us: float
    scaling_factor: float | None
    gain_us: Annotated[float, Field(description="How much less that is than without [us].")]


class SimulationRequestOut(Answered):
    """What was asked, defaults filled in; the graph by its hash."""

    cluster: ClusterBody
    barrier: bool
    bins: int
    jitter: JitterBody | None
    what_if: list[ChangeBody]
    graph_sha256: str


class SimulationAnswer(Explained):
    """One simulated iteration."""

    runtime_s: Annotated[float, Field(description="Time that simulating took [s].")]
    policy: Annotated[
        SimulatedPolicy | None, Field(description="Null when an explicit plan was simulated.")
    ]
    iteration_time_us: float
    compute_time_us: Annotated[float, Field(description="The same with free communication [us].")]
    scaling_factor: Annotated[float | None, Field(description="Compute time / iteration time.")]
    exposed_us: Annotated[float, Field(description="Iteration time - compute time [us].")]
    overlap: Annotated[
        float | None, Field(description="1 - exposed / time of all launches, 0 to 1.")
    ]
    buckets: list[Bucket]
    schedule: Annotated[
        Launches, Field(description="The launches; with `buckets` an explicit plan again.")
    ]
    channels: Annotated[
        list[Usage], Field(description="Use of each channel: in all, and over time in equal bins.")
    ]
    jitter: Annotated[
        Jitter | None,
        Field(
            description="Times when ops do not keep theirs; a plan keeps its order. Null when none "
            "was asked for."
        ),
    ]
    what_if: Annotated[
        SimulatedWhatIf | None, Field(description="Null when no change was asked for.")
    ]
    warnings: Annotated[
        list[Warned], Field(description="What the answer rests on that was not measured.")
    ] = Field(default=[])
    request: SimulationRequestOut
    version: str
