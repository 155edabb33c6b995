"""What a call asks for besides its body: how long it waits, its key, its tags."""

import re
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Query, Request

from app.limits import (
    DEFAULT_WAIT_S,
    MAX_CALL_TAGS,
    MAX_KEY_CHARACTERS,
    MAX_TAG_CHARACTERS,
    MAX_WAIT_S,
)
from app.schemas.base import PLAIN

_PREFERRED = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?(\d{1,9})\"?\s*(?=$|[,;])")


_NO_STORE = re.compile(r"(?:^|,)\s*no-store\s*(?=$|,)", re.IGNORECASE)


WaitDep = Annotated[
    float | None,
    Query(
        ge=0,
        le=MAX_WAIT_S,
        allow_inf_nan=False,
        description=f"How long to wait for the end of the job [s]; left out, {DEFAULT_WAIT_S} or "
        "what the header `Prefer: wait=N` says.",
    ),
]


Tag = Annotated[str, Query(min_length=1, max_length=MAX_TAG_CHARACTERS, pattern=PLAIN)]


KeyDep = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=rf"^[!-~]{{1,{MAX_KEY_CHARACTERS}}}$",
        description="A word of the client, such as a UUID: for 24 h the same request with the same "
        "key gives the same job or run, whatever happened to the first answer.",
    ),
]


TagsDep = Annotated[
    list[Tag],
    Query(
        max_length=MAX_CALL_TAGS, description="Words by which lists find the job; may be repeated."
    ),
]


@dataclass(frozen=True, slots=True)
class Preferences:
    """How a job is asked for.

    Attributes
    ----------
    wait_s
        How long the call waits for its end [s].
    preferred
        Whether that comes from the header ``Prefer``, which an answer should acknowledge.
    tags
        Words of the client, each once.
    key
        Idempotency key; None without.
    fresh
        Whether an answer from storage will not do.
    """

    wait_s: float
    preferred: bool
    tags: tuple[str, ...]
    key: str | None
    fresh: bool


async def preferences_of(
    request: Request,
    wait: WaitDep = None,
    tag: TagsDep = [],  # noqa: B006 - FastAPI copies it
    prefer: Annotated[
        str | None,
        Header(
            description=f"`wait=N`: as the parameter `wait`, which wins; {MAX_WAIT_S} s at most."
        ),
    ] = None,
    idempotency_key: KeyDep = None,
    cache_control: Annotated[
        str | None,
        Header(description="`no-store`: solve anew what has been answered before."),
    ] = None,
) -> Preferences:
    """Read what a call asks for."""
    found = _PREFERRED.search(prefer or "")
    preferred = wait is None and found is not None
    if wait is None:
        wait = min(int(found[1]), MAX_WAIT_S) if found else DEFAULT_WAIT_S
    fresh = _NO_STORE.search(cache_control or "") is not None
    return Preferences(wait, preferred, tuple(dict.fromkeys(tag)), idempotency_key, fresh)


PreferencesDep = Annotated[Preferences, Depends(preferences_of)]
