"""How a range stood, phase by phase, and what counts as a gap."""

from __future__ import annotations

from chaos.reports.hearing import Hearing
from chaos.reports.phases import Standing, lapses_of
from chaos.reports.story import Kind, Row
from chaos.running.journal import Harm
from fleet.devcluster.evidence.verdict import Gap, OwnershipSpan, Verdict
from shards.journal import Note
from tests.unit.chaos.reports.recorded import ZERO, covered, gap, killed, note, span

HERE, THERE = covered(2)


def rows(
    spans: list[OwnershipSpan], gaps: list[Gap] | None = None, *notes: Note, harms: tuple[Harm, ...] = ()
) -> tuple[Row, ...]:
    timeline: dict[str, list[OwnershipSpan]] = {}
    for each in spans:
        timeline.setdefault(each.range, []).append(each)
    standing = Standing(Hearing(notes), harms, zero=ZERO, began=-1.0, ended=10.0)
    return standing.rows(Verdict(timeline=timeline, gaps=gaps or []))


def told(row: Row) -> list[tuple[str, float, float]]:
    return [(phase.kind, round(phase.began, 3), round(phase.ended, 3)) for phase in row.phases]


def test_an_ownership_is_opening_until_its_views_are_there_and_draining_before_its_release() -> None:
    notes = [note("opened", 1.5, "a-0", range=HERE, epoch=2), note("draining", 6.0, "a-0", range=HERE, epoch=2)]
    (row,) = rows([span(HERE, "a-0@1", 2, 1.0, 7.0, "release")], None, *notes)
    assert told(row) == [(Kind.OPENING, 1.0, 1.5), (Kind.OWNED, 1.5, 6.0), (Kind.DRAINING, 6.0, 7.0)]


def test_without_notes_an_ownership_is_owned_from_its_claim() -> None:
    (row,) = rows([span(HERE, "a-0@1", 2, 1.0)])
    assert told(row) == [(Kind.OWNED, 1.0, 10.0)]


def test_a_worker_that_is_killed_holds_its_ranges_dead_until_somebody_claims_them() -> None:
    spans = [span(HERE, "a-0@1", 2, -5.0, 6.0, "takeover"), span(HERE, "b-0@1", 3, 6.0)]
    (row,) = rows(spans, None, harms=(killed(2.0),))
    assert told(row) == [(Kind.OWNED, -1.0, 2.0), (Kind.DEAD, 2.0, 6.0), (Kind.OWNED, 6.0, 10.0)]
    assert row.phases[1].why == "a-0 was killed"


def test_a_worker_that_died_by_itself_is_dead_from_when_it_was_declared_dead() -> None:
    spans = [span(HERE, "a-0@1", 2, -5.0, 6.0, "takeover"), span(HERE, "b-0@1", 3, 6.0)]
    (row,) = rows(spans, [gap(HERE, "death", 4.0, 6.0)])
    assert told(row)[1] == (Kind.DEAD, 4.0, 6.0)


def test_a_worker_that_stands_still_is_frozen_until_it_goes_on() -> None:
    halt = Harm(kind="paused", pod="a", child="worker-0", member="a-0", at=ZERO + 3.0, until=ZERO + 4.0)
    (row,) = rows([span(HERE, "a-0@1", 2, -5.0)], None, harms=(halt,))
    assert told(row) == [(Kind.OWNED, -1.0, 3.0), (Kind.FROZEN, 3.0, 4.0), (Kind.OWNED, 4.0, 10.0)]


def test_a_range_that_was_released_is_unowned_until_the_next_claim() -> None:
    spans = [span(HERE, "a-0@1", 2, -5.0, 3.0, "release"), span(HERE, "b-0@1", 3, 3.4)]
    (row,) = rows(spans, [gap(HERE, "release", 3.0, 3.4)])
    assert told(row)[1] == (Kind.UNOWNED, 3.0, 3.4)


def test_the_time_before_a_fleet_has_started_is_no_gap() -> None:
    (row,) = rows([span(HERE, "a-0@1", 2, -0.5)], [gap(HERE, "activation", -4.0, -0.5)])
    assert told(row) == [(Kind.OWNED, -0.5, 10.0)]


def test_rows_are_in_the_order_of_their_hashes() -> None:
    found = rows([span(THERE, "a-0@1", 2, 0.0), span(HERE, "a-0@1", 2, 0.0)])
    assert [row.range for row in found] == [HERE, THERE]


def test_a_gap_is_told_with_who_lost_the_range_and_who_opened_it() -> None:
    spans = [span(HERE, "a-0@1", 2, -5.0, 6.0, "takeover"), span(HERE, "b-0@1", 3, 6.0)]
    found = rows(spans, None, note("opened", 7.0, "b-0", range=HERE, epoch=3), harms=(killed(2.0),))
    (lapse,) = lapses_of(found, 10.0)
    assert (lapse.before, lapse.after, lapse.began, lapse.ended, lapse.opened) == ("a-0", "b-0", 2.0, 6.0, 7.0)
    assert lapse.seconds == 4.0


def test_a_death_and_the_release_after_it_are_one_gap() -> None:
    spans = [span(HERE, "a-0@1", 2, -5.0, 4.0, "retire"), span(HERE, "b-0@1", 3, 5.0)]
    (lapse,) = lapses_of(rows(spans, [gap(HERE, "release", 4.0, 5.0)], harms=(killed(2.0),)), 10.0)
    assert (lapse.began, lapse.ended, lapse.why) == (2.0, 5.0, "a-0 was killed")


def test_a_gap_that_lasts_has_no_end_and_gaps_come_longest_first() -> None:
    spans = [span(HERE, "a-0@1", 2, -5.0, 9.0, "release"), span(THERE, "a-0@1", 2, -5.0)]
    lapses = lapses_of(rows(spans, [gap(HERE, "release", 9.0, None)], harms=(killed(3.0),)), 10.0)
    assert [(each.short, round(each.seconds, 3), each.ended) for each in lapses] == [
        ("0000-7fff", 7.0, None),
        ("8000-ffff", 7.0, None),
    ]
