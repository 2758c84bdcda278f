"""Two kubectls that nobody here wrote: Debian's package, and one of the test cluster's version, from its module."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.debian import program
from tests.cluster.gobuild import BuildFailed, GoProgram, Say

CURRENT = GoProgram(
    name="kubectl",
    shelf="kubectl",
    source=Path(__file__).resolve().parent / "kubectl",
    inputs=("main.go", "go.mod", "go.sum"),
    notice="building kubectl; a minute or two when nothing is cached",
)


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
    """Raises BuildFailed."""
    binary = program("kubernetes-client", "kubectl", say)
    command = [str(binary), "version", "--client", "--output=json"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return Kubectl("debian", binary, int(json.loads(said)["clientVersion"]["minor"].rstrip("+")))


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
