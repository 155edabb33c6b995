"""What a search asks of a judge: how long a plan takes, and what a bucket is as one launch."""

from typing import Protocol, TypeVar

from solver.buckets import Launch

#: What a search calls a plan: the launches of a chain in order, or those of each channel.
Plan_contra = TypeVar("Plan_contra", contravariant=True)


class PlanJudge(Protocol[Plan_contra]):
    """Judges the plans of one problem; what is known of a bucket is computed once."""

    def value(self, plan: Plan_contra, /) -> float:
        """Return the iteration time of a plan [us]; inf when its launches wait for one another."""

    def total(self, bucket: tuple[int, ...]) -> int:
        """Return the bytes of a bucket."""

    def whole(self, bucket: tuple[int, ...]) -> Launch:
        """Launch a bucket in one part."""
        return Launch(bucket, self.total(bucket))

    def is_whole(self, launch: Launch) -> bool:
        """Tell whether a launch carries all of its bucket."""
        return launch.bytes == self.total(launch.bucket)
