"""What an apply leaves that reading a request would drop: the real server does not read the result of an apply.

Nulls, where it took the last field away, reach the validation. Metadata that says nothing reaches the storage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_BLANK_METADATA = ("generateName", "labels", "annotations", "ownerReferences", "finalizers")
"""Those of which the server does not write the value itself."""


def gaps_of(body: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The paths of null fields outside the metadata; items of lists are not looked into."""
    return [path for path in _nulls(body) if path[0] != "metadata"]


def _nulls(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if inner is None:
                yield (*path, name)
            elif isinstance(inner, dict):
                yield from _nulls(inner, (*path, name))


def reopen(body: dict[str, Any], gaps: list[tuple[str, ...]]) -> None:
    """Puts the nulls back that reading has dropped, in place."""
    for *path, name in gaps:
        place: Any = body
        for each in path:
            place = place.get(each) if isinstance(place, dict) else None
        if isinstance(place, dict):
            place.setdefault(name, None)


def has_blanks(metadata: Mapping[str, Any]) -> bool:
    """Whether metadata has fields without content, which every reader of the stored object leaves out."""
    for name in _BLANK_METADATA:
        value = metadata.get(name, metadata)
        if not value or (isinstance(value, dict) and value is not metadata and None in value.values()):
            return True
    return False
