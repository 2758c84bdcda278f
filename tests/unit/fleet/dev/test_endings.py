from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from fleet.dev import endings

ALL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """What a terminal gives a command, whoever started the tests: nohup, for one, ignores SIGHUP."""
    usual: tuple[Any, ...] = (signal.default_int_handler, signal.SIG_DFL, signal.SIG_DFL)
    before = [signal.signal(signum, handler) for signum, handler in zip(ALL, usual, strict=True)]
    yield
    after = [signal.signal(signum, handler) for signum, handler in zip(ALL, before, strict=True)]
    assert tuple(after) == usual


@pytest.mark.parametrize("signum", ALL)
def test_each_signal_interrupts(signum: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt), endings.interrupt():
        signal.raise_signal(signum)


@pytest.mark.parametrize("signum", ALL)
def test_while_everything_is_taken_down_they_do_nothing(signum: signal.Signals) -> None:
    with endings.interrupt():
        endings.ignore()
        signal.raise_signal(signum)
        assert signal.getsignal(signum) is signal.SIG_IGN


def test_a_hangup_that_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with endings.interrupt():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_comes_while_they_are_held_comes_later() -> None:
    with endings.interrupt():
        mask = endings.hold()
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            endings.release(mask)
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & set(ALL)


@pytest.mark.parametrize("signum", ALL)
def test_in_an_event_loop_each_signal_sets_the_event(signum: signal.Signals) -> None:
    async def main(stop: asyncio.Event) -> str:
        signal.raise_signal(signum)
        await stop.wait()
        return "stopped"

    with endings.interrupt():
        assert endings.run(main) == "stopped"


def test_what_comes_before_the_loop_runs_sets_the_event() -> None:
    async def main(stop: asyncio.Event) -> str:
        endings.release(set())
        await stop.wait()
        return "stopped"

    with endings.interrupt():
        mask = endings.hold()
        signal.raise_signal(signal.SIGTERM)
        assert endings.run(main) == "stopped"
        endings.release(mask)


@pytest.mark.parametrize("signum", ALL)
def test_after_the_loop_each_signal_interrupts_again(signum: signal.Signals) -> None:
    async def main(_: asyncio.Event) -> None:
        await asyncio.sleep(0)

    with endings.interrupt():
        endings.run(main)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signum)
