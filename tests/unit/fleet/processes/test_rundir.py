from __future__ import annotations

import os
import signal
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet.processes import rundir
from shards.errors import ConfigError
from tests.unit.fleet.processes.processes import Forked


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


def make_and_die() -> int:
    directory = rundir.create("dev")
    (directory / "fleet.log").write_text("...")
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def test_what_a_killed_process_left_is_removed_by_the_next_one() -> None:
    with Forked(make_and_die) as killed:
        killed.exit_code()
    left = rundir.root() / f"dev-{killed.pid}"
    assert left.exists()
    rundir.create("run")
    assert left.exists()
    made = rundir.create("dev")
    assert not left.exists()
    assert made.exists()


def test_a_directory_whose_process_or_a_child_of_it_lives_is_left_alone(runtime_root: Path) -> None:
    rundir.create("dev")
    mine = rundir.root() / f"dev-{os.getpid()}"
    # As it looks from another container: no process of that number here.
    other = mine.rename(rundir.root() / "dev-4194304999")
    rundir.create("dev")
    assert other.exists()
