"""Options that several commands take, and how they print."""

from __future__ import annotations

from pathlib import Path

import click

FILE = click.Path(dir_okay=False, path_type=Path)
_DEFAULT = "$KUBECONFIG, else the pod's service account, else ~/.kube/config."
KUBECONFIG = click.option("--kubeconfig", type=FILE, help=f"Default: {_DEFAULT}")
RUNNING = click.option(
    "--kubeconfig", type=FILE, help=f"Default without --context: this user's running `fleet dev`; else {_DEFAULT}"
)
"""Of commands that ask or change a fleet that runs."""
CONTEXT = click.option("--context", help="Context of the kubeconfig. Default: its current one.")
FLEET = click.option("--fleet", "fleet_name", default="", help="Its name. Default: the only one in the namespace.")
NAMESPACE = click.option("-n", "--namespace", default="", help="Where its Leases are. Default: the kubeconfig's.")
OUTPUT = click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
JOURNAL = click.option(
    "--journal",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory for journals of what each worker did and saw. Default: none are kept.",
)


def print_json(shown: object) -> None:
    """Indented, on standard output."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(shown), indent=2).decode())
