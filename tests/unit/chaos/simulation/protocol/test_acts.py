from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

from chaos.simulation.happenings import Happening
from chaos.simulation.protocol.acts import Act, Acts
from chaos.simulation.protocol.server import Thing
from chaos.simulation.protocol.shard_host import ShardHost
from chaos.simulation.protocol.things import ThingWatcher
from shards.keyrange import WHOLE
from shards.ownership.tenure import Tenure
from tests.unit.chaos.simulation.protocol.bench import Bench, bench


class Owner:
    """The owner of everything, with one object. until: of its tenure, by its clock. acted: what the server accepted."""

    def __init__(self, around: Bench) -> None:
        self.around = around
        self.until = float("inf")
        self.acted: list[Thing] = []
        heard: list[Happening] = []
        around.server.put_thing(Thing("thing", 2, 0, 1, 0))
        self.process = around.process
        host = ShardHost("a", self.process, around.wire, random.Random(1), heard.append)
        self.acts: Acts
        self.watcher = ThingWatcher(
            WHOLE,
            around.wire,
            author=self.process,
            clock=self.process.clock,
            rng=host.rng,
            changed=lambda uid: self.acts.wake(uid),
            progressed=lambda: self.acts.go_on(),
        )
        self.acts = Acts(self.watcher, host, self._told)
        self._spawn(self._start())
        around.advance(0.5)

    async def _start(self) -> None:
        self.watcher.start()
        self.acts.begin(Tenure("a", 1, WHOLE, 1, until=lambda: self.until))

    def _told(self, act: Act, stored: Thing) -> None:
        self.acted.append(stored)

    @property
    def thing(self) -> Thing:
        return self.around.server.things["thing"]

    def change(self) -> None:
        self.around.server.put_thing(self.thing._replace(generation=self.thing.generation + 1))

    def end(self) -> asyncio.Task[None]:
        return self._spawn(self.acts.end(0.0))

    def _spawn(self, coro: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        with self.around.loop.entered():
            return self.process.spawn(coro)


@pytest.fixture
def owner() -> Iterator[Owner]:
    with bench() as around:
        yield Owner(around)


def test_an_object_is_acted_on_when_it_is_found_and_when_it_has_changed(owner: Owner) -> None:
    assert [each.observed for each in owner.acted] == [1]
    owner.change()
    owner.around.advance(0.5)
    assert [each.observed for each in owner.acted] == [1, 2]


def test_a_change_that_came_while_the_tenure_had_lapsed_is_acted_on_when_a_late_renewal_was_acknowledged(
    owner: Owner,
) -> None:
    owner.until = float("-inf")
    owner.change()
    owner.around.advance(1.0)
    assert owner.thing.observed == 1
    owner.until = float("inf")
    owner.around.advance(0.5)
    assert owner.thing.observed == 2


def test_a_reconcile_whose_tenure_lapsed_before_its_request_is_tried_again(owner: Owner) -> None:
    owner.change()
    while owner.thing.generation != owner.watcher.things["thing"].generation:
        owner.around.advance(0.0001)
    owner.until = float("-inf")
    owner.around.advance(1.0)
    assert owner.thing.observed == 1
    owner.until = float("inf")
    owner.around.advance(0.5)
    assert owner.thing.observed == 2


def test_nothing_is_acted_on_after_the_end(owner: Owner) -> None:
    owner.until = float("-inf")
    owner.change()
    owner.around.advance(0.3)
    ended = owner.end()
    owner.until = float("inf")
    owner.around.advance(1.0)
    assert ended.done()
    assert owner.thing.observed == 1
