from __future__ import annotations

from typing import cast

import pytest

from shards.objects import Key
from shards.reconciling.first_keys import newest_first, queue_all
from shards.stores.store import StoreReader

NAMES = [Key("default", name, name) for name in "abcdef"]


class Primaries:
    """What changed last: d, then b."""

    def newest_keys(self, count: int) -> list[Key]:
        return [NAMES[3], NAMES[1]]

    def each_key(self) -> list[Key]:
        return NAMES


def test_what_changed_last_comes_before_all_others_and_every_key_comes_once() -> None:
    found = newest_first(cast("StoreReader", Primaries()))
    assert [key.name for key in found] == ["d", "b", "a", "c", "e", "f"]


@pytest.mark.looptime
async def test_keys_are_queued_behind_whatever_changes_meanwhile() -> None:
    queued: list[tuple[str, bool]] = []

    def add(key: Key, *, low_priority: bool = False) -> None:
        queued.append((key.name, low_priority))

    await queue_all(NAMES, add)
    assert queued == [(key.name, True) for key in NAMES]
