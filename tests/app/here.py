"""The service in the process of the tests, for what needs no server: nobody works on jobs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from starlette.testclient import TestClient

from app.calls import process
from app.calls.messages import Call
from app.operations.settings import Settings
from app.service import create_app
from app.storage.database import Store  # noqa: TC001 - so is Settings
from tests.app.service import PATIENT


class Here(TestClient):
    """A client of a service, which waits for no job; a failure inside is an answer."""

    def __init__(self, settings: Settings) -> None:
        app = create_app(settings)
        headers = {**PATIENT, "prefer": "wait=0"}
        super().__init__(app, "http://localhost", raise_server_exceptions=False, headers=headers)
        self.store: Store = app.state.store

        async def work(call: Call, file: IO[bytes] | None = None) -> Any:
            if file is not None:
                file.seek(0)
                call = call._replace(body=file.read())
            return process._result(self.store, call)

        for children in (app.state.answers, app.state.writers, app.state.readers):
            children.work = work  # here, too, instead of in a process


@contextmanager
def here(data_dir: Path, **settings: Any) -> Iterator[Here]:
    """Make a service with these settings, and put it away."""
    client = Here(Settings(data_dir=data_dir, **settings))
    try:
        yield client
    finally:
        client.store.close()
