"""Measured samples of a collective, checked and sorted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from solver.calibration.measurements.readings import broken_rule
from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.graph import first_of
from solver.units import FloatArray, IntArray

#: Pairs of bytes and time [us].
Samples = Sequence[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class SortedSamples:
    """Samples in ascending order of size.

    Attributes
    ----------
    sizes
        Bytes of each sample, shape (n,).
    times
        Time of each sample [us], positive, shape (n,).
    distinct
        The different sizes [bytes], ascending.
    at
        Position of each sample's size among the different ones, shape (n,).
    """

    sizes: IntArray
    times: FloatArray
    distinct: IntArray
    at: IntArray

    def only(self, mask: npt.NDArray[np.bool_]) -> "SortedSamples":
        """Return the samples marked in ``mask``, of shape (n,)."""
        return _sorted(self.sizes[mask], self.times[mask])


def check_samples(samples: Samples, least: int, name: str) -> SortedSamples:
    """Check samples and sort them; ``name`` needs ``least`` different sizes.

    Raises
    ------
    InvalidMeasurements
        With every sample out of range, or when there are too few sizes.
    """
    faults_found = (
        Fault(f"/samples/{i}", FaultCode.OUT_OF_RANGE, f"Sample {i}: {rule}")
        for i, (size, time) in enumerate(samples)
        if (rule := broken_rule(size, time))
    )
    if faults := first_of(faults_found, "/samples"):
        raise InvalidMeasurements(faults)
    pairs = sorted(samples)
    data = _sorted(
        np.array([size for size, _ in pairs], dtype=np.int64),
        np.array([time for _, time in pairs], dtype=np.float64),
    )
    if data.distinct.size < least:
        detail = f"{name} needs samples of {least} different sizes, got {data.distinct.size}."
        raise InvalidMeasurements([Fault("/samples", FaultCode.TOO_FEW_SIZES, detail)])
    return data


def _sorted(sizes: IntArray, times: FloatArray) -> SortedSamples:
    return SortedSamples(sizes, times, *np.unique(sizes, return_inverse=True))
