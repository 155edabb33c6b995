"""What hooks note down while a model trains, in the order in which it happens.

A hook does no more than append an event; what the events mean is worked out afterwards, in
:mod:`~interlace_client.torch.capture.cycles`.
"""

from __future__ import annotations

from typing import NamedTuple

#: The model is called: before what a wrapper around it does first.
CALL = "call"
#: The model itself begins its forward pass.
FORWARD = "forward"
#: A module begins (subject: its position).
ENTER = "enter"
#: The model's forward pass is over.
FORWARD_END = "forward end"
#: The gradient of an output of the model is there: the loss is behind, the backward pass begins.
OUTPUT = "output"
#: The gradient of a parameter is there (subject: its position).
READY = "ready"
#: The engine has computed all gradients.
BACKWARD_END = "backward end"
#: What others did at the end of the backward pass is over too: waiting for communication.
BACKWARD_LEFT = "backward left"
#: The optimizer begins its step.
STEP = "step"
#: The optimizer has ended its step.
STEPPED = "stepped"


class CaptureEvent(NamedTuple):
    """What happened to which parameter or module (its position, else -1), and when [us]."""

    kind: str
    subject: int
    at: float
