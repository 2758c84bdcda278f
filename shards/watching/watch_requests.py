"""What a watch machine asks of the API server, each with the parameters of its query."""

from __future__ import annotations

from typing import NamedTuple

from shards.api.client import Query

WATCH_SECONDS = (300, 600)
"""The server ends a watch after a random time in this interval, so that its watchers do not come back together."""


class Freshness(NamedTuple):
    """What a list that begins is known to show.

    fresh: all that is on the server now. Where not, it is at least as new as what its collection was known to hold.
    shows_at: all that was there at this clock reading; minus infinity where nothing is known.
    """

    fresh: bool
    shows_at: float


class ListPage(NamedTuple):
    """Get one page. first: it begins a list; whatever was gathered before is void. fresh: see `Freshness`."""

    query: Query
    first: bool
    fresh: bool = True


class ListStream(NamedTuple):
    """Open a watch that begins with all objects and a bookmark behind them: a list in one answer, then the watch."""

    query: Query
    fresh: bool = True


class WatchFrom(NamedTuple):
    """Open a watch."""

    query: Query
    version: str


class CheckHistory(NamedTuple):
    """Get one object, for the version in the list's metadata.

    A server that was restored from a backup keeps a watch from a version that it has not reached silent for ever.
    """

    query: Query


Request = ListPage | ListStream | WatchFrom | CheckHistory
