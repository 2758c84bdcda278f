"""Takes out of an answer what differs from run to run, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Document = dict[str, Any]

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")
_AGE = re.compile(r"(\d+[smhdy])+|<invalid>")
_VERSIONS_IN_TEXT = re.compile(
    r"(?P<lead>ResourceVersion in (?:the precondition|record) \(|resource version: |current: |resource version: \d+ \("
    r'|\\?"resourceVersion\\?":\\?")'
    r"\d+"
)


@dataclass(slots=True)
class Normaliser:
    """Replaces what differs from run to run by stable placeholders, in the order of first appearance."""

    words: dict[str, str]
    """Literal text and its placeholder, such as the namespace of this run."""
    uids: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def __call__(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return [self(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def text(self, text: str) -> str:
        text = _UID.sub(lambda match: self.uids.setdefault(match[0], f"<uid {len(self.uids)}>"), text)
        text = _MICRO_TIME.sub("<micro time>", text)
        text = _TIME.sub("<time>", text)
        text = _TOKEN.sub("<token>", text)
        text = _VERSIONS_IN_TEXT.sub(r"\g<lead><version>", text)
        text = re.sub(r"(resource version: <version> \()\d+", r"\1<version>", text)
        for word, placeholder in self.words.items():
            text = text.replace(word, placeholder)
        return text

    def query(self, query: Mapping[str, str]) -> dict[str, str]:
        """As it is shown in a transcript."""
        shown = {name: self.text(value) for name, value in query.items()}
        if "continue" in query:
            shown["continue"] = "<continue>"
        if version := query.get("resourceVersion"):
            shown["resourceVersion"] = self.versions.get(version, version)
        return shown

    def _object(self, value: Document) -> Document:
        kind = str(value.get("kind", ""))
        is_list = "items" in value and kind.endswith("List")
        result: Document = {}
        for name, item in sorted(value.items()):
            if name == "metadata" and isinstance(item, dict):
                result[name] = self._metadata(item, listed=is_list or kind == "Table")
            elif name == "managedFields" and isinstance(item, list):
                result[name] = self._managed_fields(item)
            elif name == "cells" and isinstance(item, list):
                result[name] = [self._cell(cell) for cell in item]
            else:
                result[self.text(name)] = self(item)
        return _without_random_order(result) if kind == "Status" else result

    def _metadata(self, metadata: Document, *, listed: bool) -> Document:
        """listed: of a list or table, whose version moves with writes that are none of ours. So does a bookmark's."""
        version = metadata.get("resourceVersion")
        result: Document = self(metadata)
        if version and (listed or "name" not in metadata):
            result["resourceVersion"] = "<list version>"
        elif version:
            result["resourceVersion"] = self.versions.setdefault(version, f"<version {len(self.versions)}>")
        if metadata.get("continue"):
            result["continue"] = "<continue>"
        return result

    def _managed_fields(self, entries: list[Document]) -> list[Document | str]:
        """In an order that does not depend on which second it was; a wrong order is told.

        The real server sorts by operation and second, then by names (structured-merge-diff, sortEncodedManagedFields),
        so that two writes change places where a second ends between them.
        """
        result: list[Document | str] = [self(entry) for entry in sorted(entries, key=_names_of_entry)]
        return result if entries == sorted(entries, key=_place_of_entry) else ["<not in order>", *result]

    def _cell(self, cell: Any) -> Any:
        return "<age>" if isinstance(cell, str) and _AGE.fullmatch(cell) else self(cell)


def _place_of_entry(entry: Document) -> tuple[str, ...]:
    operation, *names = _names_of_entry(entry)
    return operation, entry.get("time", ""), *names


def _names_of_entry(entry: Document) -> tuple[str, ...]:
    return tuple(entry.get(name, "") for name in ("operation", "manager", "apiVersion", "subresource"))


def _without_random_order(status: Document) -> Document:
    """The causes of a custom resource's refusal and of a conflict come in the order of a Go map, random each time."""
    details = status.get("details") or {}
    causes = details.get("causes") or []
    custom = "." in details.get("group", "") and not details["group"].endswith(".k8s.io")
    if len(causes) < 2 or not (custom or status.get("reason") == "Conflict"):
        return status
    head, bracket, rest = str(status.get("message", "")).partition(": [")
    message = head + bracket + ", ".join(sorted(rest.removesuffix("]").split(", ")))
    ordered = sorted(causes, key=lambda cause: sorted((str(name), str(text)) for name, text in cause.items()))
    return {**status, "message": message, "details": {**details, "causes": ordered}}
