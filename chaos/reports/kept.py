"""What `--keep` leaves of one experiment: its journal, the recording and the workers' notes; and back from there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from chaos.reports.story import Story
from chaos.reports.telling import story_of
from chaos.running.journal import Journal
from chaos.targets.journals import Line, entries_in, in_order, notes_below
from chaos.targets.pod import JOURNALS
from chaos.targets.servers import JOURNAL_FILE
from fleet.devcluster.evidence.verdict import Verdict
from fleet.devcluster.judging.judge import Judge
from fleet.devcluster.recording.journal import Entry, encode_lines
from shards.errors import ConfigError
from shards.journal import Note

JOURNAL = "journal.json"
RECORDING = "recording.jsonl"
"""Where the server's own file is not there, or not whole."""


def keep(directory: Path, journal: Journal, lines: Iterable[Line]) -> None:
    """lines: of the recording and of the workers, who have written theirs there themselves. Raises ConfigError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / JOURNAL).write_bytes(msgspec.json.format(msgspec.json.encode(journal)))
        if not (directory / JOURNAL_FILE).exists():
            with (directory / RECORDING).open("wb") as file:
                file.writelines(encode_lines([line]) for line in lines if isinstance(line, Entry))
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
    recording = next((directory / name for name in (RECORDING, JOURNAL_FILE) if (directory / name).exists()), None)
    try:
        if journal.verdict is None:
            journal.verdict = _judged(directory, recording)
        if not journal.name:
            journal.name = directory.name
        return story_of(journal, _lines(directory, recording))
    except msgspec.DecodeError as error:
        raise ConfigError("DIR", f"a line of a journal in {directory} is none: {error}") from error


def _lines(directory: Path, recording: Path | None) -> Iterator[Line]:
    entries = iter(()) if recording is None else entries_in(recording, lambda seq: ())
    return in_order(entries, notes_below(directory / JOURNALS))


def _judged(directory: Path, recording: Path | None) -> Verdict:
    seat = Judge()
    for line in _lines(directory, recording):
        if isinstance(line, Note):
            seat.note(line)
        else:
            seat.hear(line)
    return seat.verdict()
