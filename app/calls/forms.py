"""Files of a body: the body itself, or a multipart form that holds them."""

import asyncio
from collections.abc import AsyncGenerator

from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers
from starlette.formparsers import MultiPartException, MultiPartParser

from app.errors import NotMultipart
from app.limits import MAX_FILES, MAX_PARAMETERS_BYTES

#: A form is read in pieces [bytes].
_PIECE = 2**20


def read_form(body: bytes, header: str) -> tuple[list[bytes], str | None]:
    """Return the files of a body, and the form's field ``parameters``, None without.

    Parameters
    ----------
    body
        One file, or a form: each of its files is one.
    header
        ``Content-Type`` of the body.

    Raises
    ------
    NotMultipart
        When it says that it is a form, and is none; also for too many files, and for too long
        parameters.
    """
    if header.partition(";")[0].strip().lower() != "multipart/form-data":
        return [body], None
    if not _is_closed(body, header):
        raise NotMultipart("The body is not a multipart form: its last boundary is missing.")
    try:
        return asyncio.run(_fields(body, header))
    except (MultiPartException, KeyError) as error:
        detail = getattr(error, "message", None) or "it has no boundary"
        raise NotMultipart(f"The body is not a multipart form: {detail}.") from None


async def _fields(body: bytes, header: str) -> tuple[list[bytes], str | None]:
    async def pieces() -> AsyncGenerator[bytes, None]:
        for i in range(0, len(body), _PIECE):
            yield body[i : i + _PIECE]

    parser = MultiPartParser(
        Headers({"content-type": header}),
        pieces(),
        max_files=MAX_FILES,
        max_part_size=MAX_PARAMETERS_BYTES,
    )
    form = await parser.parse()
    files, text = [], None
    try:
        for name, value in form.multi_items():
            held = value if isinstance(value, str) else await value.read(-1)
            if name == "parameters":
                if len(held) > MAX_PARAMETERS_BYTES:
                    raise NotMultipart(_LONG)
                text = held if isinstance(held, str) else held.decode("utf-8", "replace")
            elif isinstance(held, bytes):
                files.append(held)
    finally:
        await form.close()
    return files, text


_LONG = f"The form's field parameters is longer than {MAX_PARAMETERS_BYTES:,} bytes."


def _is_closed(body: bytes, header: str) -> bool:
    """Tell whether a form has not lost its end on the way."""
    boundary = parse_options_header(header)[1].get(b"boundary", b"")
    return body[-len(boundary) - 64 :].rstrip().endswith(b"--" + boundary + b"--")
