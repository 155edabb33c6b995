"""Requests for jobs, checked and hashed; children do it."""

from codecs import BOM_UTF8
from contextlib import suppress

import msgspec

from app import VERSION
from app.jobs.kinds import MODELS, RANKING
from app.jobs.requests import Checked
from app.jobs.sizes import is_small
from app.limits import BIG_BODY_BYTES
from app.reading.references import LargeGraph, Library
from app.reading.requests import read_body, read_plain
from app.references import resolve
from app.schemas.networks import CostModelBody
from app.storage.database import Store
from app.storage.idempotency import fingerprint
from app.storage.library import library_of


def check(store: Store, kind: str, body: bytes | bytearray) -> Checked:
    """Check a request for a job, for whoever sees the store.

    A request of more than :data:`BIG_BODY_BYTES`, its stored graph included, is checked by the job.

    Raises
    ------
    NotJson, InvalidRequest
        As :func:`app.reading.requests.read_body` does.
    """
    if len(body) <= BIG_BODY_BYTES:
        if kind == RANKING:
            return _read_shapes(body)
        with suppress(LargeGraph):
            return _read(store, kind, body)
    return Checked("", None, fingerprint(kind, VERSION, bytes(body)))


def _read(store: Store, kind: str, body: bytes | bytearray) -> Checked:
    seen = store.seen_by(store.caller and store.caller.as_owner())  # as the job will
    library, named = library_of(seen, BIG_BODY_BYTES), list[str]()

    def model(model_id: str) -> CostModelBody | None:
        named.append(model_id)
        return library.model(model_id)

    def graph(graph_id: str) -> str | None:
        named.append(graph_id)
        return library.graph(graph_id)

    found, request = read_body(body, resolve(MODELS[kind]), Library(model, graph))
    content = fingerprint(kind, VERSION, _sorted(body))
    name = request.own_name or (found.name if found else "")
    small = is_small(kind, found, request)
    return Checked(name, request.asked_s, content, not named, small)


def _read_shapes(body: bytes | bytearray) -> Checked:
    from app.schemas.shapes import ShapeRequest  # noqa: PLC0415 - takes time
    from app.services.shape_spaces import checked_space  # noqa: PLC0415 - takes time

    request = read_plain(body, ShapeRequest)
    checked_space(request)
    content = fingerprint(RANKING, VERSION, _sorted(body))
    return Checked(request.own_name, request.asked_s, content, is_lasting=True)


def _sorted(body: bytes | bytearray) -> bytes:
    """Write JSON without its spaces and the order of its keys."""
    value = msgspec.json.decode(body.removeprefix(BOM_UTF8))
    return msgspec.json.encode(value, order="sorted")
