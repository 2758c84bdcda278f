"""What became of writes that were held for three leases on their way, by the server's own record."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from benchmarks.rebalancing.stopping_pod import KINDS, Hit
from benchmarks.table import Row
from fleet.devcluster.faults.match import version_in
from fleet.devcluster.recording.journal import WRITES, Entry
from fleet.records.object_names import EVENTS
from shards.api.useragent import UserAgent
from shards.clock import boot_seconds
from shards.objects import Resource

CONFIG_MAPS = Resource.parse("v1/configmaps")


@dataclass(slots=True)
class Outcome:
    """What became of the writes of one kind. over: accepted over what another one had written since they were decided
    on."""

    refused: Counter[int] = field(default_factory=Counter)
    accepted: int = 0
    over: int = 0
    never: int = 0

    @property
    def count(self) -> int:
        return self.refused.total() + self.accepted + self.never


@dataclass(slots=True)
class Tally:
    """late: acts of a stopped incarnation beside the held one that were begun after it woke. An Event that tells of
    what happened before is none; nor is what is written before a join, whose epoch is 0 in every incarnation."""

    kinds: dict[str, Outcome] = field(default_factory=lambda: {kind: Outcome() for kind in KINDS})
    late: int = 0

    def missing(self, wanted: int) -> list[str]:
        """Kinds, that of which there are fewest first."""
        short = [kind for kind, outcome in self.kinds.items() if outcome.count < wanted]
        return sorted(short, key=lambda kind: self.kinds[kind].count)


def judge_hit(tally: Tally, hit: Hit, entries: Iterable[Entry], *, woken_at: float, going_on: float) -> None:
    """woken_at: since then requests can arrive, since 1970; going_on: since then the worker runs."""
    outcome = tally.kinds[hit.kind]
    agent = UserAgent.parse(hit.user_agent)
    assert agent is not None, "whoever stopped is a worker"
    mine = [each for each in entries if each.verb in WRITES and _incarnation(each) == (agent.member, agent.epoch)]
    landed = next(
        (each for each in mine if each.time >= woken_at and each.user_agent == hit.user_agent and _is(hit.kind, each)),
        None,
    )
    if agent.epoch != "0":
        late = (each for each in mine if each.time >= going_on and each is not landed)
        tally.late += sum(1 for each in late if each.resource != str(EVENTS))
    if landed is None:
        outcome.never += 1
    elif not landed.succeeded:
        outcome.refused[landed.status] += 1
    else:
        outcome.accepted += 1
        stopped_at = hit.at + time.time() - boot_seconds()
        outcome.over += any(
            each.succeeded
            and (each.resource, each.name) == (landed.resource, landed.name)
            and each.verb in WRITES
            and each not in mine
            and _lies_between(each, stopped_at, agent.cache, landed)
            for each in entries
        )


def _lies_between(write: Entry, stopped_at: float, decided_on: str, landed: Entry) -> bool:
    """By versions, where the held write says on which one it was decided: the very change that led to it may be
    answered to its author only after the worker has stopped. A server's versions all come from one counter."""
    if not decided_on:
        return stopped_at < write.time < landed.time
    return version_in(decided_on) < version_in(write.resource_version) < version_in(landed.resource_version)


def _incarnation(entry: Entry) -> tuple[str, str] | None:
    agent = UserAgent.parse(entry.user_agent)
    return None if agent is None else (agent.member, agent.epoch)


def _is(kind: str, entry: Entry) -> bool:
    if kind == "status":
        return entry.subresource == "status"
    if kind in ("shard Lease", "member Lease"):
        return f"-{kind.split()[0]}-" in entry.name
    return entry.resource == str(CONFIG_MAPS) and entry.verb == {"apply": "patch"}.get(kind, kind)


def rows_of(tally: Tally, server: str, where: str) -> list[Row]:
    held = "before the socket" if where == "before" else "in the proxy"
    rows = []
    for kind, outcome in tally.kinds.items():
        name, of = f"{kind} held {held}, {server}", f"of {outcome.count}"
        statuses = ", ".join(map(str, sorted(outcome.refused))) or "never"
        rows.append(Row(f"{name}: refused by precondition ({statuses})", outcome.refused.total(), of))
        if outcome.accepted > outcome.over:
            rows.append(Row(f"{name}: accepted, nobody had written since", outcome.accepted - outcome.over, of))
        if outcome.never:
            rows.append(Row(f"{name}: never arrived", outcome.never, of))
        rows.append(Row(f"{name}: accepted over another's write", outcome.over, "", 0))
    rows.append(Row(f"acts started after the deadline, held {held}, {server}", tally.late, "", 0))
    return rows
