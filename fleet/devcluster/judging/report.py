"""What journals say of the invariants: `python -m fleet.devcluster.judging.report [--json] JOURNAL...`.

A JOURNAL is a file of JSON lines, of a server (or of the proxy in front of one) or of a worker, or a directory of such
files, as `--journal` leaves it. At most one of them is a server's. Exit code: 0 nothing was broken, 1 something was, 2
for bad usage and for what is no journal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TypeVar

import msgspec

from fleet.devcluster.evidence.verdict import Verdict
from fleet.devcluster.judging.judge import judge
from fleet.devcluster.recording.journal import GAP, Entry
from shards.journal import Note

T = TypeVar("T")

_WIDTH = 120
_NOTE = b'{"what":'


def table(verdict: Verdict) -> str:
    """One line an invariant, findings below it."""
    lines = [f"{verdict.entries} entries{f', {verdict.missing} more are missing: partial' if verdict.partial else ''}"]
    for each in verdict.invariants:
        lines += wrap(f"{each.id:<4} {each.sentence}", _WIDTH, subsequent_indent=" " * 5)
        lines.append(f"     {each}")
        lines += [f"       at {found.time:.3f}{_seq(found.seq)}: {found.what}" for found in each.findings]
    return "\n".join(lines) + "\n"


def _seq(seq: int) -> str:
    return f", entry {seq}" if seq else ""


class Unreadable(ValueError):
    """What is no journal, or no set of journals; names the file, and the line where it is one."""


def read_journals(paths: Iterable[Path]) -> tuple[list[Entry], list[Note]]:
    """A last line that its writer did not finish is left out, and counted as missing.

    Raises Unreadable for two servers' journals, for what is none, and for what cannot be read.
    """
    entries: list[Entry] = []
    notes: list[Note] = []
    server: Path | None = None
    for file in _files(paths):
        try:
            data = file.read_bytes()
        except OSError as error:
            raise Unreadable(f"cannot read {file}: {error.strerror}") from error
        whole, _, rest = data.rpartition(b"\n")
        if data.startswith(_NOTE):
            notes += _notes(file, whole, cut=bool(rest))
        elif data:
            if server is not None:
                raise Unreadable(f"{file} is a second server's journal, beside {server}")
            server, entries = file, _entries(file, whole, cut=bool(rest))
    return entries, notes


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = sorted(path.glob("*.jsonl"))
        if not found:
            raise Unreadable(f"there is no journal (*.jsonl) in {path}")
        yield from found


def _entries(file: Path, data: bytes, *, cut: bool) -> list[Entry]:
    """cut: a line follows that was not finished."""
    found = _decoded(file, data, msgspec.json.Decoder(Entry))
    if cut:
        last = found[-1] if found else Entry(0, 0.0, GAP, "")
        found.append(Entry(last.seq + 1, last.time, GAP, ""))
    return found


def _notes(file: Path, data: bytes, *, cut: bool) -> list[Note]:
    found = _decoded(file, data, msgspec.json.Decoder(Note))
    if cut:
        last = found[-1] if found else Note("", 0.0)
        found.append(Note("lost", last.time, last.member, count=1))
    return found


def _decoded(file: Path, data: bytes, decoder: msgspec.json.Decoder[T]) -> list[T]:
    found = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            if line.strip():
                found.append(decoder.decode(line))
        except msgspec.DecodeError as error:
            raise Unreadable(f"{file}, line {number} is no line of a journal: {error}") from error
    return found


def main(arguments: Sequence[str]) -> int:
    options = [each for each in arguments if each.startswith("-")]
    paths = [Path(each) for each in arguments if not each.startswith("-")]
    if not paths or set(options) - {"--json"}:
        sys.stderr.write(f"{(__doc__ or '').splitlines()[0]}\n")
        return 2
    try:
        entries, notes = read_journals(paths)
    except Unreadable as error:
        sys.stderr.write(f"{error}\n")
        return 2
    verdict = judge(entries, notes)
    if options:
        sys.stdout.write(verdict.encode().decode() + "\n")
    else:
        sys.stdout.write(table(verdict))
    return 1 if verdict.broken_invariants or not verdict.clean else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
