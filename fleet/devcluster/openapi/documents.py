"""The OpenAPI documents of a registry, made when they are first asked for and kept until the registry changes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache

import msgspec

from fleet.devcluster.kinds.catalogue import Entry, Schemas, entries, schema_name, schemas
from fleet.devcluster.kinds.resources import BUILT_IN, Registry, ResourceType
from fleet.devcluster.kinds.rules import UNSERVED_SUBRESOURCES, VIRTUAL
from fleet.devcluster.openapi import protobuf, version2
from fleet.devcluster.openapi.operations import PREFIX, Below, Document, Served, paths_of
from fleet.devcluster.openapi.published import published, published_name, published_v2
from fleet.devcluster.wire import statuses
from fleet.devcluster.wire.answers import JSON, Answer
from fleet.devcluster.wire.requests import Request
from shards.objects import Resource

V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
_V2_PROTOBUF_ANSWER = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_ALWAYS = (_META + "DeleteOptions", _META + "Patch", _META + "Status")
_SCALE = "io.k8s.api.autoscaling.v1.Scale"


@dataclass(frozen=True, slots=True)
class _Rendered:
    """A document as it is sent. digest: of its bytes, for ETag and hash."""

    body: bytes
    digest: str

    @classmethod
    def of(cls, body: bytes) -> _Rendered:
        return cls(body, hashlib.sha512(body).hexdigest().upper())


@dataclass(slots=True)
class OpenApi:
    """Answers /openapi/v2 and /openapi/v3."""

    registry: Registry
    _revision: int = -1
    _kept: dict[str, _Rendered] = field(default_factory=dict)

    def answer(self, request: Request) -> Answer:
        """Raises StatusError 404."""
        if self._revision != self.registry.revision:
            self._revision = self.registry.revision
            self._kept.clear()
        path = request.path.strip("/")
        if path == "openapi/v2":
            if V2_PROTOBUF in request.accept or _V2_PROTOBUF_ANSWER in request.accept:
                return _sent(request, self._version2(binary=True), _V2_PROTOBUF_ANSWER)
            return _sent(request, self._version2(binary=False), JSON)
        if path == "openapi/v3":
            return Answer(200, self._index(), "text/plain; charset=utf-8")
        group_version = path.removeprefix("openapi/v3/")
        if group_version == path:
            raise statuses.no_such_path()
        if group_version not in self._group_versions():
            return Answer(404, b"", "")
        return _document_answer(request, group_version, self._version3(group_version))

    def _group_versions(self) -> list[str]:
        found = dict.fromkeys(_path(each.group, each.version) for each in _served_entries())
        found |= dict.fromkeys(_path(each.resource.group, each.resource.version) for each in self._custom())
        return sorted(found)

    def _custom(self) -> Iterator[ResourceType]:
        return (each for each in self.registry if each.custom)

    def _index(self) -> bytes:
        paths = {
            each: {"serverRelativeURL": f"/openapi/v3/{each}?hash={self._version3(each).digest}"}
            for each in self._group_versions()
        }
        return msgspec.json.encode({"paths": paths})

    def _version3(self, group_version: str) -> _Rendered:
        custom = [each for each in self._custom() if _path(each.resource.group, each.resource.version) == group_version]
        if not custom:
            return _built_in_document(group_version)
        found = self._kept.get(group_version)
        if found is None:
            extra = {name: schema for each in custom for name, schema in published(each).items()}
            found = self._kept[group_version] = _Rendered.of(
                _version3_document([_custom_served(each) for each in custom], extra)
            )
        return found

    def _version2(self, *, binary: bool) -> _Rendered:
        key = "v2 protobuf" if binary else "v2"
        found = self._kept.get(key)
        if found is None:
            served = [*map(_built_in_served, _served_entries()), *map(_custom_served, self._custom())]
            paths = {path: item for each in served for path, item in paths_of(each)}
            definitions: dict[str, Document] = {name: dict(schema) for name, schema in schemas().items()}
            for kind in self._custom():
                definitions |= {name: published_v2(schema) for name, schema in published(kind).items()}
            document = version2.document(paths, definitions)
            body = protobuf.encoded(document) if binary else msgspec.json.encode(document)
            found = self._kept[key] = _Rendered.of(body)
        return found


def _sent(request: Request, rendered: _Rendered, content_type: str) -> Answer:
    """Nothing but 304 to a client that has it already."""
    etag = f'"{rendered.digest}"'
    headers = {"ETag": etag}
    if request.headers.get("if-none-match") == etag:
        return Answer(304, b"", content_type, headers=headers)
    return Answer(200, rendered.body, content_type, headers=headers)


def _document_answer(request: Request, group_version: str, rendered: _Rendered) -> Answer:
    """A document may be kept for ever under its hash; another hash is sent on to the right one."""
    wanted = request.option("hash")
    if wanted and wanted != rendered.digest:
        location = f"/openapi/v3/{group_version}?hash={rendered.digest}"
        return Answer(301, b"", JSON, headers={"Location": location, "ETag": f'"{rendered.digest}"'})
    answer = _sent(request, rendered, JSON)
    if wanted:
        answer.headers["Cache-Control"] = "public, immutable"
    return answer


def _path(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


@cache
def _served_entries() -> tuple[Entry, ...]:
    stored = {each.resource for each in BUILT_IN}
    return tuple(
        each
        for each in entries()
        if Resource(each.group, each.version, each.name) in stored or (each.group, each.name) in VIRTUAL
    )


def _built_in_served(entry: Entry) -> Served:
    below = []
    for each in entry.subresources:
        group, version = each.group or entry.group, each.version or entry.version
        schema = schema_name(group, version, each.kind)
        if schema and each.name not in UNSERVED_SUBRESOURCES:
            below.append(Below(each.name, schema, (group, version, each.kind), each.verbs))
    return Served(
        entry.group,
        entry.version,
        entry.name,
        entry.kind,
        entry.namespaced,
        custom=False,
        verbs=entry.verbs,
        schema=schema_name(entry.group, entry.version, entry.kind),
        list_schema=schema_name(entry.group, entry.version, f"{entry.kind}List"),
        below=below,
    )


def _custom_served(kind: ResourceType) -> Served:
    resource, name = kind.resource, published_name(kind)
    own_kind = (resource.group, resource.version, kind.kind)
    below = [
        Below(each.name, _SCALE if each.name == "scale" else name, own_kind, each.verbs) for each in kind.subresources
    ]
    return Served(
        resource.group,
        resource.version,
        resource.plural,
        kind.kind,
        kind.namespaced,
        custom=True,
        verbs=kind.verbs,
        schema=name,
        list_schema=f"{name}List",
        below=below,
    )


@cache
def _built_in_document(group_version: str) -> _Rendered:
    served = [_built_in_served(each) for each in _served_entries() if _path(each.group, each.version) == group_version]
    return _Rendered.of(_version3_document(served, {}))


def _version3_document(served: Iterable[Served], extra: dict[str, Document]) -> bytes:
    """extra: schemas that are not in the catalogue."""
    paths: Document = {}
    wanted = list(_ALWAYS)
    for each in served:
        paths |= paths_of(each)
        wanted += [each.schema, each.list_schema, *(below.schema for below in each.below)]
    found = _reached(wanted, {**schemas(), **extra})
    document = {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "1.37"},
        "paths": paths,
        "components": {"schemas": found},
    }
    return msgspec.json.encode(document)


def _reached(names: list[str], known: Schemas) -> Document:
    """The named schemas and all that they refer to, sorted by name."""
    found: Document = {}
    while names:
        name = names.pop()
        if name and name not in found:
            found[name] = known[name]
            names += _references(known[name])
    return dict(sorted(found.items()))


def _references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].removeprefix(PREFIX)
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)
