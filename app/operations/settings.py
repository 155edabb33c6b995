"""Settings, read from environment variables that start with ``INTERLACE_``."""

import os
from collections.abc import Iterable
from importlib.util import find_spec
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from pydantic import AfterValidator, Field, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from app.operations.callers import Quotas
from app.operations.cores import cores
from app.operations.databases import url_of, without_secrets
from app.operations.logs import Format, Level
from solver.wording import nearest


def _data_dir() -> Path:
    """Directory for user data by the XDG rules."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "interlace"


def _network(text: str) -> str:
    """See that a text is a network, or an address."""
    try:
        ip_network(text)
    except ValueError as error:
        raise PydanticCustomError("network", "{why}", {"why": str(error)}) from None
    return text


NetworkText = Annotated[str, AfterValidator(_network)]


class Settings(BaseSettings):
    """What an operator can choose."""

    model_config = SettingsConfigDict(
        env_prefix="INTERLACE_", env_ignore_empty=True, frozen=True, use_attribute_docstrings=True
    )

    data_dir: Path = Field(default_factory=_data_dir)
    """Where the default database lives; made when missing."""

    database_url: str | None = None
    """`postgresql://` or `sqlite:///`; a SQLite file in `data_dir` when left out."""

    max_body_bytes: Annotated[int, Field(ge=1, le=2**30)] = 256 * 2**20
    """Longest request body that is read [bytes]."""

    workers: Annotated[int, Field(ge=1, le=1_024)] = Field(default_factory=cores)
    """Plans, simulations and imports that are worked on at once, beside which a small one may be;
    the number of cores when left out, and with a `scheduler` at least that of the threads of its
    workers."""

    scheduler: str | None = None
    """Dask scheduler whose workers do the jobs: `tcp://host:8786`, or `tls://` with certificates in
    Dask's configuration. Whoever reaches its port can run anything on all machines of the cluster.
    """

    max_queued: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000
    """Jobs that may wait in a queue; beyond, requests are refused."""

    max_queued_bytes: Annotated[int, Field(ge=1, le=2**50)] = 4 * 2**30
    """Requests and uploads that may wait in a queue [bytes]; one that waits alone may have more."""

    job_memory_bytes: Annotated[int, Field(ge=2**28)] = 4 * 2**30
    """Memory that a job may take, beside what its process begins with [bytes]."""

    job_grace_s: Annotated[float, Field(ge=0, le=3_600)] = 60
    """A job may take so much longer than its own time limit to read, bound and explain [s]."""

    answer_limit_s: Annotated[float, Field(gt=0, le=3_600)] = 120
    """A prediction, drawing or export that is no job, a fit or an estimate may take so long
    [s]."""

    retention_days: Annotated[float, Field(gt=0, le=36_500)] = 30
    """Jobs are deleted so long after their end [days]."""

    unused_days: Annotated[float, Field(gt=0, le=36_500)] = 90
    """Graphs and cost models are deleted when no request has named them for so long [days]."""

    require_keys: bool = False
    """Whether every call needs an API key; always with `--allow-remote`."""

    quota_requests_per_s: Annotated[float, Field(gt=0, le=1_000_000)] = 200
    """Requests a second of one key at one server; a second's worth may come at once."""

    quota_queued: Annotated[int, Field(ge=1, le=1_000_000)] = 100
    """Jobs of one owner that may wait."""

    quota_stored_bytes: Annotated[int, Field(ge=1)] = 10 * 2**30
    """What may be kept for one owner: jobs, graphs, cost models [bytes]."""

    quota_solving_s: Annotated[float, Field(gt=0)] = 86_400
    """How long the jobs of one owner may be worked on in a day, by UTC [s]."""

    address_requests_per_s: Annotated[float, Field(ge=0, le=1_000_000)] = 100
    """Requests a second without a known key that an address may send to a server; ten seconds'
    worth may come at once, and what is beyond waits for up to ten seconds. 0 is no limit."""

    address_connections: Annotated[int, Field(ge=0, le=1_000_000)] = 4_096
    """Connections that an address may have open; further ones are closed at once. 0 is no limit."""

    audit_days: Annotated[float, Field(gt=0, le=36_500)] = 365
    """It is remembered so long who changed what [days]."""

    min_free_bytes: Annotated[int, Field(ge=0, le=2**50)] = 64 * 2**20
    """The disk of a SQLite database has so much left, or `/readyz` says no [bytes]."""

    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    """Names by which the service is called, besides those of loopback and the one that it listens
    on, with commas between them; `*.example.org` is any name below one, `*` any."""

    allowed_origins: Annotated[tuple[str, ...], NoDecode] = ()
    """Origins whose pages may use the service in a browser, such as `https://example.org`, with
    commas between them."""

    trusted_proxies: Annotated[tuple[NetworkText, ...], NoDecode] = ("127.0.0.1",)
    """Networks of proxies, such as `10.0.0.0/8`, with commas between them: the client of a call
    from there is the last address in its `X-Forwarded-For` that is in none of them."""

    log_format: Format | None = None
    """`json` or `text`; text on a terminal and else JSON when left out."""

    log_level: Level = "info"
    """`debug`, `info`, `warning` or `error`."""

    @field_validator("allowed_hosts", "allowed_origins", "trusted_proxies", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        """Read a list with commas."""
        if not isinstance(value, str):
            return value
        return tuple(each.strip() for each in value.split(",") if each.strip())

    @property
    def quotas(self) -> Quotas:
        """What a key may use that was made without limits of its own."""
        return Quotas(
            requests_per_s=self.quota_requests_per_s,
            queued=self.quota_queued,
            stored_bytes=self.quota_stored_bytes,
            solving_s=self.quota_solving_s,
        )

    @field_validator("database_url")
    @classmethod
    def _check_url(cls, url: str | None) -> str | None:
        """Say at once that no driver takes a URL, without showing it: it may hold a password."""
        if url is not None:
            try:
                url_of(url)
            except ArgumentError as error:
                why = str(error).splitlines()[0]
                raise PydanticCustomError("database_url", "{why}", {"why": why}) from None
        return url

    @field_validator("scheduler")
    @classmethod
    def _check_scheduler(cls, address: str | None) -> str | None:
        """Say at once that an address is none, or that what speaks to it is not installed."""
        if address is None:
            return None
        scheme, _, place = address.partition("://")
        if scheme not in {"tcp", "tls"} or not place.rpartition(":")[2].isdecimal():
            raise PydanticCustomError(
                "scheduler", "An address is tcp://host:port or tls://host:port"
            )
        if find_spec("distributed") is None:
            raise PydanticCustomError(
                "scheduler", "Dask is not installed here: pip install 'interlace[cluster]'"
            )
        return address


_PREFIX = str(Settings.model_config["env_prefix"])


#: Variables of the command and the client, which the service does not read.
_OTHERS = ("SERVER", "API_KEY")


def unknown_variables(environment: Iterable[str]) -> list[str]:
    """Say of each variable that begins as settings do and is none what it may have been meant for.

    A setting that is misspelled would else have no effect and nobody would know.
    """
    known = [*(name.upper() for name in Settings.model_fields), *_OTHERS]
    told = []
    for variable in sorted(environment):
        name = variable.upper().removeprefix(_PREFIX)
        if name == variable.upper() or name in known:
            continue
        near = nearest(name, known)
        hint = f"Did you mean {_PREFIX}{near}?" if near else "`interlace config show` lists all."
        told.append(f"{variable} is no setting and has no effect. {hint}")
    return told


class Setting(TypedDict):
    """A setting as it is: its variable, value, where that comes from, and what it means."""

    variable: str
    value: Any
    source: Literal["environment", "default"]
    meaning: str


def described(settings: Settings) -> list[Setting]:
    """Describe each setting; passwords are hidden."""
    values = settings.model_dump(mode="json")
    if settings.database_url is not None:
        values["database_url"] = without_secrets(make_url(settings.database_url))
    return [
        {
            "variable": f"{_PREFIX}{name.upper()}",
            "value": values[name],
            "source": "environment" if name in settings.model_fields_set else "default",
            "meaning": " ".join((field.description or "").split()),
        }
        for name, field in Settings.model_fields.items()
    ]
