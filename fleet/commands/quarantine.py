"""`fleet quarantine`: keys that are not reconciled any more, because they ended workers."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fleet.commands.options import CONTEXT, FLEET, NAMESPACE, OUTPUT, RUNNING, print_json


@click.group(short_help="Keys that are not reconciled because they ended workers.")
def quarantine() -> None:
    """Keys that are not reconciled any more, because workers died three times while they were in flight."""


@quarantine.command("list", short_help="Show them, and those that are suspected.")
@RUNNING
@CONTEXT
@FLEET
@NAMESPACE
@OUTPUT
def list_keys(kubeconfig: Path | None, context: str | None, fleet_name: str, namespace: str, output: str) -> None:
    """Show keys that are quarantined, and suspects: deaths, how the last worker ended, and its last words."""
    from fleet.look import look
    from fleet.status.statusview import fleet_status

    found = fleet_status(look(kubeconfig, context, fleet_name, namespace))
    if found.quarantine_trouble:
        click.echo(f"fleet: the quarantine cannot be read: {found.quarantine_trouble}", err=True)
    if output == "json":
        print_json(found.quarantine)
    elif not found.quarantine:
        click.echo(f"no key of {found.fleet} is quarantined, and none is suspected")
    else:
        from fleet.status.status_table import write_quarantine

        write_quarantine(found.quarantine, sys.stdout)


@quarantine.command(short_help="Let a key run again.")
@click.argument("key", metavar="KEY", default="")
@click.option("--all", "all_keys", is_flag=True, help="All keys that are quarantined.")
@click.option("--controller", default="", help="Only keys of this controller.")
@RUNNING
@CONTEXT
@FLEET
@NAMESPACE
def release(
    key: str,
    all_keys: bool,
    controller: str,
    kubeconfig: Path | None,
    context: str | None,
    fleet_name: str,
    namespace: str,
) -> None:
    """Let a key run again: NAMESPACE/NAME, or NAME of an object that is in no namespace.

    It runs at once, with nothing else in flight on its worker, and has one death left. A run that ends clears it.
    """
    from fleet.look import at_fleet
    from fleet.records.object_names import Names
    from fleet.release import release_keys
    from shards.transport.kube import KubeTransport

    if bool(key) == all_keys:
        raise click.UsageError("give one key, such as default/site-3, or --all")

    async def act(transport: KubeTransport, names: Names) -> str:
        return await release_keys(transport, names, key, controller)

    click.echo(at_fleet(kubeconfig, context, fleet_name, namespace, act))
