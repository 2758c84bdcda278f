"""`fleet drain` and `fleet undrain`: a member gives its shards away, and gets none."""

from __future__ import annotations

from pathlib import Path

import click

from fleet.commands.exit_codes import EXIT_RUN_TIME
from fleet.commands.options import CONTEXT, FLEET, NAMESPACE, RUNNING


@click.command(short_help="Move all shards away from a member or a pod.")
@click.argument("name", metavar="MEMBER|POD")
@RUNNING
@CONTEXT
@FLEET
@NAMESPACE
@click.option("--why", default="", help="For those who ask `fleet status`.")
@click.option("--wait", is_flag=True, help="End when it owns nothing any more; exit code 1 where that takes too long.")
@click.option("--timeout", type=click.FloatRange(min=1), default=300.0, show_default=True, help="Seconds, for --wait.")
def drain(
    name: str,
    kubeconfig: Path | None,
    context: str | None,
    fleet_name: str,
    namespace: str,
    why: str,
    wait: bool,
    timeout: float,
) -> int:
    """Move all shards away from a member, or from all members of a pod, as planned moves; it gets no others.

    It stays a member, so that nothing else changes, until `fleet undrain`. The order ends by itself when the member is
    gone for good.
    """
    from fleet.draining import drain_member, emptied
    from fleet.look import at_fleet
    from fleet.records.object_names import Names
    from shards.transport.kube import KubeTransport

    async def act(transport: KubeTransport, names: Names) -> bool:
        click.echo(await drain_member(transport, names, name, why))
        return not wait or await emptied(transport, names, name, timeout_seconds=timeout, tell=click.echo)

    return 0 if at_fleet(kubeconfig, context, fleet_name, namespace, act) else EXIT_RUN_TIME


@click.command(short_help="End what `fleet drain` began.")
@click.argument("name", metavar="MEMBER|POD")
@RUNNING
@CONTEXT
@FLEET
@NAMESPACE
def undrain(name: str, kubeconfig: Path | None, context: str | None, fleet_name: str, namespace: str) -> None:
    """End what `fleet drain` began: the member gets shards again, within the churn budget."""
    from fleet.draining import undrain_member
    from fleet.look import at_fleet
    from fleet.records.object_names import Names
    from shards.transport.kube import KubeTransport

    async def act(transport: KubeTransport, names: Names) -> str:
        return await undrain_member(transport, names, name)

    click.echo(at_fleet(kubeconfig, context, fleet_name, namespace, act))
