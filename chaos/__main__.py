"""`python -m chaos list` and `python -m chaos run NAME`.

Exit codes: 0 when the steady state held before and after; 1 when it did not, or nothing could be shown; 2 for what is
wrong in the command line or the experiment; 130 for Ctrl-C or SIGTERM, after the rollbacks.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from chaos.dev import DevTarget
from chaos.experiment import load_experiment, names
from chaos.interrupts import sigterm_as_ctrl_c
from chaos.journal import Journal
from chaos.report import activity_line, verdict_line
from chaos.runner import Runner
from shards.clock import boot_seconds
from shards.errors import ConfigError, ShardError

EXIT_DEVIATED = 1
EXIT_CONFIG = 2
EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns the exit code."""
    try:
        code = cli.main(args=arguments, prog_name="chaos", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except ShardError as error:
        click.echo(f"chaos: {error}", err=True)
        return EXIT_CONFIG if isinstance(error, ConfigError) else EXIT_DEVIATED


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Breaks fleets on purpose and judges what they did from a recording."""


@cli.command("list")
def list_experiments() -> None:
    """Show the experiments that come with the package."""
    for name in names():
        click.echo(f"{name:<24} {load_experiment(name).title}")


@cli.command()
@click.argument("experiment", metavar="NAME|FILE")
@click.option(
    "--json", "as_json", is_flag=True, help="End with the journal as one JSON object; the rest goes to stderr."
)
@click.option("--log-file", type=click.Path(dir_okay=False, path_type=Path), help="Keep the log of the fleet here.")
def run(experiment: str, as_json: bool, log_file: Path | None) -> int:
    """Start a fleet, run an experiment on it, and say what held."""
    loaded = load_experiment(experiment)

    def say(text: str) -> None:
        click.echo(text, err=as_json)

    say(loaded.title)
    with sigterm_as_ctrl_c(), DevTarget(loaded.target, say=say, log_file=log_file) as target:
        journal = Runner(
            loaded,
            target,
            clock=boot_seconds,
            today=time.time,
            sleep=time.sleep,
            heard=lambda phase, done: say(activity_line(phase, done)),
        ).run()
    say(verdict_line(journal))
    if as_json:
        click.echo(msgspec.json.encode(journal.as_dict()).decode())
    return _exit_code(journal)


def _exit_code(journal: Journal) -> int:
    if journal.status == "interrupted":
        return EXIT_INTERRUPTED
    return 0 if journal.passed else EXIT_DEVIATED


if __name__ == "__main__":
    sys.exit(main())
