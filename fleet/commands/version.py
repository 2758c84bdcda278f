"""`fleet version`."""

from __future__ import annotations

import sys

import click

from fleet import __version__


@click.command()
def version() -> None:
    """Print the version."""
    click.echo(f"fleet {__version__} (Python {sys.version.split()[0]})")
