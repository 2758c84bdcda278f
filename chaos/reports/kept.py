"""What `--keep` leaves of one experiment: its journal, the recording and the workers' notes; and back from there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from chaos.reports.story import Story
from chaos.reports.telling import story_of
from chaos.running.journal import Journal
from chaos.targets.pod import JOURNALS
from chaos.targets.servers import JOURNAL_FILE
from fleet.devcluster.judging.judge import judge
from fleet.devcluster.judging.report import Unreadable, read_journals
from fleet.devcluster.recording.journal import Entry, encode_lines
from shards.errors import ConfigError

JOURNAL = "journal.json"
RECORDING = "recording.jsonl"
"""Where the server's own file is not there, or not whole."""


def keep(directory: Path, journal: Journal, entries: Sequence[Entry]) -> None:
    """The workers have written their notes there themselves. Raises ConfigError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / JOURNAL).write_bytes(msgspec.json.format(msgspec.json.encode(journal)))
        if not (directory / JOURNAL_FILE).exists():
            (directory / RECORDING).write_bytes(encode_lines(entries))
    except OSError as error:
        raise ConfigError("--keep", f"cannot write to {directory}: {error.strerror}") from error


def kept_stories(directories: Iterable[Path]) -> list[Story]:
    """Of every experiment that left something there or below, by the time of its start. Raises ConfigError."""
    found: list[Path] = []
    for directory in directories:
        journals = sorted(directory.rglob(JOURNAL))
        if not journals:
            raise ConfigError("DIR", f"there is no {JOURNAL} in {directory}: name what `fleet chaos run --keep` wrote")
        found += journals
    return sorted((kept_story(each.parent) for each in dict.fromkeys(found)), key=lambda story: story.start)


def kept_story(directory: Path) -> Story:
    """Of one experiment. Where the journal has no verdict, the recording is judged anew. Raises ConfigError."""
    file = directory / JOURNAL
    try:
        journal = msgspec.json.decode(file.read_bytes(), type=Journal)
    except OSError as error:
        raise ConfigError("DIR", f"cannot read {file}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise ConfigError("DIR", f"{file} is no journal of an experiment: {error}") from error
    paths = [directory / name for name in (RECORDING, JOURNAL_FILE) if (directory / name).exists()][:1]
    if any((directory / JOURNALS).glob("*.jsonl")):
        paths.append(directory / JOURNALS)
    try:
        entries, notes = read_journals(paths)
    except Unreadable as error:
        raise ConfigError("DIR", str(error)) from error
    if journal.verdict is None:
        journal.verdict = judge(entries, notes)
    if not journal.name:
        journal.name = directory.name
    return story_of(journal, entries, notes)
