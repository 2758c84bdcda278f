"""What `fleet canary status` says: where the features of the canary are on, how that part fares, and whether it may
grow. Pure.

Read from the records that members renew every two seconds, so that it needs no metrics server.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fleet.records.record import MemberRecord
from fleet.records.report_record import PartRecord, RolloutRecord
from fleet.rules.canary_verdict import Criterion, Enough, Word, judge_parts, summed, worst
from fleet.status.status_rows import FleetStatus, MemberState
from fleet.status.statusview import Sight, fleet_status


class _Shown(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One object of `--json`."""


class CriterionRow(_Shown, frozen=True):
    """canary, rest, limit: of the figure; null where there is none."""

    name: str
    verdict: str
    sentence: str
    canary: float | None
    rest: float | None
    limit: float | None


class PartRow(_Shown, frozen=True):
    """One part of the fleet. shards: once for each controller. measured_seconds: how long all of it has been so."""

    shards: int
    keys: int
    parked: int
    failing: int
    paused: int
    reconciles: int
    requests: int
    live_reads: int
    longest_wait_seconds: float
    longest_parked_seconds: float
    measured_seconds: int


class CanaryStatus(_Shown, frozen=True):
    """features: those that are confined to the canary. part: the canary in words. rest: null where there is none."""

    fleet: str
    namespace: str
    verdict: str
    why: str
    features: tuple[str, ...]
    part: str
    members: tuple[str, ...]
    criteria: tuple[CriterionRow, ...]
    canary: PartRow | None
    rest: PartRow | None


def canary_status(sight: Sight, enough: Enough | None = None) -> CanaryStatus:
    """enough: what there must be to judge by; None for the defaults."""
    status = fleet_status(sight)
    living = [
        sight.members[row.name] for row in status.members if row.state in (MemberState.ALIVE, MemberState.LEAVING)
    ]
    rollouts = {record.name: record.rollout for record in living}
    followed = _newest(rollouts.values())
    confined = followed.confined if followed is not None else ()
    parts = [part for record in living for part in record.parts]
    inside = [part for part in parts if set(part.on.split(",")) & set(confined)] if confined else parts
    tried = {part.controller for part in inside}  # another controller's work is no yardstick
    outside = [part for part in parts if part not in inside and part.controller in tried] if confined else []
    canary = summed(inside) if inside else None
    rest = summed(outside) if outside else None
    criteria = [*_converged(status, living), *_somebody_has_it(followed, canary)]
    if canary is not None:
        criteria += judge_parts(canary, rest, enough or Enough())
    word = worst(criteria)
    return CanaryStatus(
        fleet=status.fleet,
        namespace=status.namespace,
        verdict=str(word),
        why=_why(word, criteria),
        features=confined,
        part=followed.part if followed is not None else "",
        members=tuple(each.name for each in living if any(part in inside for part in each.parts)),
        criteria=tuple(
            CriterionRow(
                name=each.name,
                verdict=str(each.word),
                sentence=each.sentence,
                canary=each.canary,
                rest=each.rest,
                limit=each.limit,
            )
            for each in criteria
        ),
        canary=_row(canary),
        rest=_row(rest),
    )


def _newest(rollouts: Iterable[RolloutRecord | None]) -> RolloutRecord | None:
    """What most members follow."""
    found = [each for each in rollouts if each is not None]
    return max(found, key=found.count, default=None)


def _converged(status: FleetStatus, living: list[MemberRecord]) -> list[Criterion]:
    """Whether the fleet is at rest under one config."""
    name = "every shard has its owner"
    unowned = len(status.unowned)
    if not status.shards:
        found = [Criterion(name, Word.WAIT, "the coordinator has not planned yet")]
    elif unowned:
        found = [Criterion(name, Word.WAIT, f"{unowned} of {len(status.shards)} shards have none", unowned, None, 0)]
    else:
        found = [Criterion(name, Word.GO_ON, f"all {len(status.shards)} shards", 0, None, 0)]
    name = "one config"
    rollouts = [each.rollout for each in living]
    followed = _newest(rollouts)
    others = [each.name for each in living if each.rollout != followed]
    silent = [row.name for row in status.members if row.state is MemberState.SILENT]
    if silent:
        found.append(Criterion(name, Word.WAIT, f"silent: {_some(silent)}"))
    elif followed is None:
        found.append(Criterion(name, Word.WAIT, "no worker says what it follows"))
    elif others:
        sentence = f"{len(others)} of {len(living)} workers follow another config yet: {_some(others)}"
        found.append(Criterion(name, Word.WAIT, sentence, len(others), None, 0))
    else:
        found.append(Criterion(name, Word.GO_ON, f"all {len(living)} workers follow it", 0, None, 0))
    return found


def _somebody_has_it(followed: RolloutRecord | None, canary: PartRecord | None) -> list[Criterion]:
    if followed is None or not followed.confined:
        return []
    name = "somebody has it"
    off = [each for each in followed.confined if each in followed.off]
    if off:
        return [Criterion(name, Word.WAIT, f"switched off in featureGates: {', '.join(off)}")]
    if canary is None:
        sentence = f"no shard is in the canary ({followed.part}), or the API server cannot do it"
        return [Criterion(name, Word.WAIT, sentence)]
    return []


def _why(word: Word, criteria: list[Criterion]) -> str:
    """The first reason for the verdict, and how many more there are."""
    found = [each for each in criteria if each.word is word]
    if word is Word.GO_ON:
        return f"all {len(found)} criteria allow the next step"
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{found[0].name}: {found[0].sentence}{more}" if found else "nothing is known"


def _row(part: PartRecord | None) -> PartRow | None:
    if part is None:
        return None
    return PartRow(
        shards=part.shards,
        keys=part.keys,
        parked=part.parked,
        failing=part.failing,
        paused=part.paused,
        reconciles=part.reconciles,
        requests=part.requests,
        live_reads=part.live_reads,
        longest_wait_seconds=part.longest_wait,
        longest_parked_seconds=part.longest_parked,
        measured_seconds=part.seconds,
    )


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
