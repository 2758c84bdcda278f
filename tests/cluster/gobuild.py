"""Builds a Go program once per set of inputs, outside the tree.

The result is `$XDG_CACHE_HOME/shardfleet/<shelf>/<digest>/<name>`, where the digest covers the sources, the pinned
modules, the compiler and its flags. The Go build cache makes a second build a matter of seconds.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FLAGS = ("-buildvcs=false", "-mod=readonly", "-ldflags=-s -w")
"""-s -w leave the debug tables out: a third of the size, half of the link time, and stack traces stay readable."""
PROGRESS_SECONDS = 20.0
TAIL_LINES = 40

Say = Callable[[str], None]


class BuildFailed(Exception):
    """The binary could not be built. The message carries what the compiler said last."""


def cache_root() -> Path:
    """Where all that tests build is kept: below `$XDG_CACHE_HOME`, by default below `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shardfleet"


@dataclass(frozen=True, slots=True)
class GoProgram:
    """A main package of a module.

    source: the module's folder. inputs: its files that decide, relative to it. package: relative to it as well.
    notice: what is said before a build, because one may take minutes.
    """

    name: str
    shelf: str
    source: Path
    inputs: tuple[str, ...]
    notice: str
    package: str = "."

    @property
    def directory(self) -> Path:
        """Where its builds are kept."""
        return cache_root() / self.shelf

    def digest(self, compiler: str) -> str:
        """Identity of a build. compiler: what `go version` prints."""
        seen = hashlib.sha256()
        for part in (compiler, *FLAGS, *((self.source / name).read_text() for name in self.inputs)):
            seen.update(hashlib.sha256(part.encode()).digest())
        return seen.hexdigest()[:32]

    def ensure(self, say: Say) -> Path:
        """The path of the binary for the present inputs, built first where it is not there.

        Several processes may call this at once: one builds, the others wait for it. Raises BuildFailed.
        """
        target = self.directory / self.digest(self._compiler()) / self.name
        if target.exists():
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(target.parent / "lock"):
            if not target.exists():
                self._build(target, say)
        return target

    def _compiler(self) -> str:
        try:
            asked = subprocess.run(["go", "version"], cwd=self.source, check=True, capture_output=True, text=True)
        except FileNotFoundError:
            raise BuildFailed(f"{self.name} is built from source: install Go 1.26 or later") from None
        except subprocess.CalledProcessError as error:
            raise BuildFailed(f"`go version` failed: {error.stderr.strip()}") from None
        return asked.stdout.strip()

    def _build(self, target: Path, say: Say) -> None:
        """Builds beside the target and renames, so that a build that was killed leaves nothing that looks finished."""
        say(self.notice)
        began = time.monotonic()
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            built = Path(scratch) / target.name
            command = ["go", "build", "-v", *FLAGS, "-o", str(built), self.package]
            run_compiler(command, self.source, say)
            built.rename(target)
        say(f"built in {time.monotonic() - began:.0f} s: {target.stat().st_size // 2**20} MiB")


def run_compiler(command: list[str], directory: Path, say: Say, environment: dict[str, str] | None = None) -> None:
    """Runs a build that tells of its progress on standard error, a line a package. Raises BuildFailed."""
    began = told = time.monotonic()
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    with subprocess.Popen(
        command,
        cwd=directory,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as compiler:
        assert compiler.stderr is not None
        for number, line in enumerate(compiler.stderr, 1):
            tail.append(line)
            if time.monotonic() - told >= PROGRESS_SECONDS:
                told = time.monotonic()
                say(f"  {told - began:.0f} s, {number} modules and packages so far, now {line.strip()}")
    if compiler.returncode != 0:
        raise BuildFailed(f"`{' '.join(command[:2])}` ended with {compiler.returncode}:\n{''.join(tail)}")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds a file lock: others that want it wait."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
