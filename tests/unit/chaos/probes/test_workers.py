from __future__ import annotations

from chaos.probes.workers import (
    late_writes_of_paused,
    longest_halt_takeover_seconds,
    longest_overlap_seconds,
    outlived_pauses,
    restarts,
)
from chaos.targets.own_pods import Halt
from fleet.devcluster.recording.journal import Entry
from shards.journal import Note
from tests.unit.chaos.targets.own_paper import OwnTarget
from tests.unit.chaos.targets.paper import LOW, verdict
from tests.unit.chaos.targets.paper import span as owned

AGENT = f"fleet/0 m=a-0 e=1 s={LOW} k=default/x u=u"


class Told(OwnTarget):
    """a-0 was paused at 10.0, and b-0 has claimed its range at 14.0."""

    def __init__(self, *times: float) -> None:
        super().__init__()
        self.pods.halted = [Halt("a", "worker-0", "a-0", 1, 10.0)]
        self.evidence.found = verdict(owned(LOW, "a-0@1", 1.0, 14.0), owned(LOW, "b-0@1", 14.0, epoch=2))
        entries = [Entry(int(time), time, "patch", "v1/configmaps", status=200, user_agent=AGENT) for time in times]
        notes = [Note("begin", 1.0, "a-0"), Note("begin", 1.0, "b-0"), Note("begin", 15.0, "a-0")]
        self.evidence.entries = lambda: entries  # type: ignore[method-assign]
        self.evidence.notes = lambda: notes  # type: ignore[method-assign]


def test_what_was_on_its_way_when_the_worker_was_paused_is_not_late() -> None:
    assert late_writes_of_paused(Told(9.0, 10.5, 12.9)) == 0


def test_what_comes_a_lease_after_the_pause_began_is_late() -> None:
    assert late_writes_of_paused(Told(13.1, 20.0)) == 2


def test_ranges_of_the_paused_are_owned_again_with_the_next_claim() -> None:
    assert longest_halt_takeover_seconds(Told()) == 4.0


def test_two_write_for_one_range_from_the_claim_of_the_second_on() -> None:
    assert longest_overlap_seconds(Told(13.9)) == 0.0
    assert longest_overlap_seconds(Told(13.9, 14.5, 16.25)) == 2.25


def test_a_process_began_again_where_its_name_began_twice() -> None:
    assert (restarts(target=Told()), restarts("b-0", Told())) == (1, 0)


def test_who_went_on_a_lease_after_its_pause_began_has_outlived_it() -> None:
    target = Told()
    lease = target.lease_seconds
    halt = Halt("a", "worker-0", "a-0", 1, 10.0)
    target.pods.halted = [halt]
    assert outlived_pauses(target) == 0
    halt.resumed_at = 11.0 + lease
    assert outlived_pauses(target) == 0, "it had ended"
    halt.went_on_at = 9.0 + lease
    assert outlived_pauses(target) == 0, "its lease had not run out"
    halt.went_on_at = halt.resumed_at
    assert outlived_pauses(target) == 1
