"""What the server's record says became of a write that was held on its way."""

from __future__ import annotations

import time

import msgspec

from benchmarks.rebalancing.depot import PARCELS
from benchmarks.rebalancing.held_writes import Tally, judge_hit
from benchmarks.rebalancing.stopping_pod import Hit
from fleet.devcluster.recording.journal import Entry
from shards.clock import boot_seconds

STOPPED_AT = 1_000.0
AGENT = "fleet/0.1.0 m=a e=3 s=0-f k=default/p u=uid c=10 r=status"


def write(at: float, version: str, agent: str, *, status: int = 200, subresource: str = "") -> Entry:
    return Entry(
        1,
        STOPPED_AT + at,
        "patch",
        str(PARCELS),
        "default",
        "p",
        subresource,
        status=status,
        user_agent=agent,
        resource_version=version,
    )


def judged(*entries: Entry) -> Tally:
    tally = Tally()
    hit = Hit("status", 1, boot_seconds() + STOPPED_AT - time.time(), AGENT)
    judge_hit(tally, hit, entries, woken_at=STOPPED_AT + 9.0, going_on=STOPPED_AT + 13.0)
    return tally


def test_a_write_over_what_another_wrote_in_between_is_told() -> None:
    other = write(5.0, "11", "fleet/0.1.0 m=b e=1 c=10 r=status", subresource="status")
    tally = judged(write(-0.1, "10", "hand"), other, write(9.1, "12", AGENT, subresource="status"))
    assert (tally.kinds["status"].accepted, tally.kinds["status"].over) == (1, 1)


def test_the_change_that_led_to_the_write_is_none_in_between_however_late_its_author_heard() -> None:
    tally = judged(write(0.05, "10", "hand"), write(9.1, "12", AGENT, subresource="status"))
    assert (tally.kinds["status"].accepted, tally.kinds["status"].over) == (1, 0)


def test_what_was_refused_is_not_accepted() -> None:
    tally = judged(write(9.1, "", AGENT, status=409, subresource="status"))
    assert tally.kinds["status"].refused == {409: 1}


def test_another_write_of_the_stopped_incarnation_after_it_goes_on_is_late() -> None:
    late = write(13.5, "13", AGENT.replace("r=status", "r=other"))
    assert judged(write(9.1, "12", AGENT, subresource="status"), late).late == 1


def test_an_event_that_tells_of_what_was_before_is_no_late_act() -> None:
    told = msgspec.structs.replace(write(13.5, "13", AGENT.replace("r=status", "r=events")), resource="v1/events")
    assert judged(write(9.1, "12", AGENT, subresource="status"), told).late == 0
