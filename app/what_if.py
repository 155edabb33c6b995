"""Changes of some ops, which plans and simulations answer as well."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from app.body import Body
from app.errors import InvalidRequest
from solver.errors import Fault, InvalidOptions
from solver.graph import Graph
from solver.simulation.what_if import Change, changed

MAX_CHANGES = 100
MAX_FACTOR = 1e6


class ChangeBody(Body):
    """One change of all ops that a pattern matches: OSF's layer replacement."""

    match: Annotated[
        str,
        Field(
            min_length=1,
            max_length=512,
            description="Shell pattern of op ids: `*`, `?`, `[abc]`; upper and lower case differ.",
            examples=["grad:fc*"],
        ),
    ]
    remove: Annotated[
        bool, Field(description="The ops take no time and send nothing; their order stays.")
    ] = False
    bytes_factor: Annotated[
        float, Field(ge=0, le=MAX_FACTOR, description="Times the bytes of collectives, at least 1.")
    ] = 1
    duration_factor: Annotated[
        float, Field(ge=0, le=MAX_FACTOR, description="Times the duration of compute ops.")
    ] = 1

    def to_change(self) -> Change:
        """Return the change as the solver knows it."""
        return Change(self.match, self.remove, self.bytes_factor, self.duration_factor)


Changes = Annotated[
    list[ChangeBody],
    Field(
        max_length=MAX_CHANGES,
        description="What if these ops were changed: applied one after another, and the changed "
        "graph answered as well, for comparison.",
    ),
]


def what_if(graph: Graph, changes: Sequence[ChangeBody]) -> Graph | None:
    """Return the changed graph, None when nothing is to be changed.

    Raises
    ------
    InvalidRequest
        When a pattern matches nothing, or a factor makes an op too long or too large.
    """
    if not changes:
        return None
    try:
        return changed(graph, [change.to_change() for change in changes])
    except InvalidOptions as error:
        prefix = len("/changes")
        raise InvalidRequest(
            [Fault(f"/what_if{f.pointer[prefix:]}", f.code, f.detail) for f in error.faults]
        ) from error
