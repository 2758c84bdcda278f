"""What a process does before it runs shards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from shards.runtime import COLLECT_AFTER, collect_rarely


@pytest.fixture
def thresholds() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)


def test_garbage_is_looked_for_less_often_and_no_generation_is_left_out(thresholds: tuple[int, int, int]) -> None:
    collect_rarely()
    young, *older = gc.get_threshold()

    assert young == COLLECT_AFTER > thresholds[0]
    assert older == [*thresholds[1:]]
