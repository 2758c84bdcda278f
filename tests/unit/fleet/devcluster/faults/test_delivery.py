from __future__ import annotations

import random

import msgspec
import pytest

from fleet.devcluster.faults import Events, Injection
from fleet.devcluster.faults.delivery import Delivery
from fleet.devcluster.faults.words import Cut, DelayEvents, DropEvents, HideEvents, Slice, Word
from fleet.devcluster.wire.answers import ConnectionLost


def delivery(*faults: Word, events: bool = True) -> Delivery:
    made = Delivery(random.Random(1), events=events)
    for number, fault in enumerate(faults, 1):
        made.attach(Injection(number, fault, 0.0, lambda ended: None))
    return made


def line(kind: str, version: int, name: str = "a") -> bytes:
    meta = {"name": name, "resourceVersion": str(version)}
    return msgspec.json.encode({"type": kind, "object": {"metadata": meta}}) + b"\n"


def test_a_bookmark_at_the_version_of_what_was_lost_comes() -> None:
    made = delivery(DropEvents(times=1))
    lost, bookmark = line("ADDED", 7), line("BOOKMARK", 7)
    made.arrive(lost + bookmark, 0.0)
    assert made.take(0.0) == bookmark


def test_a_bookmark_waits_behind_what_is_held() -> None:
    made = delivery(DelayEvents(seconds=5, times=1))
    made.arrive(line("ADDED", 7) + line("BOOKMARK", 7), 0.0)
    assert (made.take(4.0), made.due_at(4.0)) == (None, 5.0)
    assert made.take(5.0) == line("ADDED", 7) + line("BOOKMARK", 7)


def test_an_event_of_a_table_is_known_by_the_object_that_it_shows() -> None:
    made = delivery(HideEvents(events=Events(name="b")))
    rows = [{"cells": ["b"], "object": {"metadata": {"name": "b", "resourceVersion": "7"}}}]
    table = {"type": "ADDED", "object": {"kind": "Table", "metadata": {"resourceVersion": "7"}, "rows": rows}}
    made.arrive(msgspec.json.encode(table) + b"\n" + line("ADDED", 8), 0.0)
    assert made.take(0.0) == line("ADDED", 8)


def test_bytes_that_are_no_events_come_in_pieces_and_wait_for_no_line_end() -> None:
    made = delivery(Slice(piece_bytes=3), events=False)
    made.arrive(b"\x00\x01\x02\x03", 0.0)
    assert [made.take(0.0), made.take(0.0), made.take(0.0)] == [b"\x00\x01\x02", b"\x03", None]


@pytest.mark.parametrize("pieces", [1, 2, 7, 1000])
def test_a_cut_comes_after_so_many_bytes_in_whatever_pieces_they_arrive(pieces: int) -> None:
    made, whole = delivery(Cut(after_bytes=25)), line("ADDED", 7)
    got = b""
    with pytest.raises(ConnectionLost):  # noqa: PT012 - it comes with one of the pieces
        for begin in range(0, len(whole), pieces):
            made.arrive(whole[begin : begin + pieces], 0.0)
            while taken := made.take(0.0):
                got += taken
    assert got == whole[:25]


def test_what_waits_and_what_is_ready_counts_until_it_is_taken() -> None:
    made = delivery(DelayEvents(seconds=5))
    text = line("ADDED", 7, "x" * (1 << 20))
    for _ in range(3):
        made.arrive(text, 0.0)
        assert not made.full
    made.arrive(text, 0.0)
    assert made.full
    assert made.take(5.0) == 4 * text
    assert not made.full
