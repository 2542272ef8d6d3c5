"""Logs: stable dotted events with fields, one line each, through the standard library's logging.

`log = get("reaper"); log.info("reaper.reaped", job_table="emails", requeued=3)` gives
`2026-11-30T10:00:00.123Z INFO reaper.reaped job_table=emails requeued=3`, or the same as a JSON object.
Registered secrets are masked in whatever is logged, an exception's text and traceback included.
"""

from __future__ import annotations

import json
import logging
import math
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TextIO
from urllib.parse import quote

from pgq_ops.masking import MASK, without_uri_passwords

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pgq_ops.log_writer import LogWriter

_ROOT = "pgq_ops"
_FIELDS = "pgq_ops_fields"
# The scheduler tells of each run that is late or still busy: both are expected, and told by us where they matter.
_TALKATIVE = {"apscheduler": logging.ERROR}

_secrets: set[str] = set()


def register_secrets(secrets: Iterable[str]) -> None:
    """Mask these texts from now on, as they are and as a URI or `repr()` writes them. Empty ones are ignored."""
    for secret in secrets:
        # Bytes that are no UTF-8 come out of the environment as surrogates.
        quoted = quote(secret, safe="", errors="surrogateescape")
        _secrets.update({secret, quoted, repr(secret)[1:-1]} - {""})


def masked(text: str) -> str:
    """The text with every registered secret, and the password of each URI, replaced by ***."""
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return without_uri_passwords(text)


def one_line(text: str) -> str:
    """The text's lines as one: a remedy that had a line of its own stays apart from what is before and after it."""
    return " / ".join(" ".join(line.split()) for line in text.splitlines() if line.strip())


class Log:
    """Logs events of one part of the program. A field is a number, a text, a time, a duration or an exception."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(f"{_ROOT}.{name}")

    def debug(self, event: str, /, **fields: object) -> None:
        """Something that only helps to find a fault."""
        self._log(logging.DEBUG, event, fields)

    def info(self, event: str, /, **fields: object) -> None:
        """Something changed."""
        self._log(logging.INFO, event, fields)

    def warning(self, event: str, /, **fields: object) -> None:
        """Something that will need a person if it stays."""
        self._log(logging.WARNING, event, fields)

    def error(self, event: str, /, **fields: object) -> None:
        """Something failed; an exception goes in as a field, `error=`."""
        self._log(logging.ERROR, event, fields)

    def _log(self, level: int, event: str, fields: Mapping[str, object]) -> None:
        self._logger.log(level, event, extra={_FIELDS: fields})


def get(name: str) -> Log:
    """The log of one part of the program, such as "reaper"."""
    return Log(name)


def configure(
    form: Literal["text", "json"] = "text",
    level: int = logging.INFO,
    stream: TextIO | None = None,
    writer: LogWriter | None = None,
) -> None:
    """Send all logs, those of libraries too, to `writer`, else to `stream` (stderr by default), and nowhere else."""
    handler = logging.StreamHandler(stream or sys.stderr) if writer is None else _WriterHandler(writer)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.raiseExceptions = False  # a broken pipe behind stderr is no reason for a traceback
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level)
    for name, least in _TALKATIVE.items():
        logging.getLogger(name).setLevel(max(level, least))


class _WriterHandler(logging.Handler):
    """Formats in the thread that logs, and leaves the writing to another."""

    def __init__(self, writer: LogWriter) -> None:
        super().__init__()
        self._writer = writer

    def emit(self, record: logging.LogRecord) -> None:
        self._writer.put(self.format(record))


class TextFormatter(logging.Formatter):
    """One line an event: time, level, event, then `key=value` with quotes where a value needs them."""

    def format(self, record: logging.LogRecord) -> str:
        """Write the record as one line."""
        event, fields = _content(record)
        pairs = (f"{key}={_logfmt(value)}" for key, value in fields.items())
        return " ".join([_time(record), record.levelname, event, *pairs])


class JsonFormatter(logging.Formatter):
    """One JSON object an event: `ts`, `level`, `event`, then the fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Write the record as one line."""
        event, fields = _content(record)
        head = {"ts": _time(record), "level": record.levelname.lower(), "event": event}
        return json.dumps(head | fields | head)


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _content(record: logging.LogRecord) -> tuple[str, dict[str, Any]]:
    """The event and its masked fields; a library's message becomes a field under the library's name."""
    fields: dict[str, object] = dict(getattr(record, _FIELDS, {}))
    event = record.msg if hasattr(record, _FIELDS) else record.name
    if not hasattr(record, _FIELDS):
        fields["message"] = record.getMessage()
    if record.exc_info and record.exc_info[1]:
        fields.setdefault("error", record.exc_info[1])
    return str(event), {key: _plain(value) for key, value in _with_tracebacks(fields).items()}


def _with_tracebacks(fields: dict[str, object]) -> dict[str, object]:
    if not logging.getLogger().isEnabledFor(logging.DEBUG):
        return fields
    # Slow to import, and needed here only.
    import traceback  # noqa: PLC0415

    found = {
        f"{key}_traceback": "".join(traceback.format_exception(value))
        for key, value in fields.items()
        if isinstance(value, BaseException)
    }
    return fields | found


def _plain(value: object) -> str | float | None:
    """A field as JSON can hold it: times in ISO 8601, durations in seconds, exceptions by their text."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, BaseException):
        return one_line(masked(str(value))) or type(value).__name__
    return masked(str(value))


def _logfmt(value: str | float | None) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    if not value or not value.isprintable() or any(mark in value for mark in ' "=\\'):
        return json.dumps(value, ensure_ascii=not value.isprintable())
    return value
