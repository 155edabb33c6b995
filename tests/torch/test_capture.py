"""Steps of real models: what uses what is known beforehand; times are only compared."""

import pytest

pytest.importorskip("torch")

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint

from interlace_client.torch.capture import Capture, Unrecorded, capture
from tests.torch.captured import planned

WIDTH = 8


class Training:
    """A model with a loop around it."""

    def __init__(self, model, optimizer=torch.optim.SGD, wrap=None):
        torch.manual_seed(0)
        self.model = model
        self.called = model if wrap is None else wrap(model)
        self.optimizer = optimizer(model.parameters(), lr=0.01)

    def step(self):
        self.optimizer.zero_grad()
        self.backward()
        self.optimizer.step()

    def backward(self):
        self.called(torch.randn(4, 3, WIDTH)).square().mean().backward()

    def recording(self, steps=4):
        return capture(self.called, self.step, self.optimizer, steps=steps)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 2, batch_first=True)
        self.linear = nn.Linear(WIDTH, WIDTH)
        self.scale = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return self.linear(self.attention(x, x, x)[0]) * self.scale


class Pieces(nn.Module):
    """Linear layers, one after another; how each is called is told."""

    def __init__(self, count=3, call=lambda layer, x: layer(x)):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(count))
        self.call = call

    def forward(self, x):
        for layer in self.layers:
            x = self.call(layer, x)
        return x


def ids(recording):
    return [op["id"] for op in recording.graph["ops"]]


def hooks_of(model, optimizer=None):
    """Count everything that is hung on a model."""
    counted = [
        len(hooks)
        for module in model.modules()
        for hooks in (module._forward_pre_hooks, module._forward_hooks, module._backward_hooks)
    ]
    counted += [len(p._post_accumulate_grad_hooks or ()) for p in model.parameters()]
    if optimizer is not None:
        counted += [
            len(optimizer._optimizer_step_pre_hooks),
            len(optimizer._optimizer_step_post_hooks),
        ]
    return sum(counted)


def test_attention_uses_the_parameters_of_its_projection_itself():
    recording = Training(Attention()).recording()
    assert recording.first_uses == {
        "scale": ("",),
        "attention.in_proj_weight": ("attention",),
        "attention.in_proj_bias": ("attention",),
        "attention.out_proj.weight": ("attention",),
        "attention.out_proj.bias": ("attention",),
        "linear.weight": ("linear",),
        "linear.bias": ("linear",),
    }
    assert recording.unknown == recording.unused == ()
    order = [op for op in ids(recording) if not op.startswith(("backward:", "grad:", "update:"))]
    assert order == ["between", "forward:(model)", "forward:attention", "forward:linear", "loss"]
    assert recording.ready_order[0] == "scale"
    assert set(recording.ready_order[1:3]) == {"linear.weight", "linear.bias"}


def test_the_graph_is_planned_and_its_ops_add_up_to_the_step():
    recording = Training(Attention()).recording(steps=3)
    assert recording.cycles == 1
    assert recording.waited_us == 0
    assert recording.compute_us == pytest.approx(recording.step_us, abs=1)
    assert planned(recording).compute_time_us == pytest.approx(recording.compute_us)


def test_passes_and_updates_are_parts_of_the_step():
    recording = Training(Attention()).recording(steps=3)
    durations = {op["id"]: op.get("duration_us", 0) for op in recording.graph["ops"]}
    sums = {
        kind: sum(time for op, time in durations.items() if op.startswith(kind))
        for kind in ("backward:", "update:", "forward:")
    }
    assert sums["backward:"] == pytest.approx(recording.backward_us, abs=1)
    assert sums["update:"] == pytest.approx(recording.update_us, abs=1)
    assert sums["forward:"] == pytest.approx(recording.forward_us, abs=1)


class VirtualClock:
    """Stands still but for what the model says that it takes."""

    now = 0.0

    def stamp(self):
        return self.now

    def read(self, stamps):
        return [stamp - stamps[0] for stamp in stamps]


class Timed(nn.Linear):
    """A layer that takes so long in each pass."""

    def __init__(self, clock, forward, backward):
        super().__init__(WIDTH, WIDTH, bias=False)
        self.clock, self.times = clock, (forward, backward)

    def forward(self, x):
        y = super().forward(x)
        self.clock.now += self.times[0]
        if y.requires_grad:
            y.register_hook(self.pass_back)
        return y * 1  # whose gradient is there before that of y

    def pass_back(self, gradient):
        self.clock.now += self.times[1]


class TimedSGD(torch.optim.SGD):
    """An optimizer whose step takes a while."""

    def step(self, closure=None):
        self.param_groups[0]["clock"].now += 60
        return super().step(closure)


def test_all_times_are_where_they_are_spent(monkeypatch):
    clock = VirtualClock()
    monkeypatch.setattr("interlace_client.torch.capture.recorder.clock_of", lambda device: clock)
    layers = [Timed(clock, 10, 100), Timed(clock, 20, 200), Timed(clock, 30, 300)]
    model = nn.Sequential(*layers)
    groups = [{"params": model.parameters(), "clock": clock}]
    optimizer = TimedSGD(groups, lr=0.01)

    def step():
        clock.now += 7  # data
        loss = model(torch.randn(4, WIDTH)).square().mean()
        clock.now += 3
        loss.backward()
        clock.now += 5  # a log
        optimizer.step()
        optimizer.zero_grad()

    recording = capture(model, step, optimizer)
    found = [(op["id"], op["duration_us"]) for op in recording.graph["ops"] if "stream" in op]
    assert found == [
        ("backward:2.weight", 300),
        ("backward:1.weight", 200),
        ("backward:0.weight", 100),
        ("backward:end", 0),
        ("between", 5 + 7),
        ("forward:(model)", 0),
        ("update:0.weight", 20),
        ("forward:0", 10),
        ("update:1.weight", 20),
        ("forward:1", 20),
        ("update:2.weight", 20),
        ("forward:2", 30),
        ("loss", 3),
    ]
    assert recording.step_us == recording.compute_us == 600 + 12 + 60 + 60 + 3
    assert (recording.backward_us, recording.update_us, recording.forward_us) == (600, 60, 60)


def test_the_loop_stays_as_it_is():
    training = Training(Attention())
    before = hooks_of(training.model, training.optimizer)
    recorder = Capture(training.model, training.optimizer, steps=4)
    seen = []
    for _ in range(6):
        training.step()
        seen.append(recorder.is_done)
    assert seen == [False, False, False, True, True, True]
    assert hooks_of(training.model, training.optimizer) == before
    recording = recorder.recording()
    assert recording.cycles == 2
    assert recording.first_uses == Training(Attention()).recording().first_uses


def test_other_hooks_of_the_optimizer_stay():
    training, calls = Training(Attention()), []
    recorder = Capture(training.model, training.optimizer, steps=3)
    training.optimizer.register_step_post_hook(lambda *_: calls.append("later"))
    for _ in range(3):
        training.step()
    assert recorder.recording().cycles == 1
    assert hooks_of(training.model, training.optimizer) == 1
    training.step()
    assert calls == ["later"] * 4


def test_training_is_the_same_with_and_without():
    alone, recorded = Training(Attention()), Training(Attention())
    recorded.model.load_state_dict(alone.model.state_dict())
    torch.manual_seed(1)
    for _ in range(4):
        alone.step()
    torch.manual_seed(1)
    recorded.recording(steps=4)
    assert all(map(torch.equal, alone.model.parameters(), recorded.model.parameters()))


def test_an_error_in_a_step_leaves_no_hook():
    training = Training(Pieces(call=lambda layer, x: layer(x, x)))
    before = hooks_of(training.model, training.optimizer)
    with pytest.raises(TypeError):
        training.recording()
    assert hooks_of(training.model, training.optimizer) == before
    assert torch.overrides._get_current_function_mode() is None


def test_too_few_steps():
    training = Training(Attention())
    with pytest.raises(ValueError, match="steps must be 3 at least, got 2"):
        Capture(training.model, training.optimizer, steps=2)
    recorder = Capture(training.model, training.optimizer, steps=3)
    training.step()
    with pytest.raises(Unrecorded, match="1 of 3 steps are recorded"):
        recorder.recording()
    recorder.stop()
    training.step()
    assert hooks_of(training.model, training.optimizer) == 0
    with pytest.raises(Unrecorded, match="1 of 3 steps"):
        recorder.recording()


def test_an_optimizer_that_never_steps():
    training = Training(Attention())
    with pytest.raises(Unrecorded, match="0 of 3 steps"):
        capture(training.model, training.backward, training.optimizer, steps=3)


def test_a_loop_that_trains_something_else():
    training, other = Training(Attention()), Training(Pieces())
    with pytest.raises(Unrecorded, match="No backward pass was seen"):
        capture(other.model, training.step, training.optimizer, steps=3)


def test_an_optimizer_that_calls_the_model():
    training = Training(Attention(), torch.optim.LBFGS)

    def closure():
        training.optimizer.zero_grad()
        loss = training.model(torch.randn(4, 3, WIDTH)).square().mean()
        loss.backward()
        return loss

    with pytest.raises(Unrecorded, match="calls the model within its step"):
        capture(training.model, lambda: training.optimizer.step(closure), training.optimizer)


def test_a_step_that_fails_is_made_again():
    training = Training(Attention())
    recorder = Capture(training.model, training.optimizer, steps=4)
    training.step()
    groups, training.optimizer.param_groups = training.optimizer.param_groups, None
    with pytest.raises(TypeError):
        training.optimizer.step()
    training.optimizer.param_groups = groups
    while not recorder.is_done:
        training.step()
    assert recorder.recording().cycles == 2


def test_a_backward_pass_that_fails_is_made_again():
    training = Training(Pieces())
    recorder = Capture(training.model, training.optimizer, steps=4)
    training.step()
    training.step()
    loss = training.model(torch.randn(4, WIDTH)).square()
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar"):
        loss.backward()
    loss = training.model(torch.randn(4, WIDTH))
    handle = training.model.layers[0].weight.register_hook(lambda gradient: gradient[0])
    with pytest.raises(RuntimeError):
        loss.square().mean().backward()
    handle.remove()
    before = [kind for kind, _, _ in recorder._events].count("backward end")
    while not recorder.is_done:
        training.step()
    assert [kind for kind, _, _ in recorder._events].count("backward end") == before + 2
    recording = recorder.recording()
    assert recording.passes == 1
    assert recording.unused == ()


def test_steps_are_ended_by_hand():
    training = Training(Attention())
    recorder = Capture(training.model, None, steps=3)
    for _ in range(3):
        training.step()
        recorder.end_step()
    assert recorder.is_done
    assert recorder.recording().cycles == 1
    assert hooks_of(training.model, training.optimizer) == 0


def test_without_an_optimizer_each_call_is_a_step():
    training = Training(Attention())
    recording = capture(training.model, training.step, steps=4)
    assert recording.cycles == 2
    assert recording.update_us < recording.step_us
    assert any("No optimizer was given" in note for note in recording.notes)


class Tied(nn.Module):
    """A language model whose head is its embedding."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(WIDTH, 9, bias=False)
        self.norm = nn.LayerNorm(WIDTH)
        self.embedding = nn.Embedding(9, WIDTH)
        self.head.weight = self.embedding.weight

    def forward(self, x):
        tokens = torch.arange(x.shape[0]) % 9
        return cross_entropy(self.head(self.norm(self.embedding(tokens))), tokens)


def test_a_shared_parameter_is_one_tensor_and_needed_at_its_first_use():
    recording = Training(Tied()).recording()
    assert recording.tensors[0].name == "head.weight"
    assert recording.first_uses["head.weight"] == ("embedding",)
    assert len([op for op in ids(recording) if op.startswith("grad:")]) == 3
    order = ids(recording)
    assert order.index("update:head.weight") < order.index("forward:embedding")
    assert recording.ready_order[-1] == "head.weight"  # its gradient is whole at the very end


def test_frozen_parameters_are_no_tensors():
    model = Pieces()
    model.layers[1].requires_grad_(requires_grad=False)
    recording = Training(model).recording()
    names = {"layers.0.weight", "layers.0.bias", "layers.2.weight", "layers.2.bias"}
    assert {tensor.name for tensor in recording.tensors} == names
    assert set(recording.first_uses) == names


def test_unused_parameters_are_released_at_the_end_of_the_backward_pass():
    model = Pieces()
    model.spare = nn.Linear(2, 2)
    recording = Training(model).recording()
    assert recording.unused == ("spare.weight", "spare.bias")
    waits = {op["id"]: op["after"] for op in recording.graph["ops"]}
    assert waits["grad:spare.weight"] == waits["grad:spare.bias"] == ["backward:end"]
    assert recording.ready_order[-2:] == ("spare.bias", "spare.weight")
    assert planned(recording).lower_bound_us > 0


def test_first_uses_of_all_steps_count():
    class Alternating(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
            self.sometimes = nn.Linear(WIDTH, WIDTH)
            self.turn = 0

        def forward(self, x):
            self.turn += 1
            x = self.first(x) if self.turn % 2 else x @ self.first.weight
            return self.sometimes(x) if self.turn % 2 else self.second(x)

    recording = Training(Alternating()).recording(steps=6)
    assert set(recording.first_uses["first.weight"]) == {"first", ""}
    assert recording.first_uses["sometimes.weight"] == ("sometimes",)
    assert {"sometimes.weight", "second.weight"} <= set(recording.unused)
    assert recording.unknown == ()


def test_a_use_that_was_not_seen_is_taken_to_be_at_the_start():
    training = Training(Pieces())
    extra = nn.Linear(WIDTH, WIDTH)
    training.model.extra = extra

    def step():  # used in the loss
        training.optimizer.zero_grad()
        extra(training.model(torch.randn(2, WIDTH))).sum().backward()
        training.optimizer.step()

    recording = capture(training.model, step, training.optimizer)
    assert recording.unknown == ("extra.weight", "extra.bias")
    assert recording.first_uses["extra.weight"] == ("",)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_checkpointed_layers_run_again_and_are_used_once(use_reentrant):
    model = Pieces(call=lambda layer, x: checkpoint(layer, x, use_reentrant=use_reentrant))
    training = Training(model)

    def step():
        training.optimizer.zero_grad()
        x = torch.randn(4, WIDTH, requires_grad=True)
        training.model(x).square().mean().backward()
        training.optimizer.step()

    recording = capture(model, step, training.optimizer)
    assert recording.first_uses == Training(Pieces()).recording().first_uses
    assert recording.passes == 1
    assert recording.unused == ()
    assert [name.split(".")[1] for name in recording.ready_order] == list("221100")


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_a_model_that_is_checkpointed_as_a_whole(use_reentrant):
    training = Training(Pieces())

    def step():
        training.optimizer.zero_grad()
        x = torch.randn(4, WIDTH, requires_grad=True)
        checkpoint(training.model, x, use_reentrant=use_reentrant).square().mean().backward()
        training.optimizer.step()

    recording = capture(training.model, step, training.optimizer)
    assert recording.passes == 1
    assert recording.first_uses == Training(Pieces()).recording().first_uses


def test_accumulated_gradients():
    training = Training(Pieces())

    def step():
        training.optimizer.zero_grad()
        training.backward()
        training.backward()
        training.optimizer.step()

    recording = capture(training.model, step, training.optimizer)
    assert recording.passes == 2
    assert ids(recording)[-1] == "accumulation"
    assert any("A step has 2 backward passes" in note for note in recording.notes)
    assert recording.compute_us > recording.forward_us + recording.backward_us


def test_steps_that_a_gradient_scaler_skips():
    training = Training(Pieces())
    scaler = torch.amp.GradScaler("cpu")
    infinite = [False, False, True, False, False, False, False]

    def step():
        training.optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = training.model(torch.randn(4, WIDTH)).square().mean()
        scaler.scale(loss * (torch.inf if infinite.pop(0) else 1)).backward()
        scaler.step(training.optimizer)
        scaler.update()

    recording = capture(training.model, step, training.optimizer, steps=6)
    assert infinite == []
    assert recording.passes == 1
    assert set(recording.dtypes.values()) == {"float32"}
    assert any("1 steps with another number of backward passes" in n for n in recording.notes)


def test_gradients_have_the_types_of_their_parameters():
    model = Pieces(call=lambda layer, x: layer(x.to(layer.weight.dtype)))
    model.layers[1].bfloat16()
    recording = Training(model).recording()
    sizes = {tensor.name: (tensor.dtype, tensor.bytes) for tensor in recording.tensors}
    assert sizes["layers.1.weight"] == ("bfloat16", 2 * WIDTH * WIDTH)
    assert sizes["layers.2.bias"] == ("float32", 4 * WIDTH)
    assert {
        op["id"]: (op["bytes"], op["element_bytes"])
        for op in recording.graph["ops"]
        if op["kind"] == "all_reduce"
    } == {f"grad:{t.name}": (t.bytes, t.element_bytes) for t in recording.tensors}


def test_evaluation_between_steps_is_no_step():
    training = Training(Pieces())

    def step():
        training.model.eval()
        with torch.no_grad():
            training.model(torch.randn(2, WIDTH))
        training.model.train()
        training.step()

    recording = capture(training.model, step, training.optimizer)
    assert recording.passes == 1
    assert ids(recording)[-1] == "loss"


@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("in_place", [True, False])
def test_what_is_compiled_runs_as_one(whole, in_place):
    torch.compiler.reset()

    def compiled(model):
        if in_place:
            (model if whole else model.layers[1]).compile(backend="eager")
            return model
        if whole:
            return torch.compile(model, backend="eager")
        model.layers[1] = torch.compile(model.layers[1], backend="eager")
        return model

    recording = Training(Pieces(), wrap=compiled).recording(steps=5)
    plain = Training(Pieces()).recording()
    assert [tensor.name for tensor in recording.tensors] == [t.name for t in plain.tensors]
    if whole:
        assert set(recording.first_uses.values()) == {("",)}
        assert any("The model runs as one, compiled" in note for note in recording.notes)
    else:
        assert recording.first_uses == plain.first_uses
        assert any("Module 'layers.1' runs as one, compiled" in note for note in recording.notes)
    assert recording.unknown == recording.unused == ()


@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")
def test_nothing_is_compiled_again():
    torch.compiler.reset()
    compiled: list[int] = []

    def backend(graph, inputs):
        compiled.append(len(inputs))
        return graph

    training = Training(Pieces())
    training.model.layers[1].compile(backend=backend)
    training.model.layers[2] = torch.compile(training.model.layers[2], backend=backend)
    training.step()
    before, call = len(compiled), training.model.layers[1]._compiled_call_impl
    training.recording()
    training.step()
    assert len(compiled) == before > 0
    assert training.model.layers[1]._compiled_call_impl is call


def test_models_that_cannot_be_recorded():
    with pytest.raises(ValueError, match="no parameter that requires a gradient"):
        Capture(nn.ReLU(), None)
    with pytest.raises(ValueError, match=r"not initialized: '0.weight', '0.bias'"):
        Capture(nn.Sequential(nn.LazyLinear(2)), None)


def test_outputs_may_lie_in_containers():
    class Output:
        def __init__(self, x):
            self.hidden, self.name = {"x": [x]}, "output"

    class Wrapped(Pieces):
        def forward(self, x):
            return Output(super().forward(x))

    training = Training(Wrapped())

    def step():
        training.optimizer.zero_grad()
        training.model(torch.randn(4, WIDTH)).hidden["x"][0].square().mean().backward()
        training.optimizer.step()

    recording = capture(training.model, step, training.optimizer, steps=3)
    durations = {op["id"]: op.get("duration_us") for op in recording.graph["ops"]}
    assert durations["loss"] > 0
