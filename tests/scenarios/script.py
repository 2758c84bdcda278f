"""The commands of a transcript, carried out on a fleet of real workers and coordinators in virtual time.

See README.md in this directory for what each means.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from chaos.simulation.happenings import Acted, Changed, Happening, Opened, Read, Stepped, Struck, Written
from chaos.simulation.oracles.jury import Jury
from chaos.simulation.plan import Shape
from chaos.simulation.protocol.fleet import ProtocolFleet
from chaos.simulation.sentences import is_routine, sentence_of
from chaos.simulation.strikes import AnyStrike, BrownOut, Delete, Edit, Partition, Pause, Reshard, SilentWatch, Steal
from fleet.records.record import MemberRecord
from tests.scenarios import tables

UNTOLD = (Read, Changed, Acted, Stepped)
"""Happenings that a trace leaves out: what leads to them, or follows from them, is told."""
WAIT_SECONDS = 60.0
ALWAYS = 1_000.0
"""For strikes whose end is another command."""

_COMMANDS: list[tuple[re.Pattern[str], Callable[..., str | None]]] = []

NAME = r"(?:worker |agent )?(?P<name>[a-z]+(?:-\d+)?)"
SECONDS = r"(?P<seconds>\d+(?:\.\d+)?) ?s"


def command(pattern: str) -> Callable[[Callable[..., str | None]], Callable[..., str | None]]:
    """Of a method that gets the named groups as text, and returns what the command says; None for nothing."""

    def note(method: Callable[..., str | None]) -> Callable[..., str | None]:
        _COMMANDS.append((re.compile(pattern), method))
        return method

    return note


class CommandError(Exception):
    """A command that is none, or cannot be carried out. What it says would be right."""


class Script:
    """One transcript. close: at its end."""

    def __init__(self) -> None:
        self._fleet: ProtocolFleet | None = None
        self._jury: Jury | None = None
        self._told: list[tuple[float, str]] = []
        self._since = 0.0
        self._judged = 0

    def close(self) -> None:
        if self._fleet is not None:
            self._fleet.close()

    def carry_out(self, commands: tuple[str, ...]) -> str:
        """What they say, one below the other."""
        return "\n".join(said for each in commands if (said := self._one(each)))

    def _one(self, text: str) -> str:
        for pattern, method in _COMMANDS:
            if match := pattern.fullmatch(text):
                said = method(self, **{name: value for name, value in match.groupdict().items() if value is not None})
                return "\n".join([*([said] if said else []), *self._broken()])
        known = ", ".join(sorted(pattern.pattern for pattern, _ in _COMMANDS))
        raise CommandError(f"{text!r} is no command; known are: {known}")

    def _broken(self) -> list[str]:
        """What the oracles found since they were asked last."""
        found = self._jury.breaches[self._judged :] if self._jury is not None else []
        self._judged += len(found)
        return [f"BROKEN: {each.oracle} at {each.at:.1f} s: {each.what}" for each in found]

    @property
    def fleet(self) -> ProtocolFleet:
        if self._fleet is None:
            raise CommandError("there is no fleet yet: begin with `fleet of N ranges`")
        return self._fleet

    # -- what is heard -----------------------------------------------------------------------------------------------

    def _hear(self, happening: Happening) -> None:
        if not (isinstance(happening, UNTOLD) or is_routine(happening) or _only_follows(happening)):
            self._told.append((happening.at, _told(happening)))
        assert self._jury is not None, "it is made with the fleet"
        self._jury.hear(happening)

    def _strike(self, strike: AnyStrike, over: bool = False) -> None:
        """Tells the jury, which excuses what follows from it."""
        assert self._jury is not None, "it is made with the fleet"
        self._jury.hear(Struck(self.fleet.now, strike, over))

    # -- the fleet ---------------------------------------------------------------------------------------------------

    @command(rf"fleet of (?P<ranges>\d+) ranges?(?:, leases of {SECONDS})?(?:, seed (?P<seed>\d+))?")
    def _fleet_of(self, ranges: str, seconds: str = "8", seed: str = "0") -> None:
        if self._fleet is not None:
            raise CommandError("there is a fleet already: a transcript has one")
        shape = Shape(workers=0, agents=0, shards=int(ranges), replicas=1, objects=4, lease_seconds=float(seconds))
        self._fleet = ProtocolFleet(shape, int(seed), hear=self._hear)
        self._jury = Jury(self._fleet.store, lease_seconds=shape.lease_seconds)
        self._fleet.populate()

    @command(rf"start {NAME}")
    def _start(self, name: str) -> None:
        self.fleet.start(name)

    @command(rf"restart {NAME}")
    def _restart(self, name: str) -> None:
        self.fleet.start(name, reaped=True)

    @command(rf"kill {NAME}")
    def _kill(self, name: str) -> None:
        self._alive(name)
        self.fleet.crash(name, lambda: None, after_write=False)

    @command(rf"stop {NAME}")
    def _leave(self, name: str) -> None:
        self._alive(name)
        self.fleet.leave(name, lambda: None)

    @command(rf"pause {NAME}")
    def _pause(self, name: str) -> None:
        self._alive(name)
        self._strike(Pause(at=self.fleet.now, process=name, seconds=ALWAYS))
        self.fleet.pause(name)

    @command(rf"resume {NAME}")
    def _resume(self, name: str) -> None:
        self._alive(name)
        self._strike(Pause(at=self.fleet.now, process=name, seconds=ALWAYS), over=True)
        self.fleet.resume(name)

    def _alive(self, name: str) -> None:
        if name not in self.fleet.nodes:
            raise CommandError(f"{name} does not run; there are {', '.join(sorted(self.fleet.nodes)) or 'none'}")

    # -- the server --------------------------------------------------------------------------------------------------

    @command(rf"cut {NAME} off")
    def _cut(self, name: str) -> None:
        self._strike(Partition(at=self.fleet.now, process=name, way="both", seconds=ALWAYS))
        self.fleet.wire(name, to_server=False, to_client=False, latency_seconds=0.0)

    @command(rf"connect {NAME}")
    def _connect(self, name: str) -> None:
        self._strike(Partition(at=self.fleet.now, process=name, way="both", seconds=ALWAYS), over=True)
        self.fleet.wire(name, to_server=True, to_client=True, latency_seconds=0.0)

    @command(rf"watches of {NAME} say nothing")
    def _silence(self, name: str) -> None:
        self._strike(SilentWatch(at=self.fleet.now, process=name, seconds=ALWAYS))
        self.fleet.silence(name, True)

    @command("the server answers nobody")
    def _brown_out(self) -> None:
        self._strike(BrownOut(at=self.fleet.now, seconds=ALWAYS))
        self.fleet.brown_out(True)

    @command("the server answers again")
    def _back(self) -> None:
        self._strike(BrownOut(at=self.fleet.now, seconds=ALWAYS), over=True)
        self.fleet.brown_out(False)

    @command(r"shards: (?P<count>\d+)")
    def _reshard(self, count: str) -> None:
        self._strike(Reshard(at=self.fleet.now, shards=int(count)))
        self.fleet.reshard(int(count))

    @command(r"delete (?P<record>member|shard|coordinator) Lease (?P<index>\d+)")
    def _delete(self, record: Any, index: str) -> None:
        self._strike(Delete(at=self.fleet.now, record=record, index=int(index) - 1))
        self.fleet.delete(record, int(index) - 1)

    @command("delete the map")
    def _delete_map(self) -> None:
        self._strike(Delete(at=self.fleet.now, record="map"))
        self.fleet.delete("map", 0)

    @command(r"empty (?P<record>shard) Lease (?P<index>\d+)")
    def _empty(self, record: Any, index: str) -> None:
        self._strike(Steal(at=self.fleet.now, record=record, index=int(index) - 1, holder=""))
        self.fleet.steal(record, int(index) - 1, "")

    @command(r"edit the map: (?P<how>rollback|mangle)")
    def _edit_map(self, how: Any) -> None:
        self._strike(Edit(at=self.fleet.now, record="map", how=how))
        self.fleet.edit("map", 0, how)

    # -- time --------------------------------------------------------------------------------------------------------

    @command(rf"pass {SECONDS}")
    def _pass(self, seconds: str) -> None:
        self.fleet.advance(float(seconds))

    @command(rf"wait until (?P<what>.+?)(?: within {SECONDS})?")
    def _wait(self, what: str, seconds: str = str(WAIT_SECONDS)) -> str:
        question, began = self._question(what), self.fleet.now
        if self.fleet.advance_until(question, float(seconds)):
            return f"after {self.fleet.now - began:.1f} s"
        return f"NOT within {float(seconds):g} s"

    def _question(self, what: str) -> Callable[[], bool]:
        for pattern, ask in _QUESTIONS:
            if match := re.fullmatch(pattern, what):
                return lambda: ask(self.fleet, **match.groupdict())
        raise CommandError(f"{what!r} is nothing to wait for; known are: {', '.join(known for known, _ in _QUESTIONS)}")

    # -- what is so --------------------------------------------------------------------------------------------------

    @command("show (?P<what>owners|map|leases|members|office)")
    def _show(self, what: str) -> str:
        shown: dict[str, Callable[[ProtocolFleet], str]] = {
            "owners": tables.owners,
            "map": tables.the_map,
            "leases": tables.leases,
            "members": tables.members,
            "office": tables.office,
        }
        return shown[what](self.fleet)

    @command("trace")
    def _trace(self) -> str:
        """What happened since it was asked last, with the seconds since then: one step that takes longer moves no line
        of what comes later."""
        lines = [f"{at - self._since:5.1f} s  {sentence}" for at, sentence in self._told]
        self._forget()
        return "\n".join(lines) or "nothing"

    @command("forget")
    def _forget(self) -> None:
        """What happened so far is not traced."""
        self._told = []
        self._since = self.fleet.now


def _told(happening: Happening) -> str:
    """A sentence without figures that every change of anything would change."""
    if isinstance(happening, Opened):
        return f"{happening.process} acts on {happening.range.short} at epoch {happening.epoch}"
    return sentence_of(happening)


def _only_follows(happening: Happening) -> bool:
    """A member that repeats a newer map, and nothing else."""
    if not isinstance(happening, Written):
        return False
    before, after = happening.before, happening.after
    if not (isinstance(before, MemberRecord) and isinstance(after, MemberRecord)):
        return False
    return (before.holder, before.epoch, before.leaving) == (after.holder, after.epoch, after.leaving)


# -- what can be waited for --------------------------------------------------------------------------------------------


def _all_owned(fleet: ProtocolFleet) -> bool:
    found = tables.map_of(fleet)
    return found is not None and {each for each, _, _ in fleet.acting()} == set(found.ranges)


def _owns(fleet: ProtocolFleet, name: str, count: str) -> bool:
    mine = [each for each, process, _ in fleet.acting() if process.partition("/")[0] == name]
    return len(mine) == (0 if count == "nothing" else int(count))


def _ranges(fleet: ProtocolFleet, count: str) -> bool:
    found = tables.map_of(fleet)
    return found is not None and len(found.ranges) == int(count) and not found.retiring


def _gone(fleet: ProtocolFleet, name: str) -> bool:
    return name not in fleet.nodes


def _in_office(fleet: ProtocolFleet, name: str) -> bool:
    found = tables.office_of(fleet)
    return found is not None and f"pod-{name}-" in found.holder


def _fenced(fleet: ProtocolFleet, name: str) -> bool:
    return any(each.name == name and each.holder is None for each in tables.members_of(fleet))


_QUESTIONS: tuple[tuple[str, Callable[..., bool]], ...] = (
    ("all ranges are owned", _all_owned),
    (rf"{NAME} owns (?P<count>nothing|\d+)", _owns),
    (r"the map has (?P<count>\d+) ranges", _ranges),
    (rf"{NAME} has gone", _gone),
    (rf"{NAME} is in office", _in_office),
    (rf"{NAME} is fenced", _fenced),
)
