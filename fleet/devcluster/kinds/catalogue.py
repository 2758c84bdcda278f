"""The data files: what a real server's discovery and OpenAPI documents say of its built-in kinds.

tests/contract/write_kinds.py writes them. Read once per process, about 300 KB in about 5 ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

Schemas = Mapping[str, Mapping[str, Any]]
"""OpenAPI v3 schemas without prose, by name."""

_HERE = Path(__file__).parent
_GROUP_VERSION_KIND = "x-kubernetes-group-version-kind"


class Subresource(msgspec.Struct, frozen=True, rename="camel"):
    """What is below an object. group, version "": those of the object."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


class Entry(msgspec.Struct, frozen=True, rename="camel"):
    """One resource as discovery tells it."""

    group: str
    version: str
    name: str
    singular_name: str
    namespaced: bool
    kind: str
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    storage_version_hash: str = ""
    subresources: tuple[Subresource, ...] = ()

    @property
    def stored(self) -> bool:
        return "create" in self.verbs and "list" in self.verbs


class _Named(msgspec.Struct):
    name: str
    schema: dict[str, Any]


@cache
def entries() -> tuple[Entry, ...]:
    """All resources, in the server's order of groups and versions."""
    raw = (_HERE / "resources.jsonl").read_bytes()
    return tuple(msgspec.json.Decoder(Entry).decode_lines(raw))


@cache
def schemas() -> Schemas:
    """All schemas that the resources need. Not to be changed."""
    raw = (_HERE / "schemas.jsonl").read_bytes()
    return {each.name: each.schema for each in msgspec.json.Decoder(_Named).decode_lines(raw)}


@cache
def _names() -> Mapping[tuple[str, str, str], str]:
    found: dict[tuple[str, str, str], str] = {}
    for name, schema in schemas().items():
        kinds = schema.get(_GROUP_VERSION_KIND, ())
        if len(kinds) == 1:
            found[kinds[0]["group"], kinds[0]["version"], kinds[0]["kind"]] = name
    return found


def schema_name(group: str, version: str, kind: str) -> str:
    """ "io.k8s.api.core.v1.Pod"; "" where no schema is known."""
    return _names().get((group, version, kind), "")


class Values(msgspec.Struct, frozen=True, rename="camel"):
    """How one type is written as JSON. left_out: fields not written when zero. null: written as null when missing."""

    name: str
    left_out: tuple[str, ...] = ()
    null: tuple[str, ...] = ()


@cache
def values() -> Mapping[str, Values]:
    """By name of the schema; a type that is not here has neither."""
    raw = (_HERE / "values.jsonl").read_bytes()
    return {each.name: each for each in msgspec.json.Decoder(Values).decode_lines(raw)}


class _Zero(msgspec.Struct, frozen=True):
    resource: str
    fields: msgspec.Raw


@cache
def zeros() -> Mapping[str, bytes]:
    """By "v1/pods" or "apps/v1/deployments": what an object carries beside its metadata when nothing is set, as JSON.

    A bookmark is such an object. Recorded from a real server; a resource that is not here carries nothing.
    """
    raw = (_HERE / "zeros.jsonl").read_bytes()
    return {each.resource: bytes(each.fields) for each in msgspec.json.Decoder(_Zero).decode_lines(raw)}
