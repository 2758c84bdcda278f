"""`fleet status`: members, shards and their owners."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fleet.commands.options import CONTEXT, FLEET, NAMESPACE, OUTPUT, RUNNING, print_json

_STUCK = ("failingKeys", "failing", "waitingKeys", "waiting", "quarantine", "quarantineTrouble")


@click.command(short_help="Show members, shards and their owners.")
@RUNNING
@CONTEXT
@FLEET
@NAMESPACE
@OUTPUT
@click.option(
    "--failing",
    is_flag=True,
    help="Show instead the keys that keep failing, wait for long or end workers, since when, and why.",
)
def status(
    kubeconfig: Path | None, context: str | None, fleet_name: str, namespace: str, output: str, failing: bool
) -> None:
    """Show members, shards, owners, epochs, unowned ranges, queue depths and keys that fail or wait."""
    from fleet.look import look
    from fleet.status.statusview import fleet_status

    found = fleet_status(look(kubeconfig, context, fleet_name, namespace))
    if output == "json":
        import msgspec

        shown = msgspec.to_builtins(found)
        if failing:
            shown = {name: shown[name] for name in _STUCK}
        print_json(shown)
    else:
        from fleet.status.status_table import write

        write(found, sys.stdout, failing=failing)
