"""How long a step took when it was recorded: what a graph that was read from a trace keeps."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """A recorded step, as it was.

    Attributes
    ----------
    measured_us
        How long it took [us]; None where the files do not tell.
    replayed_us
        How long its graph takes with the recorded times of its collectives [us]; None where the
        files do not tell.
    unsound
        Why the recording carries no gain, a sentence each; empty where it passed all checks.
    """

    measured_us: float | None = None
    replayed_us: float | None = None
    unsound: tuple[str, ...] = ()

    @property
    def known_us(self) -> float | None:
        """What it took: measured, else replayed [us]."""
        return self.replayed_us if self.measured_us is None else self.measured_us
