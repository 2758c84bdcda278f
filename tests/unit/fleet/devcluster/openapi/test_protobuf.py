"""OpenAPI v2 as protobuf, read back field by field."""

from __future__ import annotations

from collections.abc import Iterator

from fleet.devcluster.openapi.protobuf import encoded

DOCUMENT = {
    "swagger": "2.0",
    "info": {"title": "T", "version": "1"},
    "paths": {
        "/x/{name}": {
            "patch": {
                "x-kubernetes-action": "patch",
                "consumes": ["a/b"],
                "parameters": [{"name": "body", "in": "body", "schema": {"$ref": "#/definitions/X"}}],
                "responses": {"200": {"description": "OK", "schema": {"$ref": "#/definitions/X"}}},
            },
            "parameters": [{"name": "name", "in": "path", "required": True, "type": "string", "uniqueItems": True}],
        }
    },
    "definitions": {"X": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}},
}


def fields(message: bytes) -> Iterator[tuple[int, bytes | int]]:
    """Numbers and contents, in order; all lengths here are below 128."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        value, at = varint(message, at)
        if key & 7 == 2:
            yield key >> 3, message[at : at + value]
            at += value
        else:
            yield key >> 3, value


def varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def inner(message: bytes, *path: int) -> bytes:
    """The first field with each number, one inside the other."""
    for number in path:
        found = next(value for key, value in fields(message) if key == number)
        assert isinstance(found, bytes)
        message = found
    return message


def test_a_definition_has_name_type_and_properties() -> None:
    definition = inner(encoded(DOCUMENT), 9, 1)
    assert inner(definition, 1) == b"X"
    schema = inner(definition, 2)
    assert inner(schema, 22, 1) == b"object"
    assert inner(schema, 19) == b"a"
    assert inner(schema, 25, 1, 1) == b"a"


def test_an_operation_has_its_action_and_its_body() -> None:
    path = inner(encoded(DOCUMENT), 8, 2)
    assert inner(path, 1) == b"/x/{name}"
    operation = inner(path, 2, 8)
    assert inner(operation, 7) == b"a/b"
    assert inner(operation, 8, 1, 1, 5, 1) == b"#/definitions/X"
    assert inner(operation, 13, 1) == b"x-kubernetes-action"
    assert inner(operation, 13, 2, 2) == b'"patch"\n'


def test_a_path_parameter_is_required() -> None:
    parameter = inner(encoded(DOCUMENT), 8, 2, 2, 9, 1, 2, 4)
    assert dict(fields(parameter)) == {1: 1, 2: b"path", 4: b"name", 5: b"string", 19: 1}
