"""One request of a simulated process, from when it was sent to its end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any

from chaos.simulation.process import Process
from shards.errors import Unreachable

Done = Callable[[Any, Exception | None], None]
"""Takes the answer, or what went wrong."""


class Request:
    """One request under way, sent by a process. give_up_at: by the sender's clock.

    history: of the server, when it was sent; one that is restored has other connections. direct: `done` only wakes a
    task of the sender, and may be called by anybody. over: its sender has its answer, or waits for none. gone: its
    sender has closed the connection, and nothing of it is sent again. late: it arrives after its sender has
    seen a broken connection or closed it, or the server has held it back.
    """

    __slots__ = (
        "act",
        "author",
        "context",
        "direct",
        "done",
        "give_up_at",
        "gone",
        "history",
        "late",
        "over",
        "sent_at",
        "timer",
        "write",
    )

    def __init__(
        self,
        act: Callable[[], Any],
        done: Done,
        author: Process,
        *,
        write: bool,
        direct: bool,
        sent_at: float,
        history: int,
        seconds: float,
    ) -> None:
        self.act = act
        self.done = done
        self.author = author
        self.write = write
        self.direct = direct
        self.sent_at = sent_at
        self.history = history
        self.give_up_at = author.clock() + seconds
        self.context: Context = copy_context()
        self.timer: asyncio.TimerHandle | None = None
        self.over = self.gone = self.late = False

    def end(self, answer: Any, error: Exception | None) -> None:
        if not self.over:
            self.abandon()
            self.done(answer, error)

    def end_late(self, answer: Any, error: Exception | None, rng: random.Random) -> None:
        """In a sender that could not take it when it came: its time may have run out, and that may be seen first."""
        if not self.over and self.author.clock() >= self.give_up_at and rng.random() < 0.5:
            self.run_out()
        else:
            self.end(answer, error)

    def run_out(self) -> None:
        """The sender has waited long enough, and closes the connection."""
        self.gone = True
        self.end(None, Unreachable("no answer came in time", maybe_applied=self.write))

    def give_up(self) -> None:
        """Its sender wants no answer any more, and closes the connection."""
        self.gone = True
        self.abandon()

    def abandon(self) -> None:
        """Nobody waits for it any more. What is on its way may arrive."""
        self.over = True
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
