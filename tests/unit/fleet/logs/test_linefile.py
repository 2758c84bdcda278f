"""Lines on a disk that may be full."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleet.logs.linefile import LineFile
from tests.unit.fleet.disks import Disk


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def file(tmp_path: Path) -> LineFile:
    return LineFile(tmp_path / "lines", lambda count: f"lost {count}".encode(), anew=False)


def lines(file: LineFile) -> list[str]:
    return [each.rstrip() for each in file.path.read_text().splitlines()]


def test_lines_are_in_the_file_at_once(file: LineFile) -> None:
    assert file.write(b"one\ntwo\n", 2)
    assert lines(file) == ["one", "two"]
    assert file.lost == 0


def test_a_line_that_does_not_fit_is_not_in_the_file_and_is_told_of(file: LineFile, disk: Disk) -> None:
    file.write(b"one\n", 1)
    disk.limit = 30
    assert not file.write(b"x" * 40 + b"\n", 1)
    assert lines(file) == ["one", "lost 1"]


def test_lines_make_room_for_the_marker_and_are_lost_with_the_rest(file: LineFile, disk: Disk) -> None:
    for each in range(5):
        file.write(f"line {each} of five\n".encode(), 1)
    disk.limit = file.path.stat().st_size
    file.write(b"one more\n", 1)
    assert lines(file) == ["line 0 of five", "line 1 of five", "line 2 of five", "line 3 of five", "lost 2"]
    assert file.lost == 2


def test_the_marker_counts_on_in_its_place(file: LineFile, disk: Disk) -> None:
    file.write(b"a line that makes room\n", 1)
    disk.limit = file.path.stat().st_size
    for _ in range(1000):
        file.write(b"x" * 40 + b"\n", 1)
    assert lines(file) == ["lost 1001"]


def test_when_there_is_room_again_the_marker_goes(file: LineFile, disk: Disk) -> None:
    disk.limit = 20
    file.write(b"x" * 40 + b"\n", 1)
    assert (lines(file), file.open_losses) == (["lost 1"], 1)
    disk.limit = 1000
    file.write(b"two\n", 1)
    assert lines(file) == ["two"]
    assert (file.lost, file.open_losses) == (1, 0)


def test_where_not_even_a_marker_fits_the_file_has_whole_lines_only(file: LineFile, disk: Disk) -> None:
    disk.limit = 5
    assert not file.write(b"a longer line\n", 1)
    assert lines(file) == []
    assert file.lost == 1


def test_the_log_says_so_once(file: LineFile, disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    disk.limit = 0
    for _ in range(3):
        file.write(b"one\n", 1)
    assert [each.levelname for each in caplog.records] == ["WARNING"]
    assert "No space left on device" in caplog.text


def test_a_file_that_is_opened_again_goes_on_or_begins_anew(file: LineFile) -> None:
    file.write(b"one\n", 1)
    file.close()
    file.close()
    again = LineFile(file.path, lambda count: b"", anew=False)
    again.write(b"two\n", 1)
    assert lines(again) == ["one", "two"]
    assert LineFile(file.path, lambda count: b"", anew=True).path.read_bytes() == b""


def test_a_pipe_takes_lines_too(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    file = LineFile(tmp_path / "pipe", lambda count: b"lost", anew=True)
    assert file.write(b"one\n", 1)
    assert file.write(b"two\n", 1)
    assert os.read(reader, 100) == b"one\ntwo\n"
    file.close()
    os.close(reader)
