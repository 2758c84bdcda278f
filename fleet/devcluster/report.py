"""What journals say about the invariants, for a reader: `python -m fleet.devcluster.report [--json] JOURNAL...`.

A JOURNAL is a file of JSON lines, of a server (or of the proxy in front of one) or of a worker, or a directory of such
files, as `--journal` leaves it. At most one of them is a server's. Exit code 1: something was broken.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import wrap

from fleet.devcluster.journal import Entry, decode_lines
from fleet.devcluster.judge import judge
from fleet.devcluster.verdict import Verdict
from shards.journal import Note, decode_notes

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


def read_journals(paths: Iterable[Path]) -> tuple[list[Entry], list[Note]]:
    """Raises ValueError for two servers' journals, msgspec.DecodeError for what is none, OSError."""
    entries: list[Entry] = []
    notes: list[Note] = []
    for path in paths:
        for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
            data = file.read_bytes()
            if data.startswith(_NOTE):
                notes += decode_notes(data)
            elif entries and data:
                raise ValueError(f"{file} is a second server's journal")
            else:
                entries = list(decode_lines(data))
    return entries, notes


def main(arguments: Sequence[str]) -> int:
    paths = [Path(each) for each in arguments if each != "--json"]
    if not paths:
        sys.stderr.write(f"{(__doc__ or '').splitlines()[0]}\n")
        return 2
    entries, notes = read_journals(paths)
    verdict = judge(entries, notes)
    if "--json" in arguments:
        sys.stdout.write(verdict.encode().decode() + "\n")
    else:
        sys.stdout.write(table(verdict))
    return 1 if verdict.broken_invariants or not verdict.clean else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
