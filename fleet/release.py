"""Lets quarantined keys run again, for the command that people give."""

from __future__ import annotations

from fleet.backends.quarantine_document import change_quarantine
from fleet.orders import OrderFailed, coordination_of
from fleet.records.coordination import CoordinationUnavailable
from fleet.records.object_names import Names
from fleet.records.quarantine import Quarantine
from shards.api.client import Transport
from shards.errors import ConfigError
from shards.queue.suspects import Suspect


async def release_keys(transport: Transport, names: Names, key: str, controller: str) -> str:
    """What was done, as a sentence. key: namespace/name, or the name of an object that is in no namespace; "" for all
    keys. controller: "" for all of them. Raises ConfigError for a key that is not quarantined, and OrderFailed."""

    def chosen(quarantine: Quarantine) -> list[Suspect]:
        return [
            entry.suspect
            for entry in quarantine.entries.values()
            if entry.quarantined and key in ("", str(entry.key)) and controller in ("", entry.controller)
        ]

    def let_go(quarantine: Quarantine) -> Quarantine:
        for suspect in chosen(quarantine):
            quarantine = quarantine.tried_again(suspect)
        return quarantine

    try:
        before, _ = await change_quarantine(coordination_of(transport, names, "quarantine"), let_go, Quarantine())
    except CoordinationUnavailable as error:
        sure = "it is not known whether a key was released" if error.maybe_applied else "no key was released"
        raise OrderFailed(f"{sure}: {error}") from error
    released = chosen(before)
    if not released:
        return _nothing(names, before, key, controller)
    told = ", ".join(sorted(f"{of} {each}" for of, each in released))
    many = len(released) > 1
    run, have = ("run", "have") if many else ("runs", "has")
    again = f"one more death puts {'each of them' if many else 'it'} back"
    return f"{told} {run} again, alone, and {have} one death left: {again}"


def _nothing(names: Names, found: Quarantine, key: str, controller: str) -> str:
    there = sorted(f"{entry.controller} {entry.key}" for entry in found.entries.values() if entry.quarantined)
    if not key and not there:
        return f"no key of {names.fleet} is quarantined"
    of = f" of {controller}" if controller else ""
    what = f"{key}{of} is not quarantined" if key else f"no key{of} is quarantined"
    raise ConfigError("", f"{what}; those that are: {', '.join(there) or 'none'}")
