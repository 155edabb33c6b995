"""Modules of the client that are made, and how."""

import re
from types import ModuleType

import pytest

from app.write_client import blocking, problems
from tests.app.service import ROOT


@pytest.mark.parametrize("writer", [problems, blocking], ids=["problems", "blocking"])
def test_what_is_made_is_on_disk(writer: ModuleType) -> None:
    assert (ROOT / writer.MODULE).read_text("utf-8") == writer.module(), "stale: run make openapi"


def test_nothing_of_asyncio_is_left() -> None:
    made = blocking.module().replace("Made of the client for asyncio", "")
    assert not re.search("async|await", made, re.IGNORECASE)


def test_words_are_replaced_where_they_are_names() -> None:
    text = "".join(blocking._SENTENCES) + (
        'async def aclose(self) -> None:  # async\n    await asyncio.sleep(await n("await"))\n'
    )
    assert blocking.blocking(text).endswith(
        'def close(self) -> None:  # async\n    time.sleep(n("await"))\n'
    )


def test_sentence_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match=r"Once in .*async_client"):
        blocking.blocking("import asyncio\n")
