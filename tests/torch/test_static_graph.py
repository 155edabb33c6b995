"""Graphs that are the same in each step: what is sent when, and what is refused."""

from dataclasses import dataclass

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from interlace_client.torch import PlannedDDP
from interlace_client.torch.proof.networks import Checkpointed, of_linears
from interlace_client.torch.proof.pair import dealt, momentum, square
from interlace_client.torch.proof.site import DrawnBatch
from tests.torch.virtual_time import Channel, Clock


@dataclass
class Hidden:
    """An output that PyTorch does not look into."""

    loss: torch.Tensor


class Hiding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = of_linears()

    def forward(self, rows):
        return Hidden(self.layers(rows).sum())


def planned(module: nn.Module) -> tuple[PlannedDDP, torch.optim.Optimizer, Channel]:
    channel = Channel(Clock(), lambda size: 1.0)
    optimizer = momentum(module)
    model = PlannedDDP(module, optimizer, dealt(module), static_graph=True, transport=channel)
    return model, optimizer, channel


def test_outputs_that_hide_tensors_are_refused_before_the_step():
    model, optimizer, _ = planned(Hiding())
    model(torch.ones(1, 16)).loss.backward()
    with pytest.raises(RuntimeError, match="did not begin at what the model returned"):
        optimizer.step()


def test_flags_are_sent_once():
    model, optimizer, channel = planned(of_linears())
    sent = []
    for step in range(3):
        square(model, DrawnBatch(step, 0)).backward()
        optimizer.step()
        sent.append(len(channel.launches))
    assert sent == [4, 7, 10]  # three buckets, and the flags


def test_more_gradients_than_in_the_first_pass_are_refused():
    model, optimizer, _ = planned(Checkpointed(use_reentrant=True))
    square(model, DrawnBatch(0, 0)).backward()
    optimizer.step()
    model.module.layers.append(model.module.layers[3])  # the last layer runs twice
    with pytest.raises(RuntimeError, match="got a second gradient in one backward pass"):
        square(model, DrawnBatch(1, 0)).backward()
