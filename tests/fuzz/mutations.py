"""Makes inputs out of examples: bytes changed, parts doubled, moved and cut, and tokens that readers stumble over."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.fuzz.documents import rearranged

DEEP = (b"[" * 1200, b'{"a":' * 1200)
"""Seldom: a reader in Python goes a thousand levels down for each, and would do little else."""
SELDOM = 0.01
TOKENS = (
    b"9" * 25,
    b"9" * 400,
    b"9" * 5000,
    b"-1",
    b"0",
    b"1e999",
    b"-0.0",
    b"NaN",
    b".inf",
    b"null",
    b"true",
    b'""',
    b"[]",
    b"{}",
    b'"\\ud800"',
    b'"\\u0000"',
    b"\xff\xfe",
    "\u0663\u0665".encode(),
    b"\n",
    b"\r\n",
    b"\x00",
    b"2001-99-99",
    b"1:60:90",
    b"&a [*a]",
    b"<<: *q",
    b"? [a]\n: b\n",
    b"!!python/object:os.system x",
    b"!!binary x",
    b"!!timestamp x",
    b"!!int x",
    b"%TAG ! x",
    b"0x",
    b"1_000",
    b"yes",
    b"ffffffffffffffff",
    b"0000000000000000-ffffffffffffffff",
)


def mutated(rng: random.Random, examples: Sequence[bytes], longest_bytes: int) -> bytes:
    """One input: an example after one to six changes; half of the documents stay documents."""
    data = rng.choice(examples)
    document = rearranged(rng, data, tuple(examples)) if rng.random() < 0.5 else None
    if document is not None:
        return document[:longest_bytes]
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        data = _change(rng, data, examples)
    return data[:longest_bytes]


def _token(rng: random.Random) -> bytes:
    return rng.choice(DEEP if rng.random() < SELDOM else TOKENS)


def _change(rng: random.Random, data: bytes, examples: Sequence[bytes]) -> bytes:
    at, to = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    to = min(to, at + rng.choice((1, 4, 40, 4000)))
    match rng.randrange(9):
        case 0:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case 1:
            return data[:at] + data[to:]
        case 2:
            return data[:to] + data[at:to] * rng.choice((1, 2, 30)) + data[to:]
        case 3:
            return data[:at] + _token(rng) + data[at:]
        case 4 | 5:
            return _value_replaced(rng, data)
        case 6:
            other = rng.choice(examples)
            return data[:at] + other[rng.randint(0, len(other)) :]
        case 7:
            return data[:at]
        case _:
            return data[:at] + rng.randbytes(rng.randrange(1, 9)) + data[to:]


def _value_replaced(rng: random.Random, data: bytes) -> bytes:
    """What stands between a colon and the next comma or bracket becomes something else."""
    colons = [at for at, byte in enumerate(data) if byte == ord(":")]
    if not colons:
        return data + _token(rng)
    begin = rng.choice(colons) + 1
    ends = [at for mark in (b",", b"}", b"\n", b"]") if (at := data.find(mark, begin)) >= 0]
    end = min(ends, default=len(data))
    return data[:begin] + b" " + _token(rng) + data[end:]
