"""A1, A2 and A4 to A6: what costs availability for nothing. The model's bounds (tests/model), by observation."""

from __future__ import annotations

from chaos.simulation.happenings import Lived, Restored, Stepped, Struck, Written
from chaos.simulation.oracles.oracle import Oracle
from chaos.simulation.oracles.scene import (
    FASTEST,
    HAND,
    WIRE_SECONDS,
    Scene,
    held,
    is_expulsion,
    is_fence,
    member_of,
    name_of,
)
from chaos.simulation.outcome import Breach
from chaos.simulation.strikes import BrownOut
from fleet.health.range_steps import RangeStep, Step
from fleet.records.object_names import Kind
from fleet.records.record import Holder, MemberRecord, ShardRecord, StoredMap
from shards.keyrange import KeyRange

PEACE_SECONDS = 1.5
"""In which a member that nothing keeps from it takes an announcement back, and an owner hears of that."""


class StandbyFirst(Oracle):
    """A standby is announced when its views are complete, and taken back when they are closed; a planned drain waits
    for an announcement of the very epoch that is drained.

    An owner may be faster than what it has not heard of yet, and a target that is cut off can take nothing back: an
    announcement with nothing behind it counts only when both were left in peace for a while.
    """

    id = "A1"
    sentence = "A range is drained for another member only while that one stands by for it."

    def __init__(self, scene: Scene, breaches: list[Breach]) -> None:
        super().__init__(scene, breaches)
        self._synced: set[tuple[str, KeyRange]] = set()
        self._until: dict[tuple[str, KeyRange], float] = {}
        """When a standby was there last, by member and range."""
        self._announced: set[tuple[str, KeyRange, int]] = set()
        """Members, ranges and shard epochs that were announced."""
        self._joined: dict[str, tuple[str, int, float]] = {}
        """By member: the process and epoch of its latest membership, and when it began."""

    def hears_restored(self, restored: Restored) -> None:
        self._announced |= {
            (each.standby.holder.member, each.range, each.epoch) for each in self.scene.shards() if each.standby
        }

    def hears_lived(self, lived: Lived) -> None:
        if lived.how in ("crashed", "left", "died"):
            for process, each in sorted(where for where in self._synced if where[0] == lived.process):
                self._ended(process, each, lived.at)

    def hears_stepped(self, stepped: Stepped) -> None:
        step = stepped.step
        if step.step is Step.STANDBY_SYNCED:
            self._synced.add((stepped.process, step.range))
        elif step.step in (Step.STANDBY_CLOSED, Step.DROPPED):
            self._ended(stepped.process, step.range, stepped.at)
        elif step.step is Step.DRAINING and step.peer and not step.why:
            self._drained(stepped, step)

    def hears_written(self, written: Written) -> None:
        new, old = written.after, written.before
        if (
            isinstance(new, MemberRecord)
            and new.holder is not None
            and member_of(written.process) == new.name
            and self._joined.get(new.name, ("", 0, 0.0))[:2] != (written.process, new.epoch)
        ):
            self._joined[new.name] = written.process, new.epoch, written.at
        if not isinstance(new, ShardRecord) or new.standby is None:
            return
        self._announced.add((new.standby.holder.member, new.range, new.epoch))
        known = isinstance(old, ShardRecord) and old.standby == new.standby
        if known or member_of(written.process) != new.standby.holder.member:
            return
        self.checks += 1
        last = self._until.get((new.standby.holder.member, new.range), float("-inf"))
        if (written.process, new.range) not in self._synced and last < written.sent_at:
            self.found(written.at, f"{new.standby.holder} announces a standby of {new.range} that is not ready")

    def _ended(self, process: str, each: KeyRange, at: float) -> None:
        if (process, each) in self._synced:
            self._synced.discard((process, each))
            self._until[member_of(process), each] = at

    def _drained(self, stepped: Stepped, step: RangeStep) -> None:
        self.checks += 1
        what = f"{step.member} drains {step.range} for {step.peer}"
        if (step.peer, step.range, step.epoch) not in self._announced:
            self.found(stepped.at, f"{what}, who has not said that it stands by for it")
            return
        process, epoch, since = self._joined.get(step.peer, ("", 0, stepped.at))
        last = max(since, self._until.get((step.peer, step.range), float("-inf")))
        if (
            (process, step.range) not in self._synced
            and stepped.at - last > PEACE_SECONDS
            and self.scene.runs(process)
            and self.scene.alive(Holder(step.peer, epoch))
            and min(self.scene.calm_seconds(each, stepped.at) for each in (name_of(process), name_of(stepped.process)))
            > PEACE_SECONDS
        ):
            self.found(stepped.at, f"{what}, who has not stood by for it for {stepped.at - last:.3f} s")


class TargetsClaim(Oracle):
    """Who claims is the target, or was it as far as it could know."""

    id = "A2"
    sentence = "A range is claimed by the member that the map means it for."

    def __init__(self, scene: Scene, breaches: list[Breach]) -> None:
        super().__init__(scene, breaches)
        self._until: dict[tuple[str, KeyRange], float] = {}
        """When a map that meant a range for a member was in force last."""

    def hears_written(self, written: Written) -> None:
        old, new = written.before, written.after
        if isinstance(old, StoredMap):
            for each, target in zip(old.map.ranges, old.map.targets, strict=True):
                self._until[target, each] = written.at
        if not isinstance(new, ShardRecord) or new.holder is None or written.process == HAND:
            return
        if isinstance(old, ShardRecord) and (old.holder, old.epoch) == (new.holder, new.epoch):
            return
        shard_map = self.scene.map
        if shard_map is None or shard_map.target_of(new.range) == new.holder.member:
            self.checks += 1
            return
        was = self._until.get((new.holder.member, new.range), float("-inf"))
        was = max(was, self.scene.restored_at)  # for a while a view may show what is no more
        if written.sent_at - was > 2 * self.scene.lease_seconds + WIRE_SECONDS:
            meant = shard_map.target_of(new.range)
            self.found(written.at, f"{new.holder} claims {new.range}, which is meant for {meant or 'nobody'}")


class SilenceFirst(Oracle):
    """R1 and R5: whoever runs and has renewed within its lease is neither fenced nor replaced."""

    id = "A4"
    sentence = "Nobody else ends a membership that was renewed within its lease and whose process runs."

    def __init__(self, scene: Scene, breaches: list[Breach]) -> None:
        super().__init__(scene, breaches)
        self._renewed: dict[str, tuple[float, str]] = {}

    def hears_restored(self, restored: Restored) -> None:
        self._renewed.clear()

    def hears_written(self, written: Written) -> None:
        if written.kind is not Kind.MEMBER or written.process == HAND:
            return
        old, new = written.before, written.after
        known = self._renewed.get(written.name)
        if known is not None and isinstance(old, MemberRecord) and old.holder is not None:
            at, process = known
            other = is_fence(written) or (
                process != written.process and isinstance(new, MemberRecord) and new.holder not in (None, old.holder)
            )
            self.checks += other
            least = old.lease_seconds / FASTEST
            if other and self.scene.runs(process) and written.at - at < least and self.scene.clocks_agree(written.at):
                what = f"{written.process} ends {written.name}@{old.epoch}"
                self.found(written.at, f"{what}, which runs and renewed {written.at - at:.3f} s ago")
        if isinstance(new, MemberRecord) and new.holder is not None and member_of(written.process) == written.name:
            self._renewed[written.name] = written.at, written.process


class BrownOutWaits(Oracle):
    """R12: who only could not reach the server, like most others, is not fenced: what looked dead gets a lease in which
    to renew once the server answers again. What was written while nobody could hear of it is heard of afterwards."""

    id = "A5"
    sentence = "Nobody is fenced who only could not reach the server, while more than half of the members could not."

    def __init__(self, scene: Scene, breaches: list[Breach]) -> None:
        super().__init__(scene, breaches)
        self._moved: dict[str, float] = {}
        """When a coordinator could see each member's record move last."""
        self._renewed_by: dict[str, str] = {}
        self._down = 0
        self._unheard: set[str] = set()

    def hears_struck(self, struck: Struck) -> None:
        if isinstance(struck.strike, BrownOut):
            self._down += -1 if struck.over else 1
            if not self._down:
                self._moved.update(dict.fromkeys(sorted(self._unheard), struck.at))
                self._unheard.clear()

    def hears_written(self, written: Written) -> None:
        if written.kind is not Kind.MEMBER:
            return
        new = written.after
        if is_fence(written):
            self._fence(written)
        self._moved[written.name] = written.at
        if self._down:
            self._unheard.add(written.name)
        if isinstance(new, MemberRecord) and member_of(written.process) == written.name:
            self._renewed_by[written.name] = written.process

    def _fence(self, written: Written) -> None:
        self.checks += 1
        members = {**self.scene.members(), written.name: written.before}
        there = [name for name, each in members.items() if isinstance(each, MemberRecord) and each.holder is not None]
        lease = self.scene.lease_seconds
        silent = [name for name in there if written.at - self._moved.get(name, 0.0) > lease * FASTEST]
        process = self._renewed_by.get(written.name, "")
        if len(there) < 2 or 2 * len(silent) <= len(there) or not self.scene.runs(process):
            return
        names = name_of(process), name_of(written.process)
        if self.scene.only_the_server_failed(names, written.at, 3 * lease):
            what = f"{written.process} fences {written.name}, which could not reach the server"
            self.found(written.at, f"{what}, as {len(silent)} of {len(there)} could not")


class CauseFirst(Oracle):
    """R13: who is told to give up has not repeated the newest loss, or keeps a range that retires or is to move."""

    id = "A6"
    sentence = "Nobody is expelled who follows."

    def __init__(self, scene: Scene, breaches: list[Breach]) -> None:
        super().__init__(scene, breaches)
        self._moved_at = float("-inf")

    def hears_restored(self, restored: Restored) -> None:
        self._moved_at = restored.at

    def hears_written(self, written: Written) -> None:
        if written.kind in (Kind.MAP, Kind.SHARD):
            self._moved_at = written.at
        shard_map, old = self.scene.map, written.before
        if not is_expulsion(written) or shard_map is None or not isinstance(old, MemberRecord):
            return
        self.checks += 1
        behind = old.seen_map < max(shard_map.lost.values(), default=0)
        own = [each for each, holder in held(self.scene.shards()).items() if holder.member == written.name]
        keeps = any(each in shard_map.retiring or shard_map.target_of(each) != written.name for each in own)
        if not behind and not keeps and written.sent_at - self._moved_at > self.scene.lease_seconds:
            self.found(written.at, f"{written.process} expels {written.name}@{old.epoch}, which follows")
