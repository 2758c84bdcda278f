from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet import rundir
from shards.errors import ConfigError


@pytest.fixture(autouse=True)
def runtime_root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    # Not tmp_path, in whose long names no socket fits.
    with tempfile.TemporaryDirectory(prefix="f") as directory:
        monkeypatch.setenv("XDG_RUNTIME_DIR", directory)
        yield Path(directory)


def state(**changes: object) -> rundir.DevState:
    fields = {"pid": os.getpid(), "started": rundir.started(os.getpid()) or 0, "fleet": "dev", "namespace": "default"}
    return rundir.DevState(**{**fields, "kubeconfig": "k", "server": "s", **changes})  # type: ignore[arg-type]


def test_a_run_directory_is_private(runtime_root: Path) -> None:
    directory = rundir.create("run")
    assert directory.parent.parent == runtime_root
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    rundir.remove(directory)
    rundir.remove(directory)
    assert not directory.exists()


def test_a_directory_in_which_no_socket_fits_is_refused(runtime_root: Path) -> None:
    with pytest.raises(ConfigError, match="use a shorter run directory"):
        rundir.create("run", runtime_root / ("x" * 100))


def test_a_directory_that_cannot_be_made_is_refused(runtime_root: Path) -> None:
    (runtime_root / "file").touch()
    with pytest.raises(ConfigError, match="cannot be made"):
        rundir.create("run", runtime_root / "file" / "below")


def test_a_living_dev_is_found() -> None:
    rundir.write_dev_state(rundir.create("dev"), state())
    assert rundir.running_devs() == [state()]


def test_a_dev_that_died_without_cleaning_up_is_not_found_even_if_its_pid_lives_again() -> None:
    rundir.write_dev_state(rundir.create("dev"), state(started=1))
    assert rundir.running_devs() == []


def test_half_a_state_is_no_dev() -> None:
    (rundir.create("dev") / "dev.json").write_text('{"pid": 1')
    assert rundir.running_devs() == []


def test_the_start_of_a_process_is_known_while_it_lives() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    assert rundir.started(pid) is None
    assert (rundir.started(os.getpid()) or 0) > 0
