"""`fleet dev`: a whole fleet here, to try a controller."""

from __future__ import annotations

from typing import Any

import click

from fleet.commands.options import FILE, JOURNAL


@click.command(short_help="Run a whole fleet here, to try a controller.")
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
@click.option("--crd", "crds", type=FILE, multiple=True, help="CRD file. Default: <FILE without .py>-crd.yaml.")
@click.option("--log-file", type=FILE, help="Keep the log here. Default: it goes at the end.")
@JOURNAL
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
