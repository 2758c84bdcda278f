"""OpenAPI v2 in protobuf, as kubectl asks for it. Pure.

The messages are those of gnostic's openapiv2/OpenAPIv2.proto; only the fields that our documents have are written.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from typing import Any

from fleet.devcluster.openapi.operations import Document

_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}
_VARINT, _DOUBLE, _BYTES = 0, 1, 2


def encoded(document: Document) -> bytes:
    """A Document message."""
    info = document["info"]
    paths = b"".join(
        _message(2, _text(1, path) + _message(2, _path_item(item))) for path, item in document["paths"].items()
    )
    return b"".join(
        (
            _text(1, document["swagger"]),
            _message(2, _text(1, info["title"]) + _text(2, info["version"])),
            _message(8, paths),
            _message(9, _named_schemas(document["definitions"])),
        )
    )


def _path_item(item: Document) -> bytes:
    operations = b"".join(_message(_METHODS[name], _operation(item[name])) for name in item if name in _METHODS)
    return operations + b"".join(_message(9, _parameter(each)) for each in item.get("parameters", ()))


def _operation(operation: Document) -> bytes:
    answer = operation["responses"]["200"]
    # ResponseValue{response}, Response{description, schema}, SchemaItem{schema}
    response = _text(1, answer["description"]) + _message(2, _message(1, _schema(answer["schema"])))
    return b"".join(
        (
            *(_text(7, each) for each in operation.get("consumes", ())),
            *(_message(8, _parameter(each)) for each in operation.get("parameters", ())),
            _message(9, _message(1, _text(1, "200") + _message(2, _message(1, response)))),
            _extensions(13, operation),
        )
    )


def _parameter(parameter: Document) -> bytes:
    """ParametersItem{parameter}, Parameter{body_parameter or non_body_parameter}."""
    if parameter["in"] == "body":
        body = _text(2, parameter["name"]) + _text(3, "body") + _message(5, _schema(parameter["schema"]))
        return _message(1, _message(1, body))
    in_path = parameter["in"] == "path"
    required = _flag(1, parameter.get("required", False))
    named = required + _text(2, parameter["in"]) + _text(4, parameter["name"])
    # A PathParameterSubSchema has no allow_empty_value, so its numbers are one lower from there on.
    shape = _text(5 if in_path else 6, parameter["type"]) + _flag(19 if in_path else 20, parameter["uniqueItems"])
    return _message(1, _message(2, _message(4 if in_path else 3, named + shape)))


def _named_schemas(schemas: Document) -> bytes:
    return b"".join(_message(1, _text(1, name) + _message(2, _schema(each))) for name, each in schemas.items())


def _schema(schema: Document) -> bytes:
    parts = [_text(1, schema.get("$ref", "")), _text(2, schema.get("format", ""))]
    parts += [_text(4, schema.get("description", "")), _text(13, schema.get("pattern", ""))]
    for name, number in (("maximum", 7), ("minimum", 9)):
        if name in schema:
            parts.append(_double(number, schema[name]))
    for name, number in (("maxLength", 11), ("minLength", 12), ("maxItems", 14), ("minItems", 15)):
        if name in schema:
            parts.append(_number(number, schema[name]))
    parts += [_text(19, each) for each in schema.get("required", ())]
    parts += [_message(20, _text(2, json.dumps(each))) for each in schema.get("enum", ())]
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        parts.append(_message(21, _message(1, _schema(extra))))
    elif extra is not None:
        parts.append(_message(21, _flag(2, bool(extra))))
    if schema.get("type"):
        parts.append(_message(22, _text(1, schema["type"])))
    if isinstance(schema.get("items"), dict):
        parts.append(_message(23, _message(1, _schema(schema["items"]))))
    parts += [_message(24, _schema(each)) for each in schema.get("allOf", ())]
    if "properties" in schema:
        parts.append(_message(25, _named_schemas(schema["properties"])))
    parts.append(_extensions(31, schema))
    return b"".join(parts)


def _extensions(number: int, of: Document) -> bytes:
    """NamedAny{name, value: Any{yaml}}; JSON is YAML."""
    named: Iterable[tuple[str, Any]] = ((name, value) for name, value in of.items() if name.startswith("x-"))
    return b"".join(
        _message(number, _text(1, name) + _message(2, _text(2, json.dumps(value) + "\n"))) for name, value in named
    )


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _text(number: int, text: str) -> bytes:
    return _message(number, text.encode()) if text else b""


def _flag(number: int, value: bool) -> bytes:
    return _varint(number << 3 | _VARINT) + b"\x01" if value else b""


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value) if value else b""


def _double(number: int, value: float) -> bytes:
    return _varint(number << 3 | _DOUBLE) + struct.pack("<d", value)
