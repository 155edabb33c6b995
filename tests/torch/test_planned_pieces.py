"""Which optimizers have pieces: those whose updates depend on nothing that a piece has not."""

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from interlace_client.torch.runtime.updates import Pieces


class Counting(torch.optim.SGD):
    """Steps less and less, by a counter of its own."""

    _count = 0

    def step(self, closure=None):
        self._count += 1
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.data.add_(parameter.grad, alpha=-group["lr"] / self._count)


class Handing(torch.optim.SGD):
    """Has another optimizer make its steps."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, lr)
        self.inner = torch.optim.SGD(self.param_groups, lr)

    def step(self, closure=None):
        self.inner.step()


class Scaled(torch.optim.SGD):
    """Steps by a scale that its user may set."""

    scale = 1.0

    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.data.add_(parameter.grad, alpha=-self.scale)


def _parameters() -> list[nn.Parameter]:
    made = [nn.Parameter(torch.ones(2)) for _ in range(2)]
    for parameter in made:
        parameter.grad = torch.ones(2)
    return made


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), True),
        (lambda p: torch.optim.Adam(p, 0.1, fused=True), True),
        (lambda p: torch.optim.AdamW(p, 0.1, foreach=True), True),
        (lambda p: Counting(p, 0.1), False),  # what counts is kept under a private name
        (lambda p: Handing(p, 0.1), False),  # as ZeroRedundancyOptimizer does
    ],
)
def test_first_step_shows_whether_there_are_pieces(make, expected) -> None:
    parameters = _parameters()
    optimizer = make(parameters)
    pieces = Pieces(optimizer, {id(p): k for k, p in enumerate(parameters)})
    pieces.whole(optimizer.step)
    assert pieces.is_separable is expected


def test_piece_steps_by_what_its_user_has_set_since() -> None:
    parameters = _parameters()
    optimizer = Scaled(parameters, 0.1)
    pieces = Pieces(optimizer, {id(p): k for k, p in enumerate(parameters)})
    optimizer.scale = 0.25
    taken = pieces.snapshot()
    optimizer.scale = 0.5  # of the next step
    pieces.step(1, taken)
    assert [p.tolist() for p in parameters] == [[1.0, 1.0], [0.75, 0.75]]


def test_other_parameters_of_the_same_number_make_pieces_stale() -> None:
    parameters = _parameters()
    optimizer = torch.optim.SGD(parameters, 0.1)
    pieces = Pieces(optimizer, {})
    optimizer.param_groups[0]["params"][0] = nn.Parameter(torch.ones(2))
    assert pieces.is_stale


def test_names_of_the_release_before_are_found_with_a_warning() -> None:
    import interlace_client.torch as face  # noqa: PLC0415 - its own name is torch, too

    with pytest.warns(DeprecationWarning, match="InvalidPlan is UnusablePlan now"):
        assert face.InvalidPlan is face.UnusablePlan
    with pytest.warns(DeprecationWarning, match="Advice is PlanAdvice now"):
        assert face.Advice is face.PlanAdvice
    with pytest.raises(AttributeError, match="no attribute 'Plans'"):
        face.Plans  # noqa: B018
