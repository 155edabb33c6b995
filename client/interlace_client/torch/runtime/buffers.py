"""Flat memory of a bucket, with a view for each gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch


class FlatBucket:
    """The gradients of a bucket, one after another.

    Gradients of one type of numbers lie together; of several types each has a tensor of its own,
    in the order in which they first appear, and a launch that covers two of them is two calls.

    Parameters
    ----------
    parameters
        Its members, in order.
    wire
        The type of numbers in which they are sent; None is their own.

    Attributes
    ----------
    views
        For each parameter, in the order given, where its gradient lies, in the parameter's shape
        and layout.
    bytes
        Of all gradients.
    """

    def __init__(
        self, parameters: Sequence[torch.nn.Parameter], wire: torch.dtype | None = None
    ) -> None:
        self._parameters = list(parameters)
        types = list(dict.fromkeys((p.dtype, p.device) for p in parameters))
        self.views: list[torch.Tensor] = [torch.empty(0)] * len(parameters)
        self._flats: list[torch.Tensor] = []
        self._homes = [(0, 0)] * len(parameters)
        for dtype, device in types:
            members = [
                k for k, p in enumerate(parameters) if (p.dtype, p.device) == (dtype, device)
            ]
            count = sum(parameters[k].numel() for k in members)
            flat = torch.zeros(count, dtype=dtype, device=device)
            offset = 0
            for k in members:
                self.views[k] = _view(flat, offset, parameters[k])
                self._homes[k] = len(self._flats), offset
                offset += parameters[k].numel()
            self._flats.append(flat)
        self.bytes = sum(flat.numel() * flat.element_size() for flat in self._flats)
        self._places = [view.data_ptr() for view in self.views]
        self._wire = wire
        self._sent = [
            flat if wire in {None, flat.dtype} else torch.zeros_like(flat, dtype=wire)
            for flat in self._flats
        ]

    def replace_views(self) -> None:
        """Make views anew where theirs is other memory since, as of ``p.grad.data = ...``.

        What they hold stays theirs.
        """
        places = [view.data_ptr() for view in self.views]
        if places == self._places:
            return
        for k, (place, before) in enumerate(zip(places, self._places)):
            if place != before:
                flat, offset = self._homes[k]
                self.views[k] = _view(self._flats[flat], offset, self._parameters[k])

    def divide(self, ranks: int) -> None:
        """Divide what is sent by the number of ranks.

        Rounded as DistributedDataParallel does: gradients as they are by the inverse, and those
        in another type of numbers in that type (``default_hooks``).
        """
        for flat, sent in zip(self._flats, self._sent):
            if self._wire is None:
                if ranks != 1:
                    flat.mul_(1.0 / ranks)
                continue
            if sent is not flat:
                sent.copy_(flat)
            sent.div_(ranks)

    def unpack(self) -> None:
        """Put what was sent in another type of numbers back in its place."""
        for flat, sent in zip(self._flats, self._sent):
            if sent is not flat:
                flat.copy_(sent)

    def pieces(self, offset: int, size: int) -> Iterator[torch.Tensor]:
        """Give the tensors that a part of the bucket covers.

        A part from ``offset`` on, ``size`` bytes of gradients long, ends at whole numbers: one
        that it would cut goes with the next part.
        """
        begin = 0
        for flat, sent in zip(self._flats, self._sent):
            width = flat.element_size()
            first = _whole(offset - begin, width, flat.numel())
            last = _whole(offset + size - begin, width, flat.numel())
            if last > first:
                yield sent[first:last]
            begin += flat.numel() * width


def _whole(at: int, width: int, count: int) -> int:
    """Return how many whole numbers lie before a byte."""
    return min(max(at // width, 0), count)


def _view(flat: torch.Tensor, offset: int, parameter: torch.nn.Parameter) -> torch.Tensor:
    """Cut a parameter's gradient out, strided as the parameter where that leaves no gaps."""
    size = parameter.numel()
    layout = {4: torch.channels_last, 5: torch.channels_last_3d}.get(parameter.dim())
    dense = parameter.is_contiguous() or (
        layout is not None and parameter.is_contiguous(memory_format=layout)
    )
    if dense:
        return flat.as_strided(parameter.shape, parameter.stride(), offset)
    return flat[offset : offset + size].view(parameter.shape)
