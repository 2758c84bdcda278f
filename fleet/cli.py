"""The command `fleet`. Its commands are in `fleet.commands`, one file each; other packages add theirs (plugins.py).

What can be wrong is said in one sentence on standard error; --traceback shows where it came from. Imports are made
where they are used, so that `fleet version` and every refusal are quick.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence

import click

from fleet.commands.adopt import adopt
from fleet.commands.canary import canary
from fleet.commands.dev import dev
from fleet.commands.drain import drain, undrain
from fleet.commands.exit_codes import EXIT_CONFIG, EXIT_INTERRUPTED, EXIT_RUN_TIME
from fleet.commands.freeze import freeze, unfreeze
from fleet.commands.plan import plan
from fleet.commands.plugins import PluginGroup
from fleet.commands.quarantine import quarantine
from fleet.commands.reshard import reshard
from fleet.commands.run import run
from fleet.commands.serve import serve
from fleet.commands.status import status
from fleet.commands.uninstall import uninstall
from fleet.commands.version import version
from shards.errors import ConfigError, ShardError


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: runs the command and returns the exit code."""
    options: dict[str, bool] = {}
    try:
        code = cli.main(args=arguments, prog_name="fleet", standalone_mode=False, obj=options)
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return EXIT_RUN_TIME  # the reader of our output has gone: nobody to tell
    except Exception as error:  # the last stop: whatever it is becomes one sentence
        if options.get("traceback"):
            traceback.print_exc()
        else:
            known = isinstance(error, ShardError)
            sentence = str(error) if known else f"unexpected {type(error).__name__}: {error}; --traceback shows where"
            click.echo(f"fleet: {sentence}", err=True)
        return EXIT_CONFIG if isinstance(error, ConfigError) else EXIT_RUN_TIME


@click.group(cls=PluginGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--traceback", "with_traceback", is_flag=True, help="Show where an error came from.")
@click.pass_obj
def cli(options: dict[str, bool], with_traceback: bool) -> None:
    """Runs one Kubernetes reconcile function as a sharded fleet of worker processes."""
    options["traceback"] = with_traceback


for command in (
    adopt,
    canary,
    dev,
    drain,
    freeze,
    plan,
    quarantine,
    reshard,
    run,
    serve,
    status,
    undrain,
    unfreeze,
    uninstall,
    version,
):
    cli.add_command(command)
