"""Events are stored as those of core/v1; events.k8s.io/v1 names their fields in its own way. Pure.

Source: kubernetes/pkg/apis/events/v1/conversion.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fleet.devcluster.versions.conversion import Reshaping

_NEW_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_OLD_NAMES: Final = {new: old for old, new in _NEW_NAMES.items()}
_ALWAYS: Final = ("reportingComponent", "reportingInstance")
"""Written in core/v1 when they are empty, and left out in events.k8s.io/v1."""

_SELECTED: Final = {
    **{
        f"regarding.{name}": f"involvedObject.{name}"
        for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    },
    "reportingController": "reportingComponent",
}


def _show(body: Mapping[str, Any]) -> dict[str, Any]:
    return {_NEW_NAMES.get(name, name): value for name, value in body.items() if value or name not in _ALWAYS}


def _store(body: Mapping[str, Any]) -> dict[str, Any]:
    found = {_OLD_NAMES.get(name, name): value for name, value in body.items()}
    for name in _ALWAYS:
        found.setdefault(name, "")
    return found


def reshaping() -> Reshaping:
    """Of events.k8s.io/v1."""
    return Reshaping("events.k8s.io/v1", _show, _store, _SELECTED)
