"""What was done and for how long."""

from __future__ import annotations

from chaos.reports.bands import bands_of
from chaos.reports.places import where
from chaos.reports.story import Band
from chaos.running.journal import Harm
from fleet.devcluster.evidence.verdict import Verdict
from fleet.devcluster.recording.journal import Entry
from tests.unit.chaos.reports.recorded import ZERO, fault, journal, killed, ran

REFUSAL = '{"fault":"refuse","status":503,"match":{"verbs":["list"]}}'


def bands(*entries: Entry, **more: object) -> list[Band]:
    return list(bands_of(journal(Verdict(), **{"run": [], **more}), entries, zero=ZERO, ended=10.0))


def test_an_action_lasts_from_its_start_to_its_end() -> None:
    (band,) = bands(run=[ran("kill a worker", 2.0, 0.5, output={"worker": "a-0", "ranges": 3})])
    assert (band.label, round(band.began, 3), round(band.ended, 3)) == ("kill a worker", 2.0, 2.5)
    assert band.detail == "worker a-0, ranges 3"


def test_what_a_rollback_did_says_so_and_what_failed_is_marked() -> None:
    (band,) = bands(rollbacks=[ran("heal", 9.0, exception="Oh: no", status="failed")])
    assert (band.label, band.detail, band.failed) == ("undo: heal", "Oh: no", True)


def test_a_fault_lasts_until_it_was_ended_and_says_whom_it_struck_and_how_often() -> None:
    (band,) = bands(*fault(REFUSAL, 1.0, 4.0, strikes=3))
    assert (band.label, band.began, band.ended) == ("refuse 503", 1.0, 4.0)
    assert band.detail == "strikes verbs list; struck 3 times"


def test_a_fault_that_nobody_ended_lasts_to_the_end() -> None:
    (band,) = bands(*fault(REFUSAL, 1.0, None))
    assert band.ended == 10.0


def test_a_fault_begins_and_ends_when_its_own_words_say_so() -> None:
    (band,) = bands(*fault('{"fault":"silence","from_seconds":2,"until_seconds":3}', 1.0, 8.0))
    assert (band.began, band.ended) == (3.0, 4.0)


def test_a_fault_in_words_that_are_no_document_is_shown_as_it_is() -> None:
    (band,) = bands(*fault("a hole in the ground", 1.0, 2.0))
    assert band.label == "a hole in the ground"


def test_a_kill_is_a_moment_and_a_pause_lasts() -> None:
    halt = Harm(kind="paused", pod="b", child="agent", at=ZERO + 3.0, until=ZERO + 5.0)
    kill, pause = bands(harms=[killed(2.0), halt])
    assert (kill.label, kill.began, kill.ended) == ("a-0 killed", 2.0, 2.0)
    assert (pause.label, pause.began, pause.ended) == ("agent of b paused", 3.0, 5.0)


def test_the_strikes_of_one_action_are_bands_of_their_own() -> None:
    strikes = [
        {"what": "Lease stolen", "at": ZERO + 3.0, "until": None},
        {"what": "x", "at": ZERO + 4, "until": ZERO + 6},
    ]
    storm, first, second = bands(run=[ran("storm", 2.0, 8.0, output={"seed": 7, "strikes": strikes})])
    assert storm.detail == "seed 7"
    assert (first.label, first.began, first.ended) == ("Lease stolen", 3.0, 3.0)
    assert (second.began, second.ended) == (4.0, 6.0)


def test_a_place_is_told_by_what_was_done_before_it_and_what_was_wrong_then() -> None:
    found = bands(*fault(REFUSAL, 1.0, 4.0), run=[ran("kill a worker", 2.0)])
    assert where(3.2, found) == "1.20 s after “kill a worker” began, while refuse 503 lasted"
    assert where(4.5, found) == "2.50 s after “kill a worker” began, 500 ms after refuse 503 was over"
    assert where(2.05, found) == "during “kill a worker”, while refuse 503 lasted"
    assert where(0.5, found) == ""
