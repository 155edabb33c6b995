"""Settings, read from environment variables that start with ``INTERLACE_``."""

import os
from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


def _data_dir() -> Path:
    """Directory for user data by the XDG rules."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "interlace"


class Settings(BaseSettings):
    """What an operator can choose.

    Attributes
    ----------
    data_dir
        Where the default database lives; made when missing.
    database_url
        SQLAlchemy URL; a SQLite file in ``data_dir`` when left out.
    max_body_bytes
        Longest request body that is read [bytes].
    """

    model_config = SettingsConfigDict(env_prefix="INTERLACE_", env_ignore_empty=True, frozen=True)

    data_dir: Path = Field(default_factory=_data_dir)
    database_url: str | None = None
    max_body_bytes: Annotated[int, Field(ge=1, le=2**30)] = 256 * 2**20
