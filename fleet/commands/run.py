"""`fleet run`: one pod's worth of a fleet."""

from __future__ import annotations

from pathlib import Path

import click

from fleet.commands.options import CONTEXT, FILE, JOURNAL, KUBECONFIG


@click.command(short_help="Run one pod's worth of a fleet.")
@click.option("--config", "config_file", type=FILE, required=True, help="The config file; see docs/configuration.md.")
@KUBECONFIG
@CONTEXT
@click.option(
    "--run-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Private directory in which the processes meet. Default: a fresh one.",
)
@JOURNAL
@click.option(
    "--label", "labels", multiple=True, metavar="NAME=VALUE", help="Of these workers, for canary.memberLabels."
)
def run(
    config_file: Path,
    kubeconfig: Path | None,
    context: str | None,
    run_dir: Path | None,
    journal: Path | None,
    labels: tuple[str, ...],
) -> int:
    """Run one pod's worth of a fleet on any cluster, until SIGTERM or Ctrl-C."""
    from fleet.configuration.config_file import load_config
    from fleet.configuration.controllers import load_controllers
    from fleet.pod import pod

    config = load_config(config_file)
    path = "controller" if config.controller else "controllers"
    loaded = load_controllers(config.references, base=Path.cwd(), path=path)
    plan = pod.prepare(
        config,
        [each.controller for each in loaded],
        kubeconfig=str(kubeconfig) if kubeconfig else None,
        context=context,
        run_dir=run_dir,
        journal_dir=journal,
        config_file=config_file,
        labels=labels,
    )
    return pod.exit_code(pod.run(plan))
