"""A process of a campaign: plays the histories that it is sent for, one after the other, and tells each at once."""

from __future__ import annotations

import contextlib
import logging
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from multiprocessing.connection import Connection

import msgspec

from chaos.simulation.campaign.errand import Errand, Played
from chaos.simulation.collector import Sweeper
from chaos.simulation.outcome import Outcome
from chaos.simulation.plan import Plan

Play = Callable[[Plan], Outcome]
LONGEST_ERROR = 2000
"""Characters of a traceback, from its end."""


def serve(connection: Connection) -> None:
    """The main function of the process. Ends when the other side of the connection has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the parent ends us in its own order
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    logging.disable()  # what simulated processes log is no finding, and costs a tenth of the time
    decoder, encoder = msgspec.msgpack.Decoder(Errand), msgspec.msgpack.Encoder()
    sweeper = Sweeper()
    with sweeper.sweeping(), contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            errand = decoder.decode(connection.recv_bytes())
            play(errand, lambda played: connection.send_bytes(encoder.encode(played)), sweeper)


def play(errand: Errand, tell: Callable[[Played], None], sweeper: Sweeper) -> None:
    """Plays them all, without the rule that the errand names."""
    from chaos.simulation.depths import run

    with without(errand.broken_rule):
        for seed in range(errand.first_seed, errand.first_seed + errand.seeds):
            tell(_played(seed, errand, run))
            sweeper.history_over()


def without(rule: str) -> AbstractContextManager[object]:
    """The product without a rule; "" leaves it as it is."""
    if not rule:
        return contextlib.nullcontext()
    from chaos.simulation.removals import REMOVALS

    return REMOVALS[rule].remove()


def _played(seed: int, errand: Errand, run: Play) -> Played:
    before = time.process_time()
    outcome, error = None, ""
    try:
        outcome = run(errand.plan if errand.plan is not None else drawn(seed, errand))
    except Exception:  # whatever the simulation, or the product in it, did not expect: it is a finding, with its seed
        error = traceback.format_exc()[-LONGEST_ERROR:]
    return Played(seed=seed, outcome=outcome, error=error, cpu_seconds=time.process_time() - before)


def drawn(seed: int, errand: Errand) -> Plan:
    from chaos.simulation.swarm import draw

    return draw(seed, errand.depth)
