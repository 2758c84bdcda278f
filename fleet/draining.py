"""Draining a member or a pod from outside: the order, and waiting until it owns nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from fleet import __version__
from fleet.orders import change_controls, coordination_of, order
from fleet.records.object_names import Names
from fleet.status.status_reader import StatusReader
from fleet.status.status_rows import FleetStatus, MemberRow, MemberState
from shards.api.client import Client, Transport
from shards.errors import ConfigError

LOOK_SECONDS = 1.0


Today = Callable[[], float]
"""Seconds since 1970."""


async def drain_member(transport: Transport, names: Names, name: str, why: str, *, today: Today = time.time) -> str:
    """What was done, as a sentence. name: of a member or a pod. Raises ConfigError for one that nobody has."""
    found = await _status(transport, names, today)
    rows = _named(found, name)
    if not rows:
        raise ConfigError("", _unknown(found, name))
    given = order(why)
    before, after = await change_controls(
        coordination_of(transport, names, "drain"),
        lambda controls: controls if name in controls.drained else controls.drain(name, given),
    )
    if name in before.drained:
        return f"{name} is drained already, {before.drained[name]}"
    owned = sum(row.shards for row in rows)
    shards = "1 shard" if owned == 1 else f"{owned} shards"
    moves = f"its {shards} {'moves' if owned == 1 else 'move'} to others" if owned else "it has no shards"
    told = f"{name} is drained: {moves}, and it gets none until fleet undrain {name}"
    if after.frozen is not None:
        return f"{name} is drained, but the fleet is frozen ({after.frozen}): it keeps its {shards} until then"
    drained = {name for row in found.members for name in (row.name, row.pod) if name in after.drained}
    if not any(row.state is MemberState.ALIVE and not {row.name, row.pod} & drained for row in found.members):
        return f"{name} is drained, but nobody else could take over: it keeps its {shards} until somebody can"
    if found.coordinator is None:
        return f"{told}; no coordinator is in office: nothing moves before there is one"
    return told


async def undrain_member(transport: Transport, names: Names, name: str, *, today: Today = time.time) -> str:
    """The same for the end of it."""
    before, _ = await change_controls(
        coordination_of(transport, names, "undrain"), lambda controls: controls.undrain(name)
    )
    if name in before.drained:
        return f"{name} is drained no more; it was {before.drained[name]}"
    found = await _status(transport, names, today)
    if not _named(found, name):
        raise ConfigError("", _unknown(found, name))
    whole = [each for each in before.drained if any(each == row.pod for row in _named(found, name))]
    if whole:
        raise ConfigError("", f"{name} is drained as a part of pod {whole[0]}: fleet undrain {whole[0]}")
    return f"{name} was not drained"


async def emptied(
    transport: Transport,
    names: Names,
    name: str,
    *,
    timeout_seconds: float,
    tell: Callable[[str], None],
    today: Today = time.time,
) -> bool:
    """Waits until the members of that name own nothing. False where that takes too long. tell: hears of each step."""
    deadline, left = time.monotonic() + timeout_seconds, -1
    while True:
        found = await _status(transport, names, today)
        owned = sum(row.shards for row in _named(found, name))
        if owned == 0:
            tell(f"{name} owns nothing any more")
            return True
        if owned != left:
            left = owned
            tell(f"{name} still owns {owned} of {len(found.shards)} shards")
        if time.monotonic() > deadline:
            tell(f"{name} still owns {owned} shards after {timeout_seconds:g} s; `fleet status` says where each stands")
            return False
        await asyncio.sleep(LOOK_SECONDS)


async def _status(transport: Transport, names: Names, today: Today) -> FleetStatus:
    client = Client(transport, user_agent=f"fleet-drain/{__version__}", timeout_seconds=10.0)
    return await StatusReader(client, names, today=today).read()


def _named(found: FleetStatus, name: str) -> list[MemberRow]:
    return [row for row in found.members if name in (row.name, row.pod)]


def _unknown(found: FleetStatus, name: str) -> str:
    members = ", ".join(row.name for row in found.members) or "none"
    pods = ", ".join(sorted({row.pod for row in found.members if row.pod})) or "none"
    return f"no member or pod of {found.fleet} is called {name!r}; members are {members}; pods are {pods}"
