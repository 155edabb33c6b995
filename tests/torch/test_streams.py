"""Streams of a GPU by fakes: what is put on one comes after what it needs of the others.

A fake stream has a vector clock: for each stream how many of its ops come before what is put on
this one next.
"""

import warnings
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

import torch
from torch import nn

from interlace_client.torch import PlannedDDP
from interlace_client.torch.proof.networks import Branches, of_linears
from interlace_client.torch.proof.pair import dealt
from interlace_client.torch.runtime.streams import BucketStreams
from tests.torch.virtual_time import Channel, Clock


class FakeStream:
    """Ops in order; what comes before the next is in its clock."""

    def __init__(self, name: int) -> None:
        self.name = name
        self.clock: dict[int, int] = {}

    def put(self) -> tuple[int, int]:
        self.clock[self.name] = self.clock.get(self.name, 0) + 1
        return self.name, self.clock[self.name]

    def record_event(self) -> dict[int, int]:
        return dict(self.clock)

    def wait_event(self, event: dict[int, int]) -> None:
        for name, count in event.items():
            self.clock[name] = max(self.clock.get(name, 0), count)

    def wait_stream(self, other: "FakeStream") -> None:
        self.wait_event(other.clock)

    def comes_after(self, op: tuple[int, int]) -> bool:
        return bool(self.clock.get(op[0], 0) >= op[1])


class FakeGradient:
    """A gradient that remembers who else reads it."""

    def __init__(self) -> None:
        self.read_by: list[FakeStream] = []
        self.device = None

    def record_stream(self, stream: FakeStream) -> None:
        self.read_by.append(stream)


COUNT = 3
each_stream = st.integers(0, 2)


@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.integers(0, COUNT - 1), each_stream), min_size=6, max_size=6),
            st.lists(each_stream, min_size=3 * COUNT, max_size=3 * COUNT),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_everything_comes_after_what_it_needs(passes):
    streams = [FakeStream(name) for name in range(3)]
    now = streams[0]
    order = BucketStreams(COUNT, lambda: now)
    for gradients, places in passes:
        came: list[list[Any]] = [[] for _ in range(COUNT)]
        packed = []
        for bucket, place in gradients:
            now = streams[place]
            came[bucket].append((now.put(), FakeGradient(), now))
            order.take(bucket)
        for bucket in range(COUNT):
            now = streams[places[bucket]]
            order.before_packing(bucket, [gradient for _, gradient, _ in came[bucket]])
            assert all(now.comes_after(op) for op, _, _ in came[bucket])
            for _, gradient, stream in came[bucket]:
                assert stream is now or now in gradient.read_by
            packed.append(now.put())
            order.after_packing(bucket)
        for bucket in range(COUNT):
            now = streams[places[COUNT + bucket]]
            order.before_launch(bucket)
            assert now.comes_after(packed[bucket])
        for bucket in range(COUNT):
            now = streams[places[2 * COUNT + bucket]]
            update = now.put()
            order.after_arrival()
            assert all(stream.comes_after(update) for stream in order.known)
            assert {stream for own in came for _, _, stream in own} <= set(order.known)


def test_one_stream_costs_no_event():
    stream = object()  # it has no method
    order = BucketStreams(1, lambda: stream)
    order.take(0)
    order.before_packing(0, [FakeGradient()])
    order.after_packing(0)
    order.before_launch(0)
    order.after_arrival()


def planned(model: nn.Module, **options) -> PlannedDDP:
    channel = Channel(Clock(), lambda size: 1.0)
    return PlannedDDP(model, (), dealt(model), transport=channel, **options)


def test_runtime_tells_of_all_that_happens(monkeypatch):
    told = []

    class Telling(BucketStreams):
        def __getattribute__(self, name):
            if not name.startswith("_") and name != "known":
                told.append(name)
            return super().__getattribute__(name)

    stream = FakeStream(0)
    streams = Telling(3, lambda: stream)
    monkeypatch.setattr(
        "interlace_client.torch.runtime.reduction.streams_of", lambda parameters, buckets: [streams]
    )
    model = planned(of_linears())
    model(torch.ones(1, 16)).sum().backward()
    model.drain()
    assert [told.count(each) for each in ("take", "after_packing", "before_launch")] == [8, 3, 3]
    assert told.count("after_arrival") == 3
    assert told.index("before_packing") < told.index("after_packing") < told.index("before_launch")


def test_a_graph_is_refused_with_a_sentence(monkeypatch):
    model = planned(of_linears())
    loss = model(torch.ones(1, 16)).sum()
    monkeypatch.setattr("torch.cuda.is_initialized", lambda: True)
    monkeypatch.setattr("torch.cuda.is_current_stream_capturing", lambda: True)
    with pytest.raises(RuntimeError, match="cannot be captured in a CUDA graph: each step"):
        model(torch.ones(1, 16))
    with pytest.raises(RuntimeError, match="cannot be captured in a CUDA graph: each step"):
        loss.backward()


def test_other_ranks_are_asked_only_where_a_parameter_was_left_out(monkeypatch):
    model = planned(Branches(), find_unused_parameters=True)
    asked = []
    start = model._sending.transport.start

    def hear(wait):
        asked.append(1)
        wait()

    def watched(tensor):
        work = start(tensor)
        if tensor.numel() == 8:  # the flags: one for each parameter
            monkeypatch.setattr(work, "wait", partial(hear, work.wait))
        return work

    monkeypatch.setattr(model._sending.transport, "start", watched)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in model.module.children():
            (model(torch.ones(1, 8), "no") + module(torch.ones(1, 8))).sum().backward()
            model.drain()
        assert len(asked) == 4
        asked.clear()
        every = [module(torch.ones(1, 8)) for module in model.module.children()]
        sum(every, model(torch.ones(1, 8), "no")).sum().backward()
        model.drain()
    assert not asked
