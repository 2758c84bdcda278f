"""Files in the run directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet.processes.children import CHILDREN_FILE, ChildRecord, prepare, read_children, socket_path, write_children
from shards.errors import ConfigError


def test_children_are_read_as_they_were_written_and_no_draft_is_left(tmp_path: Path) -> None:
    write_children(tmp_path, {"worker-0": ChildRecord(10, 1)})
    write_children(tmp_path, {"worker-0": ChildRecord(11, 2), "agent": ChildRecord(12, 1)})

    assert read_children(tmp_path) == {"worker-0": ChildRecord(11, 2), "agent": ChildRecord(12, 1)}
    assert [each.name for each in tmp_path.iterdir()] == [CHILDREN_FILE]


def test_before_a_supervisor_has_written_there_are_no_children(tmp_path: Path) -> None:
    assert read_children(tmp_path) == {}


def test_the_run_directory_is_private(tmp_path: Path) -> None:
    prepare(tmp_path / "a" / "b")

    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


def test_a_run_directory_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ConfigError, match=r"run directory .*file/run cannot be made"):
        prepare(tmp_path / "file" / "run")


def test_a_socket_path_that_the_kernel_cannot_bind_is_a_clear_error(tmp_path: Path) -> None:
    assert socket_path(Path("/run/fleet"), "worker-0") == Path("/run/fleet/worker-0.sock")
    with pytest.raises(ConfigError, match="use a shorter run directory"):
        socket_path(tmp_path / ("x" * 100), "worker-0")
