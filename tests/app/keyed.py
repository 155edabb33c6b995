"""A server that wants keys, and clients that have some."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from app.operations.settings import Settings
from app.storage import keys
from app.storage.database import Store
from app.storage.keys import ApiKey, NewKey
from tests.app.service import PATIENT, Service, running


@dataclass(frozen=True)
class Keyed:
    """A running server that wants keys."""

    service: Service
    store: Store

    def key(self, owner: str, *scopes: str, team: str | None = None, **limits: float) -> str:
        """Make a key; return its text."""
        return make(self.store, owner, *scopes, team=team, limits=limits)[0]

    def client(self, key: str | None) -> httpx2.Client:
        """Return a client with a key, or with none."""
        headers = PATIENT if key is None else {**PATIENT, "authorization": f"Bearer {key}"}
        return httpx2.Client(
            base_url=self.service.client.base_url, headers=headers, timeout=None, trust_env=False
        )

    def of(self, owner: str, *scopes: str, team: str | None = None, **limits: float) -> Any:
        """Return a client with a new key of an owner."""
        return self.client(self.key(owner, *scopes, team=team, **limits))

    def log(self) -> list[dict[str, Any]]:
        """Return the lines of the server's log."""
        lines = self.service.log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


def make(
    store: Store,
    owner: str,
    *scopes: str,
    team: str | None = None,
    expires_at: str | None = None,
    limits: dict[str, float] | None = None,
) -> tuple[str, ApiKey]:
    """Make a key; it submits when no scope is named."""
    what = f"key of {owner}"
    new = NewKey(what, owner, team, scopes or ("submit",), expires_at, limits or {})
    return keys.make(store, new)


@contextmanager
def keyed(data_dir: Path, script: str = "", **settings: str) -> Iterator[Keyed]:
    """Run a server for others, who need keys for it."""
    store = Store(Settings(data_dir=data_dir))
    make(store, "nobody in particular")  # without any key it would not start
    settings = {"INTERLACE_LOG_FORMAT": "json", **settings}
    try:
        with running(data_dir, script, "--allow-remote", **settings) as service:
            yield Keyed(service, store)
    finally:
        store.close()
