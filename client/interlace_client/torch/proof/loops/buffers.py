"""Loops of models with buffers."""

from __future__ import annotations

import copy

import torch
import torch.distributed as dist

from interlace_client.torch.proof.networks import of_convolutions
from interlace_client.torch.proof.pair import Make, TrainedPair, of_image
from interlace_client.torch.proof.site import Site


def shared(site: Site, make: Make = of_convolutions) -> None:
    """Share running statistics, with accumulation and evaluation in between."""
    pair = TrainedPair(site, make)
    for step in range(6):
        if step % 2:
            with pair.ours.no_sync(), pair.theirs.no_sync():
                for micro in range(2):
                    pair.backward(step + 30 * micro, of_image)
        pair.backward(step, of_image)
        pair.step()
        if step % 3 == 1:
            with torch.no_grad():
                seen = []
                for model in pair.both:
                    model.eval()
                    seen.append(model(pair.sample(step).normal(2, 3, 8, 8)))
                    model.train()
            assert torch.equal(*seen)
    pair.compare()


def of_each_rank(site: Site) -> None:
    """Leave each rank its own buffers."""
    pair = TrainedPair(site, of_convolutions, broadcast_buffers=False)
    for step in range(4):
        pair.backward(step, of_image)
        pair.step()
    mine, other = (model.module[1].running_mean for model in pair.both)
    assert torch.equal(mine, other)
    first = mine.clone()
    dist.broadcast(first, src=0)
    assert site.rank == 0 or not torch.equal(first, mine)


def channels_last(site: Site) -> None:
    """Train with channels last, whose gradients lie as the parameters do."""
    shared(site, lambda: of_convolutions().to(memory_format=torch.channels_last))


def written_after_a_step(site: Site) -> None:
    """Load and reset buffers while they are on their way."""
    pair = TrainedPair(site, of_convolutions)
    kept = [copy.deepcopy(model.state_dict()) for model in pair.both]
    for step in range(5):
        pair.backward(step, of_image)
        pair.step()
        if step == 2:
            for model, state in zip(pair.both, kept):
                model.load_state_dict(state)
        if step == 3:
            for model in pair.both:
                model.module[1].reset_running_stats()
    pair.backward(6, of_image)
    pair.compare()
