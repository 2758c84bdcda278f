"""Builds kube-apiserver, kube-controller-manager and etcd into one binary, once per set of inputs.

The result lives outside the tree, in `$XDG_CACHE_HOME/shardfleet/cluster/<digest>/kube-cluster`, where the digest
covers the Go sources, the pinned modules, the compiler and its flags. From nothing a build takes about ten minutes of
two cores, because Kubernetes is compiled; the Go build cache makes later ones a matter of seconds.

    python -m tests.cluster.build        builds when needed; the last line on standard output is the path of the binary
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

SOURCE = Path(__file__).resolve().parent
INPUTS = ("main.go", "go.mod", "go.sum")
FLAGS = ("-buildvcs=false", "-mod=readonly", "-ldflags=-s -w")
"""-s -w leave the debug tables out: a third of the size, half of the link time, and stack traces stay readable."""
PROGRESS_SECONDS = 20.0
TAIL_LINES = 40

Say = Callable[[str], None]


class BuildFailed(Exception):
    """The binary could not be built. The message carries what the compiler said last."""


def cache_directory() -> Path:
    """Where the binaries are kept: below `$XDG_CACHE_HOME`, by default below `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shardfleet" / "cluster"


def digest(compiler: str) -> str:
    """Identity of a build. compiler: what `go version` prints."""
    seen = hashlib.sha256()
    for part in (compiler, *FLAGS, *((SOURCE / name).read_text() for name in INPUTS)):
        seen.update(hashlib.sha256(part.encode()).digest())
    return seen.hexdigest()[:32]


def ensure(say: Say) -> Path:
    """The path of the binary for the present inputs, built first where it is not there.

    Several processes may call this at once: one builds, the others wait for it. Raises BuildFailed.
    """
    target = cache_directory() / digest(_compiler()) / "kube-cluster"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target.parent / "lock"):
        if not target.exists():
            _build(target, say)
    return target


def _compiler() -> str:
    try:
        return subprocess.run(["go", "version"], cwd=SOURCE, check=True, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        raise BuildFailed("the real API server is built from source: install Go 1.26 or later") from None
    except subprocess.CalledProcessError as error:
        raise BuildFailed(f"`go version` failed: {error.stderr.strip()}") from None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(target: Path, say: Say) -> None:
    """Builds beside the target and renames, so that a build that was killed leaves nothing that looks finished."""
    say("building kube-apiserver, kube-controller-manager and etcd; about ten minutes when nothing is cached")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        built = Path(scratch) / target.name
        _compile(built, say, began)
        built.rename(target)
    say(f"built in {time.monotonic() - began:.0f} s: {target.stat().st_size // 2**20} MiB")


def _compile(output: Path, say: Say, began: float) -> None:
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    packages = 0
    told = began
    with subprocess.Popen(
        ["go", "build", "-v", *FLAGS, "-o", str(output), "."],
        cwd=SOURCE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as compiler:
        assert compiler.stderr is not None
        for line in compiler.stderr:
            tail.append(line)
            packages += 1
            if time.monotonic() - told >= PROGRESS_SECONDS:
                told = time.monotonic()
                say(f"  {told - began:.0f} s, {packages} modules and packages so far, now {line.strip()}")
    if compiler.returncode != 0:
        raise BuildFailed(f"`go build` ended with {compiler.returncode}:\n{''.join(tail)}")


def main() -> int:
    try:
        binary = ensure(lambda line: print(line, file=sys.stderr, flush=True))
    except BuildFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    print(binary)
    return 0


if __name__ == "__main__":
    sys.exit(main())
