"""What the server alone writes into an object."""

from __future__ import annotations

import random
import uuid

from fleet.devcluster.changes.stamps import Stamps


def stamps(seed: int = 1) -> Stamps:
    return Stamps(random.Random(seed), lambda: 1_700_000_000.9)


def test_a_uid_is_a_random_uuid() -> None:
    made = stamps()
    found = [uuid.UUID(made.uid()) for _ in range(100)]
    assert {(each.version, each.variant) for each in found} == {(4, uuid.RFC_4122)}
    assert len(set(found)) == len(found)


def test_a_uid_is_written_as_uuids_are() -> None:
    uid = stamps().uid()
    assert str(uuid.UUID(uid)) == uid


def test_the_same_seed_gives_the_same_uids_and_names() -> None:
    one, other = stamps(), stamps()
    assert [one.uid(), one.name("a-"), one.uid()] == [other.uid(), other.name("a-"), other.uid()]


def test_a_time_has_whole_seconds() -> None:
    assert stamps().time() == "2023-11-14T22:13:20Z"
    assert stamps().time(30) == "2023-11-14T22:13:50Z"
