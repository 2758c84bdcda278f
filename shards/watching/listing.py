"""How one list after another is asked for, and what its failures mean for the next. The part of `shards.watching.watch`
that lists; no I/O.

A list is consistent (it names no version: servers answer from a quorum, or from a cache that has caught up with it), or
at least as new as a version, which a server answers from its cache without asking anybody.
"""

from __future__ import annotations

from collections.abc import Sequence

from shards.errors import ApiError, Expired, ServerTimeout, ShardError, Unreachable
from shards.versions import at_least
from shards.watching.watch_requests import ListPage
from shards.watching.wire import MalformedStream, Page, comparable

PAGE_LIMIT = 500
"""Objects in the first page: client-go's figure."""

PAGE_BYTES = 2 * 1024 * 1024
"""Size of the others, by the mean object so far. A page is decoded in one piece, in a millisecond or two at that size;
smaller ones cost the server more, larger ones cost memory here."""

MOST_OBJECTS = 5000
"""In a page, however small they are."""

STREAM_SECONDS = 300.0
"""After this time the initial events of a watch must have ended."""

STREAM_QUIET_SECONDS = 30.0
"""Longest pause within them: a server that has sent all objects and does not say so is not waited for any longer."""

BUSY = frozenset({401, 403, 429, 502, 503, 504})
"""Answers that say nothing about a version or a token: the same request is right once they end."""

PATIENCE = 3
"""Other failures in a row after which a watch's resume version, or a list's continue token, is given up."""

_NOT_UNDERSTOOD = frozenset({400, 405, 406, 415, 422, 501})
"""Answers of a server that does not stream lists."""

_TOO_LARGE = "Too large resource version"
"""Servers before 1.20 send this text without a cause."""

Parameters = tuple[tuple[str, str], ...]


class StreamOverdue(ShardError):
    """The initial events of a watch did not end in time: the server does not know of them, or does not mark their end.

    Servers that do not know `sendInitialEvents` send the objects and never say that these were all.
    """


class Listing:
    """filters: the same for every request. streams: lists as the initial events of a watch, where the server has that.

    floor: the version that the list under way has to reach; "" for a consistent one.
    streaming: whether it comes as the initial events of a watch.
    """

    def __init__(self, filters: Sequence[tuple[str, str]], *, streams: bool) -> None:
        self.floor = ""
        self.streaming = streams
        self._filters = tuple(filters)
        self._streams = streams
        self._streamable = True
        self._stream_failures = 0
        self._page_limit = PAGE_LIMIT
        self._continue = self._version = ""
        self._expired = 0
        self._refusals = 0

    def begin(self, floor: str = "") -> None:
        """Whatever is under way is given up."""
        self.floor = floor
        # Pages outlive their snapshot where tokens expired twice; one answer cannot.
        self.streaming = (self._streams or self._expired >= 2) and self._streamable
        self._continue = ""
        self._refusals = 0

    def page(self, page: Page) -> bool:
        """A page came. True: it was the last one. Raises as `complete`."""
        if page.items:
            fitting = PAGE_BYTES * len(page.items) // max(page.size, 1)
            self._page_limit = min(max(fitting, 1), MOST_OBJECTS)
        self._reached(page.version)
        self._refusals = 0
        self._continue, self._version = page.next, page.version
        if page.next:
            return False
        self.complete(page.version)
        return True

    def complete(self, version: str) -> str:
        """All objects came: the list is at that version. Raises MalformedStream where it cannot be compared, or where
        the list is older than it has to be."""
        self._reached(comparable(version))
        self._stream_failures = self._expired = 0
        return version

    def _reached(self, version: str) -> None:
        if self.floor and not at_least(comparable(version), self.floor):
            raise MalformedStream(f"a list at version {version} was to be at {self.floor} at least")

    def failed(self, error: ShardError) -> bool:
        """True: whatever was wrong is not asked for again, and the next request need not wait."""
        status = error.status if isinstance(error, ApiError) else 0
        if self.streaming:
            return self._stream_failed(error, status)
        if self._continue:
            self._token_failed(error, status)
        elif self.floor and _no_such_version(error, status):
            self.begin()
        return False

    def _stream_failed(self, error: ShardError, status: int) -> bool:
        at_once = False
        if isinstance(error, StreamOverdue) or status in _NOT_UNDERSTOOD:
            self._streamable = False
            at_once = True
        elif self.floor and _no_such_version(error, status):
            self.floor = ""
        elif not isinstance(error, Unreachable) or error.maybe_applied:
            self._stream_failures += 1
        if not self._streamable or self._stream_failures >= PATIENCE:
            # Pages make progress where one long answer is cut again and again.
            self._stream_failures = 0
            self.streaming = False
        return at_once

    def _token_failed(self, error: ShardError, status: int) -> None:
        # The offer to go on with an inconsistent rest is not taken: deletes would be derived from a mixed list.
        if isinstance(error, Expired):
            self._expired += 1
            # What was seen of it is past; a list that is as new as that shows no less.
            self.begin(self._version)
        elif isinstance(error, MalformedStream) or status == 400 or too_large(error):
            # A token that cannot be read any more, or is ahead of a restored server.
            self._expired += 1
            self.begin()
        elif status not in BUSY and not isinstance(error, Unreachable):
            # It may be the token's fault too: a server that was restored cannot serve a revision that is to come.
            self._refusals += 1
            if self._refusals >= PATIENCE:
                self.begin()

    def next_page(self) -> ListPage:
        if self._continue:
            return ListPage((*self._filters, ("limit", str(self._page_limit)), ("continue", self._continue)), False)
        # In one piece: the last resort of a server that streams no lists.
        limit = () if self._expired >= 2 else (("limit", str(min(self._page_limit, PAGE_LIMIT))),)
        return ListPage((*self._filters, *limit, *self._from()), first=True, fresh=not self.floor)

    def initial(self) -> Parameters:
        """What makes a watch begin with all objects."""
        asked = self._from() or (("resourceVersionMatch", "NotOlderThan"),)
        return (("sendInitialEvents", "true"), *asked)

    def _from(self) -> Parameters:
        return (("resourceVersion", self.floor), ("resourceVersionMatch", "NotOlderThan")) if self.floor else ()


def _no_such_version(error: ShardError, status: int) -> bool:
    """Whether the server may have it against the version, which it has lost, or has not reached."""
    return too_large(error) or not (isinstance(error, Unreachable) or status in BUSY)


def too_large(error: ShardError) -> bool:
    """Whether the server is asked for a version that it has not reached."""
    return isinstance(error, ServerTimeout) and (
        error.cause == "ResourceVersionTooLarge" or _TOO_LARGE in error.message
    )
