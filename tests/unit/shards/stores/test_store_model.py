"""The store against a plain model of it, over drawn histories: nothing is lost, invented, or found in the wrong place.

Dictionaries are trained every few bodies here, so that every history packs, trains and trains again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from shards.objects import Meta, ObjectName, OwnerReference
from shards.stores import bodies
from shards.stores.indexes import Index
from shards.stores.intake import Intake
from shards.stores.store import Change, Entry, StoreWriter

NAMES = ("a", "b", "c", "d", "e")
OWNERS = ("o1", "o2")
APPS = ("web", "db")
SIZES = ("s", "m", "broken")


class Projection(msgspec.Struct):
    spec: dict[str, Any]


def sizes(projection: Projection) -> Iterator[str]:
    """An author's function that does not manage every object."""
    yield from (projection.spec["size"], "any")
    if projection.spec["size"] == "broken":
        raise RuntimeError("cannot tell")


objects = st.fixed_dictionaries(
    {
        "name": st.sampled_from(NAMES),
        "life": st.sampled_from(("1", "2")),
        "owner": st.sampled_from(("", *OWNERS)),
        "app": st.sampled_from(("", *APPS)),
        "note": st.sampled_from(("", "n1", "n2")),
        "size": st.sampled_from(SIZES),
        "fill": st.sampled_from(("", "abc" * 30, "xyz" * 200)),
    }
)


def entry_of(drawn: dict[str, str], version: int) -> Entry:
    metadata: dict[str, Any] = {
        "name": drawn["name"],
        "namespace": f"ns-{drawn['name'] in 'ab'}",
        "uid": f"{drawn['name']}-{drawn['life']}",  # a UID belongs to one name, as on a server
        "resourceVersion": str(version),
        "generation": version,
    }
    if drawn["app"]:
        metadata["labels"] = {"app": drawn["app"]}
    if drawn["note"]:
        metadata["annotations"] = {"note": drawn["note"]}
    if drawn["owner"]:
        metadata["ownerReferences"] = [OwnerReference("Website", "w", drawn["owner"], "demo.dev/v1", True)]
    raw = msgspec.json.encode({"metadata": metadata, "spec": {"size": drawn["size"], "fill": drawn["fill"]}})
    return Entry(msgspec.json.decode(raw, type=_Object).metadata, raw)


class _Object(msgspec.Struct):
    metadata: Meta


def place(meta: Meta) -> ObjectName:
    return ObjectName(meta.namespace, meta.name)


def owner(meta: Meta) -> str:
    return meta.controller.uid if meta.controller else ""


class StoreMachine(RuleBasedStateMachine):
    """Versions count up; events may repeat an earlier one; lists hold what the model's server has."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        for name, value in {"PLAIN_BYTES": 40, "SAMPLES": 6, "FEW_SAMPLES": 3, "WINDOW": 5, "WORSE": 1.0}.items():
            self.patch.setattr(bodies, name, value)
        self.patch.setattr(bodies, "BETTER", 2.0)
        indexes = (Index.namespace(), Index.label("app"), Index("size", sizes, Projection))
        self.writer = StoreWriter(Intake(indexes=indexes))
        self.view = self.writer.reader
        self.version = 1
        self.held: dict[ObjectName, Entry] = {}
        self.gone: dict[str, int] = {}
        self.past: list[Entry] = []
        self.told: dict[ObjectName, Meta] = {}

    def teardown(self) -> None:
        self.patch.undo()

    @initialize(first=st.lists(objects, max_size=5))
    def lists_first(self, first: list[dict[str, str]]) -> None:
        self._relist({}, first, "after")

    @rule(drawn=objects)
    def modifies(self, drawn: dict[str, str]) -> None:
        self.version += 1
        self._apply(entry_of(drawn, self.version))

    @rule(index=st.integers(0, 1000))
    def replays(self, index: int) -> None:
        if self.past:
            self._apply(self.past[index % len(self.past)])

    @rule(name=st.sampled_from(NAMES))
    def deletes(self, name: str) -> None:
        for found, entry in list(self.held.items()):
            if found.name == name:
                self.version += 1
                meta = msgspec.structs.replace(entry.meta, resource_version=str(self.version))
                del self.held[found]
                self.gone[meta.uid] = self.version
                self._hear(self.writer.delete(meta))

    @rule(drop=st.sets(st.sampled_from(NAMES)), changed=st.lists(objects, max_size=4))
    def lists(self, drop: set[str], changed: list[dict[str, str]]) -> None:
        self._relist({n: e for n, e in self.held.items() if n.name not in drop}, changed, "after")

    @rule(drop=st.sets(st.sampled_from(NAMES)), changed=st.lists(objects, max_size=4))
    def lists_while_events_arrive(self, drop: set[str], changed: list[dict[str, str]]) -> None:
        self._relist(dict(self.held), changed, "during", drop)

    @rule(steps=st.integers(0, 3))
    def gives_a_list_up(self, steps: int) -> None:
        replacement = self.writer.begin()
        for entry in list(self.held.values())[:steps]:
            self.version += 1
            meta = msgspec.structs.replace(entry.meta, resource_version=str(self.version))
            replacement.add(Entry(meta, entry.raw))

    @rule()
    def hears_a_bookmark(self) -> None:
        self.version += 1
        self.writer.bookmark(str(self.version))

    @rule(changed=st.lists(objects, min_size=1, max_size=4))
    def is_restored_from_a_backup(self, changed: list[dict[str, str]]) -> None:
        before = self.view.regressions
        self.version = max(1, self.version // 2)
        self.past.clear()
        self._relist({}, changed, "after", listed_at=self.version)
        assert self.view.regressions - before in (0, 1)

    def _apply(self, entry: Entry) -> None:
        meta = entry.meta
        version = int(meta.resource_version)
        known = self.held.get(place(meta))
        stale = known is not None and int(known.meta.resource_version) >= version
        change = self.writer.apply(meta, entry.raw)
        self.past.append(entry)
        if stale or self.gone.get(meta.uid, 0) >= version:
            assert change is None
            return
        if known is not None and known.meta.uid != meta.uid:
            self.gone[known.meta.uid] = version
        self.gone.pop(meta.uid, None)
        self.held[place(meta)] = entry
        self._hear(change)

    def _relist(
        self,
        base: dict[ObjectName, Entry],
        changed: list[dict[str, str]],
        when: str,
        drop: set[str] | None = None,
        listed_at: int = 0,
    ) -> None:
        before = dict(self.held)
        replacement = self.writer.begin()
        for entry in base.values():
            replacement.add(entry)
        after = dict(base)
        removed: list[str] = []
        for drawn in changed:
            self.version += not listed_at
            entry = entry_of(drawn, self.version)
            if when == "during" and (known := after.get(place(entry.meta))) and known.meta.uid != entry.meta.uid:
                replacement.remove(known.meta)
                removed.append(known.meta.uid)
            if listed_at and place(entry.meta) in after:
                continue
            replacement.add(entry)
            after[place(entry.meta)] = entry
        for name, entry in list(after.items()):
            if drop is not None and name.name in drop:
                replacement.remove(entry.meta)
                removed.append(after.pop(name).meta.uid)
        self.version += not listed_at
        regressed = bool(self.view.resource_version) and self.version < int(self.view.resource_version)
        self.held = after
        uids = {entry.meta.uid for entry in after.values()}
        if regressed:
            self.gone.clear()
        else:
            missing = [entry.meta.uid for entry in before.values() if entry.meta.uid not in uids]
            self.gone.update(dict.fromkeys([*missing, *removed], self.version))
        for uid in uids:
            self.gone.pop(uid, None)
        for change in replacement.commit(str(self.version)):
            self._hear(change)
        self.past = [entry for entry in self.past if entry.meta.uid in uids]

    def _hear(self, change: Change | None) -> None:
        assert change is not None
        if change.old is not None:
            assert self.told.pop(place(change.old)) == change.old
        if change.new is not None:
            assert place(change.new) not in self.told
            self.told[place(change.new)] = change.new

    @invariant()
    def what_was_told_is_what_is_held(self) -> None:
        assert self.told == {name: entry.meta for name, entry in self.held.items()}

    @invariant()
    def every_object_reads_as_it_came(self) -> None:
        view = self.view
        assert len(view) == len(self.held)
        for name, entry in self.held.items():
            assert view.raw(name) == entry.raw
            assert view.get(name) == msgspec.json.decode(entry.raw)
            assert view.get_as(name, Projection) == msgspec.json.decode(entry.raw, type=Projection)
            assert view.meta(name) == entry.meta
            assert view.version_of(name) == (entry.meta.uid, entry.meta.resource_version)
            assert view.name_of(entry.meta.uid) == name
            assert view.shows(name, entry.meta.uid, entry.meta.resource_version)

    @invariant()
    def what_has_gone_is_proved_to_have(self) -> None:
        for name in NAMES:
            for life in ("1", "2"):
                uid = f"{name}-{life}"
                assert self.view.gone(uid) == (uid in self.gone)
                assert (self.view.name_of(uid) is None) == (uid not in {e.meta.uid for e in self.held.values()})

    @invariant()
    def indexes_say_what_a_search_says(self) -> None:
        view, held = self.view, {name: entry.meta for name, entry in self.held.items()}
        for uid in OWNERS:
            assert {place(m) for m in view.owned_by(uid)} == {n for n, m in held.items() if owner(m) == uid}
        for app in APPS:
            expected = {n for n, m in held.items() if (m.labels or {}).get("app") == app}
            assert set(view.select(labels={"app": app})) == expected
            assert set(view.find("label app", app).names) == expected
        for namespace in ("ns-True", "ns-False"):
            expected = {n for n in held if n.namespace == namespace}
            assert set(view.select(namespace=namespace)) == expected
            assert set(view.find("namespace", namespace).names) == expected
        by_size = {n: msgspec.json.decode(e.raw)["spec"]["size"] for n, e in self.held.items()}
        for size in ("s", "m"):
            hits = view.find("size", size)
            assert sorted(hits.names) == sorted(n for n, s in by_size.items() if s == size)
            assert sorted(hits.unknown) == sorted(n for n, s in by_size.items() if s == "broken")
        assert view.find("size", "broken").names == []


StoreMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=30)


TestStoreAgainstModel = StoreMachine.TestCase
