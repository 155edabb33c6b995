"""What launches of a process group cost, measured as they are used: one after another."""

from interlace_client.torch.calibration.measurement import calibrate, sizes_up_to
from interlace_client.torch.calibration.recheck import Recheck, recheck
from interlace_client.torch.calibration.result import Calibration

__all__ = ["Calibration", "Recheck", "calibrate", "recheck", "sizes_up_to"]
