"""A history that is told in the background."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Callable

from interlace_client.torch.drift.background import Background

if TYPE_CHECKING:
    from interlace_client.torch.drift.history import History

_logger = logging.getLogger("interlace_client.torch.drift")
#: How long the end of a run waits for the rest of its history to be told [s].
_FAREWELL_S = 5.0


class HistoryWriter:
    """Tells a history of a run; what it fails to take in is said once, and lost.

    Parameters
    ----------
    history
        None hears nothing.
    """

    def __init__(self, history: History | None) -> None:
        self._history = history
        self._background = Background("history")
        self._is_failing = False

    def tell(self, task: Callable[[History], None]) -> None:
        """Have something told, after all before it."""
        if self._history is not None:
            history = self._history
            self._background.submit(lambda: self._try(history, task))

    def close(self, why: str) -> None:
        """Tell that the run is over; wait for that, but not for long."""
        self.tell(lambda history: history.end(why))
        self._background.wait(_FAREWELL_S)

    def _try(self, history: History, task: Callable[[History], None]) -> None:
        try:
            task(history)
        except Exception as error:  # noqa: BLE001 - training goes on without
            if not self._is_failing:
                _logger.warning("The history of the run has gaps: %s", error)
            self._is_failing = True
