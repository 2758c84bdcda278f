"""Run directories: where the processes of one pod meet, and where `fleet status` finds a running `fleet dev`.

    <runtime root>/fleet-<uid>/<kind>-<pid>/
        children.json, <name>.sock     see `fleet.processes.children`
        dev.json, kubeconfig.yaml      `fleet dev` only: where its server is
        fleet.log                      `fleet dev` only: what its processes log

Private to the user (mode 0700). The runtime root is $XDG_RUNTIME_DIR, else the directory for temporary files.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

import msgspec

from fleet.processes.children import prepare, socket_path
from shards.errors import ConfigError

_LONGEST_CHILD_NAME = "worker-63"


class DevState(msgspec.Struct, frozen=True):
    """What a running `fleet dev` tells other commands of the same user.

    started: start time of the process in clock ticks after boot (field 22 of /proc/<pid>/stat), so that another
    process with the same number is not taken for it.
    """

    pid: int
    started: int
    fleet: str
    namespace: str
    kubeconfig: str
    server: str


def root() -> Path:
    """The directory of this user's run directories; made when missing. Raises ConfigError if it is another's."""
    place = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    directory = Path(place) / f"fleet-{os.getuid()}"
    prepare(directory)
    if directory.stat().st_uid != os.getuid():
        raise ConfigError("", f"{directory} belongs to another user; point XDG_RUNTIME_DIR at a directory of your own")
    return directory


def create(kind: str, chosen: Path | None = None) -> Path:
    """A run directory: `chosen`, or a fresh one of our own under the root.

    kind: "run" or "dev". Raises ConfigError for a path that cannot be made, or in which no unix socket fits.
    A fresh one is held for as long as this process or a child of it lives; what killed ones left is removed.
    """
    if chosen is None:
        _remove_left(root(), kind)
    directory = (chosen if chosen is not None else root() / f"{kind}-{os.getpid()}").absolute()
    prepare(directory)
    socket_path(directory, _LONGEST_CHILD_NAME)
    if chosen is None:
        _hold(directory)
    return directory


def _hold(directory: Path) -> None:
    """A lock that ends with the last process that has it, however it ends. Open for good, on purpose."""
    held = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    with contextlib.suppress(OSError):  # a file system without locks: the process alone decides there
        fcntl.flock(held, fcntl.LOCK_SH)


def _remove_left(place: Path, kind: str) -> None:
    """Directories of which neither the process nor the lock is there any more.

    The lock alone would take one that was made this moment; the process alone, one of another container.
    """
    for directory in place.glob(f"{kind}-*"):
        number = directory.name.rpartition("-")[2]
        if not number.isdecimal() or started(int(number)) is not None:
            continue
        try:
            found = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            continue
        try:
            fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(directory)
        except OSError:
            continue  # a child of it ends just now
        finally:
            os.close(found)


def remove(directory: Path) -> None:
    """Remove a run directory with everything in it; one that is gone is fine."""
    shutil.rmtree(directory, ignore_errors=True)


def started(pid: int) -> int | None:
    """Start time of a process in clock ticks after boot; None when there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The second field is the command in brackets and may hold anything, brackets and blanks too.
    return int(stat.rpartition(b")")[2].split()[19])


def write_dev_state(directory: Path, state: DevState) -> None:
    """Make a `fleet dev` findable. In one move: readers see nothing or all of it."""
    draft = directory / "dev.json.new"
    draft.write_bytes(msgspec.json.encode(state))
    draft.replace(directory / "dev.json")


def running_devs() -> list[DevState]:
    """Every `fleet dev` of this user that is alive, the newest first."""
    found = []
    for file in root().glob("dev-*/dev.json"):
        try:
            state = msgspec.json.decode(file.read_bytes(), type=DevState)
        except (OSError, msgspec.MsgspecError):
            continue  # it is ending, or was killed while it began
        if started(state.pid) == state.started:
            found.append(state)
    return sorted(found, key=lambda state: state.started, reverse=True)
