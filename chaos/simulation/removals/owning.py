"""Removals of what owners and targets do about a range: R3, R4, the handover, and the gates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from chaos.simulation.removals import deciding
from chaos.simulation.removals.deciding import deciding as decides
from chaos.simulation.removals.removal import Swap, always, found_by, redundant
from fleet.backends.local_store import LocalStore
from fleet.records.coordination import CoordinationUnavailable
from fleet.records.object_names import Kind
from fleet.records.record import Holder, ShardRecord, Standby
from fleet.rules import handover
from fleet.rules.handover import Action, Phase, released
from fleet.workers import inquiry, range_runner
from fleet.workers.range_runner import RangeRunner
from fleet.workers.worker import Worker
from shards.gates import handover_gate
from shards.gates.handover_gate import HandoverGate
from shards.gates.own_writes import OwnWrites
from shards.keyrange import KeyRange
from shards.ownership.tenure import Tenure

Rule = Callable[..., Any]


def _overwriting_claims(put: Rule) -> Rule:
    """A claim that names no version: the server takes it, whatever is there."""

    def overwrite(self: LocalStore, kind: Kind, name: str, new: Any, replaces: str) -> Any:
        found = self.records.get((kind, name))
        if isinstance(found, ShardRecord) and isinstance(new, ShardRecord) and new.holder is not None:
            claims = (found.holder, found.epoch) != (new.holder, new.epoch) and new.standby is None
            return put(self, kind, name, new, found.version if claims else replaces)
        return put(self, kind, name, new, replaces)

    return overwrite


def _release_first(drain: Rule) -> Rule:
    async def drained(self: RangeRunner, seen: Any) -> None:
        await self._write(released(seen.record, None), seen.me)
        await drain(self, seen)

    return drained


def _resume(release: Rule) -> Rule:
    async def tried(self: RangeRunner, record: ShardRecord, me: Holder) -> None:
        try:
            await release(self, record, me)
        except CoordinationUnavailable:
            self.local.phase, self.shard = Phase.OWNED, None
            until = partial(self.context.deadline, me.epoch)
            self.tenure = Tenure(me.member, me.epoch, self.range, self.local.epoch, until)
            self._in_background(self._activate(self.tenure, None, self.local.epoch - 1, ()))
            raise

    return tried


def _no_drain(drain: Rule) -> Rule:
    """The range is released at once: what runs is left to itself, and may send."""

    async def drained(self: RangeRunner, seen: Any) -> None:
        self._diary.draining(self.local.epoch, seen)
        self.local.phase = Phase.DRAINED

    return drained


def _echo_first(evaluate: Rule) -> Rule:
    def evaluated(self: Worker, *asked: Any) -> None:
        evaluate(self, *asked)
        stored = self.view.last_map
        if stored is not None and stored.map.version != self._followed:
            self._followed = stored.map.version
            self.member.renew_now.set()

    return evaluated


def _standby_of(epoch: bool, floor: bool) -> Callable[[Rule], Rule]:
    """epoch, floor: whether these are looked at."""

    def make(standby_of: Rule) -> Rule:
        def found(record: ShardRecord, target: str, shard_map: Any) -> Standby | None:
            standby = record.standby
            if standby is None or standby.holder.member != target or (epoch and standby.epoch != record.epoch):
                return None
            return standby if not floor or standby.holder.epoch >= shard_map.floors.get(target, 0) else None

        return found

    return make


def _keeping(*names: str) -> Callable[[Rule], Rule]:
    """A claim that leaves these of the record as they are."""

    def make(claimed: Rule) -> Rule:
        def kept(record: ShardRecord, me: Holder) -> ShardRecord:
            new: ShardRecord = claimed(record, me)
            return replace(new, **{name: getattr(record, name) for name in names})

        return kept

    return make


def _any_watermark(claim: Rule) -> Rule:
    """The watermark of a record counts, whoever holds it and whichever release it is of."""

    async def claiming(self: RangeRunner, record: ShardRecord, me: Holder) -> None:
        activate, mark = self._activate, record.watermark

        def with_mark(tenure: Tenure, watermark: Any, previous_epoch: int, prewarming: Any) -> Any:
            if mark is not None:
                watermark = replace(mark, epoch=previous_epoch)
            return activate(tenure, watermark, previous_epoch, prewarming)

        self._activate = with_mark  # type: ignore[method-assign]  # for this claim
        try:
            await claim(self, record, me)
        finally:
            del self._activate

    return claiming


def _listed_before(begin: Rule) -> Rule:
    """Whatever its views hold will do, where there is no mark."""

    def begun(self: HandoverGate, *args: Any) -> None:
        begin(self, *args)
        self._lists = dict.fromkeys(self._lists, "1")

    return begun


class _All(dict[str, frozenset[KeyRange]]):
    """The same for every member."""

    def __init__(self, ranges: frozenset[KeyRange]) -> None:
        self._ranges = ranges

    def get(self, name: str, default: Any = None) -> Any:
        return self._ranges


_EVERYBODY: Swap = (inquiry, "concerns", lambda original: lambda survey: _All(frozenset(survey.map.ranges)))
"""Ranges are asked about, whether they concern the member or not."""

_FREE = (handover, "is_free")
_STANDBY = (handover, "standby_of")
_CLAIMED = (range_runner, "claimed")

REMOVALS = (
    found_by("R3", "claim-on-target-alone", "A claim needs a free Lease.", "I27 I1 I8", (*_FREE, always(True))),
    found_by(
        "R3",
        "claim-without-cas",
        "A claim is a compare-and-swap.",
        "I2 I27 I1 I8",
        (LocalStore, "put", _overwriting_claims),
    ),
    found_by(
        "R3", "claim-without-target", "Only the target claims.", "A2", decides(deciding.claims_for_others), _EVERYBODY
    ),
    found_by(
        "R3",
        "emptied-is-free",
        "A holder emptied by hand is not free.",
        "I27 I1",
        (*_FREE, deciding.emptied_is_free),
    ),
    redundant(
        "R3",
        "own-earlier-epoch",
        "An own earlier epoch is free.",
        "A coordinator raises the floor at its next look, and then it is free for everybody. It matters where nobody is"
        " in office for long (see the model).",
        (*_FREE, deciding.own_is_held(True)),
    ),
    found_by(
        "R3",
        "own-lost-claim",
        "An own present epoch that is not held is free.",
        "I7 A3",
        (*_FREE, deciding.own_is_held(False)),
    ),
    found_by(
        "decision 5",
        "keep-a-lost-claim",
        "A lost claim for a range that moved on is given back.",
        "I7 A3",
        decides(deciding.without(Action.RENOUNCE)),
    ),
    found_by(
        "R4",
        "release-before-drain",
        "Drain before release.",
        "I23 I1 I3",
        (RangeRunner, "_drain", _release_first),
    ),
    found_by("R4", "no-drain", "What runs ends before a release.", "I23 I1 I3", (RangeRunner, "_drain", _no_drain)),
    redundant(
        "R4",
        "resume-after-a-release",
        "Never resume after a release was sent.",
        "What made it drain is still so: it drains again at once, before its views are open.",
        (RangeRunner, "_release", _resume),
    ),
    found_by(
        "R8",
        "claim-retired",
        "A retired Lease is not claimed.",
        "I27",
        decides(deciding.claims_retired),
        _EVERYBODY,
    ),
    found_by(
        "R14",
        "echo-without-drop",
        "A member repeats a loss only when it has let go.",
        "I1",
        decides(deciding.keeps_what_is_lost),
        (Worker, "_evaluate", _echo_first),
    ),
    redundant(
        "R14",
        "keep-a-missing-lease",
        "A worker stops when its shard Lease is gone.",
        "Covered by the map: it stops when the map marks the range lost. Stopping at once is earlier by that much.",
        decides(deciding.keeps_what_is_missing),
    ),
    redundant(
        "R14",
        "any-instance",
        "A shard Lease is compared by its UID.",
        "Covered by the shard epoch: a Lease that is made again begins above all that the map remembers of it.",
        decides(deciding.any_instance),
    ),
    found_by(
        "3.4",
        "release-without-standby",
        "A planned release waits for the standby.",
        "A1",
        (*_STANDBY, lambda original: lambda record, target, shard_map: Standby(Holder(target, 0), record.epoch)),
    ),
    found_by(
        "3.4",
        "announce-before-synced",
        "A standby is announced when its views are complete.",
        "A1",
        decides(deciding.announces_at_once),
    ),
    redundant(
        "3.4",
        "no-withdrawal",
        "An announcement with nothing behind it is withdrawn.",
        "Floors void the announcements of those that join anew, and no plan turns a range away and back in one epoch.",
        decides(deciding.never_withdraws),
    ),
    redundant(
        "3.4",
        "standby-of-another-epoch",
        "An announcement of another shard epoch is void.",
        "Covered by the withdrawal, and by claims, which delete it.",
        (*_STANDBY, _standby_of(False, True)),
    ),
    redundant(
        "3.4",
        "standby-of-a-dead-member",
        "An announcement of a member epoch below its floor is void.",
        "Covered by the withdrawal: the next incarnation takes it back.",
        (*_STANDBY, _standby_of(True, False)),
    ),
    redundant(
        "3.4",
        "claim-keeps-the-standby",
        "A claim deletes the announcement.",
        "Covered by the shard epoch that it names, and by the withdrawal.",
        (*_CLAIMED, _keeping("standby")),
    ),
    found_by(
        "4.2",
        "no-gate",
        "The new owner waits for the watermark.",
        "I3",
        (handover_gate, "_lag", always("")),
    ),
    found_by(
        "4.2, 4.5",
        "no-list-after-the-claim",
        "Without a watermark it lists after its claim.",
        "I3",
        (HandoverGate, "__init__", _listed_before),
    ),
    found_by(
        "4.1",
        "no-own-writes",
        "A key waits until its view shows what was written for it.",
        "I3",
        (OwnWrites, "blocked", always(None)),
    ),
    redundant(
        "4.2",
        "claim-keeps-the-watermark",
        "A claim deletes the watermark.",
        "Covered by the stamp: a watermark of another shard epoch is not used.",
        (*_CLAIMED, _keeping("watermark")),
    ),
    found_by(
        "4.2",
        "old-watermark",
        "A watermark outlives its release nowhere: claim, stamp, holder.",
        "I3",
        (*_CLAIMED, _keeping("watermark")),
        (RangeRunner, "_claim", _any_watermark),
    ),
)
