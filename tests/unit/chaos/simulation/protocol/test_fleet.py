from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from chaos.simulation.happenings import Acted, Closed, Happening, Lived, Opened, Written
from chaos.simulation.plan import Shape
from chaos.simulation.protocol.fleet import ProtocolFleet
from fleet.records.object_names import Kind
from shards.keyrange import WHOLE


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


class Played:
    """A fleet in which one worker owns everything. heard: all that happened."""

    def __init__(self, shape: Shape) -> None:
        self.heard: list[Happening] = []
        self.fleet = ProtocolFleet(shape, 3, hear=self.heard.append)
        self.fleet.populate()
        for name in (*shape.agent_names, *shape.worker_names):
            self.fleet.start(name)
        assert self.fleet.advance_until(lambda: len(self.fleet.acting()) == shape.shards, 5.0)

    def lived(self, process: str) -> list[str]:
        return [each.how for each in self.heard if isinstance(each, Lived) and each.process == process]


@pytest.fixture
def played() -> Iterator[Played]:
    made = Played(Shape(workers=1, agents=1, shards=1, objects=4))
    try:
        yield made
    finally:
        made.fleet.close()


def test_who_opens_a_range_acts_on_every_object_of_it_once(played: Played) -> None:
    played.fleet.advance(0.5)
    acted = [each.key for each in played.heard if isinstance(each, Acted)]
    assert sorted(acted) == sorted(thing.hash for thing in played.fleet.server.things.values())


def test_a_change_is_acted_on_by_the_owner(played: Played) -> None:
    played.fleet.advance(0.5)
    before = len(played.heard)
    played.fleet.touch(2)
    played.fleet.advance(0.5)
    [acted] = [each for each in played.heard[before:] if isinstance(each, Acted)]
    thing = list(played.fleet.server.things.values())[2]
    assert (acted.key, acted.process, acted.range, acted.version) == (thing.hash, "a/1", WHOLE, thing.version)
    assert thing.observed == thing.generation


def test_a_crash_ends_what_the_process_did(played: Played) -> None:
    crashed: list[str] = []
    played.fleet.crash("a", lambda: crashed.append("a"), after_write=False)
    assert (crashed, played.fleet.acting(), played.lived("a/1")) == (["a"], [], ["started", "crashed"])
    assert isinstance(played.heard[-1], Closed)
    played.fleet.start("a", reaped=True)
    assert played.fleet.advance_until(lambda: played.fleet.acting() == [(WHOLE, "a/2", 3)], 1.0)


def test_a_crash_after_a_write_comes_before_its_answer(played: Played) -> None:
    crashed: list[float] = []
    played.fleet.crash("a", lambda: crashed.append(played.fleet.now), after_write=True)
    assert crashed == []
    assert played.fleet.advance_until(lambda: bool(crashed), 1.0)
    written = [each for each in played.heard if isinstance(each, Lived | Closed)]
    assert isinstance(written[-2], Lived)
    assert crashed[0] == written[-2].at


def test_who_leaves_has_released_everything(played: Played) -> None:
    left: list[str] = []
    played.fleet.leave("a", lambda: left.append("a"))
    assert played.fleet.advance_until(lambda: bool(left), 5.0)
    assert played.lived("a/1") == ["started", "leaving", "left"]
    [record] = played.fleet.store.of(Kind.SHARD).values()
    assert record.holder is None  # type: ignore[union-attr]  # of shards


def test_a_paused_owner_loses_its_right_by_the_clock(played: Played) -> None:
    played.fleet.pause("a")
    assert played.fleet.acting() != []
    played.fleet.advance(1.8)
    assert played.fleet.acting() == []
    played.fleet.resume("a")
    played.fleet.advance(0.1)
    assert any(isinstance(each, Closed) for each in played.heard)
    assert played.fleet.advance_until(lambda: played.fleet.acting() != [], 3.0)


def test_a_slow_clock_shortens_nothing_that_others_rely_on(played: Played) -> None:
    played.fleet.run_at("a", 0.95)
    opened = next(each for each in played.heard if isinstance(each, Opened))
    played.fleet.advance(1.0)
    assert opened.deadline() > played.fleet.now


def test_strikes_on_who_is_not_there_do_nothing(played: Played) -> None:
    fleet = played.fleet
    for act in (fleet.pause, fleet.resume):
        act("nobody")
    fleet.crash("nobody", lambda: None, after_write=True)
    fleet.leave("nobody", lambda: None)
    fleet.advance(0.2)
    assert fleet.hits == {}


def test_a_member_whose_writes_are_refused_renews_and_hands_nothing_over(played: Played) -> None:
    played.fleet.refuse("a", shard_writes=True, object_lists=False)
    played.fleet.start("b")
    played.fleet.reshard(2)
    began = played.fleet.now
    played.fleet.advance(3.0)
    written = [each for each in played.heard if isinstance(each, Written) and each.at > began and each.process == "a/1"]
    assert {each.kind for each in written} == {Kind.MEMBER}
    assert played.fleet.hits["useless"] > 0
    played.fleet.refuse("a", shard_writes=False, object_lists=False)
    assert played.fleet.advance_until(lambda: len(played.fleet.acting()) == 2, 10.0)


def test_a_member_whose_lists_are_refused_gets_ready_for_nothing(played: Played) -> None:
    played.fleet.refuse("b", shard_writes=False, object_lists=True)
    played.fleet.start("b")
    played.fleet.reshard(2)
    played.fleet.advance(5.0)
    assert played.fleet.hits["useless"] > 0
    assert {process for _, process, _ in played.fleet.acting()} <= {"a/1"}


def test_a_restore_takes_the_records_back_and_leaves_the_objects(played: Played) -> None:
    played.fleet.advance(2.0)
    version = played.fleet.server.revision
    played.fleet.restore(60.0)
    assert played.fleet.store.records == {}
    assert played.fleet.server.revision == version


def test_an_edited_config_becomes_the_layout(played: Played) -> None:
    played.fleet.reshard(3)
    assert played.fleet.advance_until(lambda: len(played.fleet.acting()) == 3, 10.0)
