from __future__ import annotations

import os
import signal

import pytest

from chaos.running.interrupts import signals_as_ctrl_c


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_a_command_undoes_what_it_began(signum: signal.Signals) -> None:
    before = signal.signal(signum, signal.SIG_DFL)  # whoever runs the tests may have been started with nohup
    try:
        with pytest.raises(KeyboardInterrupt), signals_as_ctrl_c():
            os.kill(os.getpid(), signum)
        assert signal.getsignal(signum) == signal.SIG_DFL
    finally:
        signal.signal(signum, before)


def test_what_was_started_with_nohup_outlives_its_terminal() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_as_ctrl_c():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
