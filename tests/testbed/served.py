"""A server or a worker of asynchronous training, which does what its standard input says.

`python -m tests.testbed.served` reads a line of JSON for each cell, and answers with one.
"""

import json
import sys
import time
from typing import Any

import torch

from interlace_client.torch.parameter_server import ServedModel, StepRecorder, TrainingServer
from tests.testbed.kernel import end_with_parent, put_first, sharpen_timers
from tests.testbed.served_model import COMPUTING, served_model


def main() -> None:
    """Go through cells until the input ends."""
    end_with_parent()
    sharpen_timers()
    torch.set_num_threads(1)
    _say(is_ready=True)  # what starts takes time of those who train
    for line in sys.stdin:
        cell = json.loads(line)
        put_first(is_first=cell["model"] != COMPUTING)  # what computes would starve the network
        {"serve": _serve, "train": _train}[cell["do"]](cell)


def _serve(cell: dict[str, Any]) -> None:
    """Serve a cell's model."""
    model, _ = served_model(cell["model"], cell["bytes"], cell["compute_us"])
    server = TrainingServer(
        model.named_parameters(),
        lambda parameters: torch.optim.SGD(parameters, lr=1e-4),
        workers=cell["workers"],
        address=(cell["address"], 0),
    )
    _say(port=server.address[1])
    server.serve()
    _say(lost=server.lost)


def _train(cell: dict[str, Any]) -> None:
    """Train for so many seconds after a start of its own; tell when each step ended [s]."""
    model, train = served_model(cell["model"], cell["bytes"], cell["compute_us"])
    served = ServedModel(model, [(cell["address"], cell["port"])])
    recorder = StepRecorder() if cell["is_recorded"] else None
    ends: list[float] = []
    time.sleep(cell["wait_s"])
    until = time.perf_counter() + cell["seconds"]
    while time.perf_counter() < until:
        if len(ends) == cell["dropped"]:
            served.recorder = recorder
        with served.step():
            train()
        ends.append(time.perf_counter())
    served.close()
    document = recorder.document(cell["model"], 1) if recorder else None
    _say(ends=ends, document=document)


def _say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


if __name__ == "__main__":
    main()
