"""Log records on their way between processes, and the lines that come out.

A record travels as one line of JSON: a reader that lost half of a line (its predecessor was killed while reading, the
writer while writing) finds its place again at the next newline. No pickles, so that a damaged line cannot run code.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

LogFormat = Literal["text", "json"]

RECORD_BYTES_MAX = 256 * 1024
"""Longest line between processes; a longer message is cut. More is a dump, not a log line."""
_MESSAGE_CHARACTERS_MAX = 32 * 1024
_CARRIED = (
    "name",
    "levelno",
    "levelname",
    "pathname",
    "lineno",
    "funcName",
    "created",
    "msecs",
    "process",
    "processName",
    "threadName",
    "exc_text",
    "stack_info",
)
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def _cut(text: str) -> str:
    if len(text) <= _MESSAGE_CHARACTERS_MAX:
        return text
    return f"{text[:_MESSAGE_CHARACTERS_MAX]} ... ({len(text) - _MESSAGE_CHARACTERS_MAX} characters cut)"


def extras_of(record: logging.LogRecord) -> dict[str, Any]:
    """What the caller added (`extra=`): numbers and booleans as they are, everything else as text."""
    return {
        name: value if isinstance(value, bool | int | float | None) else _cut(str(value))
        for name, value in vars(record).items()
        if name not in _STANDARD
    }


def encode_record(record: logging.LogRecord) -> bytes:
    """One line with its newline. The record's arguments and exception must be text already."""
    fields = {name: getattr(record, name) for name in _CARRIED}
    fields["msg"] = _cut(record.getMessage())
    for name in ("exc_text", "stack_info"):
        if fields[name]:
            fields[name] = _cut(fields[name])
    line = msgspec.json.encode(extras_of(record) | fields) + b"\n"
    if len(line) <= RECORD_BYTES_MAX:
        return line
    return msgspec.json.encode(fields | {"exc_text": None, "stack_info": None}) + b"\n"


def decode_record(line: bytes) -> logging.LogRecord | None:
    """None for a line that is damaged."""
    try:
        return logging.makeLogRecord(msgspec.json.decode(line, type=dict[str, Any]))
    except msgspec.DecodeError:
        return None


class TextFormatter(logging.Formatter):
    """`2026-01-31T12:00:00.123Z INFO    worker-0 fleet.workers.worker: message`, for people."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(processName)s %(name)s: %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        return _iso(record)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, process, logger, message, then extras and exception where there are any."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _iso(record),
            "level": record.levelname,
            "process": record.processName,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        if record.exc_text:
            line["exception"] = record.exc_text
        if record.stack_info:
            line["stack"] = record.stack_info
        return msgspec.json.encode(extras_of(record) | line).decode()


def formatter(log_format: LogFormat) -> logging.Formatter:
    return JsonFormatter() if log_format == "json" else TextFormatter()


def _iso(record: logging.LogRecord) -> str:
    """UTC with milliseconds: the lines of several pods are sorted by it."""
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
