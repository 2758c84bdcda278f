from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from fleet.devcluster.doors.kubeconfig import write_kubeconfig


def test_who_has_the_old_file_open_keeps_reading_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text("old")
    with file.open() as reader:
        write_kubeconfig(file, "new")
        assert reader.read() == "old"
    assert file.read_text() == "new"


def test_others_cannot_read_the_token_in_it(tmp_path: Path) -> None:
    write_kubeconfig(tmp_path / "kubeconfig", "token: secret")
    assert stat.S_IMODE((tmp_path / "kubeconfig").stat().st_mode) == 0o600


def test_what_cannot_be_written_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_kubeconfig(file, "new")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("kubeconfig", "old")]


def test_a_link_keeps_leading_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    write_kubeconfig(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_kubeconfig(pipe, "new")
        assert os.read(reader, 100) == b"new"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
