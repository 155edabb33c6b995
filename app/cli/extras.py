"""What may not be installed, and what is said where it is missing."""

from importlib.util import find_spec

from app.cli.failures import MISUSED, CommandFailure

#: The extras of the distribution, and the modules of each that are imported by name.
_EXTRAS = {
    "service": (
        "alembic",
        "anyio",
        "cachetools",
        "docstring_parser",
        "fastapi",
        "fastapi_swagger",
        "httptools",
        "jinja2",
        "opentelemetry",
        "plotly",
        "prometheus_client",
        "pydantic_settings",
        "python_multipart",
        "sqlalchemy",
        "starlette",
        "uvicorn",
    ),
    "plots": ("matplotlib",),
    "remote": ("interlace_client", "httpx"),
}


def check_extra(what: str, extra: str, *, is_taken: bool = True) -> None:
    """Check that an extra is installed.

    Parameters
    ----------
    what
        The command or the flag that takes it.
    extra
        Its name.
    is_taken
        Whether it is, which a flag may leave open.

    Raises
    ------
    Failure
        When a module of it is missing.
    """
    if is_taken and any(find_spec(module) is None for module in _EXTRAS[extra]):
        raise _missing(what, extra)


def missing_extra(what: str, error: ModuleNotFoundError) -> CommandFailure | None:
    """Return what to say of a module that was not found; None when no extra brings it."""
    module = (error.name or "").partition(".")[0]
    extra = next((name for name, modules in _EXTRAS.items() if module in modules), None)
    return None if extra is None else _missing(what, extra)


def _missing(what: str, extra: str) -> CommandFailure:
    return CommandFailure(
        f"{what} needs the extra {extra!r}: pip install 'interlace[{extra}]'", code=MISUSED
    )
