"""A parameter server and workers in one process, and two processes over loopback."""

import json
import socket
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread

import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from app.schemas.parameter_servers import ParameterServerRequest
from interlace_client.torch.parameter_server import (
    MessageRecorder,
    ServedModel,
    ServingFailed,
    StepRecorder,
    TrainingServer,
)
from interlace_client.torch.parameter_server.server import absent_said
from interlace_client.torch.parameter_server.shards import shards_of
from solver.parameter_server.steps import build_step
from solver.traces import dlc
from solver.traces.dlc.grammar import CONFIRMATION, PARAMETER, PUSH, REQUEST
from solver.traces.trace import TraceOptions

ROOT = Path(__file__).parents[2]
LR = 0.1


def network(width=8):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 2))


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=LR)


def batch(step, rank):
    return torch.randn(6, 4, generator=torch.Generator().manual_seed(10 * step + rank))


def started(servers):
    """Serve in threads, and keep what they fail with."""
    failures = []

    def serve(server):
        try:
            server.serve()
        except ServingFailed as error:
            failures.append(str(error))

    threads = [Thread(target=serve, args=[server], daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    return threads, failures


def train(served, model, rank, steps):
    for step in range(steps):
        with served.step():
            model(batch(step, rank)).square().mean().backward()


def trained_alone(steps, ranks):
    """The oracle: one model, the mean of all gradients, no server."""
    model = network()
    optimizer = sgd(model.parameters())
    for step in range(steps):
        optimizer.zero_grad()
        losses = [model(batch(step, rank)).square().mean() for rank in range(ranks)]
        (sum(losses) / ranks).backward()
        optimizer.step()
    return model


def assert_same(model, other):
    for (name, ours), theirs in zip(model.named_parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, msg=name)


@pytest.mark.parametrize("window", [None, 16])
@pytest.mark.parametrize("servers", [1, 3])
def test_one_worker_trains_as_without_a_server(servers, window):
    models = [network() for _ in range(servers)]
    all_servers = [
        TrainingServer(
            m.named_parameters(), sgd, workers=1, shard=(i, servers), window_bytes=window
        )
        for i, m in enumerate(models)
    ]
    threads, failures = started(all_servers)
    model = network()
    addresses = [server.address for server in all_servers]
    served = ServedModel(model, addresses, window_bytes=window)
    train(served, model, 0, 4)
    served.close()
    for thread in threads:
        thread.join()
    assert not failures
    names = [name for name, _ in model.named_parameters()]
    expected = dict(trained_alone(4, 1).named_parameters())
    owners = shards_of([p.numel() * 4 for p in expected.values()], servers)
    for name, owner in zip(names, owners, strict=True):
        torch.testing.assert_close(dict(models[owner].named_parameters())[name], expected[name])


def test_two_synchronous_workers_train_as_one_on_both_batches():
    model, failures, server = run_workers(needed=2, steps=3)
    assert not failures
    assert server.dropped == 0
    assert_same(model, trained_alone(3, 2))


def test_late_gradients_of_backups_are_dropped():
    _, failures, server = run_workers(needed=1, steps=5)
    assert not failures
    # each tensor is updated by the first of two, or by one that is a step ahead
    assert server.lost == []
    assert 0 <= server.dropped <= 4 * 5


def run_workers(needed, steps):
    model = network()
    server = TrainingServer(model.named_parameters(), sgd, workers=2, needed=needed)
    threads, failures = started([server])

    def work(rank):
        own = network()
        served = ServedModel(own, [server.address])
        train(served, own, rank, steps)
        served.close()

    workers = [Thread(target=work, args=[rank]) for rank in range(2)]
    for thread in workers:
        thread.start()
    for thread in (*workers, *threads):
        thread.join()
    return model, failures, server


def test_a_worker_whose_partner_has_left_is_told():
    model = network()
    server = TrainingServer(model.named_parameters(), sgd, workers=2, needed=2)
    threads, failures = started([server])
    one, other = network(), network()
    stays, leaves = (ServedModel(own, [server.address]) for own in (one, other))
    leaves.close()
    with pytest.raises(ServingFailed, match="2 workers are needed for an update, 1 are left"):
        train(stays, one, 0, 2)
    stays.close()
    for thread in threads:
        thread.join()
    assert failures


def test_other_tensors_are_refused():
    server = TrainingServer(network().named_parameters(), sgd, workers=1)
    threads, failures = started([server])
    with pytest.raises(ServingFailed, match=r"different tensors: 0.weight of 128 bytes"):
        ServedModel(network(width=5), [server.address])
    threads[0].join()
    assert "A worker is lost" in failures[0]


@pytest.mark.parametrize(
    "options",
    [
        {"workers": 0},  # nobody
        {"workers": 2, "needed": 3},  # more than there are
        {"workers": 2, "needed": 0},
        {"workers": 2, "shard": (2, 2)},  # counted from 0
    ],
)
def test_options_that_are_refused(options):
    with pytest.raises(ValueError, match="must be"):
        TrainingServer(network().named_parameters(), sgd, **options)


def train_twice(served, model, batches):
    """Make two backward passes in a step."""
    with served.step():
        for each in batches:
            model(each).sum().backward()


def test_a_second_backward_pass_of_a_step_is_refused():
    server = TrainingServer(network().named_parameters(), sgd, workers=1)
    threads, _ = started([server])
    model = network()
    served = ServedModel(model, [server.address])
    losses = [batch(step, 0) for step in range(2)]
    with pytest.raises(RuntimeError, match="one backward pass"):
        train_twice(served, model, losses)
    with pytest.raises(ServingFailed, match="A step has failed"):
        train(served, model, 0, 1)
    served.close()
    threads[0].join()


def test_recorded_steps_are_steps_that_the_product_reads():
    servers = [
        TrainingServer(network().named_parameters(), sgd, workers=1, shard=(i, 2)) for i in range(2)
    ]
    threads, _ = started(servers)
    model = network()
    served = ServedModel(model, [server.address for server in servers])
    served.recorder = StepRecorder()
    train(served, model, 0, 3)
    served.close()
    for thread in threads:
        thread.join()
    document = served.recorder.document("two layers", 6, 1.0)
    request = ParameterServerRequest.model_validate(document)
    assert len(request.steps) == 2  # what lay before the first is not known
    for body in request.steps:
        step = build_step(body.ops_of())
        assert sorted(filter(None, step.servers)) == ["ps0", "ps1"]
        names = {name for name, _ in model.named_parameters()}
        for kind in ("pull", "push", "update"):
            assert {op.id for op in step.ops if op.id.startswith(kind)} == {
                f"{kind}:{name}" for name in names
            }
        assert len(body.recorded()) == 2 * len(names)
        # a module computes after its own parameters have come
        after = {op.id: op.after for op in step.ops}
        assert {"pull:0.weight", "pull:0.bias"} <= set(after["compute:(wait 1)"])


def test_a_worker_waits_for_a_server_that_starts_later(monkeypatch):
    probe = socket.create_server(("127.0.0.1", 0))
    address = probe.getsockname()
    probe.close()
    was_refused, connect = Event(), socket.create_connection

    def seen(*arguments):
        try:
            return connect(*arguments)
        except OSError:
            was_refused.set()
            raise

    monkeypatch.setattr(socket, "create_connection", seen)
    model, made = network(), []
    worker = Thread(target=lambda: made.append(ServedModel(model, [address])), daemon=True)
    worker.start()
    was_refused.wait()
    server = TrainingServer(network().named_parameters(), sgd, workers=1, address=address)
    threads, failures = started([server])
    worker.join()
    train(made[0], model, 0, 2)
    made[0].close()
    threads[0].join()
    assert not failures


def test_who_does_not_answer_in_time_is_named():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host, port = silent.getsockname()
        with pytest.raises(ServingFailed, match=rf"What listens at {host}:{port} has not answered"):
            ServedModel(network(), [(host, port)], timeout_s=0.01)
    probe = socket.create_server(("127.0.0.1", 0))
    address = probe.getsockname()
    probe.close()
    with pytest.raises(ServingFailed, match=rf"No server at 127.0.0.1:{address[1]} in .* s: "):
        ServedModel(network(), [address], timeout_s=0.01)


class OneComes:
    """A listener whose time is over once a first worker was accepted and has been greeted."""

    def __init__(self, listener, greeted):
        self._listener, self._greeted, self._accepted = listener, greeted, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.close()

    def settimeout(self, timeout_s):
        assert 0 < timeout_s <= 60

    def accept(self):
        self._accepted += 1
        if self._accepted == 1:
            return self._listener.accept()
        self._greeted.wait()
        raise TimeoutError


@pytest.mark.parametrize("needed", [None, 2])
def test_a_server_names_the_worker_that_did_not_come(needed):
    server = TrainingServer(network().named_parameters(), sgd, workers=2, needed=needed)
    address, greeted, failures = server.address, Event(), []
    setattr(server, "_listener", OneComes(server._listener, greeted))  # noqa: B010

    def serve():
        try:
            server.serve(60)
        except ServingFailed as error:
            failures.append(str(error))

    thread = Thread(target=serve, daemon=True)
    thread.start()
    model = network()
    served = ServedModel(model, [address], rank=0)
    greeted.set()
    thread.join()
    assert failures == ["Worker 1 of 2 did not come in 60 s."]
    with pytest.raises(ServingFailed, match=r"Worker 1 of 2 did not come in 60 s"):
        train(served, model, 0, 1)
    served.close()


def test_a_server_that_nobody_finds_gives_up():
    server = TrainingServer(network().named_parameters(), sgd, workers=2)
    with pytest.raises(
        ServingFailed, match=r"2 of 2 workers did not come in 0.01 s; there came: n"
    ):
        server.serve(0.01)


@pytest.mark.parametrize(
    ("came", "said"),
    [
        ([], "3 of 3 workers did not come in 2 s; there came: nobody."),
        ([("a:1", 1)], "Workers 0, 2 of 3 did not come in 2 s."),
        ([("a:1", 1), ("b:2", 0)], "Worker 2 of 3 did not come in 2 s."),
        ([("a:1", None), ("b:2", 0)], "1 of 3 workers did not come in 2 s; there came: a:1, b:2."),
        ([("a:1", 0), ("b:2", 0)], "1 of 3 workers did not come in 2 s; there came: a:1, b:2."),
    ],
)
def test_who_did_not_come(came, said):
    assert absent_said(3, came, 2.0) == said


WORKER = """
import json, sys
import torch
from interlace_client.torch.parameter_server import ServedModel
from tests.torch.test_parameter_server import network, train
model = network()
served = ServedModel(model, [("127.0.0.1", int(sys.argv[1]))])
train(served, model, 1, 3)
served.close()
"""


def test_two_processes_train_as_one():
    model = network()
    server = TrainingServer(model.named_parameters(), sgd, workers=2, needed=2)
    threads, failures = started([server])
    command = [sys.executable, "-c", WORKER, json.dumps(server.address[1])]
    other = subprocess.Popen(command, cwd=ROOT, env={"PYTHONPATH": f"{ROOT}:{ROOT / 'client'}"})
    own = network()
    served = ServedModel(own, [server.address])
    train(served, own, 0, 3)
    served.close()
    assert other.wait() == 0
    for thread in threads:
        thread.join()
    assert not failures
    assert_same(model, trained_alone(3, 2))


def recorded(servers, workers, steps):
    """Train synchronously, and return what every node recorded: a text each."""
    models = [network() for _ in range(servers)]
    all_servers = [
        TrainingServer(
            m.named_parameters(), sgd, workers=workers, needed=workers, shard=(i, servers)
        )
        for i, m in enumerate(models)
    ]
    recorders = {f"s{i}": server.record_messages() for i, server in enumerate(all_servers)}
    threads, failures = started(all_servers)

    def work(rank):
        own = network()
        served = ServedModel(own, [server.address for server in all_servers], rank=rank)
        recorders[f"w{rank}"] = served.record_messages()
        train(served, own, rank, steps)
        served.close()

    own_threads = [Thread(target=work, args=[rank]) for rank in range(workers)]
    for thread in own_threads:
        thread.start()
    for thread in (*own_threads, *threads):
        thread.join()
    assert not failures
    return recorders


def both_ends(nodes):
    """When each message left, and when it came."""
    ends: dict[tuple[int, int, int, int, str], dict[bool, int]] = {}
    for node in nodes:
        columns = (node.stage, node.key, node.iteration, node.peer, node.time)
        for stage, key, iteration, peer, time in zip(*(c.tolist() for c in columns), strict=True):
            worker, server = (peer, node.name) if node.is_server else (node.rank, f"s{peer}")
            is_sent = (stage in (PUSH, REQUEST)) != node.is_server
            ends.setdefault((stage, key, iteration, worker, server), {})[is_sent] = time
    return ends


@pytest.mark.parametrize("servers", [1, 2])
def test_the_messages_of_all_nodes_are_a_dlc_trace(servers, tmp_path):
    """As its readers see it: all there, at both ends, in the order that training has."""
    workers, steps, tensors = 2, 3, 4
    recorders = recorded(servers, workers, steps)
    for name, recorder in recorders.items():
        recorder.write(tmp_path / f"{name}.txt")
    contents = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    nodes = dlc.nodes_of(contents)
    assert {node.name for node in nodes} == set(recorders)
    assert all(set(node.iteration.tolist()) == set(range(-1, steps)) for node in nodes)

    ends = both_ends(nodes)
    assert len(ends) == workers * steps * tensors * 4
    assert all(sides[True] <= sides[False] + 1 for sides in ends.values())  # one clock here
    left = {key: sides[True] for key, sides in ends.items()}
    for stage, key, step, *of in left:
        if stage == PUSH:
            order = [(REQUEST, step - 1), (PARAMETER, step - 1), (PUSH, step), (CONFIRMATION, step)]
            times = [left[each, key, number, *of] for each, number in order]
            assert times == sorted(times)

    found = dlc.read(contents, TraceOptions("trained"))
    sent = [op.bytes for op in found.graph.ops if op.kind != "compute"]
    assert sorted(sent) == sorted(p.numel() * 4 for p in network().parameters())
    assert len(found.report.dlc.iterations) == workers * steps


def test_who_records_messages_says_his_rank():
    server = TrainingServer(network().named_parameters(), sgd, workers=1)
    server.record_messages()
    threads, failures = started([server])
    with pytest.raises(ServingFailed, match="give each ServedModel its rank, 0 to 0, got None"):
        ServedModel(network(), [server.address])
    for thread in threads:
        thread.join()
    assert failures
    with pytest.raises(ValueError, match="rank must be 0 to 1 of 2 workers, got 2"):
        MessageRecorder(2, 2, 1)
    with pytest.raises(ValueError, match="No message is recorded"):
        MessageRecorder(0, 1, 1).text()
