"""A worker: its model reads parameters as they come, and sends gradients as they are ready."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Condition, Thread
from typing import Any

import torch
from torch import nn

from interlace_client.torch.parameter_server.connecting import connect, greet
from interlace_client.torch.parameter_server.frames import (
    BYE,
    DONE,
    PART,
    PULL,
    Frame,
    FrameSender,
    ServingFailed,
    bytes_of,
    read_frame,
    read_into,
)
from interlace_client.torch.parameter_server.messages import MessageRecorder
from interlace_client.torch.parameter_server.recorder import StepEvents, StepRecorder
from interlace_client.torch.parameter_server.shards import shards_of


class ServedModel:
    """A model whose parameters are those of servers.

    In ``with served.step():`` the model pulls all parameters; a module waits for its own before its
    forward pass; each gradient is pushed when it is accumulated; and the step ends when the servers
    have taken all of them.

    Parameters
    ----------
    model
        Trained; its parameters that need gradients are overwritten. Buffers stay its own.
    addresses
        Of the servers, in the order of their shards.
    window_bytes
        Of pushes; see :class:`~interlace_client.torch.parameter_server.frames.FrameSender`.
    waits_for_all
        Whether the step begins with all parameters, for models that use parameters outside of the
        forward pass of the module that has them.
    rank
        Which worker this is, from 0, so that a server that waits for it can name it.
    timeout_s
        How long it asks for servers that do not answer yet, all of them together [s].

    Raises
    ------
    ServingFailed
        When a server has other tensors, refuses the worker, or has not answered in time.
    """

    def __init__(
        self,
        model: nn.Module,
        addresses: Sequence[tuple[str, int]],
        *,
        window_bytes: int | None = None,
        waits_for_all: bool = False,
        rank: int | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        self._parameters = [parameter for _, parameter in named]
        self._sizes = [p.numel() * p.element_size() for p in self._parameters]
        self._arriving = [torch.empty_like(p, device="cpu").contiguous() for p in self._parameters]
        self._waits_for_all = waits_for_all
        self._changed = Condition()
        self._events = StepEvents([name for name, _ in named], self._sizes, number=-1)
        self._failure: Exception | None = None
        self._usable: set[int] = set()
        self._pushed: set[int] = set()
        self._is_in_step = False
        #: Records each step while it is set: of one worker for predictions, or its messages.
        self.recorder: StepRecorder | MessageRecorder | None = None
        owners = shards_of(self._sizes, len(addresses))
        self._owners = owners
        self._places = [owners[:i].count(owner) for i, owner in enumerate(owners)]
        self._connections, self._senders, self._readers = [], [], []
        self._is_synchronous, self._rank, self._workers = False, rank, 0
        until = time.monotonic() + timeout_s
        try:
            for server, address in enumerate(addresses):
                own = [i for i, owner in enumerate(owners) if owner == server]
                connection = connect(address, until)
                self._connections.append(connection)
                sender = FrameSender(connection, window_bytes)
                hello = {"tensors": [[named[i][0], self._sizes[i]] for i in own], "rank": rank}
                said = greet(connection, sender, hello, until)
                self._is_synchronous = bool(said["is_synchronous"])
                self._workers = int(said["workers"])
                reader = Thread(target=self._read, args=[connection, server, own], daemon=True)
                reader.start()
                self._senders.append(sender)
                self._readers.append(reader)
        except BaseException:
            for connection in self._connections:  # the servers that answered go on without it
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                connection.close()
            raise
        self._hooks = [*self._module_hooks(model), *self._gradient_hooks()]

    @contextmanager
    def step(self) -> Iterator[None]:
        """Train one step: forward and backward pass; gradients are pushed, and then set to None.

        Raises
        ------
        ServingFailed
            When a server is lost or cannot go on.
        """
        self._check()
        number = self._events.number + 1
        self._events = events = StepEvents(self._events.names, self._sizes, number)
        self._usable, self._pushed = set(), set()
        self._is_in_step = True
        events.began = time.perf_counter()
        for sender in self._senders:
            sender.put(Frame(PULL))
        if self._waits_for_all:
            self._use(range(len(self._parameters)))
        try:
            yield
        except BaseException:
            self._failure = ServingFailed("A step has failed: what it pulled may still come.")
            raise
        self._is_in_step = False
        self._use(i for i in range(len(self._parameters)) if i not in self._usable)
        if self._is_synchronous:  # others wait for a gradient of each tensor
            for i in range(len(self._parameters)):
                if i not in self._pushed:
                    self._push(i, torch.zeros_like(self._arriving[i]))
        events.computed = time.perf_counter()
        self._wait(lambda: self._pushed <= events.taken.keys())
        events.ended = time.perf_counter()
        if self.recorder is not None:
            self.recorder.add(events, self._owners, len(self._senders))

    def record_messages(self) -> MessageRecorder:
        """Keep each message from the next step on.

        Raises
        ------
        ValueError
            When the worker was given no rank, or one that is not among the workers'.
        """
        if self._rank is None:
            raise ValueError("A worker that records messages needs its rank: ServedModel(rank=0).")
        self.recorder = recorder = MessageRecorder(self._rank, self._workers, len(self._senders))
        return recorder

    def close(self) -> None:
        """Leave the servers, and give the model back."""
        for hook in self._hooks:
            hook.remove()
        for sender in self._senders:
            sender.put(Frame(BYE))
            sender.close()
        for reader, connection in zip(self._readers, self._connections, strict=True):
            with suppress(OSError):  # the server has gone before
                connection.shutdown(socket.SHUT_RDWR)
            reader.join()
            connection.close()

    def _module_hooks(self, model: nn.Module) -> Iterator[Any]:
        """Have each module wait for its own parameters."""
        position = {id(parameter): i for i, parameter in enumerate(self._parameters)}
        for module in model.modules():
            own = [position[id(p)] for p in module.parameters(recurse=False) if id(p) in position]
            if own:
                yield module.register_forward_pre_hook(
                    lambda _module, _inputs, own=own: self._use(own)
                )

    def _gradient_hooks(self) -> Iterator[Any]:
        for i, parameter in enumerate(self._parameters):
            yield parameter.register_post_accumulate_grad_hook(
                lambda parameter, i=i: self._push_gradient(i, parameter)
            )

    def _use(self, tensors: Any) -> None:
        """Wait for parameters that have not been used in this step, and copy them to the model."""
        waited = [i for i in tensors if i not in self._usable]
        if not waited:
            return
        events, began = self._events, time.perf_counter()
        self._wait(lambda: all(i in events.arrived for i in waited))
        events.waits.append((began, time.perf_counter(), tuple(waited)))
        with torch.no_grad():
            for i in waited:
                start = time.perf_counter()
                self._parameters[i].copy_(self._arriving[i])
                events.copied[i] = time.perf_counter() - start
                self._usable.add(i)

    def _push_gradient(self, i: int, parameter: nn.Parameter) -> None:
        if not self._is_in_step:
            raise RuntimeError("A backward pass of a served model belongs into `with step():`.")
        gradient, parameter.grad = parameter.grad, None
        if gradient is not None:
            if i in self._pushed:
                raise RuntimeError("A step has one backward pass: its gradients are sent at once.")
            self._push(i, gradient.detach().to("cpu").contiguous())

    def _push(self, i: int, gradient: torch.Tensor) -> None:
        self._pushed.add(i)
        self._events.ready[i] = time.perf_counter()
        frame = Frame(PART, self._places[i])
        self._senders[self._owners[i]].put(frame, lambda: bytes_of(gradient))

    def _wait(self, condition: Any) -> None:
        with self._changed:
            self._changed.wait_for(lambda: condition() or self._failure)
            if not condition():
                self._check()

    def _check(self) -> None:
        """Raise what training has failed with."""
        if self._failure:
            raise ServingFailed(str(self._failure)) from self._failure

    def _read(self, connection: socket.socket, server: int, own: Sequence[int]) -> None:
        """Take what a server sends, until the connection ends."""
        arrived = dict.fromkeys(own, 0)
        try:
            while True:
                frame = read_frame(connection)
                events, i = self._events, own[frame.tensor]
                if frame.kind == DONE:
                    now = time.perf_counter()
                    with self._changed:
                        events.taken[i] = (now, frame.offset / 1e9)
                        self._changed.notify_all()
                    continue
                events.first.setdefault(server, time.perf_counter())
                memory = bytes_of(self._arriving[i])
                read_into(connection, memory[frame.offset : frame.offset + frame.length])
                arrived[i] += frame.length
                if arrived[i] == len(memory):
                    arrived[i] = 0
                    with self._changed:
                        events.arrived[i] = time.perf_counter()
                        self._changed.notify_all()
        except (OSError, IndexError) as error:
            with self._changed:
                self._failure = error
                self._changed.notify_all()
