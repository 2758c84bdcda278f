from __future__ import annotations

import pytest

from fleet.devcluster.kinds.resources import BUILT_IN, ResourceType
from fleet.devcluster.storage.storage import Commit, HistoryGone, Storage
from shards.objects import Object

CONFIG_MAPS = next(kind for kind in BUILT_IN if kind.resource.plural == "configmaps")


def body(name: str, value: str = "1", namespace: str = "default") -> Object:
    return {"metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"}, "data": {"a": value}}


@pytest.fixture
def kind() -> ResourceType:
    return CONFIG_MAPS


def test_every_commit_has_a_version_of_its_own_and_a_deletion_too(kind: ResourceType) -> None:
    storage = Storage()
    table = storage.table(kind)
    versions = [storage.put(table, body("a")).version, storage.put(table, body("b")).version]
    versions.append(storage.delete(table, "default/a").version)
    assert versions == [2, 3, 4]
    assert storage.version == 4


def test_an_encoded_object_begins_with_the_head_that_lists_leave_out(kind: ResourceType) -> None:
    storage = Storage()
    stored = storage.put(storage.table(kind), body("a")).new
    assert stored is not None
    assert stored.raw.startswith(kind.head)
    assert stored.decode()["metadata"]["resourceVersion"] == "2"


def test_a_deleted_event_carries_the_last_content_under_the_version_of_the_delete(kind: ResourceType) -> None:
    storage = Storage()
    table = storage.table(kind)
    storage.put(table, body("a"))
    commit = storage.delete(table, "default/a")
    assert commit.last.meta.resource_version == "3"
    assert commit.last.decode()["data"] == {"a": "1"}
    assert b'"resourceVersion":"3"' in commit.deleted


def test_objects_are_scanned_in_the_order_of_their_keys_as_in_etcd(kind: ResourceType) -> None:
    storage = Storage()
    table = storage.table(kind)
    for namespace, name in (("b", "x"), ("a", "z"), ("a-b", "y"), ("a", "b")):
        storage.put(table, body(name, namespace=namespace))
    assert [stored.key for stored in table.scan()] == ["a-b/y", "a/b", "a/z", "b/x"]
    assert [stored.key for stored in table.scan("a/")] == ["a/b", "a/z"]
    assert [stored.key for stored in table.scan("a/", "a/b")] == ["a/z"]


def test_a_table_at_an_earlier_version_shows_what_was_there_then(kind: ResourceType) -> None:
    storage = Storage()
    table = storage.table(kind)
    storage.put(table, body("a", "old"))
    storage.put(table, body("b"))
    then = storage.version
    storage.put(table, body("a", "new"))
    storage.delete(table, "default/b")
    storage.put(table, body("c"))
    past = table.at(then)
    assert [(stored.key, stored.decode()["data"]["a"]) for stored in past.scan()] == [
        ("default/a", "old"),
        ("default/b", "1"),
    ]
    assert [stored.key for stored in table.scan()] == ["default/a", "default/c"]


def test_history_is_bounded_and_what_left_it_is_refused(kind: ResourceType) -> None:
    storage = Storage(history_limit=2)
    table = storage.table(kind)
    for name in ("a", "b", "c"):
        storage.put(table, body(name))
    assert [commit.version for commit in table.after(2)] == [3, 4]
    with pytest.raises(HistoryGone) as gone:
        table.after(1)
    assert gone.value.oldest == 2


def test_compaction_refuses_every_earlier_version_and_keeps_the_present_one(kind: ResourceType) -> None:
    storage = Storage()
    table = storage.table(kind)
    storage.put(table, body("a"))
    storage.compact()
    assert list(table.after(storage.version)) == []
    with pytest.raises(HistoryGone):
        table.at(storage.version - 1)


def test_listeners_of_the_storage_and_of_the_table_hear_every_commit(kind: ResourceType) -> None:
    storage = Storage()
    table = storage.table(kind)
    heard: list[tuple[str, Commit]] = []
    storage.listeners.append(lambda commit: heard.append(("storage", commit)))
    table.listeners.append(lambda commit: heard.append(("table", commit)))
    commit = storage.put(table, body("a"))
    assert heard == [("storage", commit), ("table", commit)]
