"""A fleet that exists on paper: what it answers is set by the test, its clock moves when somebody sleeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaos.targets.target import Kill
from fleet.devcluster.evidence.verdict import Gap, OwnershipSpan, Verdict


def span(
    of: str, holder: str, claimed_at: float, ended_at: float | None = None, *, epoch: int = 1, ended_by: str = ""
) -> OwnershipSpan:
    """One ownership; sequence numbers follow the times."""
    return OwnershipSpan(
        of, holder, epoch, int(claimed_at * 100), claimed_at, ended_at=ended_at, ended_by=ended_by or "takeover"
    )


def verdict(*spans: OwnershipSpan, gaps: Sequence[Gap] = ()) -> Verdict:
    timeline: dict[str, list[OwnershipSpan]] = {}
    for each in spans:
        timeline.setdefault(each.range, []).append(each)
    return Verdict(timeline=timeline, gaps=list(gaps))


class PaperTarget:
    """Two workers; worker-0 owns two ranges, worker-1 one. `busy_seconds` after the start everything is settled."""

    ranges = 3

    def __init__(self, *, busy_seconds: float = 0.0) -> None:
        self.time = 100.0
        self.busy_until = self.time + busy_seconds
        self.found = verdict(span("00", "dev-0@1", 1.0), span("55", "dev-0@1", 1.0), span("aa", "dev-1@1", 1.0))
        self.killed: list[Kill] = []
        self.added = 0

    @property
    def kills(self) -> Sequence[Kill]:
        return self.killed

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    def verdict(self) -> Verdict:
        return self.found

    def members(self) -> Mapping[str, str]:
        return {"worker-0": "dev-0", "worker-1": "dev-1"}

    def kill(self, child: str) -> Kill:
        kill = Kill(child, self.members()[child], 4711, self.time)
        self.killed.append(kill)
        return kill

    def unsettled(self) -> int:
        return 0 if self.time >= self.busy_until else 5

    def add_objects(self, count: int) -> None:
        self.added += count
