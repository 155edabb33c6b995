"""How long one owner waits beside another who asks for much.

Run it with ``python -m tests.benchmarks.turns [--small 100] [--timelines 100] [--large 60] [--heavy
64]``. One server that wants keys. First one owner queues large plans, and another has small plans
made, one after the other, each one that nobody asked for before. Then the first asks for heavy
predictions, all at once and again as each ends, and the other for timelines of its plan. Prints the
median, the 99th percentile and the most of what the other waited [s], with the answers by status.
"""

import argparse
import math
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx2

from tests.app.keyed import Keyed, keyed
from tests.app.long import CONVEX, search
from tests.app.service import two_layers

#: A prediction of some seconds of processor time: each buffer is simulated for each count.
_HEAVY = {
    "layers": [
        {"bytes": 1_000_000 + 977 * i, "forward_us": 40, "backward_us": 90} for i in range(1_500)
    ],
    "cluster": CONVEX,
    "workers": list(range(2, 12)),
    "buffers_bytes": [1_000_000 * i for i in range(10)],
    "timeout_us": 5_000,
}


#: The other comes again after so long [s].
_PAUSE_S = 0.1


def main() -> None:
    """Print a line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, count in (("small", 100), ("timelines", 100), ("large", 60), ("heavy", 64)):
        parser.add_argument(f"--{name}", type=int, default=count)
    asked = parser.parse_args()
    print("what                     n     p50 s    p99 s    max s   answers")
    with tempfile.TemporaryDirectory() as folder, keyed(Path(folder)) as server:
        _small_plans(server, asked.large, asked.small)
    with tempfile.TemporaryDirectory() as folder, keyed(Path(folder)) as server:
        _timelines(server, asked.heavy, asked.timelines)


def _small_plans(server: Keyed, large: int, small: int) -> None:
    with server.of("many") as many, server.of("one") as one:
        one.post("/v1/plans", json=two_layers(seed=1)).raise_for_status()
        for i in range(large):
            asked = many.post("/v1/plans", json=search(2_000 + i), params={"wait": 0})
            asked.raise_for_status()
        _measured(
            f"a plan beside {large} large",
            small,
            lambda i: one.post("/v1/plans", json=two_layers(seed=2 + i)),
        )


def _timelines(server: Keyed, heavy: int, timelines: int) -> None:
    over, answers = threading.Event(), Counter[int]()
    with server.of("many") as many, server.of("one") as one:
        made = one.post("/v1/plans", json=two_layers()).raise_for_status().json()
        place = f"/v1/plans/{made['id']}/timeline.json"
        one.get(place).raise_for_status()

        def ask() -> None:
            with suppress(httpx2.HTTPError):
                while not over.is_set():
                    found = many.post("/v1/predictions/scaling", json=_HEAVY, timeout=600)
                    answers[found.status_code] += 1

        threads = [threading.Thread(target=ask, daemon=True) for _ in range(heavy)]
        for thread in threads:
            thread.start()
        time.sleep(3)  # until they have come
        _measured(f"a timeline beside {heavy} heavy", timelines, lambda _: one.get(place))
        over.set()
        print(f"  the predictions that ended meanwhile: {dict(answers)}")


def _measured(what: str, count: int, ask: Callable[[int], httpx2.Response]) -> None:
    took, answers = list[float](), Counter[int]()
    for i in range(count):
        began = time.perf_counter()
        answers[ask(i).status_code] += 1
        took.append(time.perf_counter() - began)
        time.sleep(_PAUSE_S)
    took.sort()
    p50, p99 = (took[math.ceil(share * count) - 1] for share in (0.5, 0.99))
    print(
        f"{what:<24}{count:>3}  {p50:>8.3f} {p99:>8.3f} {took[-1]:>8.3f}   {dict(answers)}",
        flush=True,
    )


if __name__ == "__main__":
    main()
