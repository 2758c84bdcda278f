"""`fleet chaos`: experiments that break a fleet on purpose.

Exit codes: 0 when every steady state held before and after; 1 when one did not, or nothing could be shown; 2 for what
is wrong in the command line or an experiment; 130 for Ctrl-C or SIGTERM, after the rollbacks.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

_FILE = click.Path(dir_okay=False, path_type=Path)
_DIRECTORY = click.Path(file_okay=False, path_type=Path)


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, short_help="Break fleets on purpose.")
def chaos() -> None:
    """Break a fleet on purpose, and judge from a recording what it did."""


@chaos.command("list")
@click.option("--json", "as_json", is_flag=True, help="One object a line.")
def list_experiments(as_json: bool) -> int:
    """Show the experiments that come with the package."""
    from chaos.command.listing import list_all

    return list_all(as_json=as_json)


@chaos.command()
@click.argument("names", metavar="NAME|FILE", nargs=-1)
@click.option("--all", "every", is_flag=True, help="All that can run on the target; storm only with --seconds.")
@click.option(
    "--target",
    type=click.Choice(["dev", "real", "kube"]),
    default="dev",
    show_default=True,
    help="dev: a fleet of its own on the embedded server. real: likewise on a real API server that is there for tests. "
    "kube: your fleet in a cluster.",
)
@click.option("--kubeconfig", type=_FILE, help="With real: a server that may be broken. With kube: your cluster.")
@click.option("--context", help="With kube: of the kubeconfig.")
@click.option("--namespace", "-n", help="With kube: of the fleet.")
@click.option("--fleet", help="With kube: its name.")
@click.option("--primary", help="With kube: the resource that it looks after, such as apps/v1/deployments.")
@click.option("--yes-break-my-fleet", "consent", is_flag=True, help="With kube: nothing runs without it.")
@click.option("--json", "as_json", is_flag=True, help="One journal a line on standard output; the rest goes to stderr.")
@click.option("--report", type=_FILE, help="Write a page about it, HTML, in one file.")
@click.option("--markdown", type=_FILE, help="Write a text about it, for a pull request.")
@click.option("--seconds", type=click.FloatRange(min=1), help="Of a storm; an hour where it is left out.")
@click.option("--seed", type=click.IntRange(min=1), help="Of a storm; drawn and printed where it is left out.")
@click.option("--keep", type=_DIRECTORY, help="Keep journals and logs in this directory.")
@click.option(
    "--break", "broken_rule", metavar="RULE", default="", help="With dev and real: the fleet runs without a rule."
)
def run(names: tuple[str, ...], **options: Any) -> int:
    """Run experiments, one after the other, and say what held."""
    from chaos.command.asked import asked
    from chaos.command.series import run_series

    return run_series(asked(names, **options))


@chaos.command()
@click.argument("directories", metavar="DIR", nargs=-1, required=True, type=_DIRECTORY)
@click.option("--report", type=_FILE, help="Where the page goes; left out, DIR/report.html.")
@click.option("--markdown", type=_FILE, help="Write a text about it, for a pull request.")
def report(directories: tuple[Path, ...], report: Path | None, markdown: Path | None) -> int:
    """Make the report again from what `fleet chaos run --keep DIR` left."""
    from chaos.command.reporting import report_again

    report_again(directories, report, markdown, click.echo)
    return 0
