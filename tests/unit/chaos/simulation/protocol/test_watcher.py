from __future__ import annotations

import random
from dataclasses import replace

import pytest

from chaos.simulation.protocol.record_watcher import RecordWatcher
from fleet.records.object_names import Kind
from fleet.records.record import MemberRecord
from tests.unit.chaos.simulation.protocol.bench import Bench, bench

ANN = MemberRecord("ann", None, 1, 8.0)


class Watched:
    """One watcher, and what it told: names, in order."""

    def __init__(self, world: Bench) -> None:
        self.told: list[str] = []
        self.watcher = RecordWatcher(
            Kind.MEMBER,
            world.wire,
            author=world.process,
            clock=world.process.clock,
            rng=random.Random(1),
            changed=self.told.append,
            progressed=lambda: None,
        )
        with world.loop.entered():
            world.process.call(self.watcher.start)
        world.advance(0.5)


def write(world: Bench, name: str = "ann") -> None:
    found = world.store.get(Kind.MEMBER, name)
    record = replace(ANN, name=name) if found is None else replace(found, renewals=found.renewals + 1)  # type: ignore[type-var, union-attr]
    world.store.put(Kind.MEMBER, name, record, found.version if found else "")  # type: ignore[type-var]


def shown(watched: Watched) -> dict[str, int]:
    return {name: record.renewals for name, record in watched.watcher.everything().items()}


def test_it_lists_and_then_hears_of_what_changes() -> None:
    with bench() as world:
        write(world)
        watched = Watched(world)
        assert shown(watched) == {"ann": 0}
        write(world)
        write(world, "bob")
        world.advance(0.5)
        assert shown(watched) == {"ann": 1, "bob": 0}
        assert watched.told == ["ann", "ann", "bob"]


@pytest.mark.parametrize("gone", [False, True], ids=["resumed", "listed anew"])
def test_a_watch_that_breaks_misses_nothing(gone: bool) -> None:
    with bench() as world:
        watched = Watched(world)
        for stream in tuple(world.wire.streams):
            stream.break_off(gone)
        write(world)
        write(world)
        world.advance(5.0)
        assert shown(watched) == {"ann": 1}
        assert watched.told == (["ann"] if gone else ["ann", "ann"])


def test_a_silent_watch_says_later_what_it_did_not_say() -> None:
    with bench() as world:
        watched = Watched(world)
        world.wire.silent = True
        write(world)
        world.advance(3.0)
        assert shown(watched) == {}
        world.wire.silent = False
        world.wire.flush()
        world.advance(0.5)
        assert shown(watched) == {"ann": 0}


def test_a_dropped_event_is_missed_and_later_ones_are_not() -> None:
    with bench() as world:
        watched = Watched(world)
        world.wire.drops = 1
        write(world)
        write(world, "bob")
        world.advance(3.0)
        assert shown(watched) == {"bob": 0}
        world.wire.disarm()
        world.advance(5.0)
        assert shown(watched) == {"ann": 0, "bob": 0}, "whoever was lied to lists when the server is well again"


def test_a_front_end_that_lags_shows_everything_so_much_later() -> None:
    with bench() as world:
        watched = Watched(world)
        world.server.front_ends[0].lag(2.0)
        write(world)
        world.advance(1.8)
        assert shown(watched) == {}
        world.advance(1.0)
        assert shown(watched) == {"ann": 0}


def test_a_front_end_that_stands_still_goes_on_when_it_is_told_to() -> None:
    with bench() as world:
        watched = Watched(world)
        world.server.front_ends[0].lag(None)
        write(world)
        world.advance(9.0)
        assert shown(watched) == {}
        world.server.front_ends[0].lag(0.0)
        world.advance(0.5)
        assert shown(watched) == {"ann": 0}


def test_a_list_is_consistent_however_far_front_ends_are_behind() -> None:
    with bench() as world:
        world.server.front_ends[0].lag(None)
        write(world)
        assert shown(Watched(world)) == {"ann": 0}


def test_after_a_restore_it_finds_that_history_went_back() -> None:
    with bench() as world:
        world.server.backup()
        write(world)
        watched = Watched(world)
        world.server.restore(0.5)
        world.advance(5.0)
        assert shown(watched) == {}
        assert watched.watcher.regressions == 1


def test_who_slept_through_a_restore_does_not_resume_a_history_that_the_server_does_not_remember() -> None:
    with bench() as world:
        write(world)
        watched = Watched(world)
        world.process.pause()
        write(world, "bob")
        world.server.backup()
        world.server.restore(0.0)
        world.advance(1.0)
        world.process.resume()
        world.advance(5.0)
        assert shown(watched) == {"ann": 0, "bob": 0}


def test_a_paused_process_sees_nothing() -> None:
    with bench() as world:
        watched = Watched(world)
        world.process.pause()
        write(world)
        world.advance(3.0)
        assert shown(watched) == {}
        world.process.resume()
        world.advance(0.0)
        assert shown(watched) == {"ann": 0}


def test_it_is_current_as_of_the_beginning_of_its_list_and_of_its_last_event() -> None:
    with bench() as world:
        watched = Watched(world)
        listed = watched.watcher.current_at
        assert world.process.clock() - 0.5 <= listed < world.process.clock() - 0.4
        world.advance(3.0)
        assert watched.watcher.current_at == listed
        write(world)
        world.advance(0.5)
        assert watched.watcher.current_at > listed + 3.0


def test_nothing_is_left_at_the_server_when_it_is_closed() -> None:
    with bench() as world:
        watched = Watched(world)
        watched.watcher.close()
        assert world.wire.streams == []
        write(world)
        world.advance(3.0)
        assert watched.told == []
