"""The merge patch (RFC 7386) that brings an object from what it is to what it should be. PURE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shards.objects import Object

_METADATA = ("labels", "annotations", "finalizers")
"""What a desired object may say in its metadata; the rest identifies it or belongs to the server."""


def merge_changes(current: Object, desired: Object) -> Object:
    """The patch for a whole object; empty when `current` contains all that is desired.

    Maps are compared field by field, and None means absent. A list is sent as a whole when it differs; it counts as
    equal when it has as many elements and each contains what is desired of it, because servers fill in defaults. So a
    field that was dropped from an element of a list is not noticed. Status and owner references are left out.
    """
    patch = {}
    for name, value in desired.items():
        if name in ("apiVersion", "kind", "status"):
            continue
        have = current.get(name)
        if name == "metadata":
            wanted = {part: value[part] for part in _METADATA if part in value}
            changes = _map_changes(have or {}, wanted, exact_lists=False)
            if changes:
                patch[name] = changes
        elif _differs(have, value, exact_lists=False):
            patch[name] = _change(have, value, exact_lists=False)
    return patch


def status_changes(current: Mapping[str, Any], desired: Mapping[str, Any]) -> Object:
    """The patch for a status; empty when nothing differs. Lists must be equal: servers add no defaults to a status."""
    return _map_changes(current, desired, exact_lists=True)


def _map_changes(current: Mapping[str, Any], desired: Mapping[str, Any], *, exact_lists: bool) -> Object:
    return {
        name: _change(current.get(name), value, exact_lists=exact_lists)
        for name, value in desired.items()
        if _differs(current.get(name), value, exact_lists=exact_lists)
    }


def _change(have: Any, want: Any, *, exact_lists: bool) -> Any:
    if isinstance(have, Mapping) and isinstance(want, Mapping):
        return _map_changes(have, want, exact_lists=exact_lists)
    return want


def _differs(have: Any, want: Any, *, exact_lists: bool) -> bool:
    if isinstance(want, Mapping):
        if not isinstance(have, Mapping):
            return have is not None or bool(want)
        return any(_differs(have.get(name), value, exact_lists=exact_lists) for name, value in want.items())
    if isinstance(want, list) and not exact_lists:
        if not isinstance(have, list):
            return have is not None or bool(want)
        return len(have) != len(want) or any(
            _differs(old, new, exact_lists=False) for old, new in zip(have, want, strict=True)
        )
    return bool(have != want) or isinstance(have, bool) != isinstance(want, bool)
