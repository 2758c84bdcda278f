"""List and watch as a state machine, without I/O: which request comes next, and what an answer means.

The rules are client-go's reflector's where not said otherwise; docs/informers.md has them as a table. The resume
version comes from list metadata, from events after it and from bookmarks, and is never lowered except by a list. A list
is consistent (no resourceVersion), whether it comes in pages or as the initial events of a watch; only where a history
expired is it enough that it is at least as new as what was seen of it. Nothing is concluded from a list that is not
complete.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from enum import StrEnum

from shards.errors import ApiError, Expired, NotFound, ShardError, Unreachable
from shards.versions import at_least
from shards.watching.listing import BUSY, PATIENCE, Listing, too_large
from shards.watching.watch_requests import WATCH_SECONDS, CheckHistory, ListStream, Request, WatchFrom
from shards.watching.wire import Page, comparable

STREAMS = False
"""Whether lists come as the initial events of a watch where the server offers that, or in pages (decision 11)."""

AUDIT_SECONDS = (4 * 3600.0, 8 * 3600.0)
"""After so long of watching, drawn each time, a list follows: no later event or bookmark shows that one was lost."""

HEALTHY_SECONDS = 1.0
"""A watch that ends sooner counts as failed: a server that closes at once must not be asked in a loop."""

ASKED_SECONDS = 60.0
"""Longest wait that a server may ask for: API servers ask for 30 s at most, and what a proxy says may be anything.
One that asks for less than the first backoff gets the backoff: "at once" would be a loop."""

BLIND_SECONDS = 5.0
"""Longest wait before a list that follows a lost history: until then the view shows nothing new."""
BACKOFF_SECONDS = (0.8, 30.0)
"""First delay, doubled with every failure in a row, and its limit."""

SPREAD_SECONDS = 0.1
"""Jitter before a healthy watch that broke is opened again: all watchers of a restarted server come at once."""


class Mode(StrEnum):
    """What the machine does now."""

    PAGES = "pages"
    STREAM = "stream"
    CHECK = "check"
    WATCH = "watch"


class WatchMachine:
    """Follows one collection. filters: the same for lists and watches. streams: lists as initial events of a watch.

    `request` says what to do next and after how many seconds; then exactly one of `page`, `checked`, `ended`, `failed`
    tells what came of it, with `event_version` for every event of a watch before. Of a ListStream, `streamed` tells
    that its initial events have ended; what follows is a watch.

    mode: what `request` is about. version: the resume version; "" until the first complete list, and while its
    successor is not known. complete: whether the view can be brought up to date by watching; False from a lost history
    to the next list.
    """

    def __init__(self, filters: Sequence[tuple[str, str]], rng: random.Random, *, streams: bool = False) -> None:
        self._filters = tuple(filters)
        self._rng = rng
        self._lists = Listing(filters, streams=streams)
        self.mode = Mode.STREAM if streams else Mode.PAGES
        self._delay = 0.0
        self._failures = 0
        self._refusals = 0
        self._audit_seconds = rng.uniform(*AUDIT_SECONDS)
        self.version = ""
        self.complete = False

    @property
    def listing(self) -> bool:
        return self.mode in (Mode.PAGES, Mode.STREAM)

    @property
    def fresh(self) -> bool:
        """Whether the list that is under way shows all that was there when it was asked for."""
        return self.listing and not self._lists.floor

    def request(self) -> tuple[Request, float]:
        """What to send next, and how many seconds to wait before."""
        return self._request(), self._delay

    def list_again(self) -> None:
        """The next request begins a consistent list, at once, whatever is under way."""
        self._begin_list()
        self._delay = 0.0

    def distrust(self) -> None:
        """The view may be wrong, for a reason of this process: it counts as lost, and the next request is a list."""
        self._lost()

    def page(self, page: Page) -> bool:
        """A page came. True: the list is complete, at `version`. Raises MalformedStream."""
        last = self._lists.page(page)
        self._delay = 0.0
        if last:
            self._listed(page.version)
        return last

    def streamed(self, version: str) -> None:
        """The initial events of a ListStream have ended: the list is complete, at this version. Raises as `page`."""
        self._listed(self._lists.complete(version))

    def _listed(self, version: str) -> None:
        self.version = version
        self._refusals = 0
        self.complete = True
        self._audit_seconds = self._rng.uniform(*AUDIT_SECONDS)
        self.mode = Mode.WATCH

    def checked(self, version: str) -> None:
        """The collection is at this version now. Below the resume version: another history; list."""
        self._delay = 0.0
        self.mode = Mode.WATCH
        if not at_least(comparable(version), self.version):
            self._lost()

    def event_version(self, version: str) -> None:
        """An event or a bookmark carried this version."""
        if not at_least(self.version, version):
            self.version = version
            self._refusals = 0

    def bookmark(self, version: str) -> None:
        """A bookmark carried this version. Raises Unreachable when it lies below the resume version.

        No server that has reached the resume version sends one; one that was restored from a backup may.
        """
        if not at_least(version, self.version):
            raise Unreachable(f"the server is at version {version}, behind {self.version}")
        self.event_version(version)

    def ended(self, lasted: float) -> None:
        """The server closed the watch. lasted: seconds since its answer began."""
        if self.mode is Mode.STREAM:
            self.failed(Unreachable("the initial events were cut off"))
        elif lasted >= HEALTHY_SECONDS:
            self._failures = 0
            self._delay = 0.0
            self._audit(lasted)
        else:
            self._back_off()

    def failed(self, error: ShardError, lasted: float = 0.0) -> None:
        """The request failed, or an ERROR event came. lasted: as for `ended`; 0 when no answer began."""
        if self.listing:
            # However long it took: what came of a list that is not complete is worth nothing.
            lasted = 0.0
        if lasted >= HEALTHY_SECONDS:
            self._failures = self._refusals = 0
        first = not self._failures
        backed_off = self._back_off()
        asked = error.retry_after_seconds if isinstance(error, ApiError) else None
        if asked is not None and asked >= BACKOFF_SECONDS[0]:
            self._delay = min(asked, ASKED_SECONDS) + self._rng.uniform(0, SPREAD_SECONDS)
        elif lasted >= HEALTHY_SECONDS:
            self._delay = self._rng.uniform(0, SPREAD_SECONDS)
        if self.listing:
            if self._lists.failed(error):
                self._delay = 0.0
            self._follow()
        elif self._history_lost(error):
            # A second time, what is at least as new may be too old to be watched from, again and again.
            self._lost(self.version if first and isinstance(error, Expired) else "")
            # What a server that is behind asks for, a second each time, is about a watch: here a list follows.
            self._delay = 0.0 if first else min(max(self._delay, backed_off), BLIND_SECONDS)
        elif isinstance(error, Unreachable):
            self.mode = Mode.CHECK
            self._audit(lasted)

    def _audit(self, lasted: float) -> None:
        self._audit_seconds -= lasted
        if self._audit_seconds <= 0:
            self._begin_list()

    def _history_lost(self, error: ShardError) -> bool:
        if isinstance(error, Expired | NotFound) or too_large(error):
            return True
        if isinstance(error, Unreachable) or (isinstance(error, ApiError) and error.status in BUSY):
            return False
        self._refusals += 1
        return self._refusals >= PATIENCE

    def _lost(self, floor: str = "") -> None:
        self._begin_list(floor)
        self._refusals = 0
        self.complete = False

    def _begin_list(self, floor: str = "") -> None:
        self._lists.begin(floor)
        self._follow()

    def _follow(self) -> None:
        self.mode = Mode.STREAM if self._lists.streaming else Mode.PAGES

    def _back_off(self) -> float:
        first, limit = BACKOFF_SECONDS
        # 2**10 * 0.8 s is far above the limit; the exponent stays small however long a server is away.
        step = min(first * 2 ** min(self._failures, 10), limit)
        self._delay = min(step * self._rng.uniform(1.0, 2.0), limit)
        self._failures += 1
        return self._delay

    def _request(self) -> Request:
        if self.mode is Mode.PAGES:
            return self._lists.next_page()
        if self.mode is Mode.CHECK:
            return CheckHistory((*self._filters, ("limit", "1")))
        if self.mode is Mode.STREAM:
            return ListStream((*self._filters, *self._watch(*self._lists.initial())), fresh=self.fresh)
        return WatchFrom((*self._filters, *self._watch(("resourceVersion", self.version))), self.version)

    def _watch(self, *which: tuple[str, str]) -> tuple[tuple[str, str], ...]:
        seconds = self._rng.randint(*WATCH_SECONDS)
        return (("watch", "true"), ("allowWatchBookmarks", "true"), *which, ("timeoutSeconds", str(seconds)))
