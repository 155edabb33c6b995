"""A plan tried in the run itself, beside DistributedDataParallel: what measured steps say stays.

==============  ==========================================================
``trial``       :class:`Trial`, interleaved steps of all arms on all ranks
``turns``       which arm makes which step, which of them count, and when they are enough
``outcome``     what measured steps decide, and how sure
``window``      how many launches a run should have under way at once
==============  ==========================================================
"""

from interlace_client.torch.trial.outcome import ArmTimes, TrialOutcome
from interlace_client.torch.trial.trial import Trial
from interlace_client.torch.trial.window import WindowTimes, measure_window

__all__ = ["ArmTimes", "Trial", "TrialOutcome", "WindowTimes", "measure_window"]
