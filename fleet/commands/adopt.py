"""`fleet adopt`: children that were made before get their slot label."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fleet.commands.options import CONTEXT, FILE, KUBECONFIG, OUTPUT, print_json


@click.command(short_help="Give children that were made before their slot label.")
@click.option("--config", "config_file", type=FILE, required=True, help="The fleet's config file.")
@KUBECONFIG
@CONTEXT
@click.option("--yes", "write", is_flag=True, help="Write. Without it nothing is, and it says how many would be.")
@click.option(
    "--rate", type=click.FloatRange(0.01, 1000.0), default=10.0, show_default=True, help="Writes per second at most."
)
@OUTPUT
def adopt(
    config_file: Path, kubeconfig: Path | None, context: str | None, write: bool, rate: float, output: str
) -> int:
    """Give the children of this fleet's primaries their slot label, once, where it is missing or another owner's.

    Children that the fleet makes carry it from the start. It is what the API server filters children by
    (docs/filter-ladder.md). Without --yes it only counts. It may be stopped at any time and run again, beside a running
    fleet too: each write names the state in which the child was seen, and children of others are left alone.

    Exit code 0 when none is left, 1 when some are.
    """
    from fleet.adoption import adopt as carry_out
    from fleet.adoption import sentences
    from fleet.configuration.config_file import load_config
    from fleet.configuration.controllers import load_controllers
    from shards.filtering.adoption import Count

    config = load_config(config_file)
    path = "controller" if config.controller else "controllers"
    loaded = load_controllers(config.references, base=Path.cwd(), path=path)
    progress = sys.stderr.isatty()

    def told(count: Count) -> None:
        if progress:
            click.echo(f"\r{count.resource}: {count.adopted}", err=True, nl=False)

    counts = carry_out(
        config,
        [each.controller for each in loaded],
        kubeconfig=kubeconfig,
        context=context,
        rate=rate,
        write=write,
        told=told,
    )
    if progress and write:
        click.echo("", err=True)
    if output == "json":
        print_json(
            [
                {
                    "resource": str(each.resource),
                    "children": each.children,
                    "missing": each.missing,
                    "wrong": each.wrong,
                    "adopted": each.adopted,
                    "left": each.left,
                }
                for each in counts
            ]
        )
    else:
        for line in sentences(counts, written=write, rate=rate):
            click.echo(line)
    return 1 if any(each.left for each in counts) else 0
