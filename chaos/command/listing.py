"""`fleet chaos list`."""

from __future__ import annotations

import click
import msgspec

from chaos.documents.experiment import load_experiment, names


def list_all(*, as_json: bool) -> int:
    """Prints one line an experiment. Returns the exit code."""
    for name in names():
        found = load_experiment(name)
        if as_json:
            row = {"name": name, "title": found.title, "on": found.settings.targets, "attacks": found.attacks}
            click.echo(msgspec.json.encode(row).decode())
        else:
            click.echo(f"{name:<34} {','.join(found.settings.targets):<13} {found.title}")
    return 0
