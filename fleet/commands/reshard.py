"""`fleet reshard`: another number of shards, another partition key, single cuts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleet.commands.exit_codes import EXIT_INTERRUPTED
from fleet.commands.options import CONTEXT, FLEET, NAMESPACE, OUTPUT, RUNNING

if TYPE_CHECKING:
    from fleet.resharding import Wishes


@click.command(short_help="Change the number of shards of a running fleet.")
@click.option("--count", type=click.IntRange(1, 4096), help="So many shards: shards.count in the fleet's ConfigMap.")
@click.option(
    "--partition-by",
    type=click.Choice(["uid", "namespace", "name"]),
    help="Another key: shards.partitionBy there. Every shard is replaced.",
)
@click.option(
    "--split", "splits", multiple=True, metavar="RANGE[@HASH]", help="One shard in two; default: in the middle."
)
@click.option("--merge", "merges", multiple=True, metavar="RANGE,RANGE", help="Two neighbours into one.")
@click.option("--dry-run", is_flag=True, help="Only say what would change, in one sentence per range.")
@click.option("--no-wait", is_flag=True, help="Do not wait until it is done.")
@click.option("--timeout", type=click.FloatRange(min=1), help="Seconds to wait at most. Default: for ever.")
@RUNNING
@CONTEXT
@FLEET
@NAMESPACE
@OUTPUT
def reshard(
    count: int | None,
    partition_by: str | None,
    splits: tuple[str, ...],
    merges: tuple[str, ...],
    dry_run: bool,
    no_wait: bool,
    timeout: float | None,
    kubeconfig: Path | None,
    context: str | None,
    fleet_name: str,
    namespace: str,
    output: str,
) -> int:
    """Change how a running fleet divides its objects, and wait until every shard has its owner.

    RANGE is a shard as `fleet status` shows it. Shards that stay are not touched. Ctrl-C ends the waiting, not the
    reshard: the coordinator carries it through, whatever becomes of this command. -o json prints one line per change.
    """
    import msgspec

    from fleet.look import at_fleet
    from fleet.orders import coordination_of
    from fleet.records.object_names import Names
    from fleet.resharding import Resharder
    from fleet.status.reshard_view import ReshardView
    from shards.transport.kube import KubeTransport

    wishes = _wishes(count, partition_by, splits, merges)
    asked = False

    async def act(transport: KubeTransport, names: Names) -> None:
        nonlocal asked
        resharder = Resharder(coordination_of(transport, names, "reshard"))
        if dry_run:
            lines = await resharder.dry_run(wishes)
            if output == "json":
                lines = [msgspec.json.encode({"phase": "dry-run", "what": line}).decode() for line in lines]
            click.echo("\n".join(lines))
            return
        with ReshardView(as_json=output == "json") as view:
            goal, sentence = await resharder.ask(wishes)
            asked = True
            view.asked(sentence)
            if not no_wait:
                await resharder.follow(goal, view.show, view.impatient, timeout_seconds=timeout)

    try:
        at_fleet(kubeconfig, context, fleet_name, namespace, act)
    except KeyboardInterrupt:
        if asked:
            click.echo("fleet: the reshard goes on without this command; fleet status shows how far it is", err=True)
        return EXIT_INTERRUPTED
    return 0


def _wishes(count: int | None, partition_by: str | None, splits: Sequence[str], merges: Sequence[str]) -> Wishes:
    """Raises ConfigError for a command line that asks for nothing, or for two things at once."""
    from fleet.resharding import Wishes
    from shards.errors import ConfigError
    from shards.keyrange import PartitionKey

    config, cuts = count is not None or partition_by is not None, bool(splits or merges)
    if config == cuts:
        raise ConfigError(
            "",
            "say what to change: --count N, --partition-by KEY, or both"
            + ("; single shards are cut afterwards" if cuts else "; or --split RANGE, --merge RANGE,RANGE"),
        )
    pairs = []
    for text in merges:
        first, comma, second = text.partition(",")
        if not (first and comma and second) or "," in second:
            raise ConfigError("--merge", f"{text!r} is no pair; write two neighbours, such as 0000-0fff,1000-1fff")
        pairs.append((first.strip(), second.strip()))
    divided = []
    for text in splits:
        name, sign, at = text.partition("@")
        divided.append((name.strip(), at.strip() if sign else None))
    key = PartitionKey(partition_by) if partition_by is not None else None
    return Wishes(count, key, tuple(divided), tuple(pairs))
