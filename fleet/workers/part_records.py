"""How a member's controllers fare with and without the features of the canary, as it rides on the member's record."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable

import msgspec

from fleet.records.report_record import PartRecord, RolloutRecord
from fleet.rules.canary_verdict import summed
from fleet.workers.range_runner import RangeRunner
from shards.features import BUILT, Canary, Rollout
from shards.reconciling.figures import Figures

LONGEST_WORDS = 200
"""Of the canary in words: a Lease has its limit."""


def part_records(runners: Iterable[RangeRunner]) -> tuple[PartRecord, ...]:
    """One for each controller and set of features that are on together: as many as there are shards, or two."""
    parts: defaultdict[tuple[str, str], list[PartRecord]] = defaultdict(list)
    for runner in runners:
        for each in runner.figures():
            part = _of_shard(each)
            parts[part.controller, part.on].append(part)
    return tuple(summed(shards, *names) for names, shards in sorted(parts.items()))


def _of_shard(figures: Figures) -> PartRecord:
    return PartRecord(
        controller=figures.controller,
        on=",".join(figures.on),
        shards=1,
        seconds=int(figures.seconds),
        keys=figures.keys,
        parked=figures.parked,
        failing=figures.failing,
        reconciles=figures.reconciles,
        requests=figures.requests,
        live_reads=figures.live_reads,
        longest_wait=round(figures.longest_wait_seconds, 2),
        longest_parked=round(figures.longest_parked_seconds, 2),
        paused=figures.paused,
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
