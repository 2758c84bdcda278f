"""How much memory this pod's processes may use together, and how much they do: cgroups, version 1 and 2.

What counts is what the kernel cannot simply take back: usage without the inactive pages of files, as the kubelet counts
it. Of several limits on the way to the root, the one that is nearest counts.
Sources: kernel.org Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst; cgroups(7).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
_UNLIMITED = 1 << 60
"""Version 1 writes the largest multiple of a page for no limit."""


class MemoryUse(NamedTuple):
    """In bytes. limit: above 0."""

    used: int
    limit: int

    @property
    def share(self) -> float:
        return self.used / self.limit


class _Files(NamedTuple):
    used: str
    limit: str
    inactive: str
    """Name of a line of memory.stat."""


_VERSION_1 = _Files("memory.usage_in_bytes", "memory.limit_in_bytes", "total_inactive_file")
_VERSION_2 = _Files("memory.current", "memory.max", "inactive_file")


@dataclass(frozen=True, slots=True)
class CgroupMemory:
    """The cgroups whose limits hold for this process, the innermost first. Looked up once: a process stays where it
    was started."""

    places: tuple[tuple[Path, _Files], ...]

    def use(self) -> MemoryUse | None:
        """Of the cgroup that is nearest to its limit; None: there is no limit, or nobody says."""
        found = [use for place, files in self.places if (use := _use_of(place, files)) is not None]
        return max(found, key=lambda use: use.share, default=None)


def cgroup_memory(own: Path = OWN, root: Path = ROOT) -> CgroupMemory:
    """Of this process. Within a container, root is its own cgroup, whatever the path says that the host knows."""
    try:
        lines = own.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers == "" and (root / "cgroup.controllers").exists():
            return CgroupMemory(_upwards(root, path, _VERSION_2))
        if "memory" in controllers.split(","):
            return CgroupMemory(_upwards(root / "memory", path, _VERSION_1))
    return CgroupMemory(())


def _upwards(root: Path, path: str, files: _Files) -> tuple[tuple[Path, _Files], ...]:
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    places = [root.joinpath(*parts[:depth]) for depth in range(len(parts), -1, -1)]
    return tuple((place, files) for place in places if (place / files.used).exists())


def _use_of(place: Path, files: _Files) -> MemoryUse | None:
    try:
        limit = (place / files.limit).read_text(encoding="ascii").strip()
        used = int((place / files.used).read_text(encoding="ascii"))
        stat = (place / "memory.stat").read_text(encoding="ascii")
    except (OSError, ValueError):
        return None
    if not limit.isdigit() or not 0 < int(limit) < _UNLIMITED:
        return None
    inactive = sum(int(line.split()[1]) for line in stat.splitlines() if line.startswith(f"{files.inactive} "))
    return MemoryUse(max(used - inactive, 0), int(limit))
