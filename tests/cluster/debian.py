"""Programs from Debian's packages: downloaded and unpacked once, never installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.cluster.gobuild import BuildFailed, Say, cache_root, locked


def program(package: str, name: str, say: Say) -> Path:
    """`/usr/bin/<name>` of the package, below the cache. Raises BuildFailed where it cannot be had."""
    target = cache_root() / f"{name}-debian" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.parent / "lock"):
        if not target.exists():
            say(f"downloading Debian's {package}")
            _download(package, target)
    return target


def _download(package: str, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        try:
            _run(scratch, "apt-get", "download", package)
        except BuildFailed:
            # A fresh machine has no lists of packages yet.
            _run(scratch, "apt-get", "update")
            _run(scratch, "apt-get", "download", package)
        _run(scratch, "sh", "-c", "dpkg -x *.deb unpacked")
        shutil.move(Path(scratch) / "unpacked" / "usr" / "bin" / target.name, target)


def _run(directory: str, *command: str) -> None:
    """Raises BuildFailed."""
    try:
        subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise BuildFailed(f"a program of Debian's needs {command[0]}") from None
    except subprocess.CalledProcessError as error:
        raise BuildFailed(f"{' '.join(command)}: {error.stderr.strip()}") from None
