"""What a series of experiments leaves: kept directories, a page, and a text for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from chaos.documents.experiment import SUFFIXES
from chaos.reports.kept import keep, kept_stories
from chaos.reports.markdown import markdown_of
from chaos.reports.page import page_of
from chaos.reports.story import Story
from chaos.reports.telling import story_of
from chaos.running.journal import Journal
from chaos.targets.planes import Say
from chaos.targets.target import Target
from shards.errors import ConfigError

PAGE = "report.html"


class Reporting:
    """Hears of each experiment while its target is still there, and writes what was asked for in the end."""

    def __init__(self, page: Path | None, markdown: Path | None, kept: Path | None) -> None:
        """kept: each experiment has a directory in it, see `rooms`. None: not asked for. Raises ConfigError: better now
        than after an hour."""
        self._page, self._markdown, self._kept = page, markdown, kept
        for option, file in (("--report", page), ("--markdown", markdown)):
            if file is not None:
                _prepare(option, file)
        self._stories: list[Story] = []

    def hear(self, journal: Journal, target: Target | None) -> None:
        """target: None where it did not start. Of one that could not be judged to the end nothing is asked either.
        Raises ConfigError."""
        lines = (lambda: iter(())) if target is None or journal.trouble else target.evidence.lines
        telling = self._page is not None or self._markdown is not None
        if not telling and self._kept is None:
            return
        if self._kept is not None:
            keep(self._kept / journal.name, journal, lines())
        if telling:
            self._stories.append(story_of(journal, lines()))

    def write(self) -> None:
        """What was heard so far. Raises ConfigError."""
        if self._stories:
            write_reports(self._stories, self._page, self._markdown)


def report_again(directories: Iterable[Path], page: Path | None, markdown: Path | None, say: Say) -> None:
    """From what `--keep` left. Without a file to write to, the page goes into the first directory. Raises
    ConfigError."""
    every = list(directories)
    stories = kept_stories(every)
    if page is None and markdown is None:
        page = every[0] / PAGE
        say(f"{page}")
    for option, file in (("--report", page), ("--markdown", markdown)):
        if file is not None:
            _prepare(option, file)
    write_reports(stories, page, markdown)


def write_reports(stories: Sequence[Story], page: Path | None, markdown: Path | None) -> None:
    """Into directories that are there. Raises ConfigError."""
    if page is not None:
        _write("--report", page, page_of(stories))
    if markdown is not None:
        _write("--markdown", markdown, markdown_of(stories))


def rooms(names: Iterable[str]) -> dict[str, str]:
    """The name under which each experiment is kept and told of. names: as they were asked for, paths too."""
    found: dict[str, str] = {}
    for name in names:
        path = Path(name)
        plain = path.stem if path.suffix in SUFFIXES else path.name
        taken = sum(each == plain or each.startswith(f"{plain}.") for each in found.values())
        found[name] = f"{plain}.{taken + 1}" if taken else plain
    return found


def _prepare(option: str, file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.open("ab").close()
    except OSError as error:
        raise ConfigError(option, f"cannot write {file}: {error.strerror}") from error


def _write(option: str, file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(option, f"cannot write {file}: {error.strerror}") from error
