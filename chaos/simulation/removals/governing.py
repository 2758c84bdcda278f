"""Removals of what a coordinator does: R5 to R10, R12 to R15."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from chaos.simulation.removals.removal import always, found_by, redundant
from fleet.backends.local_store import LocalStore
from fleet.office import registrar, resharding
from fleet.office.coordinator import Coordinator
from fleet.records.object_names import Kind
from fleet.records.record import MemberRecord, ShardRecord, ShardStatus
from fleet.rules import absences, agenda, assignment, layout, reshard, stragglers
from fleet.rules.membership import MemberWatch

Rule = Callable[..., Any]

HASTY = 0.15
"""Part of a lease after which a member is fenced."""


def _hasty(silent: Rule) -> Rule:
    def soon(self: MemberWatch, members: Mapping[str, MemberRecord], now: float) -> list[str]:
        return [
            name
            for name, each in sorted(members.items())
            if each.holder is not None
            and (seen := self.sightings.get(name)) is not None
            and now - seen.since > HASTY * seen.lease_seconds
        ]

    return soon


def _ended(record: MemberRecord) -> MemberRecord:
    return replace(record, holder=None, epoch=record.epoch + 1, leaving=False)


def _unchecked(fence: Rule) -> Rule:
    return lambda live, *timer, **named: _ended(live) if live is not None and live.holder is not None else None


def _without_raise(fence: Rule) -> Rule:
    def fenced(*args: Any, **named: Any) -> Any:
        record = fence(*args, **named)
        return replace(record, epoch=record.epoch - 1) if record is not None else None

    return fenced


def _on_the_view(fence: Rule) -> Rule:
    """Whom nobody has heard of is fenced as the view knows it, without a live read."""

    async def fenced(self: Any, office: Any, name: str, *rest: Any) -> None:
        known = [view.members[name] for view in self.coordination._views if name in view.members]
        if known and known[0].holder is not None:
            await self.coordination.write_member(_ended(known[0]), known[0].version, not_after=office.until)

    return fenced


def _of_the_fenced(floors: Rule) -> Rule:
    """Only those that were fenced, or left, raise a floor."""

    def raised(shard_map: Any, members: Mapping[str, MemberRecord], shards: Any, *, gone: Any) -> Any:
        ended = {name: each for name, each in members.items() if each.holder is None}
        found = floors(shard_map, ended, shards, gone=gone)
        return {**{name: epoch for name, epoch in shard_map.floors.items() if name in members}, **found}

    return raised


def _downwards(floors: Rule) -> Rule:
    def followed(shard_map: Any, members: Mapping[str, MemberRecord], shards: Any, *, gone: Any) -> Any:
        found = floors(shard_map, members, shards, gone=gone)
        return {name: members[name].epoch if name in members else epoch for name, epoch in found.items()}

    return followed


def _nobody_gone(gone: Rule) -> Rule:
    return lambda look, memory, now: ({}, gone(look, memory, now)[1])


def _gone_at_once(gone: Rule) -> Rule:
    return lambda look, memory, now: gone(replace(look, lease_seconds=-1.0), memory, now)


def _keeping_retiring(relaid: Rule) -> Rule:
    """What leaves the layout is not on its way out."""

    def made(shard_map: Any, *args: Any, **kwargs: Any) -> Any:
        return replace(relaid(shard_map, *args, **kwargs), retiring=shard_map.retiring)

    return made


def _held_as_well(may_retire: Rule) -> Rule:
    def may(record: ShardRecord | None, *args: Any) -> bool:
        return (record is not None and record.holder is not None) or bool(may_retire(record, *args))

    return may


def _unheard(may_retire: Rule) -> Rule:
    """Nobody has to repeat that the range is lost."""
    return lambda record, shard_map, wanted, members: may_retire(record, shard_map, wanted, ())


def _upkeep_unheard(upkeep: Rule) -> Rule:
    return lambda survey, members, version: upkeep(survey, {}, version)


def _activated_unheard(activated: Rule) -> Rule:
    def made(wanted: Any, first: Any, live: Any, clear: Any, members: Any, *, just_opened: bool) -> Any:
        return activated(wanted, first, live, clear, (), just_opened=just_opened)

    return made


def _all_clear(clear_ranges: Rule) -> Rule:
    return lambda shard_map, records: frozenset(shard_map.ranges)


class _OfNoEpoch:
    """An office that writes its maps under the epoch of the one before."""

    def __init__(self, office: Any, epoch: int) -> None:
        self._office = office
        self.epoch = epoch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._office, name)


def _without_epoch(govern: Rule) -> Rule:
    async def governed(self: Coordinator, office: Any) -> None:
        known = self.view.map
        await govern(self, _OfNoEpoch(office, known.map.coordinator_epoch) if known is not None else office)

    return governed


def _never_frozen(fenceable: Rule) -> Rule:
    return lambda self, members, *, own_renewal_at, now: self.silent(members, now)


def _as_configured(rebuilt: Rule) -> Rule:
    return lambda last, empty, shards, highest: replace(empty, version=highest + reshard.REBUILT_STEP)


def _overwriting_activations(put: Rule) -> Rule:
    def overwrite(self: LocalStore, kind: Kind, name: str, new: Any, replaces: str) -> Any:
        found = self.records.get((kind, name))
        activates = (
            isinstance(new, ShardRecord)
            and isinstance(found, ShardRecord)
            and new.status is ShardStatus.ACTIVE
            and new.holder is None
            and new.released == new.epoch > found.epoch
        )
        return put(self, kind, name, new, found.version if activates and found is not None else replaces)

    return overwrite


def _marked_later(carry_out: Rule) -> Rule:
    """A range counts as opened only by the map after the one under which its record was made."""

    async def carried(self: Any, office: Any, what: Any, stored: Any, memory: Any) -> None:
        new = what.map
        if new is not None:
            new = replace(new, opened=stored.map.opened)
        await carry_out(self, office, replace(what, map=new), stored, memory)

    return carried


def _not_opened(activated: Rule) -> Rule:
    def made(wanted: Any, first: Any, live: Any, clear: Any, members: Any, *, just_opened: bool) -> Any:
        live = replace(live, opened=live.opened | {wanted})
        return activated(wanted, first, live, clear, members, just_opened=True)

    return made


_FENCE = (registrar, "fence")
_RETIRE = ((reshard, "may_retire"), (registrar, "may_retire"))

REMOVALS = (
    found_by(
        "R5",
        "fence-a-live-member",
        "A fence only after silence.",
        "A4 I1 I23",
        (MemberWatch, "silent", _hasty),
        (*_FENCE, _unchecked),
    ),
    found_by(
        "R5",
        "fence-on-the-view",
        "A fence rests on a live read of the member's record.",
        "I5",
        (registrar.Registrar, "_fence", _on_the_view),
    ),
    redundant(
        "R5",
        "fence-without-raise",
        "A fence raises the epoch.",
        "A floor above what a record names follows a lease after nobody holds its member record; a raise is faster.",
        (*_FENCE, _without_raise),
    ),
    found_by(
        "R6",
        "trust-own-fences-only",
        "Floors follow the member Lease, whoever raised it.",
        "I7 A3",
        (agenda, "floors", _of_the_fenced),
        (assignment, "floors", _of_the_fenced),
    ),
    redundant(
        "R6",
        "floor-follows-downwards",
        "Floors never fall.",
        "Covered by R14: a member Lease that is made again starts above everything that names it.",
        (agenda, "floors", _downwards),
    ),
    found_by(
        "R6, R14",
        "no-floor-for-the-gone",
        "A member whose Lease is gone gets a floor.",
        "I7 A3",
        (agenda, "gone", _nobody_gone),
    ),
    found_by("R6, R14", "gone-at-once", "But only after a lease.", "I1 I23 I27", (agenda, "gone", _gone_at_once)),
    found_by(
        "R7",
        "reshard-without-retiring",
        "What leaves the layout is retired, and so is any Lease that is in no layout.",
        "I8",
        (layout, "relaid", _keeping_retiring),
        (resharding, "relaid", _keeping_retiring),
        (reshard, "strays", always(frozenset())),
    ),
    redundant(
        "R7",
        "several-reshards",
        "One reshard at a time.",
        "Retiring is a union, and activation looks at all that overlaps; one at a time bounds the work.",
        (layout, "is_settled", always(True)),
        (resharding, "is_settled", always(True)),
    ),
    found_by(
        "R8",
        "retire-held",
        "A range that is held is not retired.",
        "I27 I1 I8",
        *((*each, _held_as_well) for each in _RETIRE),
    ),
    found_by(
        "R8, R14",
        "retire-without-echo",
        "A missing Lease is retired only when all have noticed.",
        "I1 I8",
        *((*each, _unheard) for each in _RETIRE),
    ),
    found_by(
        "R9",
        "no-overlap-check",
        "Activation reads the map, and that nothing that overlaps is active.",
        "I8 I1 A3 I7",
        (registrar, "clear_ranges", _all_clear),
        (reshard, "blocked_by", always(frozenset())),
    ),
    redundant(
        "R9",
        "activate-without-cas",
        "Activation is a compare-and-swap over its first read.",
        "The checks of map and overlaps suffice; it is for a coordinator that is paused through two reshards.",
        (LocalStore, "put", _overwriting_activations),
    ),
    redundant(
        "R10",
        "no-office-epoch",
        "The first act in office is its epoch in the map.",
        "Covered by the same compare-and-swap; the epoch makes an old coordinator's map conflict at once, not only"
        " after a change.",
        (Coordinator, "round", _without_epoch),
    ),
    found_by(
        "R12",
        "no-brown-out-freeze",
        "No fence while more than half look dead.",
        "A5",
        (MemberWatch, "fenceable", _never_frozen),
    ),
    found_by(
        "R13",
        "no-expulsion",
        "Who does not follow is expelled.",
        "I7 A3",
        (agenda, "stragglers", always(())),
    ),
    found_by(
        "R13, decision 1",
        "expulsion-by-fence",
        "By a renewal that it never sent, not by a fence.",
        "A4 I1 I5",
        (registrar, "expel", lambda original: _ended),
    ),
    found_by(
        "R13",
        "wait-for-a-standby-for-ever",
        "A target whose standby is never ready loses the range.",
        "A3 I7",
        (assignment, "returned", lambda original: lambda look, *rest: (look.map.targets, ())),
    ),
    found_by(
        "R13, decision 24",
        "no-deadline-for-a-claim",
        "A target that does not claim a free range loses it.",
        "I7 A3",
        (stragglers, "is_free", always(False)),
    ),
    found_by(
        "R14",
        "recreate-at-once",
        "A Lease that was deleted comes back only when all have noticed.",
        "I1 I23 I8",
        (agenda, "upkeep", _upkeep_unheard),
        (registrar, "activated", _activated_unheard),
    ),
    found_by(
        "R14",
        "missing-is-free",
        "A missing Lease of an opened range is not a free one.",
        "I1 I8 I7 A3",
        (reshard, "_is_missing", always(False)),
    ),
    found_by(
        "R14",
        "rebuilt-as-a-first-start",
        "A map is rebuilt with what was opened, floors and retiring.",
        "I8",
        (registrar, "rebuilt", _as_configured),
    ),
    redundant(
        "R14",
        "rebuilt-from-the-config",
        "A map without a last one takes its layout from the Leases.",
        "A coordinator knew the last map; else R7 retires what is in no layout.",
        (reshard, "_covers", always(False)),
    ),
    redundant(
        "R14",
        "unmarked-opening",
        "A range is marked opened before its Lease is made.",
        "The checks before and after an activation suffice.",
        (registrar.Registrar, "carry_out", _marked_later),
        (registrar, "activated", _not_opened),
    ),
    redundant(
        "R14, decision 23",
        "restored-coordinator-acts-at-once",
        "A coordinator waits a lease after a restore too.",
        "Members that wait suffice; with ranges that retire, it is what keeps a restored plan from being carried out.",
        (Coordinator, "_quiet_until", lambda original: property(lambda self: float("-inf"), lambda self, value: None)),
    ),
    redundant(
        "R15",
        "collect-at-once",
        "Garbage is collected when nothing that knew it is on its way.",
        "Without an election nothing old is on its way.",
        (absences, "LONGEST_REQUEST_SECONDS", lambda original: -1e9),
        (absences, "FORGET_SECONDS", lambda original: -1e9),
    ),
)
