"""Plans inside the best shapes of a ranking, with what is known of the machine."""

from collections.abc import Callable, Mapping
from typing import Final

from solver.shapes.communication.shape_plan import ShapePlan, shape_plan
from solver.shapes.efficiency import Efficiencies
from solver.shapes.fit.shape_fit import ShapeFit
from solver.shapes.hardware import TrainingCluster
from solver.shapes.job_shape import JobShape
from solver.shapes.ranking.ranked import ShapeRanking
from solver.shapes.transformer import Transformer

#: The phase after the ranking, as it is told.
PLANS: Final = "plans"

#: The figures that decide what a plan gains: stated, they need no measured steps.
_DECIDING = ("matmul", "reductions")


def plans_of(
    ranking: ShapeRanking,
    count: int,
    model: Transformer,
    cluster: TrainingCluster,
    known: Efficiencies,
    fit: ShapeFit | None,
    stated: frozenset[str],
    told: Callable[[int, int, Mapping[JobShape, ShapePlan]], None] | None = None,
) -> Mapping[JobShape, ShapePlan]:
    """Plan the communication inside the first shapes of a ranking.

    No gain below what steps are off is claimed, and none where that is not known: where figures
    are assumed, or fitted to too few steps. ``stated`` names the figures that are neither.
    ``told`` hears how many are done, how many there are, and those.
    """
    trust_below = None if fit is None else fit.error
    unsound = []
    if fit is None and not stated.issuperset(_DECIDING):
        unsound = ["the machine's figures are assumed, as no measured step is given."]
    elif fit is not None and trust_below is None:
        unsound = ["measured steps are too few to tell how far a step is off."]
    plans: dict[JobShape, ShapePlan] = {}
    chosen = ranking.best[:count]
    for done, each in enumerate(chosen):
        if told is not None:
            told(done, len(chosen), dict(plans))
        plans[each.shape] = shape_plan(
            model, cluster, each.shape, known, trust_below=trust_below, unsound=unsound
        )
    return plans
