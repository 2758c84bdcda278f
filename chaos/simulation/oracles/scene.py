"""What all oracles of one history share: the records as they are, who lives, who may act, what is going wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from chaos.simulation.happenings import Closed, Healed, Lived, Opened, Restored, Struck, Written
from chaos.simulation.plan import said_name
from chaos.simulation.strikes import BrownOut, ClockRate, DroppedEvents, StaleReplica, TruncatedList, Useless
from fleet.backends.local_store import Unreadable
from fleet.backends.record_cache import Record
from fleet.records.object_names import Kind
from fleet.records.record import (
    CoordinatorRecord,
    Document,
    DocumentName,
    Holder,
    MemberRecord,
    ShardMap,
    ShardRecord,
    ShardStatus,
    StoredMap,
)
from shards.keyrange import KeyRange

HAND = "hand"
"""The process of what people do."""

SLOWEST, FASTEST = 0.95, 1.05
"""Rates of clocks within which every promise holds: design 3.2, as the two differ by less than a tenth."""

WIRE_SECONDS = 1.0
"""What a request, a timer and the turn of a task may take where nothing is wrong with them."""


SERVER, REPLICAS = "the server", "its front ends"
"""Of what may be struck, beside processes."""


_COUNT = re.compile(r"shards: *\{count: *(\d+)\}")
"""As the hands of a simulation write it."""


class Store(Protocol):
    """The newest truth."""

    records: dict[tuple[Kind, str], Record | CoordinatorRecord | Unreadable]


@lru_cache(maxsize=4096)
def name_of(process: str) -> str:
    """As strikes say it: "a" of "a/2", "a-twin" of "a-twin/1"."""
    return process.partition("/")[0]


@lru_cache(maxsize=4096)
def member_of(process: str) -> str:
    """The member that the process says it is: "a" of both."""
    return said_name(name_of(process))


def is_fence(written: Written) -> bool:
    """Whether somebody else ended an incarnation."""
    return _of_another(written) and written.after is not None and _held(written.before) and not _held(written.after)


def is_expulsion(written: Written) -> bool:
    """Whether somebody else wrote a renewal into a member's record (R13)."""
    before, after = written.before, written.after
    return (
        _of_another(written)
        and isinstance(before, MemberRecord)
        and isinstance(after, MemberRecord)
        and (before.holder, before.epoch) == (after.holder, after.epoch)
        and after.renewals > before.renewals
    )


def _of_another(written: Written) -> bool:
    return written.kind is Kind.MEMBER and member_of(written.process) != written.name and written.process != HAND


def _held(record: object) -> bool:
    return isinstance(record, MemberRecord) and record.holder is not None


@dataclass(slots=True)
class Life:
    """One process. ended_at: None while it runs."""

    name: str
    process: str
    since: float
    paused: bool = False
    leaving: bool = False
    ended_at: float | None = None


class Scene:
    """open: tenures under which reconciles run, in the order in which they began. lives: the latest process by name.

    healed_at: None while things may go wrong.
    """

    def __init__(self, store: Store, *, lease_seconds: float) -> None:
        self.store = store
        self.lease_seconds = lease_seconds
        self.open: dict[tuple[str, KeyRange, int], Opened] = {}
        self.lives: dict[str, Life] = {}
        self.healed_at: float | None = None
        self.restored_at = float("-inf")
        self.restore_uncovered = False
        """Whether a process has begun within a lease of the last restore: it knows of none (decision 23)."""
        self._clocks_wrong_until = self._down_until = float("-inf")
        self._calm_from: dict[str, float] = {}
        self._misses: set[str] = set()

    # -- the records ------------------------------------------------------------------------------------------------

    @property
    def map(self) -> ShardMap | None:
        """None where there is none, or none that can be read."""
        found = self.store.records.get((Kind.MAP, "only"))
        return found.map if isinstance(found, StoredMap) else None

    def member(self, name: str) -> MemberRecord | None:
        found = self.store.records.get((Kind.MEMBER, name))
        return found if isinstance(found, MemberRecord) else None

    @property
    def wanted_shards(self) -> int | None:
        """That the fleet's config asks for; None where there is none, as after a restore to before it was written."""
        found = self.store.records.get((Kind.DOCUMENT, str(DocumentName.CONFIG)))
        if not isinstance(found, Document):
            return None
        count = _COUNT.search(found.text)
        return int(count[1]) if count is not None else None

    def shards(self) -> Iterator[ShardRecord]:
        """In order of their names."""
        for (kind, _), found in sorted(self.store.records.items()):
            if kind is Kind.SHARD and isinstance(found, ShardRecord):
                yield found

    def members(self) -> dict[str, MemberRecord]:
        """In order of their names."""
        found = sorted(self.store.records.items())
        return {name: each for (kind, name), each in found if kind is Kind.MEMBER and isinstance(each, MemberRecord)}

    def alive(self, holder: Holder) -> bool:
        """Whether the member's record is held, at that epoch, and no floor of the map is above it (R3): after a restore
        a map that was made from what the coordinator knows may say more than the record does."""
        record, shard_map = self.member(holder.member), self.map
        if shard_map is not None and holder.epoch < shard_map.floors.get(holder.member, 0):
            return False
        return record is not None and record.holder is not None and record.epoch == holder.epoch

    # -- what happens -----------------------------------------------------------------------------------------------

    def hears_opened(self, opened: Opened) -> None:
        self.open[opened.process, opened.range, opened.epoch] = opened

    def hears_closed(self, closed: Closed) -> None:
        self.open.pop((closed.process, closed.range, closed.epoch), None)

    def hears_restored(self, restored: Restored) -> None:
        self.restored_at, self.restore_uncovered = restored.at, False

    def hears_healed(self, healed: Healed) -> None:
        self.healed_at = healed.at

    def hears_lived(self, lived: Lived) -> None:
        name = name_of(lived.process)
        if lived.how == "started":
            self.lives[name] = Life(name, lived.process, lived.at)
            self.restore_uncovered |= lived.at < self.restored_at + self.lease_seconds / SLOWEST + WIRE_SECONDS
            return
        life = self.lives.get(name)
        if life is None or life.process != lived.process:
            return
        if lived.how in ("crashed", "left", "died"):
            life.ended_at = lived.at
            for key in [key for key in self.open if key[0] == lived.process]:
                del self.open[key]
        elif lived.how == "leaving":
            life.leaving = True
        else:
            life.paused = lived.how == "paused"
            self._calm_from[name] = lived.at

    def hears_struck(self, struck: Struck) -> None:
        strike = struck.strike
        if isinstance(strike, Useless):  # it renews and reads: whatever is promised is promised of it too
            return
        if isinstance(strike, ClockRate) and not SLOWEST <= strike.rate <= FASTEST:
            # What a wrong clock has granted lasts for a lease after it has come right again.
            rest = 0.0 if struck.over else strike.seconds
            self._clocks_wrong_until = max(self._clocks_wrong_until, struck.at + rest + 2 * self.lease_seconds)
        if isinstance(strike, DroppedEvents | TruncatedList):
            self._misses.add(strike.process)
        until = struck.at + (0.0 if struck.over else getattr(strike, "seconds", 0.0))
        if isinstance(strike, BrownOut):
            self._down_until = max(self._down_until, until)
        whom = REPLICAS if isinstance(strike, StaleReplica) else getattr(strike, "process", SERVER)
        self._calm_from[whom] = max(self._calm_from.get(whom, 0.0), until)

    # -- what may be held against whom ------------------------------------------------------------------------------

    def clocks_agree(self, at: float) -> bool:
        """Whether no clock has run, for a while, at a rate beyond what is promised for."""
        return at >= self._clocks_wrong_until

    def calm_seconds(self, name: str, at: float) -> float:
        """For how long nothing has gone wrong with this member or agent, nor with the server."""
        return at - max(self._calm_from.get(each, 0.0) for each in (name, SERVER, REPLICAS))

    def misses_events(self, process: str) -> bool:
        """Whether something was kept from it for good, and it cannot know that."""
        return name_of(process) in self._misses

    def only_the_server_failed(self, names: Iterable[str], at: float, seconds: float) -> bool:
        """Whether in the last seconds the server answered nobody for a while, and nothing else was wrong with these."""
        others = (self._calm_from.get(name, float("-inf")) for name in (*names, REPLICAS))
        return at - self._down_until < seconds and all(at - calm_from > seconds for calm_from in others)

    def holds(self, at: float) -> bool:
        """Whether what rests on time and on what everybody knows is promised now: no clock is wrong, and nobody acts on
        a history that a restore has ended, and of whose end it could not know (decision 23)."""
        rest = 3 * self.lease_seconds + WIRE_SECONDS
        return self.clocks_agree(at) and not (self.restore_uncovered and at < self.restored_at + rest)

    def running(self) -> Iterator[Life]:
        """In order of their names."""
        return (life for _, life in sorted(self.lives.items()) if life.ended_at is None)

    def runs(self, process: str) -> bool:
        """Whether that very process lives, paused or not."""
        life = self.lives.get(name_of(process))
        return life is not None and life.process == process and life.ended_at is None


def held(records: Iterable[ShardRecord]) -> Mapping[KeyRange, Holder]:
    """The active ranges that somebody holds."""
    return {
        each.range: each.holder for each in records if each.status is ShardStatus.ACTIVE and each.holder is not None
    }
