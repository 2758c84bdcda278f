"""The command `fleet`: canary, dev, run, serve, status, version.

What can be wrong is said in one sentence on standard error; --traceback shows where it came from. Exit codes: 0, 1 for
what went wrong at run time, 2 for what is wrong in the command line, the config or the author's module; by 3 and 4
`canary status` says that the next step has to wait, or the last one has to be taken back. Imports are made where they
are used, so that `fleet version` and every refusal are quick.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fleet import __version__
from shards.errors import ConfigError, ShardError

EXIT_RUN_TIME = 1
EXIT_CONFIG = 2
EXIT_WAIT = 3
EXIT_STEP_BACK = 4
EXIT_INTERRUPTED = 130

_FILE = click.Path(dir_okay=False, path_type=Path)
_KUBECONFIG = click.option(
    "--kubeconfig", type=_FILE, help="Default: $KUBECONFIG, else the pod's service account, else ~/.kube/config."
)
_JOURNAL = click.option(
    "--journal",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for journals of what each worker did and saw. Default: none are kept.",
)
_FLEET = click.option("--fleet", "fleet_name", default="", help="Its name. Default: the only one in the namespace.")
_NAMESPACE = click.option("-n", "--namespace", default="", help="Where its Leases are. Default: the kubeconfig's.")
_OUTPUT = click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
_CONTEXT = click.option("--context", help="Context of the kubeconfig. Default: its current one.")


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


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--traceback", "with_traceback", is_flag=True, help="Show where an error came from.")
@click.pass_obj
def cli(options: dict[str, bool], with_traceback: bool) -> None:
    """Runs one Kubernetes reconcile function as a sharded fleet of worker processes."""
    options["traceback"] = with_traceback


@cli.command()
def version() -> None:
    """Print the version."""
    click.echo(f"fleet {__version__} (Python {sys.version.split()[0]})")


@cli.command(short_help="Run one pod's worth of a fleet.")
@click.option("--config", "config_file", type=_FILE, required=True, help="The config file; see docs/configuration.md.")
@_KUBECONFIG
@_CONTEXT
@click.option(
    "--run-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Private directory in which the processes meet. Default: a fresh one.",
)
@_JOURNAL
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


@cli.command(short_help="Show members, shards and their owners.")
@_KUBECONFIG
@_CONTEXT
@_FLEET
@_NAMESPACE
@_OUTPUT
@click.option(
    "--failing", is_flag=True, help="Show instead the keys that keep failing or wait for long, since when, and why."
)
def status(
    kubeconfig: Path | None, context: str | None, fleet_name: str, namespace: str, output: str, failing: bool
) -> None:
    """Show members, shards, owners, epochs, unowned ranges, queue depths and keys that fail or wait.

    Without --kubeconfig and --context: of the `fleet dev` that this user is running, if there is one.
    """
    from fleet.look import look
    from fleet.status.statusview import fleet_status

    found = fleet_status(look(kubeconfig, context, fleet_name, namespace))
    if output == "json":
        import msgspec

        shown = msgspec.to_builtins(found)
        if failing:
            shown = {name: shown[name] for name in ("failingKeys", "failing", "waitingKeys", "waiting")}
        _print_json(shown)
    else:
        from fleet.status.status_table import write

        write(found, sys.stdout, failing=failing)


@cli.group(short_help="Features that are tried on a part of the fleet.")
def canary() -> None:
    """Features that are tried on a part of the fleet; see docs/rollout.md."""


@canary.command("status", short_help="Say whether the canary may grow.")
@_KUBECONFIG
@_CONTEXT
@_FLEET
@_NAMESPACE
@_OUTPUT
@click.option("--json", "as_json", is_flag=True, help="The same as -o json.")
@click.option(
    "--after",
    "seconds",
    type=click.FloatRange(0, 300),
    default=300.0,
    show_default=True,
    help="Seconds that the present step must have lasted.",
)
@click.option(
    "--reconciles", type=click.IntRange(min=0), default=20, show_default=True, help="Reconciles that must have been."
)
def canary_status(
    kubeconfig: Path | None,
    context: str | None,
    fleet_name: str,
    namespace: str,
    output: str,
    as_json: bool,
    seconds: float,
    reconciles: int,
) -> int:
    """Say whether convergence, waits and API load allow the next step of a canary: go on, wait, or step back.

    Exit codes: 0 go on, 3 wait, 4 step back; 1 and 2 are errors.
    """
    from fleet.look import look
    from fleet.rules.canary_verdict import Enough, Word
    from fleet.status import canary_table, canary_view

    found = canary_view.canary_status(look(kubeconfig, context, fleet_name, namespace), Enough(seconds, reconciles))
    if as_json or output == "json":
        _print_json(found)
    else:
        canary_table.write(found, sys.stdout)
    return {Word.GO_ON: 0, Word.WAIT: EXIT_WAIT, Word.STEP_BACK: EXIT_STEP_BACK}[Word(found.verdict)]


@cli.command(short_help="Run a whole fleet here, to try a controller.")
@click.argument("reference", metavar="FILE:NAME")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Worker processes.")
@click.option("--shards", type=click.IntRange(1, 4096), default=8, show_default=True, help="Shards.")
@click.option("--objects", type=click.IntRange(min=0), help="Demo objects. Default: 20 where demo_object(i) exists.")
@click.option("--until-settled", is_flag=True, help="End once every object is settled and every kill overcome.")
@click.option("--for", "for_seconds", type=click.FloatRange(min=0, min_open=True), help="End after so many seconds.")
@click.option(
    "--kill", "kills", multiple=True, metavar="WHO@SECONDS", help="SIGKILL: worker@5s, worker-1@5s, coordinator@8s."
)
@click.option("--json", "as_json", is_flag=True, help="End with one JSON object; progress goes to standard error.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Of the embedded API server. Default: any free.")
@click.option("--crd", "crds", type=_FILE, multiple=True, help="CRD file. Default: <FILE without .py>-crd.yaml.")
@click.option("--log-file", type=_FILE, help="Keep the log here. Default: it goes at the end.")
@_JOURNAL
@click.option(
    "--timeout", type=click.FloatRange(min=1), default=300.0, show_default=True, help="Seconds, for --until-settled."
)
def dev(reference: str, **given: Any) -> int:
    """Run a whole fleet here, on an embedded API server, with demo objects and a live view.

    Ends with Ctrl-C. Next to FILE: <FILE>-crd.yaml holds the CRDs, and <FILE>_demo.py (or FILE itself) may define
    demo_object(i) and settled(obj). Kills count from the moment at which every shard is owned for the first time.
    """
    from fleet.dev.options import DevOptions
    from fleet.dev.run import run_dev

    return run_dev(DevOptions.of(reference, **given))


@cli.command(short_help="Serve an empty Kubernetes API here.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Default: any free one.")
@click.option("--load", type=_FILE, multiple=True, help="YAML file of objects that exist from the start, CRDs first.")
@click.option("--write-kubeconfig", "kubeconfig", type=_FILE, help="Write the kubeconfig there instead of printing it.")
@click.option("--sharding/--no-sharding", default=True, show_default=True, help="Honour shardSelector (KEP-5866).")
@click.option(
    "--front-ends", type=click.IntRange(1, 16), default=1, show_default=True, help="API servers over one storage."
)
@click.option(
    "--admin-token",
    help="Let RBAC decide; this bearer token may do everything. Go clients send no token without TLS.",
)
@click.option("--certificate", type=_FILE, help="PEM file; serves https, with --key.")
@click.option("--key", type=_FILE, help="PEM file of its key.")
@click.option("--journal", type=_FILE, help="Write every request there, as JSON lines.")
def serve(**given: Any) -> int:
    """Serve an embedded Kubernetes API on loopback, without a fleet, until Ctrl-C.

    The kubeconfig goes to standard output. Everything is forgotten at the end.
    """
    from fleet.dev.serve import ServeOptions, serve_alone

    return serve_alone(ServeOptions(**given))


def _print_json(shown: object) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(shown), indent=2).decode())
