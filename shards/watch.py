"""List and watch as a state machine, without I/O: which request comes next, and what an answer means.

The rules are client-go's reflector's where not said otherwise. The resume version comes from list metadata, from
events after it and from bookmarks, and is never lowered except by a list. A list is always consistent (no
resourceVersion). Nothing is concluded from a list that is not complete.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from shards.errors import ApiError, Expired, NotFound, ServerTimeout, ShardError, Unreachable
from shards.objects import at_least
from shards.wire import MalformedStream, Page, comparable

PAGE_LIMIT = 500
"""Objects per page: client-go's figure. One page is decoded and compared in a few milliseconds."""

WATCH_SECONDS = (300, 600)
"""The server ends a watch after a random time in this interval, so that its watchers do not come back together."""

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

_TOO_LARGE = "Too large resource version"
"""Servers before 1.20 send this text without a cause."""

_BUSY = frozenset({401, 403, 429, 502, 503, 504})
"""Answers that say nothing about the resume version: the same watch is right once they end."""

_PATIENCE = 3
"""Other failures in a row after which a watch's resume version, or a list's continue token, is given up."""


class ListPage(NamedTuple):
    """Get one page. first: it begins a list; whatever was gathered before is void."""

    query: tuple[tuple[str, str], ...]
    first: bool


class WatchFrom(NamedTuple):
    """Open a watch."""

    query: tuple[tuple[str, str], ...]
    version: str


class CheckHistory(NamedTuple):
    """Get one object, for the version in the list's metadata.

    A server that was restored from a backup keeps a watch from a version that it has not reached silent for ever.
    """

    query: tuple[tuple[str, str], ...]


Request = ListPage | WatchFrom | CheckHistory


class _Mode(StrEnum):
    LIST = "list"
    CHECK = "check"
    WATCH = "watch"


class WatchMachine:
    """Follows one collection. filters: the same for lists and watches.

    `request` says what to do next and after how many seconds; then exactly one of `page`, `checked`, `ended`, `failed`
    tells what came of it, with `event_version` for every event of a watch before.

    version: the resume version; "" until the first complete list, and while its successor is not known.
    complete: whether the view can be brought up to date by watching; False from a lost history to the next list.
    """

    def __init__(self, filters: Sequence[tuple[str, str]], rng: random.Random) -> None:
        self._filters = tuple(filters)
        self._rng = rng
        self._mode = _Mode.LIST
        self._delay = 0.0
        self._continue = ""
        self._expired_lists = 0
        self._failures = 0
        self._refusals = 0
        self.version = ""
        self.complete = False

    @property
    def listing(self) -> bool:
        return self._mode is _Mode.LIST

    def request(self) -> tuple[Request, float]:
        """What to send next, and how many seconds to wait before."""
        return self._request(), self._delay

    def list_again(self) -> None:
        """The next request begins a list, at once, whatever is under way."""
        self._mode = _Mode.LIST
        self._continue = ""
        self._delay = 0.0

    def distrust(self) -> None:
        """The view may be wrong, for a reason of this process: it counts as lost, and the next request is a list."""
        self._lost()

    def page(self, page: Page) -> bool:
        """A page came. True: the list is complete, at `version`."""
        self._delay = 0.0
        self._refusals = 0
        self._continue = page.next
        if page.next:
            return False
        self._expired_lists = 0
        self.version = comparable(page.version)
        self.complete = True
        self._mode = _Mode.WATCH
        return True

    def checked(self, version: str) -> None:
        """The collection is at this version now. Below the resume version: another history; list."""
        self._delay = 0.0
        self._mode = _Mode.WATCH
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
        if lasted >= HEALTHY_SECONDS:
            self._failures = 0
            self._delay = 0.0
        else:
            self._back_off()

    def failed(self, error: ShardError, lasted: float = 0.0) -> None:
        """The request failed, or an ERROR event came. lasted: as for `ended`; 0 when no answer began."""
        if lasted >= HEALTHY_SECONDS:
            self._failures = self._refusals = 0
        first = not self._failures
        self._back_off()
        asked = error.retry_after_seconds if isinstance(error, ApiError) else None
        if asked is not None and asked >= BACKOFF_SECONDS[0]:
            self._delay = min(asked, ASKED_SECONDS) + self._rng.uniform(0, SPREAD_SECONDS)
        elif lasted >= HEALTHY_SECONDS:
            self._delay = self._rng.uniform(0, SPREAD_SECONDS)
        if self._mode is _Mode.LIST:
            self._list_failed(error)
        elif self._history_lost(error):
            self._lost()
            self._delay = 0.0 if first else min(self._delay, BLIND_SECONDS)
        elif isinstance(error, Unreachable):
            self._mode = _Mode.CHECK

    def _list_failed(self, error: ShardError) -> None:
        if not self._continue or isinstance(error, Unreachable):
            return
        status = error.status if isinstance(error, ApiError) else 0
        # A token that expired, and one that the server cannot read any more. The server's offer to go on with an
        # inconsistent rest is not taken: deletes would be derived from a mixed list.
        if isinstance(error, Expired | MalformedStream) or status == 400 or _too_large(error):
            self._continue = ""
            self._expired_lists += 1
        elif status not in _BUSY:
            # It may be the token's fault too: a server that was restored cannot serve a revision that is to come.
            self._refusals += 1
            if self._refusals >= _PATIENCE:
                self._continue = ""
                self._refusals = 0

    def _history_lost(self, error: ShardError) -> bool:
        if isinstance(error, Expired | NotFound) or _too_large(error):
            return True
        if isinstance(error, Unreachable) or (isinstance(error, ApiError) and error.status in _BUSY):
            return False
        self._refusals += 1
        return self._refusals >= _PATIENCE

    def _lost(self) -> None:
        self._mode = _Mode.LIST
        self._continue = ""
        self._refusals = 0
        self.complete = False

    def _back_off(self) -> None:
        first, limit = BACKOFF_SECONDS
        # 2**10 * 0.8 s is far above the limit; the exponent stays small however long a server is away.
        step = min(first * 2 ** min(self._failures, 10), limit)
        self._delay = min(step * self._rng.uniform(1.0, 2.0), limit)
        self._failures += 1

    def _request(self) -> Request:
        if self._mode is _Mode.LIST:
            return self._list_page()
        if self._mode is _Mode.CHECK:
            return CheckHistory((*self._filters, ("limit", "1")))
        seconds = self._rng.randint(*WATCH_SECONDS)
        query = (
            *self._filters,
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", self.version),
            ("timeoutSeconds", str(seconds)),
        )
        return WatchFrom(query, self.version)

    def _list_page(self) -> ListPage:
        if self._continue:
            return ListPage((*self._filters, ("limit", str(PAGE_LIMIT)), ("continue", self._continue)), first=False)
        if self._expired_lists >= 2:
            # Pages outlive their snapshot here; one unlimited answer cannot.
            return ListPage(self._filters, first=True)
        return ListPage((*self._filters, ("limit", str(PAGE_LIMIT))), first=True)


def _too_large(error: ShardError) -> bool:
    return isinstance(error, ServerTimeout) and (
        error.cause == "ResourceVersionTooLarge" or _TOO_LARGE in error.message
    )
