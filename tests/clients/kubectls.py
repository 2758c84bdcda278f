"""Two kubectls that nobody here wrote: Debian's package, and one of the test cluster's version, from its module."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.gobuild import BuildFailed, GoProgram, Say, cache_root, locked

CURRENT = GoProgram(
    name="kubectl",
    shelf="kubectl",
    source=Path(__file__).resolve().parent / "kubectl",
    inputs=("main.go", "go.mod", "go.sum"),
    notice="building kubectl; a minute or two when nothing is cached",
)
DEBIAN_PACKAGE = "kubernetes-client"


@dataclass(frozen=True, slots=True)
class Kubectl:
    """A binary. minor: of its version 1.minor."""

    name: str
    binary: Path
    minor: int


def current(say: Say) -> Kubectl:
    """Raises BuildFailed."""
    modules = (CURRENT.source / "go.mod").read_text()
    minor = re.search(r"k8s\.io/kubectl v0\.(\d+)\.", modules)
    assert minor is not None
    return Kubectl("current", CURRENT.ensure(say), int(minor[1]))


def debians(say: Say) -> Kubectl:
    """Downloaded and unpacked once, not installed. Raises BuildFailed."""
    target = cache_root() / "kubectl-debian" / "kubectl"
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.parent / "lock"):
        if not target.exists():
            say(f"downloading Debian's {DEBIAN_PACKAGE}")
            _download(target)
    command = [str(target), "version", "--client", "--output=json"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return Kubectl("debian", target, int(json.loads(said)["clientVersion"]["minor"].rstrip("+")))


def _download(target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        try:
            _run(scratch, "apt-get", "download", DEBIAN_PACKAGE)
        except BuildFailed:
            # A fresh machine has no lists of packages yet.
            _run(scratch, "apt-get", "update")
            _run(scratch, "apt-get", "download", DEBIAN_PACKAGE)
        _run(scratch, "sh", "-c", "dpkg -x *.deb unpacked")
        shutil.move(Path(scratch) / "unpacked" / "usr" / "bin" / "kubectl", target)


def _run(directory: str, *command: str) -> None:
    """Raises BuildFailed."""
    try:
        subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise BuildFailed(f"Debian's kubectl needs {command[0]}") from None
    except subprocess.CalledProcessError as error:
        raise BuildFailed(f"{' '.join(command)}: {error.stderr.strip()}") from None


def main() -> int:
    """Gets both, where they are not there yet."""
    try:
        for get in (current, debians):
            print(get(lambda line: print(line, file=sys.stderr, flush=True)).binary)
    except BuildFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
