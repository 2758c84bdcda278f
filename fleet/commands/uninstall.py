"""`fleet uninstall`: removes what a fleet keeps on the server."""

from __future__ import annotations

from pathlib import Path

import click

from fleet.commands.options import CONTEXT, FLEET, NAMESPACE, RUNNING


@click.command(short_help="Remove what a fleet keeps on the server.")
@RUNNING
@CONTEXT
@FLEET
@NAMESPACE
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--force", is_flag=True, help="Also while members live: says who, and waits 30 seconds.")
def uninstall(
    kubeconfig: Path | None, context: str | None, fleet_name: str, namespace: str, yes: bool, force: bool
) -> None:
    """Remove the Leases, the map, the orders, the quarantine and the Events of a fleet, found by its label.

    Only when no member lives. Its config is left alone, and so are the objects that it looked after, their labels and
    finalizers.
    """
    import time

    from fleet import __version__
    from fleet.look import at_fleet, named_or_found
    from fleet.records.object_names import Names
    from fleet.removal import check_nobody_lives, counted, kept, left, remove
    from shards.api.client import Client
    from shards.transport.kube import KubeTransport

    async def act(transport: KubeTransport, names: Names) -> None:
        client = Client(transport, user_agent=f"fleet-uninstall/{__version__}", timeout_seconds=10.0)
        found = await kept(client, names)
        if not found:
            click.echo(f"{names.fleet} keeps nothing in namespace {names.namespace}")
            return
        kinds: dict[str, int] = {}
        for each in found:
            kinds[each.kind] = kinds.get(each.kind, 0) + 1
        click.echo(f"{names.fleet} in namespace {names.namespace} keeps {counted(kinds)}")
        await check_nobody_lives(client, names, force=force, today=time.time, tell=click.echo)
        if not yes:
            click.confirm("Remove all of it?", abort=True)
            await check_nobody_lives(client, names, force=force, today=time.time, tell=click.echo)
        click.echo(f"removed {counted(await remove(client, names, await kept(client, names)))}")
        click.echo(left(names))

    at_fleet(kubeconfig, context, fleet_name, namespace, act, find=named_or_found)
