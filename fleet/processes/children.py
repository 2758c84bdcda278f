"""Where a pod's processes find each other: files in the run directory.

`children.json`: name -> {"pid", "count"} of the children that are alive. `<name>.sock`: the unix socket of a child.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from shards.errors import ConfigError

CHILDREN_FILE = "children.json"
_SOCKET_PATH_BYTES_MAX = 107
"""sun_path of unix(7) holds 108 bytes with its final zero."""


class ChildRecord(msgspec.Struct, frozen=True):
    """A living child. count: 1 for its first incarnation."""

    pid: int
    count: int


_decoder = msgspec.json.Decoder(dict[str, ChildRecord])


def prepare(run_dir: Path) -> None:
    """Makes the directory, for this user only. Raises ConfigError when that is impossible."""
    try:
        run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError("", f"the run directory {run_dir} cannot be made: {error.strerror}") from error


def socket_path(run_dir: Path, name: str) -> Path:
    """Where the child `name` answers. Raises ConfigError for a path that the kernel cannot bind."""
    path = run_dir / f"{name}.sock"
    if len(os.fsencode(path)) > _SOCKET_PATH_BYTES_MAX:
        raise ConfigError(
            "", f"the socket path {path} is longer than {_SOCKET_PATH_BYTES_MAX} bytes; use a shorter run directory"
        )
    return path


def write_children(run_dir: Path, children: Mapping[str, ChildRecord]) -> None:
    """Replaces `children.json` in one move: a reader sees the old list or the new one, never a part."""
    target = run_dir / CHILDREN_FILE
    draft = target.with_suffix(".json.new")
    draft.write_bytes(msgspec.json.encode(children))
    draft.replace(target)


def read_children(run_dir: Path) -> dict[str, ChildRecord]:
    """The children that are alive; empty when no supervisor has written the file yet."""
    try:
        return _decoder.decode((run_dir / CHILDREN_FILE).read_bytes())
    except FileNotFoundError:
        return {}
