"""Processes that do with a seed what it says: played by the last digit, without any simulation."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from chaos.simulation.campaign.errand import Errand, Played
from chaos.simulation.outcome import Breach, Outcome


def played(seed: int) -> Played:
    """Seeds that end in 7 break I1; all settle within as many seconds as their last digit says."""
    breaches = (Breach("I1", 1.5, f"both act on {seed}"),) if seed % 10 == 7 else ()
    settled = None if breaches else float(seed % 10)
    outcome = Outcome(
        seed=seed, breaches=breaches, seconds=10.0, settled_seconds=settled, checks={"I1": 2}, hits={"crash": 1}
    )
    return Played(seed=seed, outcome=outcome, cpu_seconds=0.01)


def _serve(connection: Connection, play: Callable[[int], Played]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    decoder = msgspec.msgpack.Decoder(Errand)
    with contextlib.suppress(EOFError, OSError):
        while True:
            errand = decoder.decode(connection.recv_bytes())
            for seed in range(errand.first_seed, errand.first_seed + errand.seeds):
                connection.send_bytes(msgspec.msgpack.encode(play(seed)))


def honest(connection: Connection) -> None:
    _serve(connection, played)


def dies_of_13(connection: Connection) -> None:
    """As an interpreter that crashes in one history, whoever plays it."""

    def play(seed: int) -> Played:
        if seed == 13:
            os.kill(os.getpid(), signal.SIGKILL)
        return played(seed)

    _serve(connection, play)


def dies_once(connection: Connection) -> None:
    """As a process that the kernel kills for memory: the history has no part in it. The mark is left in the working
    directory."""

    def play(seed: int) -> Played:
        if seed == 13 and not Path("died").exists():
            Path("died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return played(seed)

    _serve(connection, play)


def hangs_in_13(connection: Connection) -> None:
    def play(seed: int) -> Played:
        while seed == 13:
            time.sleep(0.05)
        return played(seed)

    _serve(connection, play)


def never_starts(connection: Connection) -> None:
    raise SystemExit(3)


def by_hash(connection: Connection) -> None:
    """A simulation that hangs on the order of hashes: it breaks something else in each process."""

    def play(seed: int) -> Played:
        breach = Breach("I1", float(os.getpid()), "both act")
        return Played(seed=seed, outcome=Outcome(seed=seed, breaches=(breach,)))

    _serve(connection, play)
