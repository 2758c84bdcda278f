"""Where two transcripts part, told so that a reader sees it at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.contract.normaliser import Document

CONTEXT_STEPS = 3
MOST_PLACES = 20
MOST_CHARACTERS = 3000


def difference(embedded: list[Document], real: list[Document]) -> str:
    """The first step that differs: what led to it, each place that differs, both answers. "" where none does."""
    for index in range(max(len(embedded), len(real))):
        ours = embedded[index] if index < len(embedded) else None
        theirs = real[index] if index < len(real) else None
        if ours != theirs:
            return _told(index, embedded, ours, theirs)
    return ""


def _told(index: int, embedded: list[Document], ours: Document | None, theirs: Document | None) -> str:
    before = [f"    {number}: {_title(embedded[number])}" for number in range(max(0, index - CONTEXT_STEPS), index)]
    places = list(_places(ours, theirs, ""))
    shown = [f"  {path or '(step)'}\n    embedded: {_text(a)}\n    real:     {_text(b)}" for path, a, b in places]
    more = [f"  and {len(places) - MOST_PLACES} more"] if len(places) > MOST_PLACES else []
    return "\n".join(
        [
            f"step {index} differs: {_title(theirs or ours or {})}",
            *(["  after"] if before else []),
            *before,
            *shown[:MOST_PLACES],
            *more,
            f"  embedded answered: {_text(ours)}",
            f"  real answered:     {_text(theirs)}",
        ]
    )


def _title(step: Document) -> str:
    return str(step.get("request") or step.get("watch") or step.get("note") or step)


def _text(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + " ..."


_ABSENT = "(absent)"


def _places(ours: Any, theirs: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Path and both values of every leaf that differs."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted(ours.keys() | theirs.keys()):
            yield from _places(ours.get(name, _ABSENT), theirs.get(name, _ABSENT), f"{path}.{name}" if path else name)
    elif isinstance(ours, list) and isinstance(theirs, list):
        for index in range(max(len(ours), len(theirs))):
            left = ours[index] if index < len(ours) else _ABSENT
            right = theirs[index] if index < len(theirs) else _ABSENT
            yield from _places(left, right, f"{path}[{index}]")
    elif ours != theirs:
        yield path, ours, theirs
