"""I3: what a write of a reconcile was based on."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from fleet.devcluster.invariants.bounds import Bounds
from fleet.devcluster.invariants.invariant import FAULTS, READS, Act, Invariant
from fleet.devcluster.recording.journal import LOST, Entry
from shards.api.useragent import UserAgent
from shards.versions import at_least, newest


@dataclass(slots=True)
class _Written:
    """What one key of one fleet wrote to one resource. known: the highest version that a write of it was based on.

    by_name: versions of accepted writes that no later write has been based on.
    """

    known: str = ""
    by_name: dict[str, str] = field(default_factory=dict)

    @property
    def last(self) -> str:
        return newest(self.known, *self.by_name.values())

    def based_on(self, version: str) -> None:
        for name in [name for name, each in self.by_name.items() if at_least(version, each)]:
            self.known = newest(self.known, self.by_name.pop(name))


class FreshView(Invariant):
    """`c=` of the User-Agent is at least the version that any earlier accepted write of the key to that resource
    returned, whichever member of the fleet made it. Judged for resources that the fleet has a view of: primaries and
    owned children.

    What the key has read live since need not be in its view: an answer that nothing is there carries no version. A
    read whose answer was lost tells nobody anything. What lands late, after its key has looked whether it was carried
    out, is known to nobody either.
    """

    id = "I3"
    sentence = "No write is based on a view older than the last accepted write for its key, across handovers too."
    what = "writes after another one of their key"
    also = (READS, FAULTS)

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._viewed: set[str] = set()
        self._written: defaultdict[tuple[str, str], dict[str, _Written]] = defaultdict(dict)
        """By UID of the key and resource, then by fleet."""
        self._looked: set[tuple[str, str, str]] = set()
        """UID of the key, resource and name of what the key has read live since it wrote it last."""
        self._last_read: Entry | None = None
        self._told: list[tuple[_Written, dict[str, str]]] = []
        """What the last read has taken out of the records."""

    def hears_restored(self, entry: Entry) -> None:
        self._written.clear()
        self._last_read, self._told = None, []

    def hears_read(self, entry: Entry, agent: UserAgent) -> None:
        cached = entry.sent is not None and entry.sent.resource_version is not None
        if entry.verb == "watch" or cached or not agent.uid or not (entry.succeeded or entry.status == 404):
            return
        self._last_read, self._told = entry, []
        self._looked.add((agent.uid, entry.resource, entry.name))
        for written in self._written.get((agent.uid, entry.resource), {}).values():
            names = [name for name in written.by_name if entry.verb == "list" or name == entry.name]
            self._told.append((written, {name: written.by_name.pop(name) for name in names}))

    def hears_fault(self, entry: Entry) -> None:
        read = self._last_read
        if entry.verb != LOST or read is None:
            return
        if (entry.user_agent, entry.resource, entry.name) == (read.user_agent, read.resource, read.name):
            for written, names in self._told:
                written.by_name.update(names)
            agent = UserAgent.parse(read.user_agent)
            self._looked.discard((agent.uid if agent is not None else "", read.resource, read.name))
            self._last_read, self._told = None, []

    def hears_act(self, act: Act) -> None:
        entry, agent = act.entry, act.agent
        written = self._written[agent.uid, entry.resource].setdefault(act.owned.fleet, _Written())
        last = written.last
        if last and agent.cache and entry.resource in self._viewed and not act.late:
            self.checks += 1
            if not at_least(agent.cache, last):
                self.found(
                    entry, f"{act.path} was written on a view at {agent.cache}; the key's last write made {last}"
                )
        if not entry.succeeded:
            return
        if agent.uid in (entry.uid, entry.owner_uid):
            self._viewed.add(entry.resource)
        if agent.cache:
            written.based_on(agent.cache)
        place = agent.uid, entry.resource, entry.name
        unknown = act.late and place in self._looked
        self._looked.discard(place)
        if entry.resource_version and not entry.removed and not unknown:
            written.by_name[entry.name] = newest(written.by_name.get(entry.name, ""), entry.resource_version)
