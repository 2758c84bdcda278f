"""Which keys keep failing, and what is told about it."""

from __future__ import annotations

import pytest

from shards.errors import TerminalError, Unreachable
from shards.objects import Key
from shards.queue import failing_keys
from shards.queue.failing_keys import PATIENCE, FailingKeys

A, B = Key("default", "a", "uid-a"), Key("default", "b", "uid-b")


def failed(keys: FailingKeys, key: Key, times: int, since: float = 0.0) -> None:
    for index in range(times):
        keys.failed(key, Unreachable("no answer"), since + index)


def test_a_key_keeps_failing_from_the_fifth_time_on() -> None:
    keys = FailingKeys()
    failed(keys, A, PATIENCE - 1)
    assert (keys.count(), keys.lasting(9)) == (0, [])

    keys.failed(A, Unreachable("no answer"), 9.0)

    [(key, failure)] = keys.lasting(9)
    assert (key, failure.since, failure.count, failure.error) == (A, 0.0, 5, "Unreachable: no answer")
    assert keys.count() == 1


def test_one_that_failed_for_good_is_told_at_once() -> None:
    keys = FailingKeys()
    keys.failed(A, TerminalError("spec.size is missing"), 3.0, terminal=True)
    [(_, failure)] = keys.lasting(9)
    assert failure.terminal
    assert failure.error == "TerminalError: spec.size is missing"


def test_one_that_succeeds_is_forgotten_whole() -> None:
    keys = FailingKeys()
    failed(keys, A, 7)
    keys.succeeded(A)
    keys.succeeded(B)
    assert keys.count() == 0
    failed(keys, A, 1, since=50.0)
    assert keys.count() == 0


def test_the_longest_comes_first() -> None:
    keys = FailingKeys()
    failed(keys, B, 5, since=10.0)
    failed(keys, A, 5, since=20.0)
    assert [key for key, _ in keys.lasting(9)] == [B, A]


def test_no_more_are_told_than_asked_for() -> None:
    keys = FailingKeys()
    for name in "abc":
        failed(keys, Key("default", name, name), 5)
    assert [key.name for key, _ in keys.lasting(2)] == ["a", "b"]
    assert keys.count() == 3


def test_texts_are_kept_for_so_many_keys_and_counts_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failing_keys, "TEXTS_LIMIT", 2)
    keys = FailingKeys()
    for name in "abc":
        failed(keys, Key("default", name, name), 5)
    assert [bool(failure.error) for _, failure in keys.lasting(9)] == [True, True, False]
    keys.succeeded(Key("default", "a", "a"))
    failed(keys, Key("default", "d", "d"), 5)
    assert [bool(failure.error) for _, failure in keys.lasting(9)] == [True, False, True]
