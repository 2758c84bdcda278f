"""The limit that a container's processes share, as both versions of cgroups tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet.processes.cgroup_memory import MemoryUse, cgroup_memory

MIB = 2**20


def cgroup(place: Path, *, used: int, limit: str, inactive: int = 0, version: int = 2) -> None:
    place.mkdir(parents=True, exist_ok=True)
    names = {1: ("memory.usage_in_bytes", "memory.limit_in_bytes", "total_inactive_file")}
    current, most, line = names.get(version, ("memory.current", "memory.max", "inactive_file"))
    (place / current).write_text(f"{used}\n")
    (place / most).write_text(f"{limit}\n")
    (place / "memory.stat").write_text(f"anon 5\n{line} {inactive}\nactive_file 7\n")


def own(directory: Path, text: str) -> Path:
    file = directory / "cgroup"
    file.write_text(text)
    return file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "fs"
    root.mkdir()
    return root


def test_version_2_without_the_pages_that_the_kernel_takes_back(tmp_path: Path, root: Path) -> None:
    (root / "cgroup.controllers").touch()
    cgroup(root, used=500 * MIB, limit=str(512 * MIB), inactive=100 * MIB)
    assert cgroup_memory(own(tmp_path, "0::/\n"), root).use() == MemoryUse(400 * MIB, 512 * MIB)


def test_version_1(tmp_path: Path, root: Path) -> None:
    cgroup(root / "memory" / "kubepods" / "pod1", used=300, limit="400", inactive=20, version=1)
    file = own(tmp_path, "11:cpu,cpuacct:/x\n4:memory:/kubepods/pod1\n0::/unified\n")
    assert cgroup_memory(file, root).use() == MemoryUse(280, 400)


def test_a_path_that_only_the_host_knows_leads_to_the_container_s_own(tmp_path: Path, root: Path) -> None:
    cgroup(root / "memory", used=300, limit="400", version=1)
    assert cgroup_memory(own(tmp_path, "4:memory:/kubepods/pod1/abc\n"), root).use() == MemoryUse(300, 400)
    (root / "cgroup.controllers").touch()
    cgroup(root, used=30, limit="40")
    assert cgroup_memory(own(tmp_path, "0::/../../pod1\n"), root).use() == MemoryUse(30, 40)


def test_of_several_limits_the_nearest_one_counts(tmp_path: Path, root: Path) -> None:
    (root / "cgroup.controllers").touch()
    cgroup(root / "a", used=90, limit="100")
    cgroup(root / "a" / "b", used=50, limit="200")
    assert cgroup_memory(own(tmp_path, "0::/a/b\n"), root).use() == MemoryUse(90, 100)


@pytest.mark.parametrize("limit", ["max", str(0x7FFFFFFFFFFFF000), "0", "", "many"])
def test_without_a_limit_there_is_nothing_to_near(tmp_path: Path, root: Path, limit: str) -> None:
    (root / "cgroup.controllers").touch()
    cgroup(root, used=90, limit=limit)
    assert cgroup_memory(own(tmp_path, "0::/\n"), root).use() is None


def test_where_nobody_says_there_is_no_limit_either(tmp_path: Path, root: Path) -> None:
    assert cgroup_memory(tmp_path / "nothing", root).use() is None
    assert cgroup_memory(own(tmp_path, "nonsense\n0::/\n"), root).use() is None


def test_of_this_very_process_it_can_be_read() -> None:
    use = cgroup_memory().use()
    assert use is None or 0 < use.used <= 2 * use.limit
