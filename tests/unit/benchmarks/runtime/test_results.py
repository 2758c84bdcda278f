"""Medians over rounds of what the harness wrote down."""

from __future__ import annotations

from benchmarks.runtime.results import Result, Results, field, read


def line(peer: str, round_: int, value: float, **more: object) -> Result:
    return {"phase": "sync", "peer": peer, "round": round_, "value": value, **more}


VALUE = field("value")


def test_lines_are_read() -> None:
    assert read([b'{"phase": "sync", "value": 1.5}\n', b"\n"]) == [{"phase": "sync", "value": 1.5}]


def test_the_middle_of_the_rounds_counts() -> None:
    results = Results([line("a", 0, 1.0), line("a", 1, 9.0), line("a", 2, 2.0)])

    assert results.middle("a", VALUE, phase="sync") == 2.0
    assert results.middle("b", VALUE) is None


def test_a_ratio_is_taken_within_each_round() -> None:
    """The second round met a busy machine: the ratio of the medians would say 0.2."""
    results = Results([line("a", 0, 1.0), line("b", 0, 2.0), line("a", 1, 3.0), line("b", 1, 6.0), line("b", 2, 90.0)])

    assert results.ratio("a", "b", VALUE) == 0.5


def test_a_difference_is_taken_within_each_round() -> None:
    results = Results([line("a", 0, 9.0), line("b", 0, 8.0), line("a", 1, 31.0), line("b", 1, 30.0)])

    assert results.difference("a", "b", VALUE) == 1.0


def test_lines_are_chosen_by_their_fields() -> None:
    results = Results([line("a", 0, 1.0, n=10), line("a", 0, 2.0, n=20)])

    assert results.by_round("a", VALUE, n=20) == {0: 2.0}


def test_a_failed_measurement_is_kept_apart() -> None:
    failed: Result = {"phase": "sync", "peer": "a", "round": 0, "error": "no synced within 600 s"}
    results = Results([failed, line("a", 1, 4.0)])

    assert results.middle("a", VALUE) == 4.0
    assert results.failures == [failed]
