"""The use of channels in a simulated iteration, as rows of times."""

from typing import TYPE_CHECKING

from app.cli.rendering.figures import counted
from app.cli.rendering.tables import shortened, time

if TYPE_CHECKING:
    from app.schemas.simulations import SimulationAnswer


def channel_rows(answer: "SimulationAnswer") -> list[tuple[str, str, str, str]]:
    """Say how long each channel carries launches, and how many."""
    rows = []
    names = shortened([f"channel {channel.channel}" for channel in answer.channels])
    for name, channel in zip(names, answer.channels, strict=True):
        used = 100 * channel.busy_us / answer.iteration_time_us if answer.iteration_time_us else 0
        remark = f"{used:.1f} % of the time, {counted(channel.launches, 'launch', 'launches')}"
        rows.append(time(name, channel.busy_us, remark))
    return rows
