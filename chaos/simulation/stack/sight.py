"""What a reconcile sees, against what was written for its key before (promise P2); and what it does, against what it
decided."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from chaos.simulation.stack.demo import PAGES, SITES
from chaos.simulation.stack.truth import Truth, labelled
from fleet.devcluster.recording.journal import LOST, Entry
from shards import Context, Request
from shards.api.useragent import UserAgent
from shards.objects import Object, Resource
from shards.ownership.acts import REDECISIONS
from shards.ownership.overlay import Snapshot

Written = tuple[Resource, str, int, bool]
"""Resource, name, version and whether it was removed, of the last write of an object for a key."""


class Sight:
    """Hears the recorder, and is asked as each reconcile begins, and decides. found: is told what is broken, and how.

    Writes are those that were accepted, whether their answers arrived or not. Who begins without what was written for
    its key acts on an old view (I3); who deletes an object in another state than it has decided on mixes two snapshots
    (I4). After REDECISIONS of one object the product deletes it as it finds it.
    """

    def __init__(self, truth: Truth, found: Callable[[str, str], None]) -> None:
        self.truth = truth
        self.found = found
        self.checks = 0
        self._late: set[tuple[str, str, str]] = set()
        """User-Agent, resource and name of what a fault carries out later."""
        self._written: dict[str, dict[str, Written]] = defaultdict(dict)
        """By UID of the primary, and of the object."""
        self._decided: dict[tuple[str, str], set[Snapshot]] = defaultdict(set)
        """In which states a page was to be deleted, by UID of the primary and of the page."""

    def hear(self, entry: Entry) -> None:
        if entry.verb == LOST and "late_landing" in entry.note:
            # Its sender has looked whether it was carried out before it is: nobody knows of it.
            self._late.add((entry.user_agent, entry.resource, entry.name))
            return
        if not (entry.write and entry.succeeded and entry.uid) or not self._late.isdisjoint(_sent_as(entry)):
            return
        agent = UserAgent.parse(entry.user_agent)
        if agent is not None and agent.uid:
            version = int(entry.resource_version) if entry.resource_version.isdecimal() else 0
            written = Resource.parse(entry.resource), entry.name, version, entry.removed
            self._written[agent.uid][entry.uid] = written
            if entry.verb == "delete" and entry.resource == str(PAGES):
                self._deleted(agent.uid, entry)

    def _deleted(self, key: str, entry: Entry) -> None:
        decided = self._decided.get((key, entry.uid))
        if decided is None or entry.sent is None or len(decided) > REDECISIONS:
            return
        self.checks += 1
        if Snapshot(entry.sent.uid, entry.sent.version) not in decided:
            versions = " and ".join(sorted(each.resource_version for each in decided))
            self.found("I4", f"{entry.name} was to be deleted at {versions}, and was at {entry.sent.version}")

    def decides(self, request: Request, page: Object) -> None:
        """It is to be deleted."""
        snapshot = Snapshot.of(page)
        self._decided[request.uid, snapshot.uid].add(snapshot)

    def forget(self) -> None:
        """The server is another: what a restore brought back, or undid, nobody can know before something of the new
        history arrives."""
        self._written.clear()
        self._decided.clear()

    def begins(self, who: str, ctx: Context, request: Request) -> None:
        for uid, (resource, name, version, removed) in self._written.get(request.uid, {}).items():
            self.checks += 1
            wrong = self._wrong(ctx.store.get(resource, name), resource, name, uid, version, removed=removed)
            if wrong:
                self.found("I3", f"{who} begins with {request.key} and {wrong}")

    def _wrong(
        self, seen: Object | None, resource: Resource, name: str, uid: str, version: int, *, removed: bool
    ) -> str:
        same = seen is not None and seen["metadata"]["uid"] == uid
        if same and removed:
            return f"sees {resource} {name}, which was deleted for it"
        if same and seen is not None:
            reached = int(seen["metadata"]["resourceVersion"])
            return f"sees {resource} {name} at {reached}, which was written at {version}" if reached < version else ""
        if removed:
            return ""
        truth = self.truth.get(resource, name)
        there = truth is not None and truth["metadata"]["uid"] == uid and (resource == SITES or labelled(truth))
        return f"does not see {resource} {name}, which was written at {version}" if there else ""


def _sent_as(entry: Entry) -> set[tuple[str, str, str]]:
    """The name of a create may be the server's."""
    names = {entry.name, ""} if entry.verb == "create" else {entry.name}
    return {(entry.user_agent, entry.resource, name) for name in names}
