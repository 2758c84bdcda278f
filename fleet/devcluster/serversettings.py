"""How an embedded server behaves where real ones differ."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class ServerSettings:
    """May be changed while the server runs.

    Each front end may have its own. Those of the storage and its controllers are the backend's: history_limit,
    garbage_seconds, compaction_seconds, admin_token, default_accounts, default_objects.

    sharded_list_and_watch: the feature gate of KEP-5866; off: the parameter is ignored silently, as there.

    bookmark_seconds: between two bookmarks of one watch. watch_seconds: shortest life of a watch without
    timeoutSeconds; the longest is twice that. history_limit: commits per resource that a watch can go back.

    garbage_seconds: from the cause of a collection to the collection. compaction_seconds: between two compactions of
    old versions (300 on the real server); 0: history_limit alone bounds them.

    watch_buffer_events: how far a watcher may lag behind before its watch ends. watch_expired_as_status: a watch from
    a version that is gone answers 410 at once, as old servers do, instead of an ERROR event in a 200 stream.
    admin_token: with one, access control is on: RBAC decides, and this bearer token is the administrator's. Without,
    everybody is. Go clients send no token over plain http: they need a server with TLS.
    default_accounts: every namespace gets a service account named default, as a controller of a real cluster sees to.
    default_objects: the server begins with what the real one creates at its start: the `kubernetes` Service and the
    system PriorityClasses. All three are read when the server is made.
    audit_path: a file for the audit log, "" for none. audit_level: Metadata, Request or RequestResponse.

    too_large_cause: 504 of a version from the future carries a cause; servers before 1.17 give none.
    """

    sharded_list_and_watch: bool = True
    bookmark_seconds: float = 60.0
    watch_seconds: float = 1800.0
    history_limit: int = 10_000
    garbage_seconds: float = 0.1
    compaction_seconds: float = 0.0
    watch_buffer_events: int = 100_000
    watch_expired_as_status: bool = False
    too_large_cause: bool = True
    admin_token: str = ""
    default_accounts: bool = False
    default_objects: bool = True
    audit_path: str = ""
    audit_level: str = "Metadata"
