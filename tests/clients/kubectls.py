"""Two kubectls that nobody here wrote: Debian's package, and one of the test cluster's version, from its module."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
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
        for command in (["apt-get", "download", DEBIAN_PACKAGE], ["sh", "-c", "dpkg -x *.deb unpacked"]):
            try:
                subprocess.run(command, cwd=scratch, check=True, capture_output=True, text=True)
            except FileNotFoundError:
                raise BuildFailed("Debian's kubectl needs apt-get") from None
            except subprocess.CalledProcessError as error:
                raise BuildFailed(f"{' '.join(command)}: {error.stderr.strip()}") from None
        shutil.move(Path(scratch) / "unpacked" / "usr" / "bin" / "kubectl", target)
