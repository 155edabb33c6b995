"""Large bodies that come slowly: their owner keeps nobody else's waiting."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from app.limits import BIG_BODY_BYTES, MAX_BIG_BODIES
from app.operations.settings import Settings
from app.storage.database import Store
from tests.app.frozen import frozen
from tests.app.keyed import make
from tests.app.test_bad_input import HEAD, MIB, heard
from tests.waiting import until

pytestmark = pytest.mark.live


def test_large_bodies_of_one_owner_keep_no_other_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Owners take turns: one that holds none has a turn though all are taken."""
    store = Store(Settings(data_dir=tmp_path))
    slow, other = (make(store, owner)[0] for owner in ("slow", "other"))
    store.close()
    head = (
        HEAD.replace(b"/plans", b"/plans?wait=0")
        + b"Authorization: Bearer %b\r\nContent-Length: %d\r\n\r\n"
    )
    large = b" " * (BIG_BODY_BYTES + 1)
    with frozen(tmp_path, monkeypatch, require_keys=True) as server, ExitStack() as stack:
        clients = [stack.enter_context(server.connected()) for _ in range(MAX_BIG_BODIES + 2)]
        for client in clients:
            client.sendall(head % (slow.encode(), 100 * MIB) + large)
        turns = server.state.bodies
        until(lambda: len(turns._waiting.get("slow", ())) == 2)
        assert turns._at_work == {"slow": MAX_BIG_BODIES}
        body = large + b"{}"
        with server.connected() as client:
            client.sendall(head % (other.encode(), len(body)) + body)
            assert heard(client)[0] == 202, "it was read to its end"
