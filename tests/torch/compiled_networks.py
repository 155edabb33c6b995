"""Networks whose ranks send inside of their compiled graphs, in the ways of today."""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as fc
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.utils.checkpoint import checkpoint

WIDTH = 16


class Perceptron(nn.Module):
    """Two layers beside their input, whole on each rank until they are sharded."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class _Gather(torch.autograd.Function):
    """A whole weight of its shards, as SimpleFSDP has it; its gradient is summed into shards."""

    @staticmethod
    def forward(_, shard):
        return fc.all_gather_tensor(shard, 0, dist.group.WORLD)

    @staticmethod
    def backward(_, grad):
        return fc.reduce_scatter_tensor(grad.contiguous(), "sum", 0, dist.group.WORLD)


class Sharded(nn.Module):
    """Two weights, each sharded over all ranks."""

    def __init__(self):
        super().__init__()
        self.up, self.down = (nn.Parameter(torch.randn(WIDTH, WIDTH) / 8) for _ in range(2))

    def forward(self, x):
        return x + torch.relu(x @ _Gather.apply(self.up).t()) @ _Gather.apply(self.down)


class Experts(nn.Module):
    """An expert on each rank, which half of all tokens go to, and come back from."""

    def __init__(self):
        super().__init__()
        self.expert = nn.Parameter(torch.randn(WIDTH, WIDTH) / 8)

    def forward(self, x):
        half = x.shape[0] // 2
        there = fc.all_to_all_single_autograd(x, [half] * 2, [half] * 2, dist.group.WORLD)
        done = torch.relu(there @ self.expert)
        return x + fc.all_to_all_single_autograd(done, [half] * 2, [half] * 2, dist.group.WORLD)


class _Sum(torch.autograd.Function):
    """What all ranks have of an activation, as after a layer whose inputs are split."""

    @staticmethod
    def forward(_, part):
        return fc.all_reduce(part, "sum", dist.group.WORLD)

    @staticmethod
    def backward(_, grad):
        return grad.view_as(grad)


class Summed(Sharded):
    """A gathered weight and a summed activation: one of a fixed size, one as large as the batch."""

    def forward(self, x):
        return x + _Sum.apply(torch.relu(x @ self.up) @ _Gather.apply(self.down)[:WIDTH])


class Checkpointed(nn.Sequential):
    """Layers whose activations, and gathered weights, are made again in the backward pass."""

    def forward(self, x):
        for layer in self:
            x = checkpoint(layer, x, use_reentrant=False)
        return x


class Broken(nn.Sequential):
    """Layers between which dynamo breaks its graph."""

    def forward(self, x):
        for layer in self:
            x = layer(x)
            torch._dynamo.graph_break()
        return x


class Averaged(nn.Module):
    """Weights that are whole on each rank, whose gradients are averaged inside of the graph."""

    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList(torch.randn(WIDTH, WIDTH) / 8 for _ in range(2))

    def forward(self, x):
        for weight in self.weights:
            x = torch.relu(x @ _Average.apply(weight))
        return x


class _Average(torch.autograd.Function):
    @staticmethod
    def forward(_, weight):
        return weight.view_as(weight)

    @staticmethod
    def backward(_, grad):
        return fc.all_reduce(grad.contiguous(), "avg", dist.group.WORLD)


def averaged():
    return Averaged()


def sharded():
    """Weights that are gathered where they are used."""
    return nn.Sequential(Sharded(), Sharded())


def summed():
    return nn.Sequential(Summed(), Summed())


def shared_weights():
    """Two layers that have one weight in common."""
    model = nn.Sequential(Sharded(), Sharded())
    model[1].up = model[0].up
    return model


def checkpointed():
    return Checkpointed(Sharded(), Sharded())


def broken():
    return Broken(Sharded(), Sharded())


def experts():
    return nn.Sequential(Experts(), Experts())


def tensor_parallel():
    """Layers of DTensors, as ``parallelize_module`` makes them."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = nn.Sequential(Perceptron(), Perceptron())
    for layer in model:
        parallelize_module(layer, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return model


def units():
    """``fully_shard`` of FSDP2, which sends from hooks."""
    model = nn.Sequential(Perceptron(), Perceptron())
    for layer in model:
        fully_shard(layer)
    return fully_shard(model)
