"""Documents of which a benchmark writes a part."""

from __future__ import annotations

from pathlib import Path


def replaced(document: Path, begin: str, end: str, text: str) -> str:
    """The document with the text between the two marks, each on a line of its own.

    Raises ValueError for a document without them.
    """
    head, mark, rest = document.read_text().partition(begin)
    _, last, tail = rest.partition(end)
    if not mark or not last:
        raise ValueError(f"{document} has no {begin} before an {end}")
    return "".join((head, begin, "\n", text.removesuffix("\n"), "\n", end, tail))
