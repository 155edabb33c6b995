"""A run that keeps to its best plan while network and computation change.

=======================  ==========================================================
:class:`Steering`        watches a run, plans anew, and has all ranks take a plan
:class:`Taken`           a plan that a run takes, and why
:class:`HistoryFile`           history of a run in a file
:class:`ServiceRun`      history of a run at a service
=======================  ==========================================================
"""

from interlace_client.torch.drift.history import History, HistoryFile, ServiceRun, Taken
from interlace_client.torch.drift.steering import Steering

__all__ = ["History", "HistoryFile", "ServiceRun", "Steering", "Taken"]
