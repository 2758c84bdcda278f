"""A look costs what has changed since the last one, and says what it would say if nothing were remembered of that."""

from __future__ import annotations

import random
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from fleet.records.controls import Controls, Order
from fleet.records.record import Holder, MemberRecord, ShardMap, ShardRecord, ShardStatus, Standby
from fleet.records.report_record import ShardLoad
from fleet.rules.agenda import Absence, Agenda, Look, Memory, draw_up
from fleet.rules.plan_settings import PlanSettings
from fleet.rules.survey import Survey, holders, layout_records, mentioned, named_epochs, outside
from shards.keyrange import KeyRange, equal_boundaries, ranges_from
from tests.unit.fleet.records.records import member, shard, shard_map

LEASE = 8.0
REST_SECONDS = 1.0
SETTINGS = PlanSettings(churn_per_round=0.5, cooldown_seconds=4.0, debounce_seconds=1.0, standby_deadline_seconds=6.0)
QUARTERS = ranges_from(equal_boundaries(4))
HALVES = ranges_from(equal_boundaries(2))


def test_a_survey_answers_each_question_once() -> None:
    survey, asked = Survey(shard_map(), {}), list[Survey]()

    def question(found: Survey) -> int:
        asked.append(found)
        return len(asked)

    assert (survey.find(question), survey.find(question)) == (1, 1)
    assert asked == [survey]


def test_a_survey_is_of_the_very_objects_that_it_was_made_of() -> None:
    shown, shards = shard_map(), dict[KeyRange, ShardRecord]()
    survey = Survey(shown, shards)
    assert survey.is_of(shown, shards)
    assert not survey.is_of(replace(shown), shards)
    assert not survey.is_of(shown, dict(shards))


def test_what_a_survey_finds() -> None:
    low, high = HALVES
    records = {
        low: shard(low, holder=Holder("a", 3)),
        high: shard(high, holder=Holder("a", 2), standby=Standby(Holder("b", 1), 5)),
        QUARTERS[0]: shard(QUARTERS[0], holder=None),
    }
    survey = Survey(shard_map("web", targets=("a", "c")), records)
    assert survey.find(layout_records) == (records[low], records[high])
    assert survey.find(holders) == (Holder("a", 2), Holder("a", 3))
    assert survey.find(named_epochs) == {"a": 3}
    assert survey.find(mentioned) == {"a", "b", "c"}
    assert survey.find(outside) == (records[QUARTERS[0]],)


@dataclass
class Walk:
    """A fleet in which anything happens, as a view shows it: what did not change is the same object."""

    rng: random.Random
    now: float = 0.0
    shown: ShardMap = field(default_factory=lambda: shard_map("web", boundaries=equal_boundaries(4), targets=("",) * 4))
    shards: dict[KeyRange, ShardRecord] = field(default_factory=dict)
    members: dict[str, MemberRecord] = field(default_factory=lambda: {name: member(name, seen_map=7) for name in "abc"})
    controls: Controls = field(default_factory=Controls)
    versions: int = 0

    def step(self) -> Look:
        self.now += self.rng.choice((0.0, 0.1, 0.3, 1.0, 5.0))
        for _ in range(self.rng.randrange(3)):
            self.rng.choice((self._renew, self._renew, self._renew, self._shard, self._shard, self._come_and_go))()
        if self.rng.random() < 0.02:
            self.controls = self.rng.choice(
                (
                    Controls(),
                    Controls(frozen=Order()),
                    Controls(drained={"a": Order()}),
                    Controls(drained={"b": Order()}),
                )
            )
        renewed_at = self.now - self.rng.random()
        return Look(1, self.shown, self.shards, self.members, renewed_at, LEASE, self.controls, self.now)

    def follow(self, agenda: Agenda) -> None:
        if agenda.map is not None and self.rng.random() < 0.7:
            self.shown = agenda.map
        for each in agenda.upkeep.activate:
            self._put(shard(each, status=ShardStatus.ACTIVE, epoch=9, released=9, holder=None, holder_text=""))
        if self.rng.random() < 0.01:
            layout = self.rng.choice((2, 4))
            self.shown = replace(
                self.shown,
                version=self.shown.version + 1,
                boundaries=equal_boundaries(layout),
                targets=("a",) * layout,
                retiring=frozenset(self.shown.ranges) - frozenset(ranges_from(equal_boundaries(layout))),
            )

    def come_to_rest(self) -> None:
        """Every range is owned by its target, if that lives, and by nobody else; nothing retires."""
        living = {name: record for name, record in self.members.items() if record.holder is not None}
        self.shown = replace(self.shown, retiring=frozenset())
        self.shards = {each: record for each, record in self.shards.items() if each in self.shown.ranges}
        for each, target in zip(self.shown.ranges, self.shown.targets, strict=True):
            holder = Holder(target, living[target].epoch) if target in living else None
            record = self.shards.get(each)
            if holder is not None and (record is None or record.holder != holder):
                epoch = 1 + max(self.shown.shard_epochs.get(each, 0), record.epoch if record is not None else 0)
                self._put(shard(each, epoch=epoch, holder=holder, holder_text=str(holder)))
        for name in self.members:
            self._set(name, seen_map=self.shown.version)

    def _version(self) -> str:
        self.versions += 1
        return str(self.versions)

    def _put(self, record: ShardRecord) -> None:
        self.shards = {**self.shards, record.range: replace(record, version=self._version())}

    def _renew(self) -> None:
        if self.members:
            name = self.rng.choice(sorted(self.members))
            loads = {
                str(each): ShardLoad(5, reconcile_seconds_per_second=self.rng.choice((0.1, 0.1, 0.5)))
                for each, record in self.shards.items()
                if record.holder is not None and record.holder.member == name
            }
            seen = self.rng.choice((self.shown.version, self.members[name].seen_map))
            self._set(name, loads=loads, seen_map=seen, demand=self.rng.choice((None, 1000, 500_000)))

    def _set(self, name: str, **changes: Any) -> None:
        self.members = {**self.members, name: replace(self.members[name], version=self._version(), **changes)}

    def _come_and_go(self) -> None:
        name = self.rng.choice("abc")
        known = self.members.get(name)
        if known is None:
            self.members = {**self.members, name: member(name, epoch=self.rng.randrange(1, 9), version=self._version())}
        elif self.rng.random() < 0.2:
            self.members = {each: record for each, record in self.members.items() if each != name}
        else:
            alive = known.holder is None
            self._set(
                name,
                epoch=known.epoch + 1,
                holder=member(name).holder if alive else None,
                leaving=self.rng.random() < 0.3,
            )

    def _shard(self) -> None:
        each = self.rng.choice((*QUARTERS, *HALVES))
        record = self.shards.get(each, shard(each))
        name, epoch = self.rng.choice("abc"), record.epoch + 1
        holder = Holder(name, self.members[name].epoch if name in self.members else 3)
        kind = self.rng.randrange(7)
        if kind == 0:
            self.shards = {one: found for one, found in self.shards.items() if one != each}
        elif kind == 1:
            self._put(replace(record, standby=Standby(holder, record.epoch)))
        elif kind == 2:
            self._put(replace(record, holder=None, holder_text="", released=record.epoch))
        elif kind == 3:
            self._put(replace(record, status=ShardStatus.RETIRED, holder=None, holder_text="", released=record.epoch))
        else:
            active = ShardStatus.ACTIVE
            self._put(replace(record, status=active, epoch=epoch, holder=holder, holder_text=str(holder)))


def without_shortcuts(memory: Memory) -> Memory:
    """What it remembers of the fleet, and nothing of what was found in the last look."""
    return replace(
        memory,
        watch=replace(memory.watch, _observed=None),
        costs=replace(memory.costs, _observed=None, _followed=None, _told=None),
        _survey=None,
        _planned=None,
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_look_says_what_it_would_say_if_nothing_had_been_found_before(seed: int) -> None:
    walk, remembering, plain = Walk(random.Random(seed)), Memory(), Memory()
    written = 0
    for _ in range(150):
        look = walk.step()
        agenda = draw_up(look, remembering, SETTINGS, walk.now)
        plain = without_shortcuts(plain)
        assert agenda == draw_up(look, plain, SETTINGS, walk.now)
        assert without_shortcuts(remembering) == without_shortcuts(plain)
        for named in agenda.missing:
            remembering.absent[named.member] = plain.absent[named.member] = Absence(named.epoch, walk.now)
        written += agenda.map is not None
        walk.follow(agenda)
    assert written > 5


@pytest.mark.parametrize("seed", range(20, 40))
def test_time_alone_brings_nothing_that_cannot_wait_while_a_look_says_that_all_is_at_rest(seed: int) -> None:
    walk, memory, rests = Walk(random.Random(seed)), Memory(), 0
    for _ in range(150):
        look = walk.step()
        agenda = draw_up(look, memory, SETTINGS, walk.now)
        for named in agenda.missing:
            memory.absent[named.member] = Absence(named.epoch, walk.now)
        if agenda.rest:
            silence_at = memory.watch.first_silence(look.members)
            for later in (walk.now + 0.3, walk.now + REST_SECONDS):
                if later <= silence_at:
                    found = draw_up(replace(look, own_renewal_at=later), deepcopy(memory), SETTINGS, later)
                    assert (found.fence, found.expel, found.missing, found.upkeep) == ((), (), (), agenda.upkeep)
                    assert all(move.by_choice for move in found.moves)
                    rests += 1
        walk.follow(agenda)
        if walk.rng.random() < 0.5:
            walk.come_to_rest()
    assert rests > 0
