"""The client that blocks, made of the one for asyncio by names: nothing else differs."""

import tokenize
from io import StringIO
from pathlib import Path

#: What is written, and of what.
MODULE = Path("client/interlace_client/client.py")
_SOURCE = MODULE.with_name("async_client.py")
#: What is said of asyncio alone, and what is said instead; each is there once.
_SENTENCES = {
    '''\
"""The client for asyncio, of which the one that blocks is made: ``python -m app.write_client``.

A signature that would fit in one line without ``async`` has a comma at its end, for the formatter.
"""
''': '''\
"""The client that blocks.

Made of the client for asyncio by ``python -m app.write_client``.
"""
''',
    "A service, for asyncio; each call returns when it is answered.\n": (
        "A service; each call returns when it is answered. Safe for several threads.\n"
    ),
    """
    ``on_progress`` may be a coroutine function. ``timeout_s`` bounds the phases of a request under
    way together, too. A task that is cancelled leaves its job running.
""": "",
}
#: Words of asyncio, and those of a client that blocks; None for none.
_WORDS = {
    "async": None,
    "await": None,
    "asyncio": "time",
    "AsyncBaseTransport": "BaseTransport",
    "AsyncClient": "Client",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "aclose": "close",
    "async_exchange": "exchange",
    "async_tell": "tell",
}


def module() -> str:
    """Return the module's text, of the file beside it."""
    return blocking(_SOURCE.read_text(encoding="utf-8"))


def blocking(text: str) -> str:
    """Return what a client for asyncio is when it blocks.

    Raises
    ------
    ValueError
        When a sentence about asyncio is not there once.
    """
    for found, instead in _SENTENCES.items():
        if text.count(found) != 1:
            raise ValueError(f"Once in {_SOURCE}, please: {found!r}.")
        text = text.replace(found, instead)
    lines = text.splitlines(keepends=True)
    for token in reversed(list(tokenize.generate_tokens(StringIO(text).readline))):
        if token.type == tokenize.NAME and token.string in _WORDS:
            (row, start), (_, end) = token.start, token.end
            line, word = lines[row - 1], _WORDS[token.string]
            rest = line[end:] if word else line[end:].lstrip()
            lines[row - 1] = f"{line[:start]}{word or ''}{rest}"
    return "".join(lines)
