"""I5, I23, I24 and I26: members that are dead, or that should be."""

from __future__ import annotations

from collections import deque

from chaos.simulation.happenings import Acted, Closed, Opened, Read, Restored, Written
from chaos.simulation.oracles.oracle import Oracle
from chaos.simulation.oracles.scene import HAND, SLOWEST, WIRE_SECONDS, Scene, is_fence, member_of
from chaos.simulation.outcome import Breach
from fleet.devcluster.checkers.acts import LiveRead as LiveReadChecker
from fleet.devcluster.checkers.ends import Stopped as StoppedChecker
from fleet.devcluster.checkers.lives import Freed as FreedChecker
from fleet.devcluster.checkers.workers import HonestHealth as HonestHealthChecker
from fleet.devcluster.invariants.bounds import Bounds
from fleet.records.object_names import Kind
from fleet.records.record import MemberRecord, ShardRecord, StoredMap
from fleet.rules.membership import ACTING_SHARE
from shards.keyrange import KeyRange


class LiveRead(Oracle):
    """At this depth the destructive act is a fence: its coordinator has read that member's record live, at the version
    that the fence replaces."""

    id, sentence = LiveReadChecker.id, LiveReadChecker.sentence

    def __init__(self, scene: Scene, breaches: list[Breach]) -> None:
        super().__init__(scene, breaches)
        self._reads: dict[tuple[str, str], Read] = {}
        self._bound = Bounds().live_read_seconds

    def hears_read(self, read: Read) -> None:
        if read.kind is Kind.MEMBER:
            self._reads[read.process, read.name] = read

    def hears_written(self, written: Written) -> None:
        if not is_fence(written):
            return
        self.checks += 1
        read, before = self._reads.get((written.process, written.name)), written.before
        if read is None or before is None or read.version != before.version or written.at - read.at > self._bound:
            self.found(written.at, f"{written.process} fenced {written.name}, whose record it had not read live")


Tenancy = tuple[str, KeyRange, int]


class Stopped(Oracle):
    """Nothing is sent after a tenure has ended, after its release was accepted, nor under a lease that has run out: by
    true time, however slow the clock of its holder, and whatever it takes its deadline to be."""

    id, sentence = StoppedChecker.id, StoppedChecker.sentence

    def __init__(self, scene: Scene, breaches: list[Breach]) -> None:
        super().__init__(scene, breaches)
        self._ended: dict[Tenancy, float] = {}
        self._begun: set[Tenancy] = set()
        self._until: dict[tuple[str, int], float] = {}
        """Latest true time at which an incarnation may send anything, by its process and member epoch."""

    def hears_written(self, written: Written) -> None:
        new, old = written.after, written.before
        if isinstance(new, MemberRecord) and new.holder is not None and member_of(written.process) == new.name:
            until = written.sent_at + new.lease_seconds * ACTING_SHARE / SLOWEST
            where = written.process, new.epoch
            self._until[where] = max(until, self._until.get(where, until))
        elif (
            isinstance(new, ShardRecord)
            and isinstance(old, ShardRecord)
            and old.holder is not None
            and new.holder is None
            and member_of(written.process) == old.holder.member
        ):
            self._ended.setdefault((written.process, old.range, old.epoch), written.at)

    def hears_opened(self, opened: Opened) -> None:
        self._begun.add((opened.process, opened.range, opened.epoch))
        self._ended.pop((opened.process, opened.range, opened.epoch), None)
        self.checks += 1
        self._lease(opened.at, opened.at, opened, "begins to work on")

    def hears_closed(self, closed: Closed) -> None:
        self._ended.setdefault((closed.process, closed.range, closed.epoch), closed.at)

    def hears_acted(self, acted: Acted) -> None:
        self.checks += 1
        tenancy = acted.process, acted.range, acted.epoch
        ended = self._ended.get(tenancy)
        if tenancy not in self._begun:
            self.found(
                acted.at, f"{acted.holder} acts on {acted.range} at epoch {acted.epoch}, where it never began to"
            )
        elif ended is not None and acted.sent_at > ended:
            self.found(acted.at, f"{acted.holder} acts on {acted.range} at epoch {acted.epoch}, where it had ended")
        else:
            self._lease(acted.at, acted.sent_at, acted, "acts on")

    def _lease(self, at: float, sent_at: float, what: Opened | Acted, does: str) -> None:
        until = self._until.get((what.process, what.holder.epoch))
        if until is not None and sent_at > until and self.scene.holds(at):
            late = sent_at - until
            self.found(at, f"{what.holder} {does} {what.range} though its lease has run out, by {late:.3f} s at least")


class Freed(Oracle):
    """Judged after the healing: no member record is held by nobody who runs."""

    id, sentence = FreedChecker.id, FreedChecker.sentence

    def pending(self, now: float) -> str | None:
        self.checks += 1
        running = {member_of(life.process) for life in self.scene.running()}
        for name, record in self.scene.members().items():
            if record.holder is not None and name not in running:
                return f"{name}@{record.epoch} is held though its process is gone"
        return None


class HonestHealth(Oracle):
    """Who renews follows: at this depth health is to renew (R13), and progress to know the map that was in force some
    time before. Not after a hand or a restore changed what there is to follow, nor where events were dropped, of which
    nobody can know. After the healing each worker that runs and does not leave is a member that renews."""

    id, sentence = HonestHealthChecker.id, HonestHealthChecker.sentence

    def __init__(self, scene: Scene, breaches: list[Breach]) -> None:
        super().__init__(scene, breaches)
        self._heard: dict[str, float] = {}
        self._maps: deque[tuple[float, int]] = deque()
        """When each version came, the oldest first; of those that are old enough to be known only the newest."""
        self._patience = 2 * scene.lease_seconds + WIRE_SECONDS

    def hears_restored(self, restored: Restored) -> None:
        self._maps.clear()

    def hears_written(self, written: Written) -> None:
        new = written.after
        if written.kind is Kind.MAP:
            if written.process == HAND or not isinstance(new, StoredMap):
                self._maps.clear()
            else:
                self._maps.append((written.at, new.map.version))
        elif isinstance(new, MemberRecord) and new.holder is not None and member_of(written.process) == new.name:
            self._heard[written.process] = written.at
            self._follows(written, new)

    def _follows(self, written: Written, new: MemberRecord) -> None:
        maps, known_at = self._maps, written.sent_at - self._patience
        while len(maps) > 1 and maps[1][0] <= known_at:
            maps.popleft()
        if not maps or maps[0][0] > known_at or not isinstance(written.before, MemberRecord):
            return
        if written.before.epoch != new.epoch or self.scene.misses_events(written.process):
            return
        self.checks += 1
        if new.seen_map < maps[0][1] and self.scene.holds(written.at):
            late = written.sent_at - maps[0][0]
            self.found(written.at, f"{written.process} renews and does not follow map {maps[0][1]} of {late:.1f} s ago")

    def pending(self, now: float) -> str | None:
        self.checks += 1
        for process, at in sorted(self._heard.items()):
            if self.scene.runs(process) and now - at > self.scene.lease_seconds:
                return f"{process} runs and has not renewed for {now - at:.1f} s"
        return None
