"""`fleet plan`: what the coordinator would move next, and why."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleet.commands.options import CONTEXT, FILE, FLEET, NAMESPACE, OUTPUT, RUNNING, print_json

if TYPE_CHECKING:
    from fleet.configuration.config import FleetConfig
    from fleet.records.object_names import Names
    from fleet.status.plan_view import PlanView
    from shards.transport.kube import KubeTransport


@click.command(short_help="Say which shards would move next, and why.")
@RUNNING
@CONTEXT
@FLEET
@NAMESPACE
@click.option(
    "--config", "config_file", type=FILE, help="Plan with this config instead of the one that the fleet follows."
)
@OUTPUT
def plan(
    kubeconfig: Path | None,
    context: str | None,
    fleet_name: str,
    namespace: str,
    config_file: Path | None,
    output: str,
) -> None:
    """Say which shards would move or be cut next and why, in one sentence each, without doing it.

    From what members report now.
    """
    from fleet.configuration.config_file import load_config
    from fleet.look import at_fleet

    given = load_config(config_file) if config_file is not None else None

    async def act(transport: KubeTransport, names: Names) -> PlanView:
        return await _view(transport, names, given)

    found = at_fleet(kubeconfig, context, fleet_name, namespace, act)
    if output == "json":
        print_json(found)
    else:
        from fleet.status.plan_table import write

        write(found, sys.stdout)


async def _view(transport: KubeTransport, names: Names, given: FleetConfig | None) -> PlanView:
    """By the config that is given, else the one in the fleet's ConfigMap, else the defaults."""
    import time

    from fleet import __version__
    from fleet.configuration.config_file import parse_config
    from fleet.orders import coordination_of
    from fleet.records.record import DocumentName
    from fleet.rules.plan_settings import PlanSettings
    from fleet.status.plan_view import plan_view
    from fleet.status.status_reader import StatusReader
    from shards.api.client import Client
    from shards.errors import ConfigError

    client = Client(transport, user_agent=f"fleet-plan/{__version__}", timeout_seconds=10.0)
    sight = await StatusReader(client, names, today=time.time).sight(patient=True)
    if given is not None:
        return plan_view(sight, given.plan_settings())
    try:
        document = await coordination_of(transport, names, "plan").read_document(DocumentName.CONFIG)
        if document is not None:
            return plan_view(sight, parse_config(document.text).plan_settings())
        note = "no ConfigMap holds the fleet's config: planned with the defaults; --config plans with another"
    except ConfigError as error:
        note = f"the config in the fleet's ConfigMap is refused ({error}): planned with the defaults"
    return plan_view(sight, PlanSettings(), (note,))
