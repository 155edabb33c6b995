"""The runtimes that are compared: each trains a model of its own, and tells what it sends."""

import runpy
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn
from torch.nn.parallel import DistributedDataParallel

from interlace_client.torch import PlannedDDP
from tests.testbed.jobs import Caps, Job
from tests.testbed.plans import Launches, whole


@dataclass(frozen=True)
class Plans:
    """What the runtimes are given.

    Attributes
    ----------
    sizes
        Bytes of each gradient by name.
    free, barrier
        The plan without and with the barrier of an optimizer's step.
    alone, together
        Each tensor alone in the order of release; all in one bucket.
    program
        ``ddp_buckets.py`` of the plan with the barrier.
    """

    sizes: Mapping[str, int]
    free: Launches
    barrier: Launches
    alone: Launches
    together: Launches
    program: str


class Runtime:
    """A model in training under one runtime.

    Parameters
    ----------
    job
        What is trained.
    model
        The plain model.
    """

    def __init__(self, job: Job, model: nn.Module) -> None:
        self._job = job
        self.model = model
        self.optimizer = job.optimizer(model.parameters())
        self.module: nn.Module = model

    def step(self) -> None:
        """Train one step, as an ordinary loop does."""
        self._job.loss(self.module).backward()
        self._after_backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def launches(self) -> Launches:
        """Tell what it sends, from its second step on."""
        raise NotImplementedError

    def drain(self) -> None:
        """Have everything arrive."""

    def close(self) -> None:
        """Take its hooks off."""

    def _after_backward(self) -> None:
        pass


class StockDdp(Runtime):
    """DistributedDataParallel as it is."""

    def __init__(self, job: Job, plans: Plans, group: Any, caps: Caps = None) -> None:
        super().__init__(job, job.model())
        caps = caps or job.caps
        chosen = {"bucket_cap_mb_list": list(caps)} if caps else {}
        self.module = DistributedDataParallel(self.model, process_group=group, **chosen)
        self._sizes = plans.sizes

    def launches(self) -> Launches:
        """Read the buckets that it rebuilt after its first step, in the order of readiness."""
        names = {id(parameter): name for name, parameter in self.model.named_parameters()}
        buckets = [
            [names[id(parameter)] for parameter in bucket.parameters()]
            for bucket in self.module.reducer._get_zeros_like_grad_buckets()
        ]
        return whole(buckets, self._sizes, barrier=True)


class Exported(Runtime):
    """The file that ``interlace export --format ddp`` writes."""

    def __init__(self, job: Job, plans: Plans, group: Any) -> None:
        super().__init__(job, job.model())
        with _file(plans.program) as path:
            program = runpy.run_path(str(path))
        self._reducer = program["Buckets"](self.model, group)
        self._launches = whole(program["BUCKETS"], plans.sizes, barrier=True)

    def launches(self) -> Launches:
        return self._launches

    def close(self) -> None:
        self._reducer.remove()

    def _after_backward(self) -> None:
        self._reducer.wait()


class Planned(Runtime):
    """PlannedDDP with the given launches."""

    def __init__(self, job: Job, launches: Launches, sizes: Mapping[str, int], group: Any) -> None:
        super().__init__(job, job.model())
        self._launches, self._sizes = launches, sizes
        self.module = PlannedDDP(
            self.model,
            self.optimizer,
            launches.answer(sizes),
            barrier=launches.barrier,
            process_group=group,
        )

    def launches(self) -> Launches:
        return self._launches

    def install(self, launches: Launches) -> None:
        """Take other launches from here on."""
        self._launches = launches
        self.module.install(launches.answer(self._sizes))

    def drain(self) -> None:
        self.module.drain()

    def close(self) -> None:
        self.module.detach()


#: A cap that no bucket reaches [MiB].
_NO_CAP = 2.0**20

Make = Callable[[Job, Plans, Any], Runtime]

#: The runtimes by name, called alike; add one here.
RUNTIMES: dict[str, Make] = {
    "ddp": StockDdp,
    "export": Exported,
    "barrier": lambda job, plans, group: Planned(job, plans.barrier, plans.sizes, group),
    "planned": lambda job, plans, group: Planned(job, plans.free, plans.sizes, group),
    "fifo": lambda job, plans, group: Planned(job, plans.alone, plans.sizes, group),
}

#: Two that send the same one bucket: what differs is the time of their hooks.
ALIKE: dict[str, Make] = {
    "ddp_one": lambda job, plans, group: StockDdp(job, plans, group, (_NO_CAP, _NO_CAP)),
    "barrier_one": lambda job, plans, group: Planned(job, plans.together, plans.sizes, group),
}


@contextmanager
def _file(program: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ddp_buckets.py")
        path.write_text(program)
        yield path
