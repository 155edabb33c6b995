"""What an answer says of costs that are off, for a reader: beliefs, doubts and draws."""

from collections.abc import Iterator, Sequence

from app.cli.rendering.figures import percent
from app.cli.rendering.page import Line
from app.cli.rendering.tables import table
from app.schemas.believed import BelievedBody
from solver.evidence.doubts import DoubtedGain
from solver.evidence.robustness import Robustness
from solver.glossary import label
from solver.wording import ms


def believed(body: BelievedBody) -> str:
    """Say with which costs was decided, in a line."""
    asked = body.model_dump(exclude_defaults=True, exclude={"cluster"})
    said = [f"{name} {value:g}" for name, value in asked.items()]
    said += ["another cluster"] if body.cluster is not None else []
    return f"decided as is believed: {', '.join(said) or 'what is true'}"


def off_calibration(rows: Sequence[DoubtedGain] | None) -> Iterator[Line]:
    """Set a plan beside what it is compared with, where costs are off."""
    if not rows:
        return
    yield "If the calibration is off"
    yield table(
        ["", "what you run", "plan", "saves"],
        [
            [
                row.name,
                ms(row.today_us),
                ms(row.plan_us),
                "-" if row.gain is None else percent(row.gain),
            ]
            for row in rows
        ],
        widths=(25, 11, 11, 6),
    )


def robust(found: Robustness | None) -> Iterator[Line]:
    """Set a robust plan beside the plan without draws and the policies, under the same draws."""
    if found is None:
        return
    yield f"{found.measure} over {found.draws:,} draws of the costs"
    best = min(found.rivals, key=lambda rival: rival.value_us, default=None)
    rows = [["this plan", ms(found.plan_us)]]
    rows += [["plan without the draws", ms(found.without_us)]]
    if best is not None:
        rows += [[f"best policy, {label(best.policy)}", ms(best.value_us)]]
    yield table(["", found.measure], rows, widths=(25, 11))
    if found.nominal_cost is not None:
        yield f"At the stated costs it takes {percent(found.nominal_cost)} longer than without."
