"""What views do without a rule: replacements for `chaos.command.broken_rules`, each of what it is given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from shards.errors import Expired, Unreachable
from shards.informers.informer import Informer
from shards.objects import Meta
from shards.stores.store import StoreWriter
from shards.watching.watch import WatchMachine
from shards.watching.watch_requests import CheckHistory, ListPage

Rule = Callable[..., Any]


def asks_where_it_stands(failed: Rule) -> Rule:
    """What is told that its version is no more asks for one that is, as after a connection that broke."""

    def told(self: WatchMachine, error: Any, lasted: float = 0.0) -> None:
        lost = isinstance(error, Expired) and not self.listing
        failed(self, Unreachable("the watch has expired", maybe_applied=False) if lost else error, lasted)
        if lost:
            self.version = ""

    return told


def goes_on_from_there(checked: Rule) -> Rule:
    def adopted(self: WatchMachine, version: str) -> None:
        self.version = version
        checked(self, version)

    return adopted


def goes_on_from_there_if_expired(checked: Rule) -> Rule:
    def adopted(self: WatchMachine, version: str) -> None:
        self.version = self.version or version
        checked(self, version)

    return adopted


def of_any_cache(request: Rule) -> Rule:
    """Whether a history was lost is asked of a server that need not know."""

    def asked(self: WatchMachine) -> Any:
        found = request(self)
        if isinstance(found, CheckHistory):
            return CheckHistory((*found.query, ("resourceVersion", "0")))
        return found

    return asked


def what_left_is_kept(delete: Rule) -> Rule:
    """A view goes on showing what nobody owns, though the watch said that it is none of its any more."""

    def bookmarked(self: StoreWriter, meta: Meta) -> Any:
        if meta.controller is not None:
            return delete(self, meta)
        self.bookmark(meta.resource_version)
        return None

    return bookmarked


def half_a_list(lists: Rule) -> Rule:
    """A list whose later pages cannot be had any more is taken for whole."""

    async def listed(self: Informer, request: ListPage) -> None:
        try:
            await lists(self, request)
        except Expired:
            if request.first or self._gathering is None:
                raise
            self._machine.streamed(self._machine._lists._version)
            self._machine._lists.begin()
            self._machine.mode = self._machine.mode.WATCH
            await self._listed(self._gathering)

    return listed


def never_confirmed(keep_confirmed: Rule) -> Rule:
    async def waits(view: Any, lease_seconds: float, clock: Any, *, wanted: Any = None) -> None:
        await asyncio.Event().wait()

    return waits
