"""Workers of PyTorch over gloo, each a process, that go through scenarios together."""

import ast
import contextlib
import io
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.waiting import until

ROOT = Path(__file__).parents[2]

Scenario = Callable[[Path, int], None]


def outcomes(
    program: str, folder: Path, ranks: int = 2, *options: str, python: str = sys.executable
) -> dict[str, str]:
    """Run a program of :func:`go_through` as workers; say of each scenario how it went.

    When one of them has ended before its last scenario, or failed, the others wait for it in vain.
    """
    path = os.pathsep.join(map(str, (ROOT, ROOT / "client")))  # this checkout's code
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    workers = []
    for rank in range(ranks):
        (folder / str(rank)).mkdir()
        command = [python, "-m", program, str(folder), str(rank), str(ranks), *options]
        with (folder / f"{rank}.log").open("w") as log:
            workers.append(
                subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
            )
    count = len(names_in(program))
    try:
        until(lambda: _are_over(workers, folder, count))
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    found: dict[str, str] = {}
    for rank in range(ranks):
        for name, said in _written(folder, rank):
            found[name] = found.get(name, "") + (f"worker {rank}: {said}\n" if said else "")
    assert found, (folder / "0.log").read_text()
    return found


def _written(folder: Path, rank: int) -> list[tuple[str, str]]:
    """Return what a worker wrote of its scenarios."""
    path = folder / str(rank) / "outcomes"
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def _are_over(workers: list[subprocess.Popen[bytes]], folder: Path, scenarios: int) -> bool:
    """Tell whether all workers have ended, or one of them without all its scenarios."""
    ended = [rank for rank, worker in enumerate(workers) if worker.poll() is not None]
    written = [_written(folder, rank) for rank in ended]
    lost = [own for own in written if len(own) < scenarios or any(said for _, said in own)]
    return len(ended) == len(workers) or bool(lost)


def names_in(program: str) -> list[str]:
    """Read the names of a program's scenarios without PyTorch."""
    text = (ROOT / f"{program.replace('.', '/')}.py").read_text()
    tables = [node for node in ast.parse(text).body if isinstance(node, ast.Assign)]
    (table,) = (node for node in tables if ast.unparse(node.targets[0]) == "SCENARIOS")
    (listed,) = (node for node in ast.walk(table) if isinstance(node, ast.Tuple))
    return [ast.unparse(name) for name in listed.elts]


def go_through(scenarios: Mapping[str, Scenario]) -> None:
    """Be one of the workers: go through scenarios, and write down what failed."""
    import torch.distributed as dist  # noqa: PLC0415 - the tests themselves do without

    from tests.ending import leave  # noqa: PLC0415

    folder, rank, ranks = Path(sys.argv[1]), *map(int, sys.argv[2:4])
    own = folder / str(rank)
    store = f"file://{folder}/store"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=ranks)
    with (own / "outcomes").open("w") as written:
        for name, scenario in scenarios.items():
            said = ""
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    scenario(own, rank)
            except Exception:  # noqa: BLE001 - whatever it is, it is said
                said = traceback.format_exc()
            print(json.dumps([name, said]), file=written, flush=True)
            if said:
                break  # the other worker is somewhere else
    leave()
