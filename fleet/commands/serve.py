"""`fleet serve`: an empty Kubernetes API here."""

from __future__ import annotations

from typing import Any

import click

from fleet.commands.options import FILE


@click.command(short_help="Serve an empty Kubernetes API here.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Default: any free one.")
@click.option("--load", type=FILE, multiple=True, help="YAML file of objects that exist from the start, CRDs first.")
@click.option("--write-kubeconfig", "kubeconfig", type=FILE, help="Write the kubeconfig there instead of printing it.")
@click.option("--sharding/--no-sharding", default=True, show_default=True, help="Honour shardSelector (KEP-5866).")
@click.option(
    "--front-ends", type=click.IntRange(1, 16), default=1, show_default=True, help="API servers over one storage."
)
@click.option(
    "--admin-token",
    help="Let RBAC decide; this bearer token may do everything. Go clients send no token without TLS.",
)
@click.option("--certificate", type=FILE, help="PEM file; serves https, with --key.")
@click.option("--key", type=FILE, help="PEM file of its key.")
@click.option("--journal", type=FILE, help="Write every request there, as JSON lines.")
@click.option(
    "--journal-level",
    type=click.Choice(["requests", "deliveries", "bodies"]),
    default="requests",
    show_default=True,
    help="How much of it: with what each watch and list showed; with bodies of writes.",
)
def serve(**given: Any) -> int:
    """Serve an embedded Kubernetes API on loopback, without a fleet, until Ctrl-C.

    The kubeconfig goes to standard output. Everything is forgotten at the end.
    """
    from fleet.dev.serve import ServeOptions, serve_alone

    return serve_alone(ServeOptions(**given))
