"""Lists and typed reads of one reconcile: the store's indexes, under what is known better."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shards.errors import ConfigError
from shards.objects import Key, Meta, Object, ObjectName, Resource
from shards.ownership.listing import Listing
from shards.ownership.overlay import Live
from shards.ownership.view import View
from shards.stores.indexes import Index
from shards.stores.intake import Intake
from shards.stores.store import StoreWriter

SITES = Resource("demo", "v1", "websites")
PAGES = Resource("", "v1", "configmaps")
KEY = Key("ns", "a", "uid-a")


def page(name: str, version: int, size: Any = 1, *, namespace: str = "ns", **labels: str) -> Object:
    metadata: Object = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": {**metadata, "labels": labels}, "data": {"size": size}}


def by_size(body: Object) -> list[str]:
    return [str(int(body["data"]["size"]))]


class Cache:
    def __init__(self, intake: Intake | None = None) -> None:
        pages = StoreWriter(intake or Intake(indexes=(Index("size", by_size, dict),)))
        self.writers = {SITES: StoreWriter(resource=SITES), PAGES: pages}
        for writer in self.writers.values():
            writer.replace([], "10")

    def put(self, found: Object, resource: Resource = PAGES) -> None:
        self.writers[resource].apply(msgspec.convert(found["metadata"], Meta), msgspec.json.encode(found))

    def drop(self, found: Object) -> None:
        self.writers[PAGES].delete(msgspec.convert(found["metadata"], Meta))

    def view(self, *live: tuple[str, Live]) -> View:
        overlay = {(PAGES, ObjectName("ns", name)): each for name, each in live}
        return View(SITES, KEY, {resource: writer.reader for resource, writer in self.writers.items()}, overlay)


@pytest.fixture
def cache() -> Cache:
    made = Cache()
    for found in (
        page("b", 12, 2, app="web"),
        page("a", 11, 1, app="web"),
        page("c", 13, 1, app="db"),
        page("d", 14, 1, namespace="other", app="web"),
        page("e", 15, "large", app="web"),
    ):
        made.put(found)
    return made


def names(listing: Listing) -> list[str]:
    found = [each["metadata"]["name"] for each in listing]
    assert found == [name.name for name in listing.names]
    return found


class TestSelect:
    def test_objects_come_by_label_and_namespace_in_order_of_namespace_and_name(self, cache: Cache) -> None:
        view = cache.view()
        assert names(view.select(PAGES, namespace="ns", labels={"app": "web"})) == ["a", "b", "e"]
        assert names(view.select(PAGES, labels={"app": "db"})) == ["c"]
        assert len(view.select(PAGES)) == 5
        assert names(view.select(PAGES, labels={"app": "web", "tier": "x"})) == []

    def test_what_was_read_or_written_live_counts_as_it_is_now(self, cache: Cache) -> None:
        view = cache.view(
            ("a", Live(None, "11")),
            ("b", Live(page("b", 20, app="db"), "20")),
            ("c", Live(page("c", 21, app="web"), "21")),
            ("new", Live(page("new", 22, app="web"), "22")),
        )
        assert names(view.select(PAGES, namespace="ns", labels={"app": "web"})) == ["c", "e", "new"]
        assert names(view.select(PAGES, namespace="other")) == ["d"]

    def test_the_store_counts_again_once_it_has_moved_past(self, cache: Cache) -> None:
        view = cache.view(("a", Live(page("a", 20, app="db"), "20")))
        cache.put(page("a", 21, app="web"))
        assert names(view.select(PAGES, labels={"app": "db"})) == ["c"]

    def test_an_object_that_went_while_the_list_is_read_is_left_out(self, cache: Cache) -> None:
        listing = cache.view().select(PAGES, labels={"app": "web"})
        found = iter(listing)
        next(found)
        cache.drop(page("b", 30))
        assert [each["metadata"]["name"] for each in found] == ["e", "d"]

    def test_a_listed_object_counts_as_read(self, cache: Cache) -> None:
        view = cache.view()
        list(view.select(PAGES, labels={"app": "db"}))
        cache.put(page("c", 30))
        assert view.snapshot(PAGES, ObjectName("ns", "c")) == ("uid-c", "13")

    def test_a_resource_that_was_not_declared_is_refused(self, cache: Cache) -> None:
        with pytest.raises(ConfigError, match="neither owns nor watches"):
            cache.view().select(Resource("", "v1", "secrets"))


class TestFind:
    def test_an_index_finds_and_names_what_it_does_not_know(self, cache: Cache) -> None:
        listing = cache.view().find(PAGES, "size", "1")
        assert names(listing) == ["a", "c", "d"]
        assert listing.unknown == (ObjectName("ns", "e"),)

    def test_what_is_known_live_is_indexed_too(self, cache: Cache) -> None:
        view = cache.view(
            ("a", Live(page("a", 20, 2), "20")),
            ("b", Live(page("b", 21, 1), "21")),
            ("c", Live(page("c", 22, "large"), "22")),
            ("e", Live(None, "15")),
        )
        listing = view.find(PAGES, "size", "1")
        assert names(listing) == ["b", "d"]
        assert listing.unknown == (ObjectName("ns", "c"),)

    def test_an_index_that_was_not_declared_is_refused(self, cache: Cache) -> None:
        with pytest.raises(ConfigError, match="no such index"):
            cache.view().find(PAGES, "colour", "blue")


class Data(msgspec.Struct):
    size: int


class Page(msgspec.Struct):
    data: Data


class TestTyped:
    def test_an_object_comes_as_a_struct_from_the_store_and_from_above_it(self, cache: Cache) -> None:
        view = cache.view(("b", Live(page("b", 20, 7), "20")), ("c", Live(None, "13")))
        assert view.get_as(PAGES, ObjectName("ns", "a"), Page) == Page(Data(1))
        assert view.get_as(PAGES, ObjectName("ns", "b"), Page) == Page(Data(7))
        assert view.get_as(PAGES, ObjectName("ns", "c"), Page) is None
        assert view.get_as(PAGES, ObjectName("ns", "nobody"), Page) is None

    def test_it_counts_as_read(self, cache: Cache) -> None:
        view = cache.view()
        view.get_as(PAGES, ObjectName("ns", "a"), Page)
        cache.put(page("a", 30))
        assert view.snapshot(PAGES, ObjectName("ns", "a")) == ("uid-a", "11")

    def test_one_that_does_not_fit_is_an_error_that_names_the_field(self, cache: Cache) -> None:
        with pytest.raises(msgspec.ValidationError, match=r"\$\.data\.size"):
            cache.view().get_as(PAGES, ObjectName("ns", "e"), Page)

    def test_the_primary_comes_unless_another_object_has_its_name(self, cache: Cache) -> None:
        assert cache.view().own_as(Page) is None
        cache.put(page("a", 20, 5), SITES)
        assert cache.view().own_as(Page) == Page(Data(5))
        cache.put({**page("a", 30, 6), "metadata": {**page("a", 30)["metadata"], "uid": "successor"}}, SITES)
        assert cache.view().own_as(Page) is None


class TestTrimmed:
    def test_a_body_from_a_trimmed_store_is_told_from_one_that_was_read_live(self) -> None:
        cache = Cache(Intake(metadata_only=True))
        cache.put(page("a", 11))
        name = ObjectName("ns", "a")
        assert cache.view().trimmed(PAGES, name, "11")
        view = cache.view(("a", Live(page("a", 20), "20")))
        assert not view.trimmed(PAGES, name, "20")
        assert view.trimmed(PAGES, name, "11")
        assert not view.trimmed(SITES, name, "11")
