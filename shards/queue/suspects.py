"""Keys that were in flight when a worker died: which of them may run now, and which not at all.

Several keys are in flight when a process dies, and nobody knows which of them did it. So each of them is a suspect
until a run of it ends, and the suspects of a worker run one after the other, beside keys that nobody suspects. Before a
death that would be its last, a key runs with nothing else in flight: what dies then has one cause. Only a key that is
to blame comes to DEATHS that way, and it is not run any more.

All keys of a worker wait for a run that is alone. That is bounded (LONGEST_ALONE_SECONDS), and rare: each such run
follows two deaths of the process, which have cost the other keys more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from shards.objects import Key
from shards.queue.slots import Slots

DEATHS = 3
"""Of a worker while the same key was in flight, without a run of it that ended in between."""

EMPTYING_SECONDS = 5.0
"""How long a run that is to be alone waits for those that run already. What has not ended by then has run as long
without harm."""

LONGEST_ALONE_SECONDS = 10.0
"""After that, others begin beside a run that is alone: most of what kills a process kills it at once."""

LONGEST_TURN_SECONDS = 120.0
"""After that, other suspects begin beside one that runs: a plain function that hangs in its thread never ends."""

Suspect = tuple[str, Key]
"""Controller and key."""

Again = Callable[[Key], None]


class Suspects:
    """Of one worker, over all its shards and controllers. Lives on one event loop.

    deaths: by suspect, as the fleet counts them; replaced by `follow`, and never changed in between but by `ended`.
    quarantined, waiting: what to call when the key may be tried again.
    survived: told of each suspect whose run has ended.
    """

    def __init__(self, slots: Slots) -> None:
        self.deaths: dict[Suspect, int] = {}
        self.quarantined: dict[Suspect, Again] = {}
        self.survived: Callable[[Suspect], None] = lambda _: None
        self._slots = slots
        self._waiting: dict[Suspect, Again] = {}
        self._running: dict[Suspect, asyncio.TimerHandle] = {}
        """Those that run, with what ends their turn."""
        self._turn: Suspect | None = None
        """The one of them beside which no other begins."""
        self._opens: asyncio.TimerHandle | None = None

    # -- who runs ----------------------------------------------------------------------------------------------------

    def is_quarantined(self, controller: str, key: Key, again: Again) -> bool:
        """Whether the key is not to run. again: called when that has changed."""
        suspect = (controller, key)
        if self.deaths.get(suspect, 0) < DEATHS:
            return False
        self.quarantined[suspect] = again
        return True

    def must_wait(self, controller: str, key: Key, again: Again) -> bool:
        """Whether another suspect runs; `again` is called then when it has ended. Else this is the one that does."""
        suspect = (controller, key)
        if suspect not in self.deaths:
            return False
        if self._turn is not None:
            self._waiting[suspect] = again
            return True
        self._turn = suspect
        loop = asyncio.get_running_loop()
        self._running[suspect] = loop.call_later(LONGEST_TURN_SECONDS, self._turn_is_over, suspect)
        return False

    @property
    def running(self) -> bool:
        """Whether any of them runs."""
        return bool(self._running)

    def runs_alone(self, controller: str, key: Key) -> bool:
        return bool(self.deaths) and self.deaths.get((controller, key), 0) == DEATHS - 1

    async def alone(self) -> None:
        """Returns when the key that may run, and holds a slot, runs alone. Call `ended` on every way out."""
        await self._slots.alone(EMPTYING_SECONDS)
        self._opens = asyncio.get_running_loop().call_later(LONGEST_ALONE_SECONDS, self._slots.open_again)

    def ended(self, controller: str, key: Key, *, survived: bool) -> None:
        """The key does not run any more, or not yet. survived: its run has come to an end of its own."""
        suspect = (controller, key)
        timer = self._running.pop(suspect, None)
        if timer is None:
            return
        timer.cancel()
        if survived and self.deaths.pop(suspect, None) is not None:
            self.survived(suspect)
        self._turn_is_over(suspect)

    def _turn_is_over(self, suspect: Suspect) -> None:
        if self._turn == suspect:
            self._turn = None
            if self._opens is not None:
                self._opens.cancel()
                self._opens = None
            self._slots.open_again()
            self._wake_waiting()

    def forget(self, again: Again) -> None:
        """Nobody is there any more to try those keys again."""
        for known in (self.quarantined, self._waiting):
            for suspect in [suspect for suspect, each in known.items() if each == again]:
                del known[suspect]

    # -- what the fleet knows ----------------------------------------------------------------------------------------

    def follow(self, deaths: Mapping[Suspect, int]) -> None:
        """Keys that may run now, and could not before, are tried again."""
        self.deaths = dict(deaths)
        freed = [suspect for suspect in self.quarantined if self.deaths.get(suspect, 0) < DEATHS]
        for suspect in freed:
            self.quarantined.pop(suspect)(suspect[1])
        if self._turn is None:
            self._wake_waiting()

    def _wake_waiting(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for suspect, again in waiting.items():
            again(suspect[1])
