"""The journal of one worker as a file, and the pulse that it gets every few seconds."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec

from fleet.health.range_steps import RangeObserver, RangeStep
from fleet.logs.linefile import LineFile
from fleet.workers.worker import Worker
from shards.clock import Clock, boot_seconds
from shards.errors import ConfigError
from shards.journal import NO_JOURNAL, Journal, Note

PULSE_SECONDS = 2.0

_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20


class FileJournal:
    """Writes `<directory>/<member>-<count>.jsonl`, one write a line: a process that is killed loses nothing.

    Where that file is there already it is `<member>-<count>.2.jsonl`, and so on: a pod that came back counts from 1
    again, and there may be two pods of one name. Two writers of one file would write over each other.

    Lines that cannot be written are counted, and told of in their place or at the end: what is observed must not stop
    what observes.
    """

    on = True

    def __init__(self, directory: Path, member: str, count: int, *, clock: Clock = boot_seconds) -> None:
        """count: of this incarnation, so that every process has a file of its own. The file stays open as long as the
        process lives. Raises OSError."""
        directory.mkdir(parents=True, exist_ok=True)
        self.path = _own_file(directory, f"{member}-{count}")
        self._member = member
        self._clock = clock
        self._encoder = msgspec.json.Encoder()
        self._file = LineFile(self.path, self._marker, anew=False)
        self.write(Note("begin", clock(), cause=f"{member}/{count}", figures={"wall": time.time()}))

    @property
    def lost(self) -> int:
        """Lines that could not be written."""
        return self._file.lost

    def write(self, note: Note) -> None:
        note.member = self._member
        line = self._encoder.encode(note) + b"\n"
        if self._file.open_losses:
            line = self._marker(self._file.open_losses) + b"\n" + line
        self._file.write(line, 1)

    def _marker(self, count: int) -> bytes:
        return self._encoder.encode(Note("lost", round(self._clock(), 3), self._member, count=count))


def _own_file(directory: Path, stem: str) -> Path:
    """An empty one that no other process has. Raises OSError."""
    for number in itertools.count(1):
        path = directory / (f"{stem}.jsonl" if number == 1 else f"{stem}.{number}.jsonl")
        with contextlib.suppress(FileExistsError):
            path.touch(mode=0o600, exist_ok=False)
            return path
    raise AssertionError("numbers end nowhere")


def open_journal(directory: Path | None, member: str, count: int) -> Journal:
    """None: no journal. Raises ConfigError where it cannot be written."""
    if directory is None:
        return NO_JOURNAL
    try:
        return FileJournal(directory, member, count)
    except OSError as error:
        raise ConfigError("--journal", f"cannot write to {directory}: {error.strerror}") from error


@contextlib.asynccontextmanager
async def observed(worker: Worker, journal: Journal, *, seconds: float = PULSE_SECONDS) -> AsyncIterator[None]:
    """Writes a pulse every few seconds while the worker runs, and ends the journal with it."""
    if not journal.on:
        yield
        return
    beat = asyncio.create_task(_beat(worker, journal, seconds), name="journal")
    try:
        yield
    finally:
        beat.cancel()
        await asyncio.gather(beat, return_exceptions=True)
        journal.write(Note("end", worker.clock()))


def noted_in(journal: Journal) -> RangeObserver:
    """Writes each step of a range into the journal."""

    def note(step: RangeStep) -> None:
        journal.write(
            Note(
                "step",
                step.time,
                range=str(step.range),
                epoch=step.epoch,
                seconds=step.seconds,
                cause=str(step.step),
                outcome=str(step.cause) if step.cause is not None else step.why,
                figures=None if step.unowned_seconds is None else {"unowned": step.unowned_seconds},
            )
        )

    return note


async def _beat(worker: Worker, journal: Journal, seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        journal.write(pulse_of(worker))


def pulse_of(worker: Worker, figures: Callable[[], dict[str, float]] | None = None) -> Note:
    """owned: ranges that are held. open: those whose reconciles run. view_age, longest_wait: see `Shard.pulse`, of the
    worst of these. The rest: see `process_figures`."""
    pulses = [each.pulse() for each in worker.open_shards]
    counted = {
        "owned": float(sum(runner.holding for runner in worker.runners.values())),
        "open": float(len(pulses)),
        "view_age": max((each["view_age"] for each in pulses), default=0.0),
        "longest_wait": max((each["longest_wait"] for each in pulses), default=0.0),
        **(figures or process_figures)(),
    }
    return Note("pulse", worker.clock(), outcome=worker.status()["reason"], figures=counted)


def process_figures() -> dict[str, float]:
    """Of this process. rss_mib: resident memory. fds, threads, children: how many; zombies count as children."""
    pid = os.getpid()
    tasks = os.listdir(f"/proc/{pid}/task")
    children = sum(len(_children(pid, task)) for task in tasks)
    resident = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return {
        "rss_mib": int(resident) * _PAGE_MIB,
        "fds": float(len(os.listdir(f"/proc/{pid}/fd"))),
        "threads": float(len(tasks)),
        "children": float(children),
    }


def _children(pid: int, task: str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="ascii").split()
    except OSError:  # the thread has ended, or the kernel does not tell
        return []
