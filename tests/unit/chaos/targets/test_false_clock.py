from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from chaos.targets.false_clock import FalseClock, ScaledSelector, Steps, command_with


class Kernel:
    """Its clocks began at different times, and run alike."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, clock: int) -> float:
        return self.seconds + {time.CLOCK_REALTIME: 1_000_000.0, time.CLOCK_BOOTTIME: 500.0}.get(clock, 400.0)


@pytest.fixture
def steps(tmp_path: Path) -> Steps:
    return Steps(tmp_path / "clock")


def test_all_clocks_run_at_the_rate_from_where_they_were(steps: Steps) -> None:
    kernel = Kernel()
    clock = FalseClock(2.0, steps, kernel)
    kernel.seconds = 10.0
    shown = [clock.read(each) for each in (time.CLOCK_REALTIME, time.CLOCK_BOOTTIME, time.CLOCK_MONOTONIC)]
    assert shown == [1_000_020.0, 520.0, 420.0]
    assert clock.read(time.CLOCK_PROCESS_CPUTIME_ID) == kernel(time.CLOCK_PROCESS_CPUTIME_ID)


def test_the_time_of_day_is_set_without_the_others(steps: Steps) -> None:
    clock = FalseClock(1.0, steps, Kernel())
    steps.add(wall=3600.0)
    steps.add(wall=-7200.0)
    assert (clock.read(time.CLOCK_REALTIME), clock.read(time.CLOCK_BOOTTIME)) == (996_400.0, 500.0)


def test_a_machine_that_slept_shows_it_on_the_boot_clock_only(steps: Steps) -> None:
    clock = FalseClock(1.0, steps, Kernel())
    steps.add(boot=6.0)
    assert (clock.read(time.CLOCK_BOOTTIME), clock.read(time.CLOCK_MONOTONIC)) == (506.0, 400.0)


def test_steps_are_seen_by_whoever_has_the_file(steps: Steps, tmp_path: Path) -> None:
    Steps(tmp_path / "clock").add(boot=1.5)
    assert (steps.boot, steps.wall) == (1.5, 0.0)


@pytest.mark.parametrize("rate", [0.5, 1.0, 2.0])
def test_every_reading_leads_back_to_its_true_time(steps: Steps, rate: float) -> None:
    kernel = Kernel()
    clock = FalseClock(rate, steps, kernel)
    readings = []
    for second in range(10):
        kernel.seconds = float(second)
        if second in (3, 7):
            steps.add(boot=6.0)
        readings.append(clock.read(time.CLOCK_BOOTTIME))
    assert [clock.true_boot(each) for each in readings] == pytest.approx([500.0 + second for second in range(10)])


def test_an_event_loop_waits_by_its_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float | None] = []

    def select(self: object, timeout: float | None) -> list[object]:
        waited.append(timeout)
        return []

    monkeypatch.setattr("selectors.EpollSelector.select", select)
    with ScaledSelector(2.0) as selector:
        selector.select(1.0)
        selector.select(None)
    assert waited == [0.5, None]


@pytest.mark.parametrize(
    "command",
    [(sys.executable, "-c", "CODE"), (sys.executable, "-m", "timeit", "-n1", "-r1", "-s", "CODE")],
    ids=["code", "module"],
)
def test_the_command_of_a_pod_runs_with_that_clock(command: tuple[str, ...], tmp_path: Path) -> None:
    """As it would without: it may be code or a module."""
    code = "import time; now = time.clock_gettime(time.CLOCK_BOOTTIME); print(now > 10**8)"
    Steps(tmp_path / "clock").add(boot=1e9)
    whole = command_with(1.0, tmp_path / "clock", [code if each == "CODE" else each for each in command])
    done = subprocess.run(whole, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "True"
