"""How an embedded server behaves where real ones differ."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class ServerSettings:
    """May be changed while the server runs.

    sharded_list_and_watch: the feature gate of KEP-5866; off: the parameter is ignored silently, as there.

    bookmark_seconds: between two bookmarks of one watch. watch_seconds: shortest life of a watch without
    timeoutSeconds; the longest is twice that. history_limit: commits per resource that a watch can go back.
    """

    sharded_list_and_watch: bool = True
    bookmark_seconds: float = 60.0
    watch_seconds: float = 1800.0
    history_limit: int = 10_000
