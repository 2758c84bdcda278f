"""The wire format of protobuf: fields of one message, as they come. Pure.

Source: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_VARINT_LIMIT_BYTES = 10


class ProtobufError(ValueError):
    """The bytes are no message of the kind that they claim to be."""


def fields(raw: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """(number, wire type, value) of each field; fixed-width values as their bytes. Raises ProtobufError."""
    at, end = 0, len(raw)
    while at < end:
        tag, at = varint(raw, at)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == VARINT:
            value, at = varint(raw, at)
            yield number, wire_type, value
            continue
        if wire_type == BYTES:
            size, at = varint(raw, at)
        elif wire_type in (FIXED64, FIXED32):
            size = 8 if wire_type == FIXED64 else 4
        else:
            raise ProtobufError(f"wire type {wire_type} of field {number} is unknown")
        if at + size > end:
            raise ProtobufError(f"field {number} ends after its message")
        yield number, wire_type, raw[at : at + size]
        at += size


def varint(raw: bytes, at: int) -> tuple[int, int]:
    """The number at a position, and the position after it. Raises ProtobufError."""
    value = shift = 0
    for index in range(at, min(at + _VARINT_LIMIT_BYTES, len(raw))):
        byte = raw[index]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, index + 1
        shift += 7
    raise ProtobufError(f"the number at byte {at} does not end")


def signed(value: int) -> int:
    """A varint as int32 or int64: negative ones are sent as 64 bits in two's complement."""
    return value - (1 << 64) if value >= 1 << 63 else value


def floating(raw: bytes) -> float:
    """Of 4 or 8 bytes."""
    found: float = struct.unpack("<d" if len(raw) == 8 else "<f", raw)[0]
    return found
