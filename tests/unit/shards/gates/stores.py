"""Two stores for tests of what looks at them."""

from __future__ import annotations

from shards.objects import Key, Meta, ObjectName, Resource
from shards.stores.store import StoreWriter

SITES = Resource("demo", "v1", "websites")
PAGES = Resource("", "v1", "configmaps")
KEY = Key("ns", "a", "uid-a")
OTHER = Key("ns", "b", "uid-b")
PAGE = ObjectName("ns", "page")


def meta(version: int, *, uid: str = "u1", name: str = "page") -> Meta:
    return Meta(name=name, namespace="ns", uid=uid, resource_version=str(version))


class Cache:
    """Two stores that are synced at version 10."""

    def __init__(self) -> None:
        self.writers = {each: StoreWriter(resource=each) for each in (SITES, PAGES)}
        for writer in self.writers.values():
            writer.replace([], "10")
        self.views = {resource: writer.reader for resource, writer in self.writers.items()}
        self.pages = self.writers[PAGES]

    def shows(self, version: int, *, uid: str = "u1") -> None:
        self.pages.apply(meta(version, uid=uid), b"{}")
