"""Which optimizers have pieces: those whose updates depend on nothing that a piece has not."""

import threading

import pytest

pytest.importorskip("torch")

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

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


class ClippedInside(torch.optim.SGD):
    """Clips the norm of all gradients inside its step, as large as that seldom is."""

    def step(self, closure=None):
        held = [p for group in self.param_groups for p in group["params"]]
        nn.utils.clip_grad_norm_(held, 100.0)
        return super().step(closure)


class CountingInClass(torch.optim.SGD):
    """Counts its steps for all of its kind."""

    steps = 0

    def step(self, closure=None):
        type(self).steps += 1
        return super().step(closure)


class AveragingInside(torch.optim.SGD):
    """Keeps averages of the weights, which a first small step changes by less than one prints."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, lr)
        self.averages = AveragedModel(nn.ParameterList(parameters))

    def step(self, closure=None):
        super().step(closure)
        held = [p.detach() for group in self.param_groups for p in group["params"]]
        for mean, p in zip(self.averages.parameters(), held, strict=False):
            mean.data.lerp_(p, 0.5)


class CountingInState(torch.optim.SGD):
    """Counts its steps where its state is, for no parameter."""

    def step(self, closure=None):
        self.state["made"] = self.state.get("made", 0) + 1
        return super().step(closure)


class Noisy(torch.optim.SGD):
    """Steps with noise, which parts draw in another order."""

    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.data.add_(parameter.grad + torch.randn(2), alpha=-0.1)


class Locked(torch.optim.SGD):
    """Holds what cannot be copied."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, lr)
        self.lock = threading.Lock()


def _parameters(*shape: int) -> list[nn.Parameter]:
    made = [nn.Parameter(torch.ones(shape or 2)) for _ in range(2)]
    for parameter in made:
        parameter.grad = torch.ones(shape or 2)
    return made


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), True),
        (lambda p: torch.optim.Adam(p, 0.1, fused=True), True),
        (lambda p: torch.optim.AdamW(p, 0.1, foreach=True), True),
        (lambda p: torch.optim.Muon(p, 0.1), True),
        (lambda p: torch.optim.Adafactor(p, 0.1), True),
        (lambda p: Counting(p, 0.1), False),  # what counts is kept under a private name
        (lambda p: Handing(p, 0.1), False),  # as ZeroRedundancyOptimizer does
        (lambda p: ClippedInside(p, 0.1, momentum=0.9), False),
        (lambda p: CountingInClass(p, 0.1), False),
        (lambda p: AveragingInside(p, 1e-5), False),
        (lambda p: CountingInState(p, 0.1), False),
        (lambda p: Noisy(p, 0.1), False),
        (lambda p: Locked(p, 0.1), False),
    ],
)
def test_first_step_shows_whether_there_are_pieces(make, expected) -> None:
    """And it is the optimizer's own: the copies of it change nothing, random numbers neither."""
    both = []
    for is_watched in (False, True):
        parameters = _parameters(2, 2)
        optimizer = make(parameters)
        torch.manual_seed(7)
        if is_watched:
            pieces = Pieces(optimizer, {id(p): k for k, p in enumerate(parameters)})
            pieces.whole(optimizer.step)
            assert pieces.is_separable is expected
            assert (pieces.fault is None) is expected
        else:
            optimizer.step()
        both.append([*parameters, torch.rand(1)])
    assert all(torch.equal(one, other) for one, other in zip(*both, strict=True))


def test_a_step_with_a_closure_or_without_gradients_shows_nothing() -> None:
    parameters = _parameters()
    optimizer = torch.optim.LBFGS(parameters)
    pieces = Pieces(optimizer, {})
    pieces.whole(lambda: optimizer.step(lambda: torch.ones(())), is_plain=False)
    for parameter in parameters:
        parameter.grad = None
    pieces.whole(lambda: None)
    assert pieces.is_separable is None


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
