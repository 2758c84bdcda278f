"""What one who comes late is told of a store that goes on changing: each object once, then what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shards.listeners.replay import Replay
from shards.objects import Meta
from shards.stores.store import Change, Entry, StoreWriter


def meta(name: str, version: int, uid: str = "") -> Meta:
    return Meta(name=name, namespace="ns", uid=uid or f"uid-{name}", resource_version=str(version))


class Late:
    """Notes what it is told: added, changed or gone; low where it may wait."""

    def __init__(self) -> None:
        self.writer = StoreWriter()
        self.writer.replace([Entry(meta(name, 5), b"{}") for name in "abc"], "10")
        self.replay = Replay(self.writer.reader)
        self.steps: Iterator[Change] = iter(self.replay)
        self.told: list[tuple[str, str, bool]] = []

    def step(self) -> bool:
        change = next(self.steps, None)
        if change is not None:
            self._note(change)
        return change is not None

    def happens(self, change: Change | None) -> None:
        assert change is not None
        told = self.replay.instead_of(change)
        if told is not None:
            self._note(told)

    def _note(self, change: Change) -> None:
        what = "gone" if change.new is None else "added" if change.old is None else "changed"
        known = change.new or change.old
        assert known is not None
        self.told.append((what, f"{known.name}{known.resource_version}", change.initial))

    def rest(self) -> list[tuple[str, str, bool]]:
        while self.step():
            pass
        return self.told


@pytest.fixture
def late() -> Late:
    return Late()


def test_everything_that_is_there_is_added_in_order(late: Late) -> None:
    assert late.rest() == [("added", "a5", True), ("added", "b5", True), ("added", "c5", True)]


def test_one_that_changes_before_its_turn_is_added_as_it_is_then(late: Late) -> None:
    late.step()
    late.happens(late.writer.apply(meta("c", 11), b"{}"))
    late.happens(late.writer.apply(meta("c", 12), b"{}"))
    assert late.rest() == [
        ("added", "a5", True),
        ("added", "c11", True),
        ("changed", "c12", False),
        ("added", "b5", True),
    ]


def test_one_that_goes_before_its_turn_is_not_told_of(late: Late) -> None:
    late.happens(late.writer.delete(meta("b", 11)))
    assert late.rest() == [("added", "a5", True), ("added", "c5", True)]


def test_one_that_goes_after_its_turn_is_told_as_gone(late: Late) -> None:
    late.step()
    late.happens(late.writer.delete(meta("a", 11)))
    assert late.rest() == [("added", "a5", True), ("gone", "a5", False), ("added", "b5", True), ("added", "c5", True)]


def test_one_that_goes_before_its_turn_and_comes_back_is_new(late: Late) -> None:
    late.happens(late.writer.delete(meta("b", 11)))
    late.happens(late.writer.apply(meta("b", 12, "again"), b"{}"))
    late.happens(late.writer.apply(meta("b", 13, "again"), b"{}"))
    assert late.rest()[:2] == [("added", "b12", False), ("changed", "b13", False)]
    assert len(late.told) == 4


def test_one_that_was_made_again_unseen_before_its_turn_is_added_once(late: Late) -> None:
    late.happens(late.writer.apply(meta("b", 12, "again"), b"{}"))
    assert late.rest() == [("added", "b12", True), ("added", "a5", True), ("added", "c5", True)]


def test_one_that_comes_meanwhile_is_told_once(late: Late) -> None:
    late.happens(late.writer.apply(meta("d", 11), b"{}"))
    late.happens(late.writer.delete(meta("d", 12)))
    assert late.rest()[:2] == [("added", "d11", False), ("gone", "d11", False)]
    assert len(late.told) == 5
