"""What a run of `fleet dev` ends with: the numbers, and whether a promise was broken."""

from __future__ import annotations

import msgspec

from fleet.dev.measure import Measure
from fleet.dev.takeover import TakeoverReport
from fleet.devcluster.evidence.verdict import Verdict

_FINDINGS = 20
_SHORTEST_SPAN_SECONDS = 0.05


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The one JSON object of --json.

    objects: primaries that exist; reconciled: those with which the controller is done. settled_seconds: from the first
    moment at which a worker could reconcile until every object was done; null where that was never so.
    reconciles_per_second: mean over that time, else over the whole run. takeover_seconds: what each kill cost.
    max_unowned_seconds: the longest time, after all ranges were owned once, for which no worker could run reconciles of
    some range. worker_rss_mib: the largest resident memory of one worker that was seen, pages shared with its parent
    included.

    From the recorder in front of the server, not from the fleet (see `fleet.devcluster.judging.judge`): children,
    duplicate_child_posts, takeovers, overlap_violations, and all from duplicate_status_writes on. findings: the first
    broken promises, in words.
    """

    workers: int
    shards: int
    objects: int
    reconciled: int
    settled: bool
    settled_seconds: float | None
    children: int
    duplicate_child_posts: int
    takeovers: int
    takeover_seconds: tuple[TakeoverReport, ...]
    max_unowned_seconds: float
    overlap_violations: int
    reconciles: int
    reconciles_per_second: float
    worker_rss_mib: float
    seconds: float
    duplicate_status_writes: int
    writes_after_release: int
    unattributed_writes: int
    status_writes: int
    map_writes: int
    most_lease_writes_of_a_shard: int
    findings: tuple[str, ...]

    @classmethod
    def of(
        cls,
        measure: Measure,
        verdict: Verdict,
        *,
        workers: int,
        objects: int,
        reconciled: int,
        settled: bool,
        reconciles: int,
        reconciles_until_settled: int | None,
        seconds: float,
    ) -> Report:
        """From what was measured here and what the judge found."""
        lasted = measure.settled_seconds
        counted, span = reconciles, seconds
        if lasted is not None and reconciles_until_settled is not None:
            counted, span = reconciles_until_settled, lasted
        return cls(
            workers=workers,
            shards=len(measure.ranges),
            objects=objects,
            reconciled=reconciled,
            settled=settled,
            settled_seconds=None if lasted is None else round(lasted, 3),
            children=verdict.children,
            duplicate_child_posts=verdict.duplicate_child_posts,
            takeovers=verdict.takeovers,
            takeover_seconds=measure.reports(),
            max_unowned_seconds=round(max(measure.longest_unowned_seconds, _longest_handover(verdict)), 3),
            overlap_violations=verdict.overlap_violations,
            reconciles=reconciles,
            reconciles_per_second=round(counted / max(span, _SHORTEST_SPAN_SECONDS), 1),
            worker_rss_mib=round(measure.rss_mib, 1),
            seconds=round(seconds, 2),
            duplicate_status_writes=verdict.duplicate_status_writes,
            writes_after_release=verdict.writes_after_release,
            unattributed_writes=verdict.unattributed_writes,
            status_writes=verdict.status_writes,
            map_writes=verdict.map_writes,
            most_lease_writes_of_a_shard=max(verdict.lease_writes_per_range.values(), default=0),
            findings=tuple(finding.what for finding in verdict.findings[:_FINDINGS]),
        )

    @property
    def broken(self) -> str:
        """The promises that did not hold, in one clause; "" when all did."""
        counts = {
            "duplicate child POSTs": self.duplicate_child_posts,
            "duplicate status writes": self.duplicate_status_writes,
            "overlaps of ownership": self.overlap_violations,
            "writes after a release": self.writes_after_release,
            "writes that name no author": self.unattributed_writes,
        }
        return ", ".join(f"{count} {what}" for what, count in counts.items() if count)

    def lines(self) -> list[tuple[str, str]]:
        """Name and value of each number, for people."""
        lasted = self.settled_seconds
        settled, until = ("-", "") if lasted is None else (f"after {lasted:.2f} s of work", " until settled")
        rows = [
            ("objects", f"{self.reconciled} of {self.objects} settled" if self.objects else "none"),
            ("settled", settled),
            ("children", f"{self.children}, {self.duplicate_child_posts} posted twice"),
            ("reconciles", f"{self.reconciles}, {self.reconciles_per_second:.0f} per second{until}"),
            ("overlap violations", str(self.overlap_violations)),
            ("longest unowned", f"{self.max_unowned_seconds:.2f} s"),
            ("memory of a worker", f"{self.worker_rss_mib:.0f} MiB at most"),
        ]
        rows += [(f"kill {each.kill}", takeover_text(each)) for each in self.takeover_seconds]
        return rows


def _longest_handover(verdict: Verdict) -> float:
    """Between two living owners, too short for our looks. Gaps that deaths made are measured from the death itself."""
    return max((gap.seconds or 0.0 for gap in verdict.gaps if gap.cause == "release"), default=0.0)


def takeover_text(each: TakeoverReport) -> str:
    """What a kill cost, for people."""
    if each.owned_seconds is None:
        return f"{each.child} is not replaced yet"
    if not each.ranges:
        return f"{each.child} back in office after {each.owned_seconds:.2f} s"
    first = (
        "" if each.first_reconcile_seconds is None else f", first reconcile after {each.first_reconcile_seconds:.2f} s"
    )
    return f"{each.child}: {each.ranges} shards owned again after {each.owned_seconds:.2f} s{first}"
