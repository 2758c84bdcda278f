"""What the benchmark of stale views prints and writes, and when it fails."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from benchmarks.staleness.gate_cost import Cost, Turn
from benchmarks.staleness.quantities import Found, delay_name, rows
from benchmarks.staleness.report import BEGIN, END, write
from benchmarks.staleness.stale_key import Watched
from benchmarks.staleness.watch_delay import Effects

FRESH = Watched(200.0, 1000, 60, 0, 0, 0, 0)
TURNS = [Turn(101.0, 100.0, 99.0), Turn(102.0, 100.0, 99.0), Turn(90.0, 100.0, 99.0)]
GOOD = Found(
    fresh=FRESH,
    stale=msgspec.structs.replace(FRESH, wait_p99_ms=202.0, stale_reads=15, most_reads_an_interval=1),
    ungated=msgspec.structs.replace(FRESH, on_old_view=7),
    late={
        0.0: (Effects(9, 0, 0, 0, 90, 0), Effects(9, 0, 0, 0, 90, 0)),
        60.0: (Effects(9, 0, 0, 0, 30, 60), Effects(9, 0, 40, 41, 90, 0)),
    },
    cost=Cost(TURNS, TURNS, 0),
)


def missed(found: Found) -> list[str]:
    return [row.quantity for row in rows(found) if not row.ok]


def test_what_should_be_is_no_failure() -> None:
    assert missed(GOOD) == []


@pytest.mark.parametrize(
    ("change", "quantity"),
    [
        ({"wait_p99_ms": 211.0}, "the same, ratio"),
        ({"most_reads_an_interval": 2}, "stale key, most live reads in one probe interval"),
        ({"on_old_view": 1}, "stale key, reconciles on the old view"),
        ({"stale_runs": 0}, "stale key, reconciles"),
        ({"other_reads": 1}, "live reads for other keys"),
    ],
)
def test_what_the_stale_key_costs_is_judged(change: dict[str, float], quantity: str) -> None:
    stale = msgspec.structs.replace(GOOD.stale, **change)
    assert missed(msgspec.structs.replace(GOOD, stale=stale)) == [quantity]


def test_a_measurement_that_finds_nothing_without_the_gate_proves_nothing() -> None:
    nothing = Effects(9, 0, 0, 0, 90, 0)
    found = msgspec.structs.replace(GOOD, ungated=FRESH, late={**GOOD.late, 60.0: (GOOD.late[60.0][0], nothing)})
    assert missed(found) == [
        "stale key, the same without the gate",
        "watch delay: 60 s, duplicate creates without the gate",
        "watch delay: 60 s, duplicate calls outside without the gate",
    ]


def test_a_live_read_without_a_delay_is_a_miss() -> None:
    read = msgspec.structs.replace(GOOD.late[0.0][0], live_reads=1)
    found = msgspec.structs.replace(GOOD, late={**GOOD.late, 0.0: (read, GOOD.late[0.0][1])})
    assert missed(found) == ["watch delay: no delay, live reads a reconcile"]


def test_the_ratio_of_cpu_is_the_median_of_the_turns_own() -> None:
    [ratio] = [row for row in rows(GOOD) if row.quantity == "reconcile with a write, on / off"]
    assert ratio.value == 1.01
    dear = msgspec.structs.replace(GOOD, cost=Cost([Turn(104.0, 100.0, 99.0)] * 3, TURNS, 0))
    assert missed(dear) == ["reconcile with a write, on / off"]


@pytest.mark.parametrize(("seconds", "name"), [(0.0, "no delay"), (0.05, "50 ms"), (1.0, "1 s"), (60.0, "60 s")])
def test_delays_are_named_as_people_say_them(seconds: float, name: str) -> None:
    assert delay_name(seconds) == name


def test_the_document_gets_all_delays_in_one_table(tmp_path: Path) -> None:
    document = tmp_path / "benchmarks.md"
    document.write_text(f"Before.\n{BEGIN}\nold\n{END}\nAfter.\n")
    write(document, GOOD, "Measured today.")
    text = document.read_text()
    assert text.startswith(f"Before.\n{BEGIN}\nMeasured today.\n")
    assert text.endswith(f"{END}\nAfter.\n")
    assert "| 60 s | 0, 0 | 40, 41 | 30 | 60 | 2 |" in text
    assert "| live reads for other keys | 0 reads | <= 0 |" in text
    assert "watch delay: " not in text
