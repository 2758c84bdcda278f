"""One reconcile's view: the overlay above the store, and which of the two is newer."""

from __future__ import annotations

import msgspec
import pytest

from shards.errors import ConfigError
from shards.objects import Key, Meta, Object, ObjectName, OwnerReference, Resource
from shards.ownership.overlay import Live, Snapshot
from shards.ownership.view import View
from shards.stores.store import StoreWriter

SITES = Resource("demo", "v1", "websites")
PAGES = Resource("", "v1", "configmaps")
KEY = Key("ns", "a", "uid-a")
PAGE = ObjectName("ns", "page")


def body(version: int, *, uid: str = "u1", name: str = "page", owner: str = "") -> Object:
    metadata: Object = {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": str(version)}
    if owner:
        metadata["ownerReferences"] = [{"kind": "Website", "name": "a", "uid": owner, "controller": True}]
    return {"metadata": metadata}


class Cache:
    def __init__(self) -> None:
        self.writers = {SITES: StoreWriter(resource=SITES), PAGES: StoreWriter(resource=PAGES)}
        for writer in self.writers.values():
            writer.replace([], "10")

    def put(self, resource: Resource, found: Object) -> None:
        self.writers[resource].apply(msgspec.convert(found["metadata"], Meta), msgspec.json.encode(found))

    def drop(self, resource: Resource, found: Object) -> None:
        self.writers[resource].delete(msgspec.convert(found["metadata"], Meta))

    def view(self, overlay: dict[tuple[Resource, ObjectName], Live] | None = None) -> View:
        return View(SITES, KEY, {resource: writer.reader for resource, writer in self.writers.items()}, overlay)


@pytest.fixture
def cache() -> Cache:
    return Cache()


def version_in(view: View) -> str | None:
    found = view.get(PAGES, PAGE)
    return None if found is None else found["metadata"]["resourceVersion"]


class TestOverlay:
    def test_a_live_object_hides_an_older_one(self, cache: Cache) -> None:
        cache.put(PAGES, body(12))
        assert version_in(cache.view({(PAGES, PAGE): Live(body(15), "15")})) == "15"

    def test_the_store_wins_when_it_has_moved_past_it(self, cache: Cache) -> None:
        view = cache.view({(PAGES, PAGE): Live(body(15), "15")})
        cache.put(PAGES, body(16))
        assert version_in(view) == "16"

    def test_an_object_that_was_found_gone_stays_gone_while_the_store_still_holds_it(self, cache: Cache) -> None:
        cache.put(PAGES, body(12))
        assert version_in(cache.view({(PAGES, PAGE): Live(None, "12")})) is None
        assert version_in(cache.view({(PAGES, PAGE): Live(None, "")})) is None

    def test_a_successor_that_the_store_shows_is_there(self, cache: Cache) -> None:
        view = cache.view({(PAGES, PAGE): Live(None, "12")})
        cache.put(PAGES, body(20, uid="u2"))
        assert version_in(view) == "20"

    def test_an_object_whose_deletion_the_store_saw_is_not_brought_back(self, cache: Cache) -> None:
        """B14: the answer of an own write that arrives after the deletion."""
        view = cache.view()
        cache.put(PAGES, body(12))
        cache.drop(PAGES, body(16))
        view.remember(PAGES, PAGE, body(15))
        assert version_in(view) is None

    def test_an_object_that_the_store_is_past_and_does_not_hold_is_gone(self, cache: Cache) -> None:
        view = cache.view({(PAGES, PAGE): Live(body(15), "15")})
        assert version_in(view) == "15"
        cache.writers[PAGES].bookmark("15")
        assert version_in(view) is None

    def test_an_object_that_the_filter_hides_stays_whatever_the_store_shows(self, cache: Cache) -> None:
        view = cache.view({(PAGES, PAGE): Live(body(15), "15", hidden=True)})
        cache.writers[PAGES].bookmark("99")
        assert version_in(view) == "15"

    def test_the_stores_stay_as_they_are(self, cache: Cache) -> None:
        view = cache.view()
        view.remember(PAGES, PAGE, body(15))
        assert version_in(view) == "15"
        assert version_in(cache.view()) is None

    def test_copies_are_the_callers_own(self, cache: Cache) -> None:
        view = cache.view({(PAGES, PAGE): Live(body(15), "15")})
        first = view.get(PAGES, PAGE)
        assert first is not None
        first["metadata"]["resourceVersion"] = "99"
        assert version_in(view) == "15"


class TestSnapshots:
    def test_a_write_is_based_on_what_was_read_though_the_store_has_moved(self, cache: Cache) -> None:
        cache.put(PAGES, body(12))
        view = cache.view()
        view.get(PAGES, PAGE)
        cache.put(PAGES, body(13))
        assert view.snapshot(PAGES, PAGE) == Snapshot("u1", "12")

    def test_what_was_not_read_counts_as_read_now(self, cache: Cache) -> None:
        cache.put(PAGES, body(12))
        view = cache.view()
        assert view.snapshot(PAGES, PAGE) == Snapshot("u1", "12")
        cache.put(PAGES, body(13))
        assert view.snapshot(PAGES, PAGE) == Snapshot("u1", "12")

    def test_the_primary_counts_as_read_when_the_reconcile_begins(self, cache: Cache) -> None:
        cache.put(SITES, body(11, uid="uid-a", name="a"))
        view = cache.view()
        cache.put(SITES, body(14, uid="uid-a", name="a"))
        assert view.snapshot(SITES, view.name) == Snapshot("uid-a", "11")

    def test_an_object_that_is_not_known_has_none(self, cache: Cache) -> None:
        assert cache.view().snapshot(PAGES, PAGE) is None
        assert cache.view({(PAGES, PAGE): Live(None, "12")}).snapshot(PAGES, PAGE) is None


class TestPrimary:
    def test_an_object_with_another_uid_is_not_the_primary(self, cache: Cache) -> None:
        cache.put(SITES, body(11, uid="uid-b", name="a"))
        assert cache.view().own() is None

    def test_owned_objects_come_from_store_and_overlay(self, cache: Cache) -> None:
        cache.put(PAGES, body(12, uid="1", name="one", owner="uid-a"))
        cache.put(PAGES, body(12, uid="2", name="two", owner="uid-a"))
        cache.put(PAGES, body(12, uid="3", name="theirs", owner="uid-b"))
        view = cache.view()
        view.remember(PAGES, ObjectName("ns", "two"), None, "12")
        view.remember(PAGES, ObjectName("ns", "three"), body(14, uid="4", name="three", owner="uid-a"))
        view.remember(PAGES, ObjectName("ns", "foreign"), body(14, uid="5", name="foreign", owner="uid-b"))
        assert [each["metadata"]["name"] for each in view.owned(PAGES)] == ["one", "three"]

    def test_an_undeclared_resource_is_refused(self, cache: Cache) -> None:
        with pytest.raises(ConfigError, match="neither owns nor watches"):
            cache.view().owned(Resource("", "v1", "secrets"))


class TestVersion:
    def test_it_is_the_newest_of_store_overlay_and_own_writes(self, cache: Cache) -> None:
        assert cache.view().version(PAGES) == "10"
        view = cache.view({(PAGES, PAGE): Live(body(15), "15")})
        assert view.version(PAGES) == "15"
        view.wrote(PAGES, PAGE, Snapshot("u1", "120"))
        assert view.version(PAGES) == "120"
        assert view.version(SITES) == "10"

    def test_a_resource_without_a_view_is_judged_by_the_primary(self, cache: Cache) -> None:
        cache.writers[SITES].bookmark("44")
        assert cache.view().version(Resource("", "v1", "events")) == "44"


def test_the_owner_that_controls_is_the_one_that_counts() -> None:
    owners = (OwnerReference(uid="x"), OwnerReference(uid="y", controller=True))
    assert Meta(owner_references=owners).controller == owners[1]


def test_a_status_that_is_no_object_has_no_conditions(cache: Cache) -> None:
    view = cache.view()
    view.remember(SITES, view.name, {**body(12, uid="uid-a", name="a"), "status": "built"})
    assert view.own() is not None
    assert view.own_conditions is None
