"""A fleet from outside, for commands: where it is, and what its members' records say."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import click

from fleet import __version__
from fleet.pod.preflight import PreflightFailed, explained
from fleet.processes import rundir
from fleet.records.coordination import CoordinationUnavailable
from fleet.records.object_names import Names
from fleet.status.status_reader import FleetNotFound, StatusReader, find_fleet
from fleet.status.statusview import Sight
from shards.api.client import Client
from shards.errors import ConfigError
from shards.transport.kube import KubeTransport, connect

T = TypeVar("T")
Find = Callable[[Client, str, str], Awaitable[Names]]
"""Which fleet is meant: a client, the namespace, and the name, "" for the only one there."""


async def named_or_found(client: Client, namespace: str, wanted: str) -> Names:
    """A fleet that is named need not have a map any more."""
    return Names(wanted, namespace) if wanted else await find_fleet(client, namespace, wanted)


def look(kubeconfig: Path | None, context: str | None, fleet_name: str, namespace: str) -> Sight:
    """What the members' records say. Without kubeconfig and context: of this user's running `fleet dev`, if any."""
    return at_fleet(kubeconfig, context, fleet_name, namespace, _sight)


def at_fleet(
    kubeconfig: Path | None,
    context: str | None,
    fleet_name: str,
    namespace: str,
    act: Callable[[KubeTransport, Names], Awaitable[T]],
    *,
    find: Find = find_fleet,
) -> T:
    """Does that with one fleet and a connection to its server; for every command that asks or changes one.

    Without kubeconfig and context: this user's running `fleet dev`, if any. fleet_name: "" for the only one of the
    namespace. find: which fleet that is. Raises FleetNotFound and ConfigError, and PreflightFailed for what a server
    refuses.
    """
    dev = None if kubeconfig or context else _running_dev()
    if dev is not None:
        kubeconfig, fleet_name, namespace = Path(dev.kubeconfig), fleet_name or dev.fleet, namespace or dev.namespace
    try:
        file = str(kubeconfig) if kubeconfig else None
        return asyncio.run(_connected(file, context, fleet_name, namespace, act, find))
    except ConfigError as error:
        if kubeconfig or context or error.path != "kubeconfig":
            raise
        raise ConfigError("", f"no `fleet dev` of this user is running; {error}") from error
    except FleetNotFound as error:
        if dev is None:
            raise
        raise FleetNotFound(f"{error}; asked was the running `fleet dev`, --kubeconfig asks another server") from error


def _running_dev() -> rundir.DevState | None:
    running = rundir.running_devs()
    if len(running) > 1:
        newest, other = running[:2]
        click.echo(
            f"fleet: {len(running)} fleet dev are running; showing the newest, pid {newest.pid};"
            f" the one before it: --kubeconfig {other.kubeconfig}",
            err=True,
        )
    return running[0] if running else None


async def _connected(
    kubeconfig: str | None,
    context: str | None,
    fleet: str,
    namespace: str,
    act: Callable[[KubeTransport, Names], Awaitable[T]],
    find: Find,
) -> T:
    transport = await connect(kubeconfig=kubeconfig, context=context)
    try:
        with explained(transport.host), _told(transport.host):
            names = await find(_client(transport), namespace or transport.namespace, fleet)
            return await act(transport, names)
    finally:
        await transport.close()


@contextmanager
def _told(host: str) -> Iterator[None]:
    """Raises PreflightFailed for what the fleet's records on that server could not be asked, or not be changed to."""
    try:
        yield
    except CoordinationUnavailable as error:
        sure = "it is not known whether that was done" if error.maybe_applied else "nothing was changed"
        raise PreflightFailed(f"{host}: {error}; {sure}") from error


async def _sight(transport: KubeTransport, names: Names) -> Sight:
    return await StatusReader(_client(transport), names, today=time.time).sight(patient=True)


def _client(transport: KubeTransport) -> Client:
    return Client(transport, user_agent=f"fleet-status/{__version__}", timeout_seconds=10.0)
