"""Many small things on the workers of a Dask cluster: each is a task of its own.

A worker that is lost costs what it was at, no more: Dask does that again elsewhere. So it is with
a process of a worker, as :func:`app.services.sweeps.parallel.each` has it.
"""

import asyncio
import hashlib
import logging
import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

from distributed import Client, Future, KilledWorker, as_completed
from distributed.client import ClosedClientError

from app import VERSION
from app.children.items import value_of
from app.errors import WorkersUnavailable
from app.jobs.engines.children import OUTCOME
from app.jobs.engines.dask import quiet
from app.jobs.engines.dask_tasks import DIED, do_cell, hold
from app.services.sweeps.parallel import SHORT_S, Deaths, Keep, LostItem, Progress, begun

#: The scheduler must answer in this time [s]; whoever waits is asked this often whether to go on.
_PATIENCE_S, _ASK_S = 10.0, 0.1


_LOG = logging.getLogger("interlace.jobs")


#: The word of what several Dask workers died at.
_KILLER = "killer"


_LOST = "The connection to the Dask scheduler was lost."


class Cells:
    """Does many things on a cluster, as :func:`app.services.sweeps.parallel.each` does.

    Each is done in a process that may take ``memory_bytes``. Raises also WorkersUnavailable when
    the scheduler does not answer, or is lost.
    """

    def __init__(self, scheduler: str, memory_bytes: int) -> None:
        self._scheduler, self._memory_bytes = scheduler, memory_bytes

    def __call__(
        self,
        work: Callable[[Any], Any],
        items: Sequence[Any],
        progress: Progress | None = None,
        *,
        keep: Keep | None = None,
        short_s: float = SHORT_S,
    ) -> list[Any]:
        """Return ``work`` of each item, or :class:`LostItem`, in their order."""
        results: list[Any] = begun(work, items, progress, keep, short_s)
        left = items[len(results) :]
        if not left:
            return results

        def tell(done: int) -> None:
            if progress:
                progress(len(results) + done, len(items))

        def take(place: int, value: Any) -> None:
            if keep:
                keep(len(results) + place, value)

        return results + asyncio.run(self._all(pickle.dumps(work), left, tell, take))

    async def _all(
        self, work: bytes, items: Sequence[Any], tell: Callable[[int], None], keep: Keep
    ) -> list[Any]:
        quiet()
        try:
            client = await Client(  # type: ignore[no-untyped-call]
                self._scheduler, asynchronous=True, set_as_default=False, timeout=_PATIENCE_S
            )
        except OSError as error:
            raise WorkersUnavailable(
                f"The Dask scheduler {self._scheduler} does not answer: {error}"
            ) from error
        try:
            return await self._gathered(client, work, items, tell, keep)
        finally:
            with suppress(Exception):  # nothing more is asked of it
                await asyncio.wait_for(client.close(), _PATIENCE_S)

    async def _gathered(
        self,
        client: Client,
        work: bytes,
        items: Sequence[Any],
        tell: Callable[[int], None],
        keep: Keep,
    ) -> list[Any]:
        work_id = f"{VERSION}-{hashlib.sha256(work).hexdigest()[:16]}"
        try:
            held = client.submit(hold, work, key=f"interlace-work-{work_id}-{client.id}")

            def sent(place: int, attempt: int = 0) -> Future[Any]:
                return client.submit(
                    do_cell,
                    held,
                    work_id,
                    self._memory_bytes,
                    pickle.dumps(items[place]),
                    key=f"interlace-cell-{client.id}-{place}-{attempt}",
                    pure=False,
                )

            futures = {sent(place): place for place in range(len(items))}
        except ClosedClientError as error:
            raise WorkersUnavailable(_LOST) from error
        ended = as_completed(futures, loop=client.loop)  # type: ignore[no-untyped-call]
        values: dict[int, Any] = {}
        deaths, attempts = Deaths(), count(1)
        while len(values) < len(items):
            tell(len(values))
            await asyncio.sleep(_ASK_S)
            batch = ended.next_batch(block=False)  # type: ignore[no-untyped-call]
            for future, (word, found) in zip(batch, await results_of(client, batch), strict=True):
                place = futures.pop(future)  # nobody else holds it: the worker forgets it
                if word == DIED:
                    found = deaths.add(place, found, len(values))  # noqa: PLW2901
                    if found is None:
                        retried = sent(place, next(attempts))
                        futures[retried] = place
                        ended.add(retried)  # type: ignore[no-untyped-call]
                        continue
                values[place] = value_of(found) if word == OUTCOME else found
                keep(place, values[place])
        tell(len(values))
        return [values[i] for i in range(len(items))]


async def results_of(client: Client, batch: list[Future[Any]]) -> list[Any]:
    """Fetch what has ended; of what several workers died at that it is lost.

    Raises
    ------
    WorkersUnavailable
        When the connection was lost.
    """
    try:
        lost = {each: why for each in batch if (why := await _killer(each)) is not None}
        rest = [each for each in batch if each not in lost]
        found = dict(zip(rest, await client.gather(rest), strict=True))  # type: ignore[no-untyped-call]
        return [(_KILLER, lost[each]) if each in lost else found[each] for each in batch]
    except Exception as error:
        if any(each.status == "error" for each in batch):  # a task's own
            raise
        # whatever Dask raises then: it has forgotten what it was asked for
        _LOG.warning("A sweep waits for another connection to Dask: %r", error)
        raise WorkersUnavailable(_LOST) from error


async def _killer(future: Future[Any]) -> LostItem | None:
    """Say of what killed its Dask worker each time that it is lost; None of all else."""
    if future.status != "error":
        return None
    error = await future.exception()  # type: ignore[no-untyped-call]
    if not isinstance(error, KilledWorker):
        return None
    return LostItem(f"with its Dask worker, {error.last_worker.address}")
