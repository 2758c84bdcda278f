"""Exit codes."""

from __future__ import annotations

import signal

from fleet.processes.exitcodes import describe, exit_code_of


def test_death_by_a_signal_becomes_128_plus_its_number() -> None:
    assert exit_code_of(-signal.SIGKILL) == 137
    assert exit_code_of(3) == 3


def test_a_status_is_described_in_words() -> None:
    assert describe(-signal.SIGSEGV) == "SIGSEGV"
    assert describe(79) == "exit code 79"
    assert describe(-200) == "signal 200"
