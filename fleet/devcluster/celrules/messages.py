"""Declared types as protobuf messages: how the CEL library is told of objects whose fields it shall check. Pure."""

from __future__ import annotations

from typing import Final

from cel_expr_python import cel  # type: ignore[import-untyped]
from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)

from fleet.devcluster.celrules.declarations import Declared

_PACKAGE: Final = "rules"
_KNOWN: Final = (any_pb2, duration_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
_FIELD: Final = descriptor_pb2.FieldDescriptorProto
_SCALARS: Final = {
    "int": _FIELD.TYPE_INT64,
    "double": _FIELD.TYPE_DOUBLE,
    "string": _FIELD.TYPE_STRING,
    "bool": _FIELD.TYPE_BOOL,
    "bytes": _FIELD.TYPE_BYTES,
}
_MESSAGES: Final = {
    "duration": ".google.protobuf.Duration",
    "timestamp": ".google.protobuf.Timestamp",
    "dyn": ".google.protobuf.Value",
    "list": ".google.protobuf.ListValue",
    "map": ".google.protobuf.Struct",
}
_TYPES: Final = {
    "int": cel.Type.INT,
    "double": cel.Type.DOUBLE,
    "string": cel.Type.STRING,
    "bool": cel.Type.BOOL,
    "bytes": cel.Type.BYTES,
    "duration": cel.Type.DURATION,
    "timestamp": cel.Type.TIMESTAMP,
    "dyn": cel.Type.DYN,
}


class Messages:
    """The objects of one declared type. Lists of lists and of maps, and maps of them, have elements of any type."""

    def __init__(self, root: Declared) -> None:
        self._file = descriptor_pb2.FileDescriptorProto(name="rules.proto", package=_PACKAGE, syntax="proto2")
        self._file.dependency.extend(each.DESCRIPTOR.name for each in _KNOWN)
        self.type: Final = self._type(root)
        self.pool: Final = descriptor_pool.DescriptorPool()
        for each in _KNOWN:
            self.pool.AddSerializedFile(each.DESCRIPTOR.serialized_pb)
        self.pool.AddSerializedFile(self._file.SerializeToString())

    def _type(self, declared: Declared) -> cel.Type:
        if declared.kind == "object":
            return cel.Type(self._message(declared).lstrip("."))
        if declared.element is None:
            return _TYPES[declared.kind]
        element = self._type(declared.element)
        return cel.Type.List(element) if declared.kind == "list" else cel.Type.Map(cel.Type.STRING, element)

    def _message(self, declared: Declared) -> str:
        """Adds a message; answers its full name."""
        made = self._file.message_type.add(name=f"Object{len(self._file.message_type)}")
        for number, (name, inner) in enumerate(declared.fields.values(), 1):
            element = inner.element
            if inner.kind == "list" and element is not None:
                self._add(made, name, number, element, _FIELD.LABEL_REPEATED)
            elif inner.kind == "map" and element is not None:
                entry = made.nested_type.add(name=f"{_camel(name)}Entry")
                entry.options.map_entry = True
                entry.field.add(name="key", number=1, type=_FIELD.TYPE_STRING, label=_FIELD.LABEL_OPTIONAL)
                self._add(entry, "value", 2, element, _FIELD.LABEL_OPTIONAL)
                type_name = f".{_PACKAGE}.{made.name}.{entry.name}"
                field = made.field.add(name=name, number=number, label=_FIELD.LABEL_REPEATED, json_name=f"f{number}")
                field.type_name = type_name
                field.type = _FIELD.TYPE_MESSAGE
            else:
                self._add(made, name, number, inner, _FIELD.LABEL_OPTIONAL)
        return f".{_PACKAGE}.{made.name}"

    def _add(
        self,
        message: descriptor_pb2.DescriptorProto,
        name: str,
        number: int,
        declared: Declared,
        label: descriptor_pb2.FieldDescriptorProto.Label.ValueType,
    ) -> None:
        # Names that differ in case only would have the same name in JSON, where each needs its own.
        made = message.field.add(name=name, number=number, label=label, json_name=f"f{number}")
        if declared.kind in _SCALARS:
            made.type = _SCALARS[declared.kind]
        else:
            made.type = _FIELD.TYPE_MESSAGE
            made.type_name = self._message(declared) if declared.kind == "object" else _MESSAGES[declared.kind]


def _camel(name: str) -> str:
    """As protoc names the entries of a map."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
