"""One controller's ear at a view: what an author's function does is felt by nobody else, and nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import pytest

from shards.listeners.handlers import Route
from shards.listeners.listener import SLICE_OBJECTS, STATES, Listener
from shards.objects import Key, Meta
from shards.stores.store import Change, Entry, StoreWriter

pytestmark = pytest.mark.looptime


def meta(name: str = "a", version: int = 1, **labels: str) -> Meta:
    return Meta(name=name, namespace="ns", uid=f"uid-{name}", resource_version=str(version), labels=labels)


def by_label(state: Meta) -> Iterator[Key]:
    for value in (state.labels or {}).values():
        yield Key("ns", value, value)


class Ear:
    """A listener with a clock that its mapping function moves."""

    def __init__(self, find: Callable[[Meta], Iterator[Key]] = by_label, *, quick: bool = False) -> None:
        self.now = 0.0
        self.takes_seconds = 0.0
        self.active = True
        self.added: list[tuple[str, bool]] = []
        self.progress: list[int] = []
        self.primaries = [Key("ns", name, name) for name in ("p", "q")]
        self.mapped = 0

        def timed(state: Meta) -> Iterator[Key]:
            self.now += self.takes_seconds
            self.mapped += 1
            yield from find(state)

        self.listener = Listener(
            "c",
            Route(timed, quick=quick),
            active=lambda: self.active,
            add=lambda key, low: self.added.append((key.name, low)),
            progressed=lambda: self.progress.append(len(self.added)),
            everything=self._everything,
            clock=lambda: self.now,
        )

    def _everything(self) -> Iterable[Key]:
        return self.primaries

    def change(self, old: Meta | None, new: Meta | None, *, initial: bool = False) -> None:
        self.listener.changed(Change(old, new, initial))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.added]


async def turns(count: int = 50) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_route_of_this_package_is_taken_at_once() -> None:
    ear = Ear(quick=True)
    ear.change(meta(x="p"), meta(version=2, x="q"))
    assert ear.names == ["p", "q"]
    assert ear.listener.synced


async def test_an_authors_function_runs_later_and_the_stream_goes_on() -> None:
    ear = Ear()
    ear.change(None, meta(x="p"))
    assert (ear.names, ear.listener.synced) == ([], False)
    await turns()
    assert (ear.names, ear.listener.synced) == (["p"], True)


async def test_a_slow_function_gives_other_tasks_their_turn_after_every_call() -> None:
    ear = Ear()
    ear.takes_seconds = 0.02
    for number in range(10):
        ear.change(None, meta(f"n{number}", x="p"))
    seen = []
    for _ in range(12):
        await asyncio.sleep(0)
        seen.append(ear.mapped)
    assert max(later - earlier for earlier, later in pairwise(seen)) == 1
    assert ear.mapped == 10


async def test_where_the_clock_stands_still_a_slice_has_a_number_of_objects() -> None:
    ear = Ear()
    for number in range(SLICE_OBJECTS * 2):
        ear.change(None, meta(f"n{number}", x="p"))
    await asyncio.sleep(0)
    assert 0 < ear.mapped <= SLICE_OBJECTS


async def test_many_changes_of_one_object_wait_as_one() -> None:
    ear = Ear()
    old = None
    for version in range(1, 1000):
        new = meta(version=version, x="p")
        ear.change(old, new)
        old = new
    assert ear.listener.waiting == 1
    await turns()
    assert (ear.names, ear.mapped) == (["p"], 1)


async def test_a_state_in_between_wakes_whom_it_concerned() -> None:
    ear = Ear()
    ear.change(meta(version=1, x="p"), meta(version=2, x="q"))
    ear.change(meta(version=2, x="q"), meta(version=3, x="r"))
    await turns()
    assert ear.names == ["p", "q", "r"]


async def test_too_many_states_of_one_object_wake_every_primary() -> None:
    ear = Ear()
    for version in range(STATES + 2):
        ear.change(None, meta(version=version + 1, x=f"k{version}"))
    await turns()
    assert set(ear.primaries) <= {Key("ns", name, name) for name in ear.names}
    assert ear.listener.synced


async def test_too_many_objects_wake_every_primary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shards.listeners.listener.WAITING", 5)
    ear = Ear()
    for number in range(20):
        ear.change(None, meta(f"n{number}", x="k"))
        assert ear.listener.waiting <= 5
    await turns()
    assert {"p", "q"} <= set(ear.names)


async def test_a_change_that_comes_while_every_primary_is_woken_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shards.listeners.listener.WAITING", 0)
    ear = Ear()
    ear.takes_seconds = 1.0
    ear.change(None, meta(x="p"))
    monkeypatch.setattr("shards.listeners.listener.WAITING", 5)
    ear.change(None, meta("b", x="p"))
    await turns()
    assert ear.names.count("p") == 2


async def test_a_function_that_fails_for_one_state_costs_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    def broken(state: Meta) -> Iterator[Key]:
        if state.name == "bad" and "old" in (state.labels or {}):
            raise ZeroDivisionError
        yield from by_label(state)

    ear = Ear(broken)
    ear.change(meta("bad", old="p"), meta("bad", 2, x="q"))
    ear.change(None, meta("good", x="r"))
    await turns()
    assert ear.names == ["q", "r"]
    assert "map of c failed for ns/bad" in caplog.text


async def test_a_function_that_always_fails_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def broken(state: Meta) -> Iterator[Key]:
        raise ZeroDivisionError
        yield

    ear = Ear(broken)
    for number in range(500):
        ear.change(None, meta(f"n{number}"))
    await turns()
    assert len(caplog.records) == 9
    assert "map of c failed for ns/n255 (256 times)" in caplog.records[-1].message


async def test_progress_is_told_once_what_came_before_it_was_routed() -> None:
    ear = Ear()
    ear.listener.progressed()
    assert ear.progress == [0]
    ear.change(None, meta(x="p"))
    ear.listener.progressed()
    assert ear.progress == [0]
    await turns()
    assert ear.progress == [0, 1]


async def test_changes_of_the_first_list_wait_behind_others() -> None:
    ear = Ear()
    ear.change(None, meta("a", x="p"), initial=True)
    ear.change(None, meta("b", x="q"), initial=True)
    ear.change(meta("b", x="q"), meta("b", 2, x="q"))
    await turns()
    assert ear.added == [("p", True), ("q", False)]


async def test_nothing_is_kept_for_a_controller_that_has_not_begun() -> None:
    ear = Ear()
    ear.active = False
    ear.change(None, meta(x="p"))
    assert ear.listener.waiting == 0
    await turns()
    assert ear.mapped == 0


async def test_one_that_comes_late_is_told_what_is_there_now() -> None:
    writer = StoreWriter()
    writer.replace([Entry(meta(f"n{number}", 5, x=f"k{number}"), b"{}") for number in range(3)], "10")
    ear = Ear()
    ear.listener.catch_up(writer.reader)
    writer.delete(meta("n1", 11))
    writer.apply(meta("n2", 12, x="later"), b"{}")
    await turns()
    assert ear.added == [("k0", True), ("later", True)]
    assert ear.listener.synced


async def test_one_that_is_removed_hears_nothing_more_not_even_what_was_on_its_way() -> None:
    ear = Ear()
    ear.change(None, meta(x="p"))
    ear.listener.close()
    ear.change(None, meta("b", x="p"))
    await turns()
    assert ear.mapped == 0
