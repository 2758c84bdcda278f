"""What readers see of several namespaces that are watched one by one: their stores as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeVar

from shards.objects import Key, Meta, Object, ObjectName, Resource
from shards.stores.change import Held
from shards.stores.store_reader import Hits, StoreReader
from shards.versions import newest, version_key

T = TypeVar("T")

_NOTHING = StoreReader()


class NamespacedReader(StoreReader):
    """stores: by namespace. sees: whether the view of a namespace is being brought up to date, as far as that is ours.

    Each namespace has a version of its own, and what is asked of one object is answered by its namespace alone. What is
    said of the whole holds in every namespace that is seen: an event in one proves nothing about another, though their
    versions are of one history.
    """

    __slots__ = ("_by_namespace", "_sees")

    def __init__(self, stores: Mapping[str, StoreReader], sees: Callable[[str], bool]) -> None:
        self._by_namespace = stores
        self._sees = sees

    def blind(self, namespace: str) -> bool:
        """Whether nobody knows any more what is going on there; False for namespaces that are not watched at all."""
        return namespace in self._by_namespace and not self._sees(namespace)

    @property
    def _seen(self) -> Sequence[StoreReader]:
        """All of them where none is seen: nothing may be concluded from seeing nothing."""
        seen = [store for namespace, store in self._by_namespace.items() if self._sees(namespace)]
        return seen or list(self._by_namespace.values())

    @property
    def _all(self) -> Iterator[StoreReader]:
        return iter(self._by_namespace.values())

    def _of(self, namespace: str) -> StoreReader:
        """The view of it; an empty one where it is not watched."""
        return self._by_namespace.get(namespace, _NOTHING)

    # -- the whole ---------------------------------------------------------------------------------------------------

    @property
    def resource(self) -> Resource | None:  # type: ignore[override]  # a reader's, not to be written by anybody
        return next(self._all).resource

    @property
    def resource_version(self) -> str:  # type: ignore[override]  # likewise
        versions = [store.resource_version for store in self._seen]
        return min(versions, key=version_key) if all(versions) else ""

    @property
    def highest_object_version(self) -> str:  # type: ignore[override]  # likewise
        return newest(*(store.highest_object_version for store in self._all))

    @property
    def listed_version(self) -> str:  # type: ignore[override]  # likewise
        return newest(*(store.listed_version for store in self._all))

    @property
    def regressions(self) -> int:  # type: ignore[override]  # likewise
        return sum(store.regressions for store in self._all)

    @property
    def partial(self) -> bool:
        return any(store.partial for store in self._all)

    def reached(self, version: str) -> bool:
        return all(store.reached(version) for store in self._seen)

    def __len__(self) -> int:
        return sum(len(store) for store in self._all)

    def metas(self) -> Iterator[Meta]:
        return chain.from_iterable(store.metas() for store in self._all)

    def each_held(self) -> Iterator[Held]:
        return chain.from_iterable([store.each_held() for store in self._all])

    def namespaces(self) -> Counter[str]:
        return Counter({namespace: count for namespace, store in self._by_namespace.items() if (count := len(store))})

    # -- by UID ------------------------------------------------------------------------------------------------------

    def name_of(self, uid: str) -> ObjectName | None:
        return next((name for store in self._all if (name := store.name_of(uid)) is not None), None)

    def owned_by(self, uid: str) -> tuple[Meta, ...]:
        return tuple(chain.from_iterable(store.owned_by(uid) for store in self._all))

    def saw_go(self, uid: str, resource_version: str) -> bool:
        return any(store.saw_go(uid, resource_version) for store in self._all)

    def gone(self, uid: str) -> bool:
        return self.name_of(uid) is None and any(store.gone(uid) for store in self._all)

    # -- by name -----------------------------------------------------------------------------------------------------

    def __contains__(self, name: object) -> bool:
        return any(name in store for store in self._all)

    def get(self, name: ObjectName) -> Object | None:
        return self._of(name.namespace).get(name)

    def get_as(self, name: ObjectName, type: type[T]) -> T | None:
        return self._of(name.namespace).get_as(name, type)

    def raw(self, name: ObjectName) -> bytes | None:
        return self._of(name.namespace).raw(name)

    def meta(self, name: ObjectName) -> Meta | None:
        return self._of(name.namespace).meta(name)

    def version_of(self, name: ObjectName) -> tuple[str, str] | None:
        return self._of(name.namespace).version_of(name)

    def paused(self, key: Key) -> bool:
        return self._of(key.namespace).paused(key)

    def generation_of(self, key: Key) -> int | None:
        return self._of(key.namespace).generation_of(key)

    def shows(self, name: ObjectName, uid: str, resource_version: str) -> bool:
        store = self._by_namespace.get(name.namespace)
        # What is in no namespace of the view leaves no trace in it: that it is past shows nothing else.
        return self.reached(resource_version) if store is None else store.shows(name, uid, resource_version)

    # -- searches ----------------------------------------------------------------------------------------------------

    def find(self, index: str, value: str) -> Hits:
        found = [store.find(index, value) for store in self._all]
        names = list(chain.from_iterable(hits.names for hits in found))
        return Hits(names, list(chain.from_iterable(hits.unknown for hits in found)))

    def values_of(self, index: str, meta: Meta, raw: bytes) -> tuple[str, ...] | None:
        return next(self._all).values_of(index, meta, raw)

    def select(self, *, namespace: str | None = None, labels: Mapping[str, str] | None = None) -> list[ObjectName]:
        if namespace is None:
            return list(chain.from_iterable(store.select(labels=labels) for store in self._all))
        return self._of(namespace).select(namespace=namespace, labels=labels)
