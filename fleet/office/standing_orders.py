"""What people ordered, as a coordinator follows it: the `controls` document, from version to version."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from fleet.records.controls import Controls, ControlsUnreadable, Order, controls_text, parse_controls
from fleet.records.coordination import CasConflict, Coordination, CoordinationUnavailable
from fleet.records.record import Document, MemberRecord
from shards.errors import ConfigError

log = logging.getLogger(__name__)

GONE_SECONDS = 60.0
"""A drained name that no member has had for so long stands for somebody who is gone for good: its order ends. Longer
than a member whose record was deleted by hand takes to join again."""

UNREADABLE = Order(why="the controls cannot be read; nobody knows whether the fleet is frozen")


class StandingOrders:
    """`controls` are those of the last document that could be read. One that cannot be read changes nothing; who has
    never read one moves nothing by choice until it can. trouble: what is wrong with the present one; "" where it is
    read."""

    def __init__(self) -> None:
        self.controls = Controls()
        self.trouble = ""
        self._known = False
        self._version: str | None = None
        self._missing: dict[str, float] = {}

    def follow(self, document: Document | None) -> Controls:
        """document: as the view shows it; None where there is none, which orders nothing."""
        version = document.version if document is not None else ""
        if version == self._version:
            return self.controls
        self._version = version
        try:
            read = parse_controls(document.text) if document is not None else Controls()
        except ControlsUnreadable as error:
            self.trouble = str(error)
            log.error("the controls of the fleet cannot be read, and change nothing: %s", error)
            if not self._known:
                self.controls = Controls(frozen=UNREADABLE)
            return self.controls
        if self._known and told(read) != told(self.controls):
            log.info("ordered: %s", told(read))
        self.controls, self.trouble, self._known = read, "", True
        return read

    def restored(self) -> None:
        """The store went back: the version that was read last may be that of another document now."""
        self._version = None

    def over(self, members: Iterable[MemberRecord], now: float) -> tuple[str, ...]:
        """Drained names that nobody has had for long. now: boot-clock reading."""
        there = _names(members) if self.controls.drained else set()
        self._missing = {name: self._missing.get(name, now) for name in self.controls.drained if name not in there}
        if self.trouble:
            return ()  # a document that cannot be read cannot be changed either
        return tuple(sorted(name for name, since in self._missing.items() if now - since > GONE_SECONDS))

    async def end(
        self, coordination: Coordination, document: Document, names: Iterable[str], *, not_after: float
    ) -> None:
        """Ends these orders, if a live list proves that nobody has the names. document: what was followed last.

        What fails, and what a live list contradicts, is tried again a while later: nothing waits for it.
        """
        self._missing.clear()
        try:
            await self._end(coordination, document, names, not_after)
        except (CasConflict, CoordinationUnavailable, ConfigError) as error:
            log.info("orders for members that are gone were not ended: %s", error)

    async def _end(
        self, coordination: Coordination, document: Document, names: Iterable[str], not_after: float
    ) -> None:
        there = _names(await coordination.list_members())
        over = [name for name in names if name not in there]
        if over:
            text = controls_text(self.controls.undrain(*over))
            await coordination.write_document(document._replace(text=text), not_after=not_after)
            log.info("no member is called %s any more: the order to drain it has ended", ", ".join(over))


def told(controls: Controls) -> str:
    """For the log: what is ordered."""
    frozen = [] if controls.frozen is None else [f"frozen {controls.frozen}"]
    drained = [f"{name} drained {order}" for name, order in controls.drained.items()]
    unknown = [f"not known to this version: {name}" for name in controls.other]
    return "; ".join([*frozen, *drained, *unknown]) or "nothing"


def _names(members: Iterable[MemberRecord]) -> set[str]:
    """Members and pods."""
    return {name for record in members for name in (record.name, record.pod)}
