"""Settings of a whole fleet that people write: texts in ConfigMaps, and back. Pure.

A document is somebody else's object: a write changes its one text and nothing beside it.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from fleet.records.coordination import CoordinationUnavailable
from fleet.records.object_names import FLEET_LABEL, KIND_LABEL, Kind, Names
from fleet.records.record import Document, DocumentName
from shards.errors import ConfigError
from shards.objects import Object

_KEYS = {
    DocumentName.CONFIG: "fleet.yaml",
    DocumentName.CONTROLS: "controls.json",
    DocumentName.QUARANTINE: "quarantine.json",
}


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    resource_version: Annotated[str, msgspec.Meta(min_length=1)]
    labels: dict[str, str] = {}


class _ConfigMap(msgspec.Struct):
    """As much of a ConfigMap as holds a document."""

    metadata: _Metadata
    data: dict[str, str] | None = None


class Unlabelled(ConfigError):
    """The ConfigMap is there, but nothing that follows the fleet's objects finds it."""


def document(raw: bytes, names: Names) -> Document | None:
    """None for an object that is no document of this fleet. A ConfigMap without its key holds the text ""."""
    found = _decoded(raw)
    name = None if found is None else _name(found, names)
    if found is None or name is None or not _labelled(found, names):
        return None
    return Document(name, (found.data or {}).get(_KEYS[name], ""), found.metadata.resource_version)


def labelled_document(raw: bytes, names: Names) -> Document:
    """The answer to a request for one document. Raises Unlabelled, and CoordinationUnavailable for anything else."""
    found = document(raw, names)
    if found is not None:
        return found
    config_map = _decoded(raw)
    if config_map is None or _name(config_map, names) is None:
        raise CoordinationUnavailable("the answer is not the object that was asked for", maybe_applied=True)
    name, labels = config_map.metadata.name, names.labels(Kind.DOCUMENT)
    wanted = " ".join(f"{label}={value}" for label, value in labels.items())
    raise Unlabelled(
        "", f"ConfigMap {name} has not the labels by which it is found: kubectl label configmap {name} {wanted}"
    )


def created_document(names: Names, new: Document) -> Object:
    """The ConfigMap to be created."""
    name = names.document(new.name)
    metadata = names.metadata(Kind.DOCUMENT, name, version="")
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {_KEYS[new.name]: new.text}}


def changed_document(new: Document) -> Object:
    """A merge patch of the ConfigMap at `new.version`, and of no other version."""
    return {"metadata": {"resourceVersion": new.version}, "data": {_KEYS[new.name]: new.text}}


def _decoded(raw: bytes) -> _ConfigMap | None:
    try:
        return msgspec.json.decode(raw, type=_ConfigMap)
    except (msgspec.DecodeError, RecursionError):
        return None


def _name(found: _ConfigMap, names: Names) -> DocumentName | None:
    return next((each for each in DocumentName if names.document(each) == found.metadata.name), None)


def _labelled(found: _ConfigMap, names: Names) -> bool:
    labels = found.metadata.labels
    return labels.get(FLEET_LABEL) == names.fleet and labels.get(KIND_LABEL) == Kind.DOCUMENT
