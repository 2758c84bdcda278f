"""How a member's controllers fare with and without the features of the canary, as it rides on the member's record."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable

import msgspec

from fleet.records.record import PartRecord, RolloutRecord
from fleet.workers.range_runner import RangeRunner
from shards.features import BUILT, Canary, Rollout
from shards.reconciling.figures import Figures

LONGEST_WORDS = 200
"""Of the canary in words: a Lease has its limit."""


def part_records(runners: Iterable[RangeRunner]) -> tuple[PartRecord, ...]:
    """One for each controller and set of features that are on together: as many as there are shards, or two."""
    parts: defaultdict[tuple[str, tuple[str, ...]], list[Figures]] = defaultdict(list)
    for runner in runners:
        for each in runner.figures():
            parts[each.controller, each.on].append(each)
    return tuple(_sum(controller, on, parts[controller, on]) for controller, on in sorted(parts))


def _sum(controller: str, on: tuple[str, ...], shards: list[Figures]) -> PartRecord:
    return PartRecord(
        controller=controller,
        on=",".join(on),
        shards=len(shards),
        seconds=int(min(each.seconds for each in shards)),
        keys=sum(each.keys for each in shards),
        parked=sum(each.parked for each in shards),
        failing=sum(each.failing for each in shards),
        reconciles=sum(each.reconciles for each in shards),
        requests=sum(each.requests for each in shards),
        live_reads=sum(each.live_reads for each in shards),
        longest_wait=round(max(each.longest_wait_seconds for each in shards), 2),
        longest_parked=round(max(each.longest_parked_seconds for each in shards), 2),
        paused=sum(each.paused for each in shards),
    )


def rollout_record(rollout: Rollout) -> RolloutRecord:
    """What a member follows."""
    canary = rollout.canary
    said = (
        sorted(rollout.on),
        sorted(canary.features),
        sorted(canary.controllers),
        canary.shard_fraction,
        sorted(canary.member_labels.items()),
    )
    return RolloutRecord(
        digest=hashlib.sha256(msgspec.json.encode(said)).hexdigest()[:8],
        confined=tuple(str(each) for each in BUILT if each in canary.features),
        off=tuple(str(each) for each in BUILT if each not in rollout.on),
        part=_words(canary)[:LONGEST_WORDS] if canary.features else "",
    )


def _words(canary: Canary) -> str:
    words = [f"{canary.shard_fraction:.4g} of the shards"] if canary.shard_fraction < 1.0 else []
    if canary.controllers:
        words.append(f"controllers {', '.join(sorted(canary.controllers))}")
    if canary.member_labels:
        words.append(f"workers with {', '.join(f'{name}={value}' for name, value in canary.member_labels.items())}")
    return "; ".join(words) or "everything"
