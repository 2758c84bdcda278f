"""What a view tells the filter ladder of its server."""

from __future__ import annotations

from shards.filtering.ladder import FilterLadder
from shards.objects import Meta
from shards.watching.source import FilterMode, Source


class LadderWitness:
    """Of one view. best: the filter that it might stand on, which is `source.mode` where that is no better."""

    __slots__ = ("_best", "_ladder", "_source")

    def __init__(self, ladder: FilterLadder, source: Source, best: FilterMode) -> None:
        self._ladder = ladder
        self._source = source
        self._best = best

    def foreign(self, meta: Meta) -> None:
        """An object came that does not belong into the view."""
        source = self._source
        if source.mode is FilterMode.SHARD_SELECTOR and source.slips_through(meta):
            self._ladder.foreign(source.resource, source.mode)

    def reconnected(self) -> None:
        """The view watches anew, and may do so at another server."""
        self._ladder.reconnected(self._source.resource, self._best)
