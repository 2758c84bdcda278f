"""One look at a fleet from outside, for commands that show what its members' records say."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import click

from fleet import __version__
from fleet.pod.preflight import explained
from fleet.processes import rundir
from fleet.status.status_reader import FleetNotFound, StatusReader, find_fleet
from fleet.status.statusview import Sight
from shards.api.client import Client
from shards.errors import ConfigError
from shards.transport.kube import connect


def look(kubeconfig: Path | None, context: str | None, fleet_name: str, namespace: str) -> Sight:
    """What the members' records say. Without kubeconfig and context: of this user's running `fleet dev`, if any."""
    dev = None if kubeconfig or context else _running_dev()
    if dev is not None:
        kubeconfig, fleet_name, namespace = Path(dev.kubeconfig), fleet_name or dev.fleet, namespace or dev.namespace
    try:
        return asyncio.run(read_sight(str(kubeconfig) if kubeconfig else None, context, fleet_name, namespace))
    except ConfigError as error:
        if kubeconfig or context:
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


async def read_sight(kubeconfig: str | None, context: str | None, fleet: str, namespace: str) -> Sight:
    transport = await connect(kubeconfig=kubeconfig, context=context)
    try:
        with explained(transport.host):
            client = Client(transport, user_agent=f"fleet-status/{__version__}", timeout_seconds=10.0)
            names = await find_fleet(client, namespace or transport.namespace, fleet)
            return await StatusReader(client, names, today=time.time).sight(patient=True)
    finally:
        await transport.close()
