"""The name of each request: in its answer's ``X-Request-ID``, in the log and with its jobs."""

import json
import logging
import sys
import threading
import traceback
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal, TextIO

#: What is worked on here: a request, a job. Log lines say so.
REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)


JOB_ID: ContextVar[str | None] = ContextVar("job_id", default=None)


Format = Literal["json", "text"]


Level = Literal["debug", "info", "warning", "error"]


#: What every record has; whatever else it has was given for the log.
_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


#: Loggers of the service itself; others speak only when something is wrong.
_OURS = ("interlace", "uvicorn")


class JsonLines(logging.Formatter):
    """An object a line: time, level, logger, message, request_id and job_id where known, more."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        fields = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().strip(),
            **_fields(record),
        }
        if trace := _trace(record):
            fields["exception"] = trace
        return json.dumps(fields, default=str)


class TextLines(logging.Formatter):
    """The same for people: a line, and below it the traceback if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        told = record.getMessage().strip()
        fields = [f"{key}={value}" for key, value in _fields(record).items() if value is not None]
        start = f"{_time(record)} {record.levelname:7} {record.name}:"
        line = " ".join([start, told, *fields])
        plain = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
        return "\n".join(filter(None, [plain, _trace(record).rstrip()]))


class LineHandler(logging.StreamHandler[TextIO]):
    """Writes lines alone: what breaks one, it says in another.

    The library would print a traceback among the lines instead. Of what cannot be written, to a
    full disk, say, nobody can be told: that line is lost, and no more.
    """

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - of the library
        """Say what broke a line."""
        trace = sys.exc_info()
        if isinstance(trace[1], OSError):
            return
        fields = {"name": record.name, "levelno": logging.ERROR, "levelname": "ERROR"}
        told = {**fields, "msg": "A line of the log cannot be made", "exc_info": trace}
        with suppress(OSError, ValueError):  # it is full, or closed
            self.stream.write(self.format(logging.makeLogRecord(told)) + self.terminator)


_FORMATS: dict[Format, type[logging.Formatter]] = {"json": JsonLines, "text": TextLines}


def install(form: Format | None, level: Level) -> None:
    """Send all that is logged in this process to standard error, and what nothing catches.

    Parameters
    ----------
    form
        None takes text on a terminal, else JSON.
    level
        Of the service's own loggers; of others at least ``warning``.
    """
    handler = LineHandler()
    handler.setFormatter(_FORMATS[form or ("text" if sys.stderr.isatty() else "json")]())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(logging.WARNING, _number(level)))
    for name in _OURS:
        logging.getLogger(name).setLevel(_number(level))
    logging.captureWarnings(capture=True)
    sys.excepthook = _on_crash
    threading.excepthook = _on_thread_crash


def _number(level: Level) -> int:
    return logging.getLevelNamesMapping()[level.upper()]


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    known = {"request_id": REQUEST_ID.get(), "job_id": JOB_ID.get()}
    given = {key: value for key, value in vars(record).items() if key not in _USUAL}
    return {key: value for key, value in known.items() if value is not None} | given


def _trace(record: logging.LogRecord) -> str:
    """Return the traceback of a record; empty when it has none."""
    return "".join(traceback.format_exception(*record.exc_info)) if record.exc_info else ""


def _on_crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    logging.getLogger("interlace").critical("The process failed", exc_info=(kind, error, trace))


def _on_thread_crash(crash: threading.ExceptHookArgs) -> None:
    if crash.exc_value is not None:
        _on_crash(crash.exc_type, crash.exc_value, crash.exc_traceback)
