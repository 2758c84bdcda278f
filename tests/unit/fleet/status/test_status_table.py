from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from fleet.records.controls import Controls, parse_controls
from fleet.records.cut_request import CutRequest
from fleet.records.filter_record import FilterRecord
from fleet.records.record import (
    Holder,
    Incarnation,
    MemberRecord,
    ShardMap,
    ShardRecord,
    ShardStatus,
    Share,
)
from fleet.records.report_record import FailingRecord, ShardLoad, WaitingRecord
from fleet.status.status_table import render, write
from fleet.status.statusview import FleetStatus, Sight, fleet_status
from shards.keyrange import PartitionKey, equal_boundaries, ranges_from

RANGES = ranges_from(equal_boundaries(4))
MEMBER = MemberRecord("web-0", Incarnation("pod.1", 1), 3, 8.0, pod="web-0")
MAP = ShardMap(5, 1, "web", "id", PartitionKey.UID, equal_boundaries(4), ("web-0",) * 4, opened=frozenset(RANGES))
OWNED = {each: ShardRecord(each, ShardStatus.ACTIVE, 7, Holder("web-0", 3), "web-0@3") for each in RANGES}
FREE = {RANGES[3]: replace(OWNED[RANGES[3]], holder=None, holder_text="", released=7)}
SIGHT = Sight("web", "default", MAP, {"web-0": MEMBER}, OWNED, None, renewed_ago={"web-0": 1.2})


def text(status: FleetStatus, **options: int) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(render(status, **options))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_it_names_fleet_members_shards_and_owners() -> None:
    shown = text(fleet_status(SIGHT))
    assert "fleet web in default" in shown
    assert "4 of 4 owned" in shown
    assert "web-0@3" in shown
    assert "~1 s" in shown
    assert "c000-ffff" in shown


def test_unowned_ranges_are_counted_and_explained() -> None:
    shown = text(fleet_status(replace(SIGHT, shards={**OWNED, **FREE})))
    assert "3 of 4 owned  1 unowned" in shown
    assert "waits for web-0 to claim it" in shown


def test_a_short_table_keeps_what_needs_attention() -> None:
    shown = text(fleet_status(replace(SIGHT, shards={**OWNED, **FREE})), longest=1)
    assert "c000-ffff" in shown
    assert "0000-3fff" not in shown
    assert "and 3 more" in shown


def test_a_file_gets_whole_lines_without_blanks_at_their_ends() -> None:
    long = "web-with-a-rather-long-name-" + "x" * 60
    shards = {**OWNED, **FREE, RANGES[0]: replace(OWNED[RANGES[0]], holder=Holder(long, 3), holder_text=f"{long}@3")}
    stream = io.StringIO()
    write(
        fleet_status(replace(SIGHT, shards=shards, members={"web-0": MEMBER, long: replace(MEMBER, name=long)})), stream
    )
    lines = stream.getvalue().splitlines()
    [first] = [line for line in lines if line.startswith("0000-3fff")]
    assert f" {long}@3 " in first
    [last] = [line for line in lines if line.startswith("c000-ffff")]
    assert last.endswith("waits for web-0 to claim it")
    assert not any(line.endswith(" ") for line in lines)


def test_a_narrow_terminal_gets_every_character(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    long = "web-with-a-rather-long-name-0"
    write(fleet_status(replace(SIGHT, members={long: replace(MEMBER, name=long)})), stream)
    assert long in stream.getvalue()
    assert "…" not in stream.getvalue()


def test_without_a_map_it_says_what_is_missing() -> None:
    assert "no map yet" in text(fleet_status(replace(SIGHT, map=None)))


@pytest.mark.parametrize(("revision", "shown"), [("", False), ("web-6b7", True)])
def test_revisions_have_a_column_only_where_there_are_any(revision: str, shown: bool) -> None:
    members = {"web-0": replace(MEMBER, revision=revision)}
    assert ("revision" in text(fleet_status(replace(SIGHT, members=members)))) is shown


FAILS = FailingRecord("sites", "default/a", str(RANGES[0]), 1_800_000_000, 12, "ValueError at websites.py:7")
FAILING = replace(MEMBER, loads={str(RANGES[0]): ShardLoad(objects=5, failing=3)}, failing=(FAILS,))


def test_a_fleet_whose_keys_fail_does_not_look_healthy() -> None:
    shown = text(fleet_status(replace(SIGHT, members={"web-0": FAILING})))
    assert "3 keys keep failing" in shown
    assert "--failing" in shown
    [member] = [line for line in shown.splitlines() if line.startswith("web-0")]
    assert member.split()[-1] == "3"
    [shard] = [line for line in shown.splitlines() if line.startswith("0000-3fff")]
    assert shard.split()[-1] == "3"


def test_one_without_failing_keys_has_no_column_for_them() -> None:
    assert "failing" not in text(fleet_status(SIGHT))


def test_a_short_table_keeps_shards_whose_keys_fail() -> None:
    failing = replace(FAILING, loads={str(RANGES[2]): ShardLoad(failing=1)})
    assert "8000-bfff" in text(fleet_status(replace(SIGHT, members={"web-0": failing})), longest=1)


def test_failing_keys_are_listed_with_controller_shard_time_and_error() -> None:
    terminal = replace(FAILS, key="default/b", error="TerminalError: no size", terminal=True, since=1_800_000_060)
    stream = io.StringIO()
    members = {"web-0": replace(FAILING, failing=(FAILS, terminal))}
    write(fleet_status(replace(SIGHT, members=members, at=1_800_000_000 + 3700)), stream, failing=True)
    lines = stream.getvalue().splitlines()
    assert lines[1].split()[:5] == ["sites", "default/a", "0000-3fff", "web-0", "2027-01-15T08:00:00Z"]
    assert lines[1].split()[5:10] == ["1", "h", "1", "min", "12"]
    assert lines[1].endswith("ValueError at websites.py:7")
    assert lines[2].endswith("TerminalError: no size (not tried again until the object changes)")
    assert lines[3] == "and 1 more"


def test_shares_of_a_budget_have_a_column_only_where_there_is_one() -> None:
    assert "budget" not in text(fleet_status(SIGHT))
    shared = replace(MAP, shares={"web-0": Share(250_000, 250_000, 4, MEMBER.epoch)})
    shown = text(fleet_status(replace(SIGHT, map=shared)))
    [line] = [line for line in shown.splitlines() if line.startswith("web-0")]
    assert line.split()[-1] == "25%"


WAITS = WaitingRecord("sites", "default/c", str(RANGES[0]), 1_800_000_000, 9, "not ready", "the volume is not bound")
WAITING = replace(MEMBER, loads={str(RANGES[0]): ShardLoad(objects=5, waiting=2)}, waiting=(WAITS,))


def stuck(member: MemberRecord, seconds: float = 95.0) -> list[str]:
    stream = io.StringIO()
    write(fleet_status(replace(SIGHT, members={"web-0": member}, at=1_800_000_000 + seconds)), stream, failing=True)
    return stream.getvalue().splitlines()


def test_keys_that_wait_for_long_are_in_the_headline_and_counted_by_member_and_shard() -> None:
    shown = text(fleet_status(replace(SIGHT, members={"web-0": WAITING})))
    assert "2 keys wait for long: --failing" in shown
    assert "failing" not in shown.replace("--failing", "")
    for beginning in ("web-0", "0000-3fff"):
        [line] = [line for line in shown.splitlines() if line.startswith(beginning)]
        assert line.split()[-1] == "2"


def test_they_are_listed_with_what_they_wait_for_and_why() -> None:
    lines = stuck(WAITING)
    assert lines[1].split()[:8] == ["sites", "default/c", "0000-3fff", "web-0", "2027-01-15T08:00:00Z", "1", "min", "9"]
    assert lines[1].endswith("not ready  the volume is not bound")
    assert lines[2] == "and 1 more"


def test_failing_and_waiting_keys_are_two_tables() -> None:
    both = replace(
        WAITING,
        loads={str(RANGES[0]): ShardLoad(failing=1, waiting=1)},
        failing=(FAILS,),
        waiting=(WAITS,),
    )
    lines = stuck(both)
    heads = [line.split()[-2:] for line in lines if line.startswith("controller")]
    assert heads == [["last", "error"], ["for", "because"]]
    assert lines[2] == ""


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0 s"), (59, "59 s"), (119, "1 min"), (3600, "1 h 0 min"), (90_000, "1 d 1 h")]
)
def test_how_long_is_told_in_two_units_at_most(seconds: float, shown: str) -> None:
    assert re.search(rf"Z +{shown} +9 ", stuck(WAITING, seconds)[1])


def test_without_such_keys_it_says_so() -> None:
    assert stuck(MEMBER) == ["no key of web keeps failing, and none waits for long"]


def test_a_shard_whose_reconciles_have_not_begun_says_why_and_stays_in_a_short_table() -> None:
    closed = {str(RANGES[2]): ShardLoad(closed="v1/sites: waits for a list that began after the claim")}
    shown = text(fleet_status(replace(SIGHT, members={"web-0": replace(MEMBER, loads=closed)})), longest=1)
    assert "8000-bfff" in shown
    assert "waits for a list that began after the claim" in shown


def filtered(*filters: FilterRecord) -> str:
    out = io.StringIO()
    write(fleet_status(replace(SIGHT, members={"web-0": replace(MEMBER, filters=filters)}, at=1000.0)), out)
    return out.getvalue()


def test_who_filters_the_views_is_told_and_why_it_is_not_the_server() -> None:
    served = FilterRecord("v1/websites", "shard-selector", 4, "shard-selector", "proven", "left out a", 0, 990)
    refuted = FilterRecord("v1/configmaps", "local", 4, "slot-labels", "refuted", "a has no slot label", 3, 400)
    watched = FilterRecord("v1/secrets", "local", 4)
    shown = filtered(served, refuted, watched)
    assert re.search(r"v1/websites +shard-selector +4 +0 +10 s ago\n", shown)
    assert re.search(r"v1/configmaps +local +4 +3 +10 min ago +slot-labels refuted: a has no slot label\n", shown)
    assert re.search(r"v1/secrets +local +4 +0\n", shown)


def test_members_that_say_nothing_of_filters_add_nothing() -> None:
    assert "filter" not in filtered()


def test_cuts_that_were_asked_for_and_wait_are_told() -> None:
    cut = CutRequest(2, (RANGES[0],), at=RANGES[0].first + 1, by="ann")
    controls = Controls(requests=(replace(cut, number=1), cut, CutRequest(3, (RANGES[2], RANGES[0]))))
    shown = text(fleet_status(replace(SIGHT, controls=controls, map=replace(MAP, requests_done=1))))
    assert shown.count("is split at 0000000000000001, because ann asked for it") == 1
    assert "waits to be done: 0000-3fff is split" in shown
    assert "request 3: 8000-bfff and 0000-3fff are no neighbours" in shown


def test_orders_with_a_slip_of_the_pen_are_told() -> None:
    controls = parse_controls('{"frozn": true}')
    assert "does not know, and that change nothing: frozn" in text(fleet_status(replace(SIGHT, controls=controls)))
