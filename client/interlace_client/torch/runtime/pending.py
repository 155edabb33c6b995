"""Tensors that whatever reads them waits for: gradients and parameters on their way.

While a gradient's average or a parameter's update is on its way, the tensor is of a class whose
``__torch_function__`` has it arrive before anything is done with it, whoever holds it and by
whatever name. Once it has arrived it is the same object, and of its own class again.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

_T = torch.Tensor
_GRADIENT = _T.grad.__get__
_CHANGES = (_T.grad.__set__, _T.grad.__delete__)
#: What can be asked of a tensor whose numbers are not there yet.
_WITHOUT_NUMBERS = {
    *(_GRADIENT, *_CHANGES),
    *(_T.requires_grad.__get__, _T.grad_fn.__get__, _T.is_leaf.__get__),
    *(_T.shape.__get__, _T.dtype.__get__, _T.device.__get__),
    *(_T.size, _T.numel, _T.dim, _T.stride, _T.element_size, _T.is_contiguous, _T.__hash__),
}


def class_in_waiting(
    plain: type[torch.Tensor],
    wait: Callable[[torch.Tensor], None],
    cleared: set[int] | None = None,
) -> type[torch.Tensor]:
    """Make the class of tensors that are waited for.

    Parameters
    ----------
    plain
        The class of such a tensor when it has arrived.
    wait
        Has a tensor arrive, and sets its ``__class__`` back.
    cleared
        Ids of tensors that are to have no gradient, though it is still there for their updates.
    """
    without_gradient = set() if cleared is None else cleared

    class PendingReduction(plain):
        @classmethod
        def __torch_function__(
            cls,
            func: Callable[..., Any],
            types: Sequence[type],
            args: Sequence[Any] = (),
            kwargs: Mapping[str, Any] | None = None,
        ) -> Any:
            if func in _WITHOUT_NUMBERS:
                if id(args[0]) in without_gradient:
                    if func == _GRADIENT:  # a wrapper, made anew each time
                        return None
                    if func in _CHANGES:
                        without_gradient.discard(id(args[0]))
                with torch._C.DisableTorchFunctionSubclass():
                    return func(*args, **(kwargs or {}))
            for tensor in list(_of_class(cls, (args, kwargs))):
                if type(tensor) is cls:  # the one before it may have had this one arrive too
                    wait(tensor)
            return func(*args, **(kwargs or {}))

        def __deepcopy__(self, memo: dict[int, Any]) -> Any:
            wait(self)
            return copy.deepcopy(self, memo)

        def __reduce_ex__(self, protocol: Any) -> Any:
            wait(self)
            return self.__reduce_ex__(protocol)

    PendingReduction.__name__ = PendingReduction.__qualname__ = f"{plain.__name__}InWaiting"
    return PendingReduction


def _of_class(cls: type, values: Any) -> Iterator[torch.Tensor]:
    """Find tensors of a class among arguments, lists and dicts of them included."""
    if type(values) is cls:
        yield values
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from _of_class(cls, value)
    elif isinstance(values, dict):
        yield from _of_class(cls, list(values.values()))
