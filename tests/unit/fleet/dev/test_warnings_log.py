from __future__ import annotations

from pathlib import Path

import pytest

from fleet.dev.warnings_log import WarningsLog

INFO = "2026-01-31T12:00:00.123Z INFO    worker-0 fleet.workers.member: member dev-0 at epoch 1"


def failed(name: str, attempt: int = 1) -> str:
    logger = "shards.reconcile"
    return f"2026-01-31T12:00:00.123Z WARNING worker-0 {logger}: websites {name} failed, attempt {attempt}"


@pytest.fixture
def log(tmp_path: Path) -> WarningsLog:
    return WarningsLog(tmp_path / "fleet.log")


def write(log: WarningsLog, *lines: str, end: str = "\n") -> None:
    with log.file.open("a") as stream:
        stream.write("\n".join(lines) + end)
    log.read()


def test_without_a_file_there_are_no_warnings(log: WarningsLog) -> None:
    log.read()
    assert (log.count, log.last(3)) == (0, [])


def test_warnings_and_worse_are_counted_and_nothing_else(log: WarningsLog) -> None:
    error = failed("demo/b").replace("WARNING", "ERROR  ")
    write(log, INFO, failed("demo/a"), "Traceback (most recent call last):", "  raise WARNING text", "", error)
    assert log.count == 2
    assert log.last(3) == [failed("demo/a"), error]


def test_a_line_that_is_half_written_is_taken_once_it_is_whole(log: WarningsLog) -> None:
    line = failed("demo/a")
    write(log, line[:60], end="")
    assert log.count == 0
    write(log, line[60:])
    log.read()
    assert (log.count, log.last(1)) == (1, [line])


def test_the_last_one_about_each_name_goes_before_the_last_ones(log: WarningsLog) -> None:
    write(log, failed("demo/a"), failed("demo/b"), failed("demo/a", 2), failed("demo/aa"), failed("demo/c"))
    assert log.last(2) == [failed("demo/aa"), failed("demo/c")]
    assert log.last(3, about=["demo/b", "demo/a"]) == [failed("demo/b"), failed("demo/a", 2)]
    assert log.last(1, about=["demo/b", "demo/a"]) == [failed("demo/a", 2)]
    assert log.last(1, about=["demo/x"]) == [failed("demo/c")]
