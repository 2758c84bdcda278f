"""Removals of what members do about their own records: R1, R2, R5, R13 and R14."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from chaos.simulation.removals.removal import always, found_by, redundant
from fleet.records.coordination import CasConflict, CoordinationUnavailable
from fleet.rules import agenda
from fleet.rules.membership import Join
from fleet.rules.membership import leave as leaving
from fleet.rules.vanished import VanishedMembers
from fleet.workers import member
from fleet.workers.member import Member
from fleet.workers.worker import Worker
from shards.ownership.tenure import Tenure

TICK_SECONDS = 0.25

Rule = Callable[..., Any]


def _over_a_live_holder(join: Rule) -> Rule:
    def joined(draft: Any, found: Any, **rest: Any) -> Any:
        return join(draft, replace(found, holder=None) if found is not None else None, **rest)

    return joined


def _without_raise(join: Rule) -> Rule:
    def joined(draft: Any, found: Any, **rest: Any) -> Any:
        decision = join(draft, found, **rest)
        if isinstance(decision, Join) and decision.record.epoch > 1:
            return Join(replace(decision.record, epoch=decision.record.epoch - 1))
        return decision

    return joined


def _missing_at_once(join: Rule) -> Rule:
    def joined(draft: Any, found: Any, *, sighting: Any, **rest: Any) -> Any:
        if found is None:
            sighting = replace(sighting, lease_seconds=0.0)
        return join(draft, found, sighting=sighting, **rest)

    return joined


def _begins_at_one(join: Rule) -> Rule:
    def joined(draft: Any, found: Any, **rest: Any) -> Any:
        return join(draft, found, **(rest if found is not None else {**rest, "known_epoch": 0, "forgotten": 0}))

    return joined


def _without_those_that_go(forgotten: Rule) -> Rule:
    return lambda shard_map, _: shard_map.forgotten


def _no_deadline(deadline: Rule) -> Rule:
    def until(self: Tenure) -> float:
        return float("-inf") if self.ended else float("inf")

    return until


class _Late:
    """A coordination whose writes of members are sent after the deadline as well."""

    def __init__(self, real: Any, owner: Member) -> None:
        self._real = real
        self._owner = owner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def write_member(self, new: Any, replaces: str, *, not_after: float | None = None) -> Any:
        return await self._real.write_member(new, replaces)


class _Own(_Late):
    """One that takes every renewal for its own, whose answer was lost."""

    async def write_member(self, new: Any, replaces: str, *, not_after: float | None = None) -> Any:
        return await self._real.write_member(new, replaces, not_after=not_after)

    async def read_member(self, name: str) -> Any:
        found = await self._real.read_member(name)
        if found is not None and self._owner._attempted is not None:
            self._owner._attempted = found.renewals
        return found


def _with(wrapper: type[_Late]) -> Callable[[Rule], Rule]:
    def make(begin: Rule) -> Rule:
        def begun(self: Member, coordination: Any, *args: Any, **kwargs: Any) -> None:
            begin(self, coordination, *args, **kwargs)
            self.coordination = wrapper(coordination, self)

        return begun

    return make


def _goes_on_late(until: Rule) -> Rule:
    def later(self: Member) -> float:
        return max(until(self), self._clock() + TICK_SECONDS) if self._record is not None else float("-inf")

    return later


def _true_until(until_of: Rule) -> Rule:
    def until(self: Member, epoch: int) -> float:
        return self._until if self._record is not None and self.epoch == epoch else float("-inf")

    return until


def _leaves_at_once(watch_stop: Rule) -> Rule:
    async def stopped(self: Worker, stop: Any) -> None:
        await stop.wait()
        me = self.member
        while me.holder is not None:
            try:
                live = await me.coordination.read_member(me.draft.name)
                if live is not None and live.holder == me.incarnation:
                    await me.coordination.write_member(leaving(live), live.version)
                break
            except (CasConflict, CoordinationUnavailable):
                continue
        await watch_stop(self, stop)

    return stopped


def _blindly(renew: Rule) -> Rule:
    class Clear:
        confirmed_at = float("inf")

    async def renewed(self: Member, record: Any, view: Any) -> None:
        await renew(self, record, Clear())

    return renewed


def _without_waiting(lose_for_a_lease: Rule) -> Rule:
    def lost(self: Member, why: str) -> None:
        self.lose(why)

    return lost


_JOIN = (member, "join")
_MEMBER = (Member, "__init__")

REMOVALS = (
    found_by(
        "R1",
        "join-over-a-live-holder",
        "A joining worker waits for a live holder of its own name.",
        "A4 I1 I23",
        (*_JOIN, _over_a_live_holder),
    ),
    found_by("R1", "join-without-raise", "Joining raises the epoch.", "I2", (*_JOIN, _without_raise)),
    found_by(
        "R2",
        "act-after-deadline",
        "Nothing is done after the deadline.",
        "I1 I23",
        (Tenure, "deadline", _no_deadline),
    ),
    redundant(
        "decision 3",
        "renews-late",
        "A member that ran past its deadline starts again.",
        "To renew late is safe as long as the write succeeds; starting again is one path less to prove.",
        (*_MEMBER, _with(_Late)),
        (Member, "until", _goes_on_late),
        (Member, "until_of", _true_until),
    ),
    redundant(
        "R5",
        "leave-without-fence",
        "Leaving for good is a fence of oneself.",
        "A floor above what a record names follows a lease after nobody holds its member record; a raise is faster.",
        (member, "leave", lambda leave: lambda record: replace(leave(record), epoch=record.epoch)),
    ),
    found_by(
        "R5",
        "leave-before-the-last-act",
        "It is written after the last act.",
        "I1 I23",
        (Worker, "_watch_stop", _leaves_at_once),
    ),
    redundant(
        "R13",
        "renew-while-blind",
        "Who cannot see does not renew.",
        "Covered by live lists: whose watches are silent lists once a lease; and who cannot read cannot write either.",
        (Member, "_renew", _blindly),
    ),
    found_by(
        "R13, decision 1",
        "expelled-goes-on",
        "A renewal that it never sent ends a membership.",
        "I7 A3",
        (*_MEMBER, _with(_Own)),
    ),
    found_by(
        "R14",
        "member-epoch-restarts",
        "A member record made again starts above every epoch that names it.",
        "I1 I2 I7 I27 A3",
        (*_JOIN, _begins_at_one),
        (Worker, "_outlived", always(False)),
    ),
    found_by(
        "R14",
        "missing-member-joins-at-once",
        "A member waits a lease before it makes its record again.",
        "I1",
        (*_JOIN, _missing_at_once),
    ),
    found_by(
        "R1, R14",
        "hold-before-it-is-known",
        "A new member holds nothing until others know of it.",
        "I1",
        (member, "established", always(True)),
    ),
    redundant(
        "R6, R14",
        "forget-a-floor-at-once",
        "A floor stays for a lease after its member record vanished.",
        "It takes a record that is deleted between a renewal and a map that gives its name nothing (see the model).",
        (VanishedMembers, "doubted", always(frozenset())),
    ),
    redundant(
        "R6, R14",
        "forget-how-high",
        "The map remembers how high floors were that go.",
        "It takes a member that comes back twice while another sees an old map: the model shows it.",
        (agenda, "forgotten", _without_those_that_go),
    ),
    redundant(
        "R14",
        "outlived",
        "A worker ends when its name is known at a later epoch.",
        "Covered by the epochs that a join looks up.",
        (Worker, "_outlived", always(False)),
    ),
    found_by(
        "R14, decision 23",
        "restored-goes-on",
        "After a restore everybody drops everything.",
        "I1 I23 I3 I27",
        (Member, "lost_history", always(False)),
        (member, "went_back", always(False)),
    ),
    found_by(
        "R14, decision 23",
        "restored-joins-at-once",
        "Whoever has noticed a restore waits a lease before it joins.",
        "I1 I23",
        (Member, "_lose_for_a_lease", _without_waiting),
    ),
)
