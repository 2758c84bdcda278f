"""Spans and counts that a server's record and workers' journals give."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest

from benchmarks.rebalancing.depot import PARCELS, USER_AGENT
from benchmarks.rebalancing.evidence import (
    Gap,
    Notes,
    Spent,
    handovers,
    held_now,
    openings,
    percentile,
    reactions,
    renewals_per_second,
    spent,
)
from fleet.devcluster.recording.journal import Entry
from fleet.records.lease import Times
from fleet.records.lease_records import lease_from_coordinator, lease_from_member
from fleet.records.object_names import CONFIG_MAPS, LEASES, Names
from fleet.records.record import CoordinatorRecord
from shards.journal import Note, encode_notes
from tests.unit.fleet.records.records import member

WORKER = "fleet/0.1.0 m=a e=1 s=0-f k=default/p-1 u=uid-1 c=7"
REVIEWS = "authorization.k8s.io/v1/selfsubjectaccessreviews"
NAMES = Names("bench", "default")


def note(what: str, time: float, member: str = "a", range: str = "low", cause: str = "") -> Note:
    return Note(what, time, member, range=range, cause=cause)


def entry(verb: str, name: str, time: float, *, agent: str, subresource: str = "", status: int = 200) -> Entry:
    found = Entry(1, time, verb, str(PARCELS), "default", name, subresource, status=status)
    found.user_agent = agent
    return found


def change(name: str, time: float) -> Entry:
    return entry("patch", name, time, agent=USER_AGENT)


def status(name: str, time: float, code: int = 200) -> Entry:
    return entry("patch", name, time, agent=WORKER, subresource="status", status=code)


def lease(name: str, time: float, obj: object | None = None) -> Entry:
    text = None if obj is None else msgspec.json.encode(obj).decode()
    return Entry(1, time, "update", str(LEASES), "default", name, status=200, user_agent="fleet/0 m=a", object=text)


class TestHandovers:
    def test_one_lasts_from_the_last_key_of_the_old_owner_to_the_open_gate_of_the_next(self) -> None:
        notes = [note("opened", 1.0), note("draining", 5.0), note("drained", 5.5), note("opened", 6.0, "b")]
        assert handovers(notes) == [Gap("low", "a", "b", 5.0, 6.0)]
        assert handovers(notes)[0].seconds == 1.0

    def test_ranges_do_not_end_each_others(self) -> None:
        notes = [note("draining", 1.0), note("opened", 1.5, "b", "high"), note("opened", 3.0, "b")]
        assert [each.seconds for each in handovers(notes)] == [2.0]

    def test_one_that_never_ends_is_none(self) -> None:
        assert handovers([note("draining", 1.0)]) == []

    def test_steps_that_are_told_of_as_such_count_once_beside_the_older_lines(self) -> None:
        notes = [
            note("draining", 5.0),
            note("step", 5.0, cause="draining"),
            note("opened", 6.0, "b"),
            note("step", 6.0, "b", cause="open"),
        ]
        assert [each.seconds for each in handovers(notes)] == [1.0]
        assert handovers(notes[1::2]) == handovers(notes)


class TestHolders:
    def test_the_last_open_gate_holds_until_its_owner_drains(self) -> None:
        notes = [note("opened", 1.0), note("opened", 1.0, "a", "high"), note("draining", 2.0)]
        assert held_now(notes) == {"high": "a"}

    def test_a_standby_that_closes_ends_nothing_of_the_owner(self) -> None:
        assert held_now([note("opened", 1.0), note("stopped", 2.0, "b")]) == {"low": "a"}

    def test_a_member_that_begins_anew_holds_nothing(self) -> None:
        assert held_now([note("opened", 1.0), note("opened", 1.0, "b", "high"), note("begin", 2.0)]) == {"high": "b"}

    def test_openings_are_the_first_after_a_moment(self) -> None:
        notes = [note("opened", 1.0), note("opened", 3.0, "b"), note("opened", 4.0, "c")]
        assert openings(notes, 2.0)["low"].member == "b"


class TestReactions:
    def test_a_change_is_seen_by_the_first_write_of_its_status_that_succeeds(self) -> None:
        found = reactions([change("p", 1.0), status("p", 1.2, 409), status("p", 1.5)])
        assert [each.seconds for each in found] == [0.5]

    def test_a_write_without_a_change_is_no_reaction(self) -> None:
        assert reactions([status("p", 1.0), change("q", 2.0), status("q", 3.0)])[0].name == "q"

    def test_a_change_that_nobody_saw_took_for_ever(self) -> None:
        (found,) = reactions([change("p", 1.0), status("q", 2.0)])
        assert found.seen is None
        assert math.isinf(found.seconds)


class TestSpent:
    def test_writes_are_counted_by_what_they_are_about(self) -> None:
        times = Times("2026-11-30T10:00:00.000000Z", "2026-11-30T10:00:00.000000Z")
        holder = CoordinatorRecord("s/1", 1, 8.0)
        entries = [
            lease("bench-member-a", 1.0, lease_from_member(NAMES, member("a"), replaces="1", times=times)),
            lease("bench-coordinator", 1.0, lease_from_coordinator(NAMES, holder, replaces="1", times=times)),
            Entry(1, 1.0, "update", str(CONFIG_MAPS), "default", "bench-map", status=200, user_agent="fleet/0"),
            Entry(1, 1.0, "create", "v1/events", "default", "e", status=201, user_agent="fleet/0"),
            Entry(1, 1.0, "create", REVIEWS, "default", "", status=201, user_agent="fleet-preflight/0"),
            status("p", 1.0),
            change("p", 1.0),
            status("p", 9.0),
        ]
        assert spent(entries, 0.0, 5.0) == Spent(0, 1, 1, 1, 1, 1, 0)

    def test_renewals_are_counted_by_their_intervals(self) -> None:
        entries = [lease("a", at) for at in (1.0, 3.0, 5.0)] + [lease("b", at) for at in (1.9, 2.9)]
        assert renewals_per_second(entries, 0.0, 10.0) == pytest.approx(0.5 + 1.0)

    def test_a_lease_that_was_written_once_counts_once_in_the_whole_time(self) -> None:
        assert renewals_per_second([lease("a", 1.0)], 0.0, 10.0) == pytest.approx(0.1)


def test_journals_are_read_on_and_put_in_order_on_the_wall_clock(tmp_path: Path) -> None:
    first, second = tmp_path / "a-1.jsonl", tmp_path / "b-1.jsonl"
    begin = Note("begin", 10.0, "a", figures={"wall": 1010.0})
    first.write_bytes(encode_notes([begin, note("opened", 15.0)]))
    notes = Notes(tmp_path)
    assert [each.time for each in notes.read()] == [1010.0, 1015.0]
    second.write_bytes(encode_notes([Note("begin", 2.0, "b", figures={"wall": 1012.0}), note("opened", 3.0, "b")]))
    with first.open("ab") as more:
        more.write(encode_notes([note("draining", 16.0)]) + b'{"what":"dra')
    assert [(each.time, each.member) for each in notes.read()] == [
        (1010.0, "a"), (1012.0, "b"), (1013.0, "b"), (1015.0, "a"), (1016.0, "a"),
    ]  # fmt: skip


def test_percentiles_lie_between_the_two_values_that_are_nearest() -> None:
    values = [float(each) for each in range(101)]
    assert percentile(values, 0.5) == 50.0
    assert percentile(values, 0.99) == 99.0
    with pytest.raises(ValueError, match="1 values"):
        percentile([1.0], 0.5)
