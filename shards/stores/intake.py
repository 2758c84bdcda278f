"""What happens to an object on its way into a store: trimmed, reduced to its metadata, compressed, indexed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy

import msgspec

from shards.objects import Meta, Object
from shards.stores.bodies import Bodies
from shards.stores.change import Entry
from shards.stores.hooks import FAILED, NO_HOOK_METERS, Clock, Hook, HookMeters
from shards.stores.indexes import Index, Indexer
from shards.stores.kept import Keeper, Kept

Transform = Callable[[Object], Object | None]
"""An author's function that drops what no reconcile reads. It may change the object that it is given; what it returns
counts, or, if that is None, what it was given. Identity and owners (`_KEPT`) are put back whatever it does."""

_KEPT = ("name", "namespace", "uid", "resourceVersion", "ownerReferences", "deletionTimestamp")


class Intake:
    """The way in, for one store.

    bodies: None for one of its own. api_version: of the objects. partial: whether what it keeps may be less than what
    the server has.
    """

    __slots__ = ("_api_version", "_bodies", "_indexer", "_keeper", "_metadata_only", "_transform")

    def __init__(
        self,
        bodies: Bodies | None = None,
        *,
        transform: Transform | None = None,
        metadata_only: bool = False,
        api_version: str = "",
        indexes: Sequence[Index] = (),
        clock: Clock | None = None,
        meters: HookMeters = NO_HOOK_METERS,
    ) -> None:
        self._bodies = Bodies() if bodies is None else bodies
        self._keeper = Keeper()
        self._transform = None if transform is None else Hook("transform", transform, clock, meters)
        self._metadata_only = metadata_only
        self._api_version = api_version
        self._indexer = Indexer(indexes, clock, meters)

    @property
    def partial(self) -> bool:
        return self._metadata_only or self._transform is not None

    @property
    def index_names(self) -> tuple[str, ...]:
        return self._indexer.names

    @property
    def hooks(self) -> tuple[Hook, ...]:
        """The author's functions, with what they failed."""
        return (*self._indexer.hooks, *filter(None, (self._transform,)))

    def keep(self, meta: Meta, raw: bytes) -> Kept:
        """Never raises for what an author's function does. raw: bytes of its own."""
        raw = self._trimmed(meta, raw)
        kept = self._keeper.keep(meta)
        if self._indexer.names:
            kept.indexed = self._indexer.values(meta, raw)
        self._bodies.keep(kept, raw)
        return kept

    def again(self, key: str, kept: Kept, entry: Entry) -> Kept | None:
        """The same object in a new list, at the version that it has in the view. None: it is another one.

        A server that was restored from a backup gives versions out a second time, to other contents. Where an index
        function has failed it is asked again.
        """
        if not _alike(kept.raw, self._trimmed(entry.meta, entry.raw)):
            return None
        if None not in kept.indexed:
            return kept
        # Another entry: the one in the view is indexed as it says, until the list takes its place.
        return msgspec.structs.replace(kept, indexed=self._indexer.values(kept.meta(key), kept.raw))

    def _trimmed(self, meta: Meta, raw: bytes) -> bytes:
        if self._transform is not None:
            raw = _transformed(self._transform, meta, raw)
        return _reduced(raw, self._api_version) if self._metadata_only else raw

    def values(self, position: int, meta: Meta, raw: bytes) -> tuple[str, ...] | None:
        """What an object that is not in the store would be found under, in the index at that position."""
        return self._indexer.values(meta, raw)[position]


def _transformed(hook: Hook, meta: Meta, raw: bytes) -> bytes:
    """The object as the author wants it; untouched where the function fails: larger, but nothing is missing."""
    of = f"{meta.namespace}/{meta.name}"
    try:
        body: Object = msgspec.json.decode(raw)
        before = {field: deepcopy(value) for field, value in body["metadata"].items() if field in _KEPT}
    except Exception as error:
        hook.failed(of, error)
        return raw

    def take(result: Object | None) -> bytes:
        made = body if result is None else result
        metadata = made.setdefault("metadata", {})
        for field in _KEPT:
            metadata.pop(field, None)
        metadata |= before
        return msgspec.json.encode(made)

    made = hook.run(body, of, take)
    return raw if made is FAILED else bytes(made)


def _alike(one: bytes, other: bytes) -> bool:
    """Whether they say the same, whatever the order of their fields."""
    if one == other:
        return True
    try:
        return bool(msgspec.json.decode(one) == msgspec.json.decode(other))
    except (msgspec.MsgspecError, RecursionError):  # nested too deeply to be compared
        return False


class _Partial(msgspec.Struct, rename="camel", omit_defaults=True):
    api_version: str = ""
    kind: str = ""
    metadata: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_decode = msgspec.json.Decoder(_Partial).decode


def _reduced(raw: bytes, api_version: str) -> bytes:
    """What is left of a whole object is what a server leaves of it, but for the kind, which only the whole object says.

    api_version: of the object, where the server says that of PartialObjectMetadata.
    """
    partial = _decode(raw)
    if partial.kind == "PartialObjectMetadata":
        partial.api_version, partial.kind = api_version, ""
    return msgspec.json.encode(partial)
