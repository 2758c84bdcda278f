"""Records on their way between processes, and the lines that come out."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping

from fleet.logs.logformat import RECORD_BYTES_MAX, decode_record, encode_record, formatter


def _record(message: str, extra: Mapping[str, object] | None = None) -> logging.LogRecord:
    record = logging.getLogger("shards.test").makeRecord(
        "shards.test", logging.WARNING, "file.py", 7, message, (), None, extra=extra
    )
    record.processName = "worker-0"
    record.created = 1_700_000_000.25
    return record


def test_a_record_survives_the_way_with_its_extras_and_is_one_line() -> None:
    line = encode_record(_record("two\nlines", {"key": ("ns", "name"), "attempt": 3}))
    arrived = decode_record(line)

    assert line.count(b"\n") == 1
    assert arrived is not None
    assert (arrived.getMessage(), arrived.levelname, arrived.processName) == ("two\nlines", "WARNING", "worker-0")
    assert (vars(arrived)["key"], vars(arrived)["attempt"]) == ("('ns', 'name')", 3)


def test_a_damaged_line_is_recognised() -> None:
    assert decode_record(encode_record(_record("hello"))[5:]) is None


def test_a_message_that_is_far_too_long_is_cut_and_says_so() -> None:
    line = encode_record(_record("€" * 1_000_000, {f"extra{i}": "€" * 100_000 for i in range(20)}))
    arrived = decode_record(line)

    assert len(line) <= RECORD_BYTES_MAX
    assert arrived is not None
    assert "characters cut" in arrived.getMessage()


def test_text_lines_carry_time_level_process_and_logger() -> None:
    assert formatter("text").format(_record("hello")) == (
        "2023-11-14T22:13:20.250Z WARNING worker-0 shards.test: hello"
    )


def test_json_lines_carry_extras_and_the_exception() -> None:
    record = _record("hello", {"key": "ns/name"})
    try:
        raise RuntimeError("why")
    except RuntimeError:
        record.exc_info = sys.exc_info()

    line = json.loads(formatter("json").format(record))

    assert line["exception"].endswith("RuntimeError: why")
    del line["exception"]
    assert line == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "WARNING",
        "process": "worker-0",
        "logger": "shards.test",
        "message": "hello",
        "key": "ns/name",
    }
