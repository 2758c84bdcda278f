"""Lists: which state they show, pages, and what a resourceVersion means to them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from fleet.devcluster.kinds.resources import ResourceType
from fleet.devcluster.reads.continuation import Continuation
from fleet.devcluster.reads.listoptions import EXACT, version_of
from fleet.devcluster.reads.selectors import Filter
from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.storage.storage import HistoryGone, Storage, Stored
from fleet.devcluster.storage.tables import Page, Past, Table
from fleet.devcluster.storage.watchcache import WatchCache
from fleet.devcluster.wire import statuses
from fleet.devcluster.wire.requests import Request

LIST_TOO_OLD = "The resourceVersion for the provided list is too old."
CONTINUE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class View:
    """A table at one version, and the key at which the page begins."""

    table: Table | Past
    version: int
    begin_key: str = ""


@dataclass(frozen=True, slots=True)
class Lister:
    """Finds the state that a list asks for, in the front end's cache or in the storage."""

    storage: Storage
    cache: WatchCache
    settings: ServerSettings

    def too_large(self, version: int) -> statuses.StatusError:
        """504 of a version that the cache has not reached."""
        return statuses.too_large(version, self.cache.version, with_cause=self.settings.too_large_cause)

    def view(self, kind: ResourceType, wanted: Filter, request: Request) -> View:
        """The version that the request names has been waited for. Raises StatusError."""
        token = request.option("continue")
        if token:
            return self._continued(kind, wanted, Continuation.decode(token), request)
        version = version_of(request)
        match = request.option("resourceVersionMatch")
        paged = bool(request.number("limit")) and not single_key(kind, wanted)
        if version and (match == EXACT or (not match and paged)):
            if version > self.storage.version:
                raise self.too_large(version)
            try:
                return self._at(kind, version)
            except HistoryGone:
                raise statuses.expired(LIST_TOO_OLD) from None
        if version > self.cache.version:
            raise self.too_large(version)
        return self._cached(kind) if request.option("resourceVersion") else self.newest(kind, request)

    def newest(self, kind: ResourceType, request: Request) -> View:
        """A consistent read: the cache where it has caught up with the request, else the storage."""
        if self.cache.apart and self.cache.version < request.reached:
            return View(self.storage.table(kind), self.storage.version)
        return self._cached(kind)

    def _cached(self, kind: ResourceType) -> View:
        return View(self.cache.table(kind), self.cache.version)

    def _continued(self, kind: ResourceType, wanted: Filter, token: Continuation, request: Request) -> View:
        if request.option("resourceVersion") not in ("", "0"):
            raise statuses.bad_request("specifying resource version is not allowed when using continue")
        begin_key = wanted.prefix + token.start
        if token.rv < 0:
            view = self.newest(kind, request)
        elif token.rv > self.storage.version:
            raise self.too_large(token.rv)
        else:
            try:
                view = self._at(kind, token.rv)
            except HistoryGone:
                rest = Continuation(-1, token.start).encode()
                raise statuses.expired(CONTINUE_TOO_OLD, continue_token=rest) from None
        return View(view.table, view.version, begin_key)

    def _at(self, kind: ResourceType, version: int) -> View:
        """From the cache's own past where it is not the storage, as it may have lost a commit. Raises HistoryGone."""
        cache = self.cache
        table = cache.table(kind) if version <= cache.version else self.storage.table(kind)
        return View(table.at(version), version)


def single_key(kind: ResourceType, wanted: Filter) -> str:
    """The only key that a list can show, which the real server reads by itself; "" where there may be several."""
    name = wanted.name
    return wanted.prefix + name if name and (wanted.namespace or not kind.namespaced) else ""


def list_answer(view: View, kind: ResourceType, wanted: Filter, request: Request) -> bytes:
    """The encoded list. kind: the resource in the version that was asked for."""
    limit = 0 if request.option("resourceVersion") == "0" else request.number("limit")
    key = "" if request.option("continue") else single_key(kind, wanted)
    page = _one(view, key, wanted) if key else _page(view, wanted, limit)
    metadata: dict[str, Any] = {"resourceVersion": str(view.version)}
    if page.left and limit and len(page.items) == limit:
        last = page.items[-1].key
        metadata["continue"] = Continuation(view.version, f"/{last[len(wanted.prefix) :]}\0").encode()
        if wanted.everything:
            metadata["remainingItemCount"] = page.left
    if wanted.shard is not None and not kind.custom:
        metadata["shardInfo"] = {"selector": str(wanted.shard)}
    return encoded_list(kind, page.items, metadata, stored_as=view.table.kind)


def _page(view: View, wanted: Filter, limit: int) -> Page:
    test = None if wanted.everything else wanted.admits_within
    return view.table.page(wanted.prefix, view.begin_key, test, limit)


def _one(view: View, key: str, wanted: Filter) -> Page:
    found = view.table.page("", key, None, 1).items
    return Page([each for each in found if each.key == key and wanted.admits(each)], 0)


def encoded_list(
    kind: ResourceType, items: list[Stored], metadata: dict[str, Any], *, stored_as: ResourceType | None = None
) -> bytes:
    """Items of built-in resources carry no kind and apiVersion, those of custom ones do, as on the real server.

    stored_as: the resource in the version in which the items are stored, where it may be another one.
    """
    if kind.custom:
        metadata = {"continue": "", **metadata}
    head = (
        f'{{"kind":"{kind.kind}List","apiVersion":"{kind.resource.api_version}","metadata":'.encode()
        + msgspec.json.encode(metadata)
        + b',"items":['
    )
    if stored_as is not None and stored_as.resource != kind.resource:
        raws = [kind.rendered(each) for each in items]
    else:
        raws = [each.raw for each in items]
    if kind.custom:
        return head + b",".join(raws) + b"]}"
    skipped = len(kind.head)
    return head + b",".join([b"{" + raw[skipped:] for raw in raws]) + b"]}"
