"""Strikes begin at their times, add up where they overlap, and end with the chaos."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Any

import pytest

from chaos.simulation.conductor import Conductor
from chaos.simulation.happenings import Happening, Healed, Struck
from chaos.simulation.plan import Plan, Shape
from chaos.simulation.strikes import (
    AnyStrike,
    BrownOut,
    ClockRate,
    Crash,
    CutWatch,
    Delete,
    DroppedEvents,
    Edit,
    LateLanding,
    Leave,
    LostAnswers,
    LostRequests,
    Partition,
    Pause,
    Reshard,
    Restore,
    SilentWatch,
    Slow,
    StaleReplica,
    Steal,
    Storm,
    TruncatedList,
    Twin,
    Useless,
)


@dataclass
class Played:
    """A stage that notes what is done to it, with a clock of its own. ends: of processes, by name, to be called."""

    notes: list[str] = field(default_factory=list)
    heard: list[Happening] = field(default_factory=list)
    ends: dict[str, Callable[[], None]] = field(default_factory=dict)
    hits: Counter[str] = field(default_factory=Counter)
    now: float = 0.0
    _due: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _order: count[int] = field(default_factory=count)

    def call_at(self, when: float, act: Callable[[], None]) -> None:
        heappush(self._due, (max(when, self.now), next(self._order), act))

    def pass_until(self, seconds: float) -> None:
        while self._due and self._due[0][0] <= seconds:
            self.now, _, act = heappop(self._due)
            act()
        self.now = seconds

    def crash(self, process: str, crashed: Callable[[], None], *, after_write: bool) -> None:
        self._note("crash", process, after_write=after_write)
        if not after_write:
            crashed()
        self.ends[process] = crashed

    def leave(self, process: str, left: Callable[[], None]) -> None:
        self._note("leave", process)
        self.ends[process] = left

    def __getattr__(self, what: str) -> Any:
        return lambda *args, **kwargs: self._note(what, *args, **kwargs)

    def _note(self, what: str, *args: object, **kwargs: object) -> None:
        named = [f"{name}={value}" for name, value in kwargs.items()]
        self.notes.append(f"{self.now:g} {what} {' '.join([*map(str, args), *named])}".rstrip())


def played(*strikes: AnyStrike, until: float = 20.0, chaos_seconds: float = 10.0, shape: Shape | None = None) -> Played:
    """A stage on which these have been played for so long."""
    stage = Played()
    plan = Plan(seed=1, strikes=strikes, chaos_seconds=chaos_seconds, shape=shape or Shape())
    Conductor(plan, stage, now=lambda: stage.now, call_at=stage.call_at, hear=stage.heard.append).start()
    stage.pass_until(until)
    return stage


def test_a_fleet_without_strikes_heals_when_the_chaos_would_end() -> None:
    stage = played()
    assert stage.notes == ["10 disarm"]
    assert stage.heard == [Healed(10.0)]


def test_what_lasts_is_told_when_it_begins_and_when_it_ends() -> None:
    strike = Pause(at=1.0, process="a", seconds=2.0)
    stage = played(strike)
    assert stage.notes == ["1 pause a", "3 resume a", "10 disarm"]
    assert stage.heard == [Struck(1.0, strike), Struck(3.0, strike, over=True), Healed(10.0)]


def test_strikes_begin_in_order_of_their_times_however_they_are_written_down() -> None:
    stage = played(Delete(at=2.0, record="map"), Delete(at=1.0, record="shard", index=3))
    assert stage.notes == ["1 delete shard 3", "2 delete map 0", "10 disarm"]


def test_nothing_begins_after_the_chaos() -> None:
    assert played(Pause(at=10.0, process="a", seconds=1.0)).heard == [Healed(10.0)]


def test_what_lasts_ends_with_the_chaos() -> None:
    stage = played(BrownOut(at=9.0, seconds=5.0))
    assert stage.notes == ["9 brown_out True", "10 brown_out False", "10 disarm"]
    assert [type(each) for each in stage.heard] == [Struck, Struck, Healed]


def test_who_is_useless_for_good_stays_so_when_everything_heals() -> None:
    stage = played(
        Useless(at=1.0, process="a", refused="objects"),
        Useless(at=2.0, process="a", refused="shards", seconds=3.0),
        Useless(at=9.0, process="b", seconds=5.0),
    )
    assert stage.notes == [
        "1 refuse a shard_writes=False object_lists=True",
        "2 refuse a shard_writes=True object_lists=True",
        "5 refuse a shard_writes=False object_lists=True",
        "9 refuse b shard_writes=True object_lists=True",
        "10 refuse b shard_writes=False object_lists=False",
        "10 disarm",
    ]


def test_a_pause_within_a_pause_does_not_end_it() -> None:
    stage = played(Pause(at=1.0, process="a", seconds=4.0), Pause(at=2.0, process="a", seconds=1.0))
    assert stage.notes == ["1 pause a", "2 pause a", "3 pause a", "5 resume a", "10 disarm"]


def test_partitions_and_slowness_of_a_process_add_up() -> None:
    stage = played(
        Partition(at=1.0, process="a", way="to_client", seconds=3.0),
        Partition(at=2.0, process="a", way="to_server", seconds=1.0),
        Slow(at=2.5, process="a", latency_seconds=0.5, seconds=3.0),
        Partition(at=2.0, process="b", way="both", seconds=9.0),
    )
    assert stage.notes == [
        "1 wire a to_server=True to_client=False latency_seconds=0.0",
        "2 wire a to_server=False to_client=False latency_seconds=0.0",
        "2 wire b to_server=False to_client=False latency_seconds=0.0",
        "2.5 wire a to_server=False to_client=False latency_seconds=0.5",
        "3 wire a to_server=True to_client=False latency_seconds=0.5",
        "4 wire a to_server=True to_client=True latency_seconds=0.5",
        "5.5 wire a to_server=True to_client=True latency_seconds=0.0",
        "10 wire b to_server=True to_client=True latency_seconds=0.0",
        "10 disarm",
    ]


def test_the_last_rate_of_a_clock_holds_and_then_the_one_before() -> None:
    stage = played(
        ClockRate(at=1.0, process="a", rate=1.05, seconds=4.0), ClockRate(at=2.0, process="a", rate=0.95, seconds=1.0)
    )
    assert stage.notes == ["1 run_at a 1.05", "2 run_at a 0.95", "3 run_at a 1.05", "5 run_at a 1.0", "10 disarm"]


def test_a_front_end_is_as_far_behind_as_the_worst_that_struck_it() -> None:
    stage = played(
        StaleReplica(at=1.0, replica=0, lag_seconds=2.0, seconds=4.0),
        StaleReplica(at=2.0, replica=0, lag_seconds=None, seconds=1.0),
        StaleReplica(at=2.5, replica=1, lag_seconds=0.5, seconds=1.0),
    )
    assert stage.notes == [
        "1 lag 0 2.0",
        "2 lag 0 None",
        "2.5 lag 1 0.5",
        "3 lag 0 2.0",
        "3.5 lag 1 0.0",
        "5 lag 0 0.0",
        "10 disarm",
    ]


def test_a_crashed_process_is_started_by_its_supervisor_which_saw_it_die() -> None:
    stage = played(Crash(at=1.0, process="a", back_after=0.5))
    assert stage.notes == ["1 crash a after_write=False", "1.5 start a reaped=True", "10 disarm"]


def test_a_pod_that_is_made_again_elsewhere_knows_nothing_of_the_last() -> None:
    assert "1.5 start a reaped=False" in played(Crash(at=1.0, process="a", back_after=0.5, reaped=False)).notes


def test_a_process_whose_node_is_gone_stays_away() -> None:
    assert played(Crash(at=1.0, process="a", back_after=None)).notes == ["1 crash a after_write=False", "10 disarm"]


def test_a_process_that_waits_to_be_started_is_started_when_the_chaos_ends() -> None:
    assert played(Crash(at=9.0, process="a", back_after=30.0)).notes[1:] == ["10 disarm", "10 start a reaped=True"]


def test_the_time_until_a_start_counts_from_the_death_not_from_the_strike() -> None:
    stage = played(Crash(at=1.0, process="a", back_after=0.5, after_write=True), until=3.0)
    stage.ends["a"]()
    stage.pass_until(9.0)
    assert stage.notes == ["1 crash a after_write=True", "3.5 start a reaped=True"]


def test_a_process_that_has_left_after_the_chaos_comes_back_at_once() -> None:
    stage = played(Leave(at=9.0, process="a", back_after=4.0), until=12.0)
    stage.ends["a"]()
    stage.pass_until(20.0)
    assert stage.notes == ["9 leave a", "10 disarm", "12 start a reaped=False"]


def test_a_pause_ends_with_the_process_that_it_held() -> None:
    pause = Pause(at=1.0, process="a", seconds=4.0)
    stage = played(pause, Crash(at=2.0, process="a", back_after=0.5), Pause(at=3.0, process="a", seconds=5.0))
    assert stage.notes == [
        "1 pause a",
        "2 crash a after_write=False",
        "2.5 start a reaped=True",
        "3 pause a",
        "8 resume a",
        "10 disarm",
    ]
    assert Struck(2.0, pause, over=True) in stage.heard


def test_a_twin_is_started_while_the_first_runs_and_killed_at_the_end() -> None:
    stage = played(Twin(at=1.0, process="agent-1", seconds=2.0))
    assert stage.notes == ["1 start agent-1-twin reaped=False", "3 crash agent-1-twin after_write=False", "10 disarm"]


def test_the_workers_of_a_storm_join_within_a_second_and_leave_together() -> None:
    stage = played(Storm(at=1.0, workers=2, seconds=3.0), shape=Shape(workers=3))
    assert stage.notes == ["1 start d reaped=False", "1.5 start e reaped=False", "4 leave d", "4 leave e", "10 disarm"]


def test_storms_at_once_bring_workers_of_their_own() -> None:
    stage = played(Storm(at=1.0, workers=2, seconds=3.0), Storm(at=2.0, workers=1, seconds=4.0), until=3.0)
    assert [note.split()[2] for note in stage.notes] == ["d", "e", "f"]


def test_a_storm_that_is_over_brings_nobody_else() -> None:
    assert played(Storm(at=1.0, workers=2, seconds=0.2)).notes == [
        "1 start d reaped=False",
        "1.2 leave d",
        "1.2 leave e",
        "10 disarm",
    ]


@pytest.mark.parametrize(
    ("strike", "note"),
    [
        (LostAnswers(at=1.0, process="a", times=2), "lose_answers a 2"),
        (LostRequests(at=1.0, process="a"), "lose_requests a 1"),
        (LateLanding(at=1.0, process="a", late_seconds=3.0, times=2), "land_late a 3.0 2"),
        (CutWatch(at=1.0, process="a", gone=True), "cut_watches a gone=True"),
        (DroppedEvents(at=1.0, process="a", times=3), "drop_events a 3"),
        (TruncatedList(at=1.0, process="a"), "truncate_lists a 1"),
        (Delete(at=1.0, record="member", index=1), "delete member 1"),
        (Steal(at=1.0, record="shard", index=2, holder=""), "steal shard 2"),
        (Edit(at=1.0, record="map", how="rollback"), "edit map 0 rollback"),
        (Restore(at=1.0, back_seconds=2.0), "restore 2.0"),
        (Reshard(at=1.0, shards=3), "reshard 3"),
        (SilentWatch(at=1.0, process="a", seconds=20.0), "silence a True"),
    ],
)
def test_every_other_strike_reaches_the_stage(strike: AnyStrike, note: str) -> None:
    assert played(strike).notes[0] == f"1 {note}"
