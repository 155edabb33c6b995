"""Optimizers whose state is waited for while updates by it are on their way.

``optimizer.state`` is the user's dict. While an update is to be made with it later, the optimizer
is of a class that has all updates made before it gives the state away, or takes another. Then it is
the same object, and of its own class again.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch


def class_in_waiting(
    plain: type[torch.optim.Optimizer], wait: Callable[[], None]
) -> type[torch.optim.Optimizer]:
    """Make the class of optimizers that have updates to make.

    Parameters
    ----------
    plain
        The class of such an optimizer otherwise.
    wait
        Has the updates made, and sets the ``__class__`` of optimizers back.
    """

    class OptimizerInWaiting(plain):
        @property
        def state(self) -> Any:
            wait()
            return self.state

        @state.setter
        def state(self, state: Any) -> None:
            wait()
            self.state = state

        def __deepcopy__(self, memo: dict[int, Any]) -> Any:
            wait()
            return copy.deepcopy(self, memo)

        def __reduce_ex__(self, protocol: Any) -> Any:
            wait()
            return self.__reduce_ex__(protocol)

    for name in ("__name__", "__qualname__", "__module__"):
        setattr(OptimizerInWaiting, name, getattr(plain, name))
    return OptimizerInWaiting
