"""`fleet freeze` and `fleet unfreeze`: nothing of a fleet is moved by choice."""

from __future__ import annotations

from pathlib import Path

import click

from fleet.commands.options import CONTEXT, FLEET, NAMESPACE, RUNNING


@click.command(short_help="Stop all moves of shards that are not needed.")
@RUNNING
@CONTEXT
@FLEET
@NAMESPACE
@click.option("--why", default="", help="For those who ask `fleet status`.")
def freeze(kubeconfig: Path | None, context: str | None, fleet_name: str, namespace: str, why: str) -> None:
    """Stop all moves of shards that are not needed, and resharding, until `fleet unfreeze`.

    Shards of members that are gone or leaving still get other owners.
    """
    from fleet.look import at_fleet
    from fleet.orders import change_controls, coordination_of, order
    from fleet.records.object_names import Names
    from shards.transport.kube import KubeTransport

    given = order(why)

    async def act(transport: KubeTransport, names: Names) -> str:
        coordination = coordination_of(transport, names, "freeze")
        before, _ = await change_controls(coordination, lambda found: found if found.frozen else found.freeze(given))
        if before.frozen is not None:
            return f"{names.fleet} is frozen already, {before.frozen}"
        return (
            f"{names.fleet} is frozen: only shards whose owner is gone or leaves move now; end it with fleet unfreeze"
        )

    click.echo(at_fleet(kubeconfig, context, fleet_name, namespace, act))


@click.command(short_help="End what `fleet freeze` began.")
@RUNNING
@CONTEXT
@FLEET
@NAMESPACE
def unfreeze(kubeconfig: Path | None, context: str | None, fleet_name: str, namespace: str) -> None:
    """End what `fleet freeze` began: shards move again, within the churn budget."""
    from fleet.look import at_fleet
    from fleet.orders import change_controls, coordination_of
    from fleet.records.controls import Controls
    from fleet.records.object_names import Names
    from shards.transport.kube import KubeTransport

    async def act(transport: KubeTransport, names: Names) -> str:
        before, _ = await change_controls(coordination_of(transport, names, "unfreeze"), Controls.unfreeze)
        if before.frozen is None:
            return f"{names.fleet} was not frozen"
        return f"{names.fleet} is frozen no more; it was {before.frozen}"

    click.echo(at_fleet(kubeconfig, context, fleet_name, namespace, act))
