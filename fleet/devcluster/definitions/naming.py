"""Which names a CustomResourceDefinition gets, among those of its group. Pure.

After apiextensions-apiserver pkg/controller/status/naming_controller.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from shards.objects import Object


def accepted_names(
    definition: Mapping[str, Any], others: Iterable[Mapping[str, Any]]
) -> tuple[Object, tuple[str, str] | None]:
    """The accepted names, and the reason and message of the last conflict. others: definitions of the same group."""
    resources, kinds = _taken(others)
    wanted: Mapping[str, Any] = definition["spec"]["names"]
    status = definition.get("status") or {}
    before: Mapping[str, Any] = status.get("acceptedNames") or {}
    names: Object = dict(before)
    conflict: tuple[str, str] | None = None
    for field, used, reason in (
        ("plural", resources, "PluralConflict"),
        ("singular", resources, "SingularConflict"),
        ("shortNames", resources, "ShortNamesConflict"),
        ("kind", kinds, "KindConflict"),
        ("listKind", kinds, "ListKindConflict"),
    ):
        if wanted.get(field) == before.get(field):
            continue
        fault = _short_names_fault(wanted, before, used) if field == "shortNames" else _fault(wanted[field], used)
        if fault:
            conflict = (reason, fault)
        elif wanted.get(field):
            names[field] = wanted[field]
        else:
            names.pop(field, None)
    if wanted.get("categories"):
        names["categories"] = wanted["categories"]
    else:
        names.pop("categories", None)
    for field in ("plural", "kind"):
        names.setdefault(field, "")
    return names, conflict


def _taken(others: Iterable[Mapping[str, Any]]) -> tuple[set[str], set[str]]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for each in others:
        names = (each.get("status") or {}).get("acceptedNames") or {}
        resources |= {names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())}
        kinds |= {names.get("kind", ""), names.get("listKind", "")}
    return resources - {""}, kinds - {""}


def _fault(name: str, used: set[str]) -> str:
    return f'"{name}" is already in use' if name in used else ""


def _short_names_fault(wanted: Mapping[str, Any], before: Mapping[str, Any], used: set[str]) -> str:
    own = before.get("shortNames") or ()
    faults = [_fault(each, used) for each in wanted.get("shortNames") or () if each not in own]
    found = list(dict.fromkeys(filter(None, faults)))
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]" if found else ""
