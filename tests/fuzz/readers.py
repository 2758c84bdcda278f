"""What reads bytes that somebody else wrote: each with good examples, and with the errors that it documents."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from zlib import crc32

import msgspec

from fleet.backends.record_api import RecordApi
from fleet.configuration.config_file import config_from, parse_config
from fleet.records.coordination import ProtocolMismatch
from fleet.records.lease_records import (
    Times,
    coordinator_record,
    lease_from_coordinator,
    lease_from_member,
    lease_of,
    micro_time,
)
from fleet.records.map_record import configmap_from_map
from fleet.records.object_names import Kind, Names
from fleet.records.record import CoordinatorRecord
from fleet.records.shard_lease import lease_from_shard
from shards.api.client import Transport, error_from
from shards.errors import ConfigError
from shards.gates.watermark import ResourceMark, Unseen, Watermark
from shards.keyrange import WHOLE
from shards.objects import Object
from shards.watching.wire import LineSplitter, MalformedStream, decode_event, decode_item, decode_page
from tests.unit.fleet.records.records import FLEET, member, shard, shard_map

LIMIT_BYTES = 1000
"""Of a line, so that fuzzing gets there."""
MOST_BRACKETS = 100

_NAMES = Names(FLEET, "prod")
_TIMES = Times(micro_time(0.0), micro_time(1.5))


@dataclass(frozen=True)
class Reader:
    """read: one input; None where it refuses without a word. errors: what it may raise; anything else is a finding.
    examples: inputs that it accepts."""

    name: str
    read: Callable[[bytes], object]
    errors: tuple[type[Exception], ...]
    examples: tuple[bytes, ...]
    longest_bytes: int = 64 * 1024
    """Of an input. Slow readers get short ones."""


def _event(kind: str, **metadata: object) -> bytes:
    about = {"name": "a", "namespace": "ns", "uid": "u-1", "resourceVersion": "12"} | metadata
    return msgspec.json.encode({"type": kind, "object": {"kind": "X", "apiVersion": "v1", "metadata": about}})


_OWNER = {"apiVersion": "v1", "kind": "W", "name": "w", "uid": "w-1", "controller": True}
_EVENTS = (
    _event("ADDED", labels={"größe": "🚀"}, ownerReferences=[_OWNER]),
    _event("DELETED", deletionTimestamp="2026-01-01T00:00:00Z"),
    _event("BOOKMARK", annotations={"k8s.io/initial-events-end": "true"}),
    b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old",'
    b'"details":{"causes":[{"reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":1}}}',
)
_LIST = msgspec.json.encode(
    {
        "kind": "ConfigMapList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "99", "continue": "abc", "remainingItemCount": 3},
        "items": [msgspec.json.decode(each)["object"] for each in _EVENTS[:2]],
    }
)


def read_lines(data: bytes) -> object:
    """Cut by its own first byte; whatever the cuts, the lines are the same, and no more than a line is held."""
    piece = 1 + (data[0] if data else 0) % 64
    splitter = LineSplitter(LIMIT_BYTES)
    found: list[bytes] = []
    for at in range(0, len(data), piece):
        found += splitter.feed(data[at : at + piece])
    end = data.rfind(b"\n")
    whole = data[: end + 1].split(b"\n")
    assert found == [line for line in whole if line and not line.isspace()]
    return found


def read_stream(data: bytes) -> object:
    lines = LineSplitter().feed(data + b"\n")
    for line in lines:
        event = decode_event(line)
        if event.error is None:
            assert event.meta.resource_version.isdigit()
    return lines or None


def read_page(data: bytes) -> object:
    page = decode_page(data)
    for raw in page.items:
        item = decode_item(raw, page.prefix)
        assert item.meta.uid
    return page


def read_failure(data: bytes) -> object:
    return error_from(500, data, data[:8].decode("latin-1"))


def read_config(data: bytes) -> object:
    """Of deep inputs, one in fifty: the scanner takes a quarter of a second for each, and they are refused alike."""
    if data.count(b"[") + data.count(b"{") > MOST_BRACKETS and crc32(data) % 50:
        return None
    return parse_config(data.decode("utf-8", "ignore"))


def read_settings(data: bytes) -> object:
    """What the YAML loader hands on, without the loader, which takes a hundred times as long as all that follows it."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return config_from(_as_loaded(document, 0)) if isinstance(document, dict) else None


def _as_loaded(value: Any, depth: int) -> Any:
    """YAML has more types than JSON; odd values stand for them. A list of itself is one, too."""
    match value:
        case dict() if depth < 50:
            return {_YAML_KEYS.get(key, key): _as_loaded(each, depth + 1) for key, each in value.items()}
        case list() if depth < 50:
            return [_as_loaded(each, depth + 1) for each in value]
        case str():
            return _YAML_VALUES.get(value, value)
        case _:
            return value


def _itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


_YAML_KEYS: dict[str, Any] = {
    "0": None,
    "-1": (1, "a"),
    "a": date(2001, 1, 2),
    "007": datetime(2001, 1, 2, 3, 4, 5, tzinfo=UTC),
    " ": b"\xff",
    "a.b/c": float("inf"),
    "1e3": True,
}
"""By the odd text (`tests.fuzz.documents.ODD`) that stands for it in JSON."""
_YAML_VALUES = _YAML_KEYS | {"\x00": {1, 2}, "x" * 300: _itself()}


class _NoTransport(Transport):
    async def request(self, method: str, path: str, **options: Any) -> bytes:
        raise AssertionError("a reader asks nobody")

    def stream(self, path: str, **options: Any) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise AssertionError("a reader asks nobody")

    async def close(self) -> None: ...


_API = RecordApi(_NoTransport(), _NAMES, user_agent=lambda: "", timeout_seconds=1.0, wall=lambda: 0.0)


def read_map(data: bytes) -> object:
    return _API.record(Kind.MAP, data)


def read_member(data: bytes) -> object:
    return _API.record(Kind.MEMBER, data)


def read_shard(data: bytes) -> object:
    return _API.record(Kind.SHARD, data)


def read_coordinator(data: bytes) -> object:
    lease = lease_of(data)
    return None if lease is None else coordinator_record(lease, FLEET)


def _answered(obj: Object) -> bytes:
    obj["metadata"] |= {"resourceVersion": "77", "uid": "uid-1"}
    return msgspec.json.encode(obj)


def _coordinator() -> Object:
    record = CoordinatorRecord(holder="pod.nonce", epoch=4, lease_seconds=8.0, renewals=9)
    return lease_from_coordinator(_NAMES, record, replaces="", times=_TIMES)


_MARKS = Watermark(3, {"v1/pods": ResourceMark("d", "12", (Unseen("v1/pods", "ns", "a", "u", "13"),))})
_CONFIGS = (
    b"fleet: web\ncontroller: websites:websites\n",
    b"fleet: web\ncontrollers: [a:b, c.py:d]\nshards: {count: 64, partitionBy: uid}\nworkers: {perPod: 2}\n"
    b"coordination: {leaseSeconds: 8, renewSeconds: 2.0}\nfeatureGates: {ServerSideSharding: on}\n"
    b"scope: {namespaces: [default], labelSelector: 'a=b'}\nqueue: &q {baseDelaySeconds: 0.1}\nlog: {level: info}\n",
)
_SETTINGS = msgspec.json.encode(
    msgspec.to_builtins(parse_config(_CONFIGS[1].decode()))
    | {"canary": {"controllers": [], "shardFraction": 1.0}, "client": {"requestsPerSecond": 50, "burst": 100}}
)
"""Every field."""

_STREAM = (MalformedStream,)
READERS = (
    Reader("lines", read_lines, _STREAM, (b"".join(each + b"\n" for each in _EVENTS),)),
    Reader("stream", read_stream, _STREAM, _EVENTS),
    Reader("page", read_page, _STREAM, (_LIST,)),
    Reader("failure", read_failure, (), (_EVENTS[3][25:-1], b"upstream connect error")),
    Reader("config", read_config, (ConfigError,), (*_CONFIGS, _SETTINGS), 2048),
    Reader("settings", read_settings, (ConfigError,), (_SETTINGS, b'{"fleet":"web","controller":"websites:websites"}')),
    Reader("map", read_map, (ProtocolMismatch,), (_answered(configmap_from_map(_NAMES, shard_map(), replaces="1")),)),
    Reader(
        "member",
        read_member,
        (ProtocolMismatch,),
        (_answered(lease_from_member(_NAMES, member(), replaces="1", times=_TIMES)),),
    ),
    Reader(
        "shard",
        read_shard,
        (ProtocolMismatch,),
        (_answered(lease_from_shard(_NAMES, shard(WHOLE, watermark=_MARKS), replaces="1", times=_TIMES)),),
    ),
    Reader("coordinator", read_coordinator, (ProtocolMismatch,), (_answered(_coordinator()),)),
)
