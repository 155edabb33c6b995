"""Idempotency keys: for a day the same key with the same request is the same thing."""

import hashlib
from dataclasses import dataclass
from typing import Self

from app.codes import ServiceFaultCode
from app.errors import InvalidRequest
from app.limits import KEY_LIFETIME_H
from app.operations.callers import Caller
from app.storage.clock import Moment
from solver.errors import Fault


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """An idempotency key, and a hash of what it is used for."""

    key: str
    fingerprint: str

    @classmethod
    def of(cls, word: str, caller: Caller | None, *parts: str | bytes | bytearray) -> Self:
        """Return the key that a caller's word is: another owner's same word is another key."""
        own = word if caller is None else fingerprint(caller.owner, word)
        return cls(own, fingerprint(*parts))

    def check(self, fingerprint: str) -> None:
        """Raise InvalidRequest unless it was used for the same before."""
        if fingerprint != self.fingerprint:
            detail = "Idempotency-Key: this key was used for another request in the last 24 h."
            raise InvalidRequest(
                [Fault("/header/Idempotency-Key", ServiceFaultCode.IDEMPOTENCY_KEY_REUSED, detail)]
            )


def counts_since() -> Moment:
    """Return the time from which on a use of a key counts."""
    return Moment(KEY_LIFETIME_H * 3_600)


def fingerprint(*parts: str | bytes | bytearray) -> str:
    """Hash texts, and where each of them ends."""
    found = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        found.update(len(content).to_bytes(8))
        found.update(content)
    return found.hexdigest()
