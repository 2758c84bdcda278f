from __future__ import annotations

from chaos.targets.ownership import lost_spans, owned_ranges, takeover_seconds
from chaos.targets.target import End
from fleet.devcluster.evidence.verdict import Gap
from tests.unit.chaos.targets.paper import span, verdict

END = End("dev", "worker-0", "dev-0", 4711, 10.0)


def test_a_range_is_owned_by_whoever_claimed_it_last() -> None:
    found = verdict(span("00", "dev-0@1", 1.0, 5.0), span("00", "dev-1@1", 5.0, epoch=2), span("80", "dev-1@1", 1.0))

    assert owned_ranges(found, ()) == {"dev-1": 2}


def test_a_released_range_and_one_whose_owner_was_fenced_have_no_owner() -> None:
    fenced = Gap("80", "death", began_at=8.0, ended_at=None)
    found = verdict(span("00", "dev-0@1", 1.0, 5.0, ended_by="release"), span("80", "dev-1@1", 1.0), gaps=[fenced])

    assert owned_ranges(found, ()).total() == 0


def test_a_gap_that_is_over_takes_nothing_from_the_owner() -> None:
    over = Gap("80", "death", began_at=8.0, ended_at=9.0)

    assert owned_ranges(verdict(span("80", "dev-1@1", 9.0), gaps=[over]), ()) == {"dev-1": 1}


def test_what_a_killed_worker_still_holds_by_its_lease_has_no_owner() -> None:
    assert owned_ranges(verdict(span("00", "dev-0@1", 1.0), span("80", "dev-1@1", 1.0)), [END]) == {"dev-1": 1}


def test_the_next_incarnation_of_a_killed_worker_is_a_living_owner() -> None:
    found = verdict(span("00", "dev-0@1", 1.0, 10.5), span("00", "dev-0@2", 10.5, epoch=2))

    assert owned_ranges(found, [END]) == {"dev-0": 1}


def test_a_kill_costs_what_the_worker_held_at_that_moment_and_nothing_else() -> None:
    found = verdict(
        span("00", "dev-0@1", 1.0),
        span("40", "dev-0@1", 1.0, 9.0),
        span("40", "dev-1@1", 9.0),
        span("80", "dev-00@1", 1.0),
        span("c0", "dev-1@1", 1.0, 11.0),
        span("c0", "dev-0@2", 11.0),
    )

    assert [each.range for each in lost_spans(found, END)] == ["00"]


def test_a_takeover_lasts_from_the_kill_to_the_next_claim() -> None:
    found = verdict(span("00", "dev-0@1", 1.0, 10.5), span("00", "dev-1@1", 10.5), span("00", "dev-2@1", 20.0))

    assert takeover_seconds(found, END, now=30.0) == {"00": 0.5}


def test_a_range_that_nobody_has_claimed_yet_counts_until_now() -> None:
    assert takeover_seconds(verdict(span("00", "dev-0@1", 1.0)), END, now=14.0) == {"00": 4.0}


def test_a_range_that_was_cut_is_owned_again_with_the_last_of_its_parts() -> None:
    """Its name may come back much later, when the layout does."""
    whole, lower, upper = (
        f"{first:x}000000000000000-{last:x}fffffffffffffff" for first, last in ((0, 7), (0, 3), (4, 7))
    )
    found = verdict(
        span(whole, "dev-0@1", 1.0, 12.0, ended_by="retire"),
        span(lower, "dev-1@1", 13.0, 40.0),
        span(upper, "dev-1@1", 15.0, 40.0),
        span(whole, "dev-1@1", 41.0),
    )

    assert takeover_seconds(found, END, now=50.0) == {whole: 5.0}
    del found.timeline[upper]
    assert takeover_seconds(found, END, now=50.0) == {whole: 31.0}
