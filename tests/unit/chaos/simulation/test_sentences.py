from __future__ import annotations

from dataclasses import replace

import pytest

from chaos.simulation.happenings import Acted, Changed, Closed, Happening, Healed, Lived, Opened, Read, Struck, Written
from chaos.simulation.sentences import is_routine, sentence_of
from chaos.simulation.strikes import Partition, Pause
from fleet.records.object_names import Kind
from fleet.records.record import (
    CoordinatorRecord,
    Holder,
    Incarnation,
    MemberRecord,
    ShardMap,
    ShardRecord,
    ShardStatus,
    Standby,
    StoredMap,
)
from shards.keyrange import WHOLE, PartitionKey

ANN = MemberRecord("ann", Incarnation("pod", 1), 2, 8.0, renewals=3, seen_map=5)
FREE = ShardRecord(WHOLE, ShardStatus.ACTIVE, 3, released=3)
HELD = ShardRecord(WHOLE, ShardStatus.ACTIVE, 4, holder=Holder("ann", 2), holder_text="ann@2")
OFFICE = CoordinatorRecord("pod/1", 4, 8.0)
MAP = ShardMap(7, 4, "web", "identity", PartitionKey.UID, (0,), ("ann",))


def written(before: object, after: object, kind: Kind = Kind.SHARD, by: str = "a/1") -> Written:
    return Written(5.0, by, kind, "name", before, after, 5.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("happening", "sentence"),
    [
        (written(None, ANN), "a/1 makes member ann@2, held by pod/1"),
        (written(ANN, replace(ANN, renewals=4)), "a/1 renews member ann@2 of pod/1, follows map 5"),
        (written(ANN, replace(ANN, renewals=5, seen_map=0), Kind.MEMBER, "agent-1/1"), "agent-1/1 expels member ann@2"),
        (
            written(ANN, replace(ANN, holder=None, epoch=3), by="agent-1/1"),
            "agent-1/1 writes member ann@3, held by nobody; it was member ann@2, held by pod/1",
        ),
        (written(None, FREE), "a/1 makes shard 0000-ffff at epoch 3 (active)"),
        (written(FREE, HELD), "a/1 claims 0000-ffff at epoch 4 for ann@2; it was free"),
        (
            written(HELD, replace(HELD, holder=None, holder_text="", released=4)),
            "a/1 releases 0000-ffff at epoch 4",
        ),
        (
            written(HELD, replace(HELD, holder=None, holder_text="?"), by="hand"),
            "hand writes into shard 0000-ffff at epoch 4: held by ?",
        ),
        (
            written(HELD, replace(HELD, standby=Standby(Holder("bob", 1), 4))),
            "a/1 announces bob@1 as standby of 0000-ffff at epoch 4",
        ),
        (written(FREE, replace(FREE, status=ShardStatus.RETIRED)), "a/1 retires 0000-ffff at epoch 3"),
        (written(HELD, None, by="hand"), "hand deletes shard 0000-ffff at epoch 4"),
        (
            written(None, OFFICE, Kind.COORDINATOR),
            "a/1 writes into the coordinator's record: epoch 4, held by pod/1",
        ),
        (written(OFFICE, replace(OFFICE, renewals=9), Kind.COORDINATOR), "a/1 renews the office"),
        (
            written(StoredMap(MAP, "1"), StoredMap(replace(MAP, version=8, lost={WHOLE: 8}), "2"), Kind.MAP),
            "a/1 writes map 8, lost 0000-ffff",
        ),
        (
            Opened(5.0, "a/1", Holder("ann", 2), WHOLE, 4, lambda: 6.25),
            "a/1 acts on 0000-ffff at epoch 4, for 1.250 s at least",
        ),
        (Closed(5.0, "a/1", WHOLE, 4), "a/1 acts on 0000-ffff at epoch 4 no more"),
        (
            Acted(5.0, "a/1", Holder("ann", 2), WHOLE, 4, 0x1F, 6, 9, 1.5),
            "a/1 writes key 000000000000001f under 0000-ffff@4, seen at 6, now at 9, sent 3.500 s before",
        ),
        (Changed(5.0, 0x1F, 9), "somebody changes key 000000000000001f, now at 9"),
        (Read(5.0, "a/1", Kind.MEMBER, "ann", ""), "a/1 reads member ann at nothing"),
        (Lived(5.0, "a/1", "crashed"), "a/1 is killed"),
        (Struck(5.0, Pause(at=5.0, process="a", seconds=2.0)), "** pause (process=a seconds=2.0)"),
        (
            Struck(5.0, Partition(at=1.0, process="a", way="both", seconds=4.0), over=True),
            "** the end of partition (process=a way=both seconds=4.0)",
        ),
        (Healed(5.0), "** from here on nothing goes wrong"),
    ],
)
def test_every_happening_is_a_sentence(happening: Happening, sentence: str) -> None:
    assert sentence_of(happening) == sentence


@pytest.mark.parametrize(
    ("happening", "routine"),
    [
        (written(ANN, replace(ANN, renewals=4)), True),
        (written(ANN, replace(ANN, renewals=4, seen_map=6)), False),
        (written(OFFICE, replace(OFFICE, renewals=9), Kind.COORDINATOR), True),
        (Read(5.0, "a/1", Kind.MEMBER, "ann", "3"), True),
        (written(FREE, HELD), False),
    ],
)
def test_what_says_that_all_is_as_it_was_is_routine(happening: Happening, routine: bool) -> None:
    assert is_routine(happening) is routine
