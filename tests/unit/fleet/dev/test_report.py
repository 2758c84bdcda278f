from __future__ import annotations

import msgspec
import pytest

from fleet.dev.measure import Measure
from fleet.dev.report import Report, takeover_text
from fleet.dev.takeover import ShardPulse, TakeoverReport
from fleet.devcluster.evidence.verdict import Finding, Gap, Verdict

WANTED = {
    "objects",
    "reconciled",
    "children",
    "duplicate_child_posts",
    "takeovers",
    "max_unowned_seconds",
    "overlap_violations",
    "reconciles_per_second",
    "worker_rss_mib",
}


def report(verdict: Verdict | None = None, measure: Measure | None = None, **changes: object) -> Report:
    given = {
        "workers": 2,
        "objects": 10,
        "reconciled": 10,
        "settled": True,
        "reconciles": 50,
        "reconciles_until_settled": 40,
        "seconds": 9.0,
        **changes,
    }
    return Report.of(measure or Measure(), verdict or Verdict(), **given)  # type: ignore[arg-type]


def test_the_json_object_holds_what_was_promised() -> None:
    assert set(msgspec.json.decode(msgspec.json.encode(report()))) >= WANTED


def test_children_posts_overlaps_and_takeovers_are_the_recorders() -> None:
    found = report(Verdict(children=20, duplicate_child_posts=1, overlap_violations=2, takeovers=3))
    assert (found.children, found.duplicate_child_posts, found.overlap_violations, found.takeovers) == (20, 1, 2, 3)


def test_the_rate_is_of_the_time_until_everything_was_settled() -> None:
    measure = Measure(ranges=frozenset("a"))
    measure.look(1.0, {"worker-0": {"a": ShardPulse("owned", True, 1)}}, {})
    measure.settled(5.0)
    assert report(measure=measure).reconciles_per_second == 10.0
    assert report(reconciles_until_settled=None).reconciles_per_second == pytest.approx(5.6, abs=0.05)


def test_the_longest_unowned_time_counts_handovers_too() -> None:
    gaps = [Gap("a", "release", 1.0, 1.25), Gap("b", "death", 1.0, 9.0), Gap("c", "release", 1.0, None)]
    assert report(Verdict(gaps=gaps)).max_unowned_seconds == 0.25
    assert report(Verdict(gaps=gaps), Measure(longest_unowned_seconds=0.5)).max_unowned_seconds == 0.5


def test_broken_promises_are_counted_in_words() -> None:
    assert report().broken == ""
    verdict = Verdict(overlap_violations=2, writes_after_release=1, findings=[Finding("overlap", 1, 0.0, "both wrote")])
    assert report(verdict).broken == "2 overlaps of ownership, 1 writes after a release"
    assert report(verdict).findings == ("both wrote",)


@pytest.mark.parametrize(
    ("each", "text"),
    [
        (TakeoverReport("worker@1s", "worker-0", 4, None, None), "worker-0 is not replaced yet"),
        (TakeoverReport("coordinator@1s", "agent", 0, 0.25, None), "agent back in office after 0.25 s"),
        (TakeoverReport("worker@1s", "worker-0", 4, 0.5, None), "worker-0: 4 shards owned again after 0.50 s"),
        (
            TakeoverReport("worker@1s", "worker-0", 4, 0.5, 0.6),
            "worker-0: 4 shards owned again after 0.50 s, first reconcile after 0.60 s",
        ),
    ],
)
def test_a_kill_is_told_in_one_line(each: TakeoverReport, text: str) -> None:
    assert takeover_text(each) == text


def test_every_number_has_a_line_for_people() -> None:
    lines = dict(report().lines())
    assert lines["objects"] == "10 of 10 settled"
    assert "overlap violations" in lines


def test_what_never_settled_and_what_does_not_exist_is_not_said_to_be_settled() -> None:
    lines = dict(report(objects=0, reconciled=0).lines())
    assert (lines["objects"], lines["settled"]) == ("none", "-")
    assert lines["reconciles"].endswith(" per second")
