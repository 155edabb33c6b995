"""How long a step took when it was recorded: what a graph that was read from a trace keeps."""

from dataclasses import dataclass

from solver.wording import ms


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
    late_us
        How much shorter it would be without the rank or the link that is late, on average [us];
        None where the files do not tell that one is.
    late_rank
        The number of that rank; None where none is, or it is a link of nobody knows which rank.
    unsized, unsized_us
        Compute ops that are communication of unknown bytes, and how long they took in all [us].
    unsound
        Why the recording carries no gain, a sentence each; empty where it passed all checks.
    """

    measured_us: float | None = None
    replayed_us: float | None = None
    late_us: float | None = None
    late_rank: int | None = None
    unsized: int = 0
    unsized_us: float = 0.0
    unsound: tuple[str, ...] = ()

    @property
    def known_us(self) -> float | None:
        """What it took: measured, else replayed [us]."""
        return self.replayed_us if self.measured_us is None else self.measured_us

    def kept(self) -> str | None:
        """Say what of it takes its recorded time on every cluster; None where nothing does."""
        if not self.unsized:
            return None
        launches = "1 launch" if self.unsized == 1 else f"{self.unsized:,} launches"
        return (
            f"Communication of unknown bytes ({launches}, {ms(self.unsized_us)}) keeps "
            "its recorded time on every cluster, and counts as compute."
        )
