"""Reads the body of a write: JSON, YAML or protobuf, with field validation. Pure.

Unknown and repeated fields are refused, warned of or ignored (KEP-2885); values of the wrong type are refused always.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from fleet.devcluster.decoding.exact import Exact
from fleet.devcluster.decoding.gotexts import Refused
from fleet.devcluster.decoding.gotypes import Findings, GoType, GoTypes
from fleet.devcluster.decoding.identity import identified, unhandled, unrecognised
from fleet.devcluster.decoding.jsontext import JsonError, read_json
from fleet.devcluster.decoding.pairs import duplicate_paths, with_pairs
from fleet.devcluster.decoding.yamlbody import YamlError, read_yaml
from fleet.devcluster.kinds.catalogue import schemas
from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.protobuf.decoding import CONTENT_TYPE as PROTOBUF
from fleet.devcluster.protobuf.decoding import decode as decode_protobuf
from fleet.devcluster.protobuf.wire import ProtobufError
from fleet.devcluster.wire import statuses
from shards.objects import Object

JSON = "application/json"
YAML = "application/yaml"
_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def read(
    kind: ResourceType,
    raw: bytes,
    *,
    content_type: str = JSON,
    validation: str = "Warn",
    warnings: list[str] | None = None,
) -> Object:
    """The object of a body; what it says is checked against its type. metadata may be missing.

    validation: Strict, Warn or Ignore. warnings: gets the sentences of Warn. Raises StatusError 400, 415, 422.
    """
    strict: list[str] = []
    repeated = False
    if content_type in (JSON, ""):
        exact = None if kind.custom else exact_of(kind).decode(raw)
        if exact is not None:
            return identified(kind, exact, raw)
        body = identified(kind, _decoded(kind, raw), raw)
        if validation != "Ignore":
            again = with_pairs(raw, body)
            repeated, body = again is not body, again
    elif content_type == YAML:
        body, strict = _from_yaml(kind, raw)
    elif content_type == PROTOBUF and not kind.custom:
        body = _from_protobuf(kind, raw)
    else:
        raise statuses.unsupported_body()
    return typed(kind, body, validation=validation, warnings=warnings, repeats=strict, repeated=repeated)


def typed(
    kind: ResourceType,
    body: Object,
    *,
    validation: str = "Warn",
    warnings: list[str] | None = None,
    repeats: list[str] | None = None,
    repeated: bool = False,
    old: Object | None = None,
) -> Object:
    """A body whose fields have been read as its type wants them; also for the result of a patch.

    repeats: what is known of repeated fields already. repeated: the body holds Pairs. old: a valid object of this
    kind; what the body has in common with it, the very same values, is not read again: a patch of one field of a large
    object costs the reading of that field. Raises StatusError.
    """
    found = Findings(strict=list(repeats or ()))
    try:
        if kind.custom:
            _read_custom(kind, body, found, old or {}, repeated=repeated)
        else:
            body = type_of(kind).read_changes(body, found, old or {})
    except Refused as refused:
        raise unhandled(kind, str(refused)) from None
    if found.mismatch:
        raise unhandled(kind, found.mismatch)
    if found.strict and validation != "Ignore":
        if validation == "Strict":
            raise unhandled(kind, f"strict decoding error: {_joined(found.strict, repeats)}")
        if warnings is not None:
            warnings.extend(found.strict)
    return body


@cache
def _go_types() -> GoTypes:
    return GoTypes(schemas())


def type_of(kind: ResourceType) -> GoType:
    """Of a built-in kind."""
    return _go_types().named(kind.type_name)


_EXACT: dict[str, Exact] = {}


def exact_of(kind: ResourceType) -> Exact:
    """Of a built-in kind."""
    found = _EXACT.get(kind.type_name)
    if found is None:
        found = _EXACT[kind.type_name] = Exact(type_of(kind))
    return found


def _decoded(kind: ResourceType, raw: bytes) -> Any:
    try:
        return read_json(raw)
    except JsonError as error:
        raise unrecognised(kind, f"couldn't get version/kind; json parse error: {error}", raw) from None


def _from_yaml(kind: ResourceType, raw: bytes) -> tuple[Object, list[str]]:
    try:
        value, repeats = read_yaml(raw)
    except YamlError as error:
        raise unrecognised(kind, str(error), raw) from None
    return identified(kind, value, raw), repeats


def _from_protobuf(kind: ResourceType, raw: bytes) -> Object:
    try:
        return identified(kind, decode_protobuf(raw), raw)
    except ProtobufError as error:
        raise unrecognised(kind, str(error), raw) from None


def _read_custom(kind: ResourceType, body: Object, found: Findings, old: Object, *, repeated: bool) -> None:
    """Metadata has a type; of the rest the schema knows which fields there are."""
    for path in duplicate_paths(body) if repeated else ():
        found.strict.append(f'duplicate field "{path}"')
    metadata = body.get("metadata")
    if metadata is not None and metadata is not old.get("metadata"):
        inner = Findings()
        kept = _go_types().named(_OBJECT_META).read_changes(metadata, inner, old.get("metadata") or {})
        found.mismatch = inner.mismatch
        body["metadata"] = kept
        found.strict += [each.replace('field "', 'field "metadata.', 1) for each in inner.strict if "unknown" in each]
    if kind.schema is None:
        return
    unknown, fault = kind.schema.read(body)
    if fault and not found.mismatch:
        found.mismatch = fault.text()
    found.strict += [f'unknown field "{path}"' for path in unknown]


def _joined(sentences: list[str], repeats: list[str] | None) -> str:
    """Repeats in YAML come under one heading."""
    if not repeats:
        return ", ".join(sentences)
    head = "yaml: unmarshal errors:\n" + "\n".join(f"  {each}" for each in repeats)
    return ", ".join((head, *sentences[len(repeats) :]))
