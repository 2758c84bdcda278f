"""The messages of the API types: which field has which number, JSON name and type."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import msgspec

SCALARS = frozenset(("string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "double", "float"))


class Field(NamedTuple):
    """type: a scalar, or the name of a message. map: string keys, values of that type.

    keeps_zero: a zero that was sent is shown, because the Go field is a pointer or always written. inline: the
    message's fields stand in its place.
    """

    name: str
    type: str
    repeated: bool
    map: bool
    keeps_zero: bool
    inline: bool


Message = Mapping[int, Field]


class _Line(msgspec.Struct):
    """One line of messages.jsonl. fields: "number name type flags"; flags: r(epeated) m(ap) k(eeps zero) i(nline)."""

    message: str
    fields: list[str]


@cache
def messages() -> Mapping[str, Message]:
    """By full protobuf name, such as k8s.io.api.core.v1.ConfigMap. tests/contract/write_messages.py writes the data."""
    content = files(__package__).joinpath("messages.jsonl").read_bytes()
    lines = msgspec.json.Decoder(_Line).decode_lines(content)
    return {line.message: dict(map(_field, line.fields)) for line in lines}


def _field(text: str) -> tuple[int, Field]:
    number, name, kind, *rest = text.split(" ")
    flags = rest[0] if rest else ""
    return int(number), Field(name, kind, "r" in flags, "m" in flags, "k" in flags, "i" in flags)


@cache
def message_of(api_version: str, kind: str) -> str:
    """The protobuf name of a kind, "" where it has none. Meta kinds, such as DeleteOptions, exist in every version."""
    group, _, version = api_version.rpartition("/")
    tail = f".{group.partition('.')[0] or 'core'}.{version}.{kind}"
    known = messages()
    found = [name for name in known if name.endswith(tail)]
    meta = f"k8s.io.apimachinery.pkg.apis.meta.v1.{kind}"
    return found[0] if found else meta if meta in known else ""
