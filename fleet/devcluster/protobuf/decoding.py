"""A protobuf body as the JSON object that it stands for. Pure."""

from __future__ import annotations

import base64
from typing import Any, Final

from fleet.devcluster.protobuf.messages import SCALARS, Field, message_of, messages
from fleet.devcluster.protobuf.values import SPECIAL
from fleet.devcluster.protobuf.wire import FIXED32, FIXED64, VARINT, ProtobufError, fields, floating, signed
from shards.objects import Object

CONTENT_TYPE: Final = "application/vnd.kubernetes.protobuf"
MAGIC: Final = b"k8s\x00"


def decode(raw: bytes) -> Object:
    """The object in a request body, with kind and apiVersion. Raises ProtobufError.

    Layout: four magic bytes, then runtime.Unknown, which names the type and holds its bytes
    (k8s.io/apimachinery/pkg/runtime/serializer/protobuf).
    """
    if not raw.startswith(MAGIC):
        raise ProtobufError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        return _object(raw[len(MAGIC) :])
    except UnicodeDecodeError as error:
        raise ProtobufError(f"a text is not UTF-8: {error}") from None
    except (OverflowError, RecursionError) as error:
        raise ProtobufError(f"a value is out of bounds: {error}") from None


def _object(raw: bytes) -> Object:
    outer = _parts(raw)
    type_meta = _message("k8s.io.apimachinery.pkg.runtime.TypeMeta", outer.get(1, b""))
    api_version, kind = type_meta.get("apiVersion", ""), type_meta.get("kind", "")
    name = message_of(api_version, kind)
    if not name:
        raise ProtobufError(f"no kind {kind!r} is registered for version {api_version!r}")
    return {"kind": kind, "apiVersion": api_version, **_message(name, outer.get(2, b""))}


def _parts(raw: bytes) -> dict[int, bytes]:
    return {number: value for number, _, value in fields(raw) if isinstance(value, bytes)}


def _message(name: str, raw: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    known = messages()[name]
    for number, wire_type, value in fields(raw):
        field = known.get(number)
        if field is not None:
            _add(found, field, wire_type, value)
    return found


def _add(found: dict[str, Any], field: Field, wire_type: int, value: int | bytes) -> None:
    if field.map:
        key, content = _entry(field, value)
        found.setdefault(field.name, {})[key] = content
        return
    if (field.repeated and wire_type == VARINT) or (field.repeated and isinstance(value, bytes)):
        found.setdefault(field.name, []).append(_value(field.type, wire_type, value))
        return
    content = _value(field.type, wire_type, value)
    if field.inline and isinstance(content, dict):
        found.update(content)
    elif content is not None and (field.keeps_zero or content not in (0, "", False, {}, [])):
        found[field.name] = content


def _entry(field: Field, value: int | bytes) -> tuple[str, Any]:
    """One entry of a map: a message with the key in field 1 and the value in field 2."""
    key, content = "", _zero(field.type)
    for number, wire_type, part in fields(_bytes(value)):
        if number == 1:
            key = _bytes(part).decode()
        elif number == 2:
            content = _value(field.type, wire_type, part)
    return key, content


def _value(kind: str, wire_type: int, value: int | bytes) -> Any:
    if kind not in SCALARS:
        special = SPECIAL.get(kind)
        return _message(kind, _bytes(value)) if special is None else special(_bytes(value), _message)
    if wire_type in (FIXED32, FIXED64):
        return floating(_bytes(value))
    if wire_type == VARINT:
        number = value if isinstance(value, int) else 0
        return bool(number) if kind == "bool" else signed(number)
    return _bytes(value).decode() if kind == "string" else base64.b64encode(_bytes(value)).decode()


def _zero(kind: str) -> Any:
    return {} if kind not in SCALARS else False if kind == "bool" else "" if kind in ("string", "bytes") else 0


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ProtobufError("a number stands where a message or a text should be")
    return value
