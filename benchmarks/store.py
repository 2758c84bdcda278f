"""The store: memory an object, what taking one in and reading it costs, and the longest step that holds the event loop.

Custom resources of about 1 KB, as `fleet`'s own controllers make them: two labels, an annotation, managed fields; a
fifth as many with children (two each, with an owner reference). Each measurement has a process of its own. Memory is
the slope of the resident size from 20,000 to 100,000 objects, so that what the process needs anyway does not count.
"""

from __future__ import annotations

import gc
import multiprocessing
import random
import resource
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from statistics import median
from typing import TypeVar
from uuid import UUID

import msgspec

from benchmarks.table import Row, conclude
from shards.objects import Meta, ObjectName, OwnerReference
from shards.stores.indexes import Index
from shards.stores.intake import Intake
from shards.stores.store import Entry, Replacement, StoreWriter

FEW, MANY = 20_000, 100_000
SLOPE_BYTES = 1_228.8
"""1.2 KiB, over everything that the store keeps of an object."""

STEP_MS = 10.0
"""No call may hold the event loop longer."""

Found = TypeVar("Found")

_MANAGED = [
    {
        "manager": "bench",
        "operation": "Update",
        "apiVersion": "bench.example.com/v1",
        "time": "2026-11-30T09:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {
                "f:annotations": {".": {}, "f:bench.example.com/note": {}},
                "f:labels": {".": {}, "f:app": {}},
            },
            "f:spec": {".": {}, "f:image": {}, "f:owner": {}, "f:params": {}, "f:replicas": {}, "f:zones": {}},
        },
    }
]


def widget(number: int, rng: random.Random, owner: OwnerReference | None = None) -> Entry:
    """As it comes off the wire: every string is its own."""
    metadata: dict[str, object] = {
        "name": f"w-{number:06d}",
        "namespace": f"bench-{number % 20:02d}",
        "uid": str(UUID(int=rng.getrandbits(128), version=4)),
        "resourceVersion": str(1_000_000 + number),
        "generation": 1,
        "creationTimestamp": f"2026-11-30T09:{number // 60 % 60:02d}:{number % 60:02d}Z",
        "labels": {"app": f"app-{number % 50}", "team": f"team-{number % 9}"},
        "annotations": {"bench.example.com/note": f"seed {number}"},
        "managedFields": _MANAGED,
    }
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    spec = {
        "size": number % 7,
        "color": "blue",
        "image": f"registry.example.com/widget:{number % 100}",
        "region": f"eu-west-{number % 4}",
        "replicas": 3,
        "owner": f"owner-{number}@example.com",
        "schedule": "*/5 * * * *",
        "params": {"alpha": str(number * 7919), "beta": "two", "gamma": "three"},
        "zones": ["a", "b", "c"],
    }
    body = {"apiVersion": "bench.example.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec}
    raw = msgspec.json.encode(body)
    return Entry(_decode(raw).metadata, raw)


class _Object(msgspec.Struct, gc=False):
    metadata: Meta


_decode = msgspec.json.Decoder(_Object).decode


def widgets(count: int, *, owned: bool = False) -> Iterator[Entry]:
    rng = random.Random(7)
    for number in range(count):
        owner = None
        if owned:
            uid = str(UUID(int=number // 2 + 1, version=4))
            owner = OwnerReference("Website", f"site-{number // 2}", uid, "demo.example.com/v1", True)
        yield widget(number, rng, owner)


class Former:
    """What a store without compression and packed metadata keeps, for comparison: the fields of a `Meta` and the JSON
    of each object, by name, by UID and by owner."""

    def __init__(self) -> None:
        self.entries: dict[ObjectName, Entry] = {}
        self.names: dict[str, ObjectName] = {}
        self.owned: dict[str, dict[ObjectName, None]] = {}

    def add(self, entry: Entry) -> None:
        meta = entry.meta
        name = ObjectName(meta.namespace, meta.name)
        self.entries[name] = entry
        self.names[meta.uid] = name
        if (owner := meta.controller) is not None:
            self.owned.setdefault(owner.uid, {})[name] = None


def rss_bytes() -> int:
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def fill(writer: StoreWriter, entries: Iterator[Entry]) -> None:
    replacement = writer.begin()
    for entry in entries:
        replacement.add(entry)
    _longest(replacement.commit("9000000"))


def resident(count: int, *, owned: bool = False) -> float:
    """Bytes of a process with that many objects in a store."""
    writer = StoreWriter()
    fill(writer, widgets(count, owned=owned))
    assert len(writer.reader) == count
    return float(rss_bytes())


def formerly(count: int) -> float:
    store = Former()
    for entry in widgets(count):
        store.add(entry)
    return float(rss_bytes())


def ingest() -> tuple[float, float, float, float]:
    """Microseconds of CPU for one object: without compression; first list, relist that changes nothing, event."""
    entries = list(widgets(FEW))
    gc.freeze()
    former = Former()

    def without() -> None:
        for each in entries:
            former.add(each)

    before = round(_microseconds(without, FEW), 2)
    writer = StoreWriter()
    first = _microseconds(lambda: fill(writer, iter(entries)), FEW)
    again = _microseconds(lambda: fill(writer, iter(entries)), FEW)
    newer = [
        Entry(msgspec.structs.replace(each.meta, resource_version=str(9_000_001 + index)), each.raw)
        for index, each in enumerate(entries)
    ]
    event = _microseconds(lambda: [writer.apply(each.meta, each.raw) for each in newer], FEW)
    return before, first, again, event


def reads() -> tuple[float, float, float]:
    """Microseconds of CPU for one read: the object, its metadata, its UID and version."""
    writer = StoreWriter()
    fill(writer, widgets(FEW))
    view = writer.reader
    names = [ObjectName(key.namespace, key.name) for key in view.each_key()]
    random.Random(1).shuffle(names)
    return (
        _microseconds(lambda: [view.get(name) and None for name in names], FEW),
        _microseconds(lambda: [view.meta(name) and None for name in names], FEW),
        _microseconds(lambda: [view.version_of(name) and None for name in names], FEW),
    )


def searches() -> tuple[float, float, float]:
    """Milliseconds of CPU to find 20 of 100,000 objects by a label and a namespace: searched, and with an index; and of
    a full garbage collection beside them."""
    found = []
    for indexes in ((), (Index.label("app"),)):
        writer = StoreWriter(Intake(indexes=indexes))
        fill(writer, widgets(MANY))
        view = writer.reader
        work = partial(view.select, namespace="bench-07", labels={"app": "app-7", "team": "team-3"})
        work()
        found.append(_microseconds(work, 1) / 1e3)
    gc.collect()
    return found[0], found[1], _microseconds(gc.collect, 1) / 1e3


def longest_steps() -> tuple[float, float, float, float]:
    """Milliseconds of CPU: the longest `add` of a list (it trains the dictionary); of relists that change every object
    and that find none, the longest step up to their commit; the longest step of telling what they changed."""
    gc.disable()  # its pauses are the process's, not the store's
    writer = StoreWriter()
    replacement = writer.begin()
    adding = _longest(_added(replacement))
    _longest(replacement.commit("9000000"))
    changed = writer.begin()
    for number, entry in enumerate(widgets(MANY)):
        changed.add(Entry(msgspec.structs.replace(entry.meta, resource_version=str(9_000_001 + number)), entry.raw))
    changing, telling = _swap(changed, "9900000")
    del changed, replacement
    emptying, burying = _swap(writer.begin(), "9900001")
    return adding, changing, emptying, max(telling, burying)


def _added(replacement: Replacement) -> Iterator[None]:
    for entry in widgets(MANY):
        replacement.add(entry)
        yield


def _swap(replacement: Replacement, version: str) -> tuple[float, float]:
    comparing = _longest(replacement.compare())
    began = time.thread_time()
    changes = replacement.commit(version)
    committing = (time.thread_time() - began) * 1e3
    return max(comparing, committing), _longest(changes)


def _longest(steps: Iterator[object]) -> float:
    """Milliseconds of CPU of the longest step."""
    longest = 0.0
    began = time.thread_time()
    for _ in steps:
        ended = time.thread_time()
        longest = max(longest, ended - began)
        began = ended
    return longest * 1e3


def _microseconds(work: Callable[[], object], count: int) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) / count * 1e6


def alone(function: Callable[..., Found], *args: object) -> Found:
    """In a fresh process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *args).result()


def slope(function: Callable[[int], float]) -> float:
    return (alone(function, MANY) - alone(function, FEW)) / (MANY - FEW)


def children(count: int) -> float:
    return resident(count, owned=True)


def rows() -> list[Row]:
    size = median(len(each.raw) for each in widgets(1_000))
    before, first, again, event = (round(each, 2) for each in alone(ingest))
    get, meta, version = (round(each, 2) for each in alone(reads))
    search, indexed, collection = (round(each, 2) for each in alone(searches))
    adding, changing, emptying, telling = (round(each, 2) for each in alone(longest_steps))
    return [
        Row("an object as JSON, median", size, "B"),
        Row("memory an object, 20,000 to 100,000", round(slope(resident)), "B", SLOPE_BYTES),
        Row("the same, objects with an owner", round(slope(children)), "B", SLOPE_BYTES),
        Row("the same without compression, as it comes", round(slope(formerly)), "B"),
        Row("into the store, without compression", before, "µs CPU"),
        Row("into the store, first list", first, "µs CPU", 12),
        Row("into the store, unchanged in a relist", again, "µs CPU", 4),
        Row("into the store, by an event", event, "µs CPU", 16),
        Row("get", get, "µs CPU", 12),
        Row("meta", meta, "µs CPU", 8),
        Row("version_of", version, "µs CPU", 2),
        Row("select by labels among 100,000", search, "ms CPU", STEP_MS),
        Row("the same with an index of one of them", indexed, "ms CPU", 3),
        Row("full garbage collection beside 100,000", collection, "ms CPU", STEP_MS),
        Row("longest step while a list of 100,000 comes in", adding, "ms CPU", STEP_MS),
        Row("longest step up to the swap, 100,000 changed", changing, "ms CPU", STEP_MS),
        Row("longest step up to the swap, 100,000 gone", emptying, "ms CPU", STEP_MS),
        Row("longest step while the changes are told", telling, "ms CPU", STEP_MS),
    ]


def main() -> int:
    return conclude(rows())


if __name__ == "__main__":
    sys.exit(main())
