"""The memory that a child shares with its supervisor."""

from __future__ import annotations

import math
import os

import pytest

from fleet.processes.heartbeat import WORDS_BYTES_MAX, Heartbeat, shared_heartbeats


def test_what_a_child_writes_reaches_its_parent_and_outlives_it() -> None:
    mine, other = shared_heartbeats(2)

    if (pid := os.fork()) == 0:
        try:
            mine.beat(12.5, 19.25)
            mine.say("the end")
        finally:
            os._exit(0)
    os.waitpid(pid, 0)

    assert (mine.last, mine.deadline, mine.words) == (12.5, 19.25, "the end")
    assert (other.last, other.words) == (0.0, "")


@pytest.mark.parametrize(
    ("beat", "deadline", "frozen"),
    [
        (90.0, 95.0, True),
        (90.0, 105.0, False),  # it may still act
        (99.5, 95.0, False),  # it moves: its own business
        (0.0, 95.0, False),  # it has not begun to beat
        (90.0, math.inf, False),  # nobody is to expect a beat
        (90.0, -math.inf, False),  # no member: it harms nobody yet
        (80.0, -math.inf, True),  # but nobody else would ever start it again
    ],
)
def test_frozen_is_a_stale_heartbeat_past_the_deadline(beat: float, deadline: float, frozen: bool) -> None:
    (heartbeat,) = shared_heartbeats(1)
    heartbeat.beat(beat, deadline)

    assert heartbeat.frozen(100.0, stale_seconds=1.0) is frozen


def test_words_that_are_too_long_are_cut_without_breaking_a_character() -> None:
    heartbeat, after = shared_heartbeats(2)

    heartbeat.say("ü" * SLOT_OVERFLOW)

    assert heartbeat.words == "ü" * (WORDS_BYTES_MAX // 2)
    assert after.words == ""


def test_clearing_forgets_beat_deadline_and_words() -> None:
    (heartbeat,) = shared_heartbeats(1)
    heartbeat.beat(1.0, 2.0)
    heartbeat.say("old")

    heartbeat.clear()

    assert (heartbeat.last, heartbeat.deadline, heartbeat.words) == (0.0, math.inf, "")


def test_a_slot_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(ValueError, match="1024 bytes"):
        Heartbeat(memoryview(bytearray(8)))


SLOT_OVERFLOW = 5000
