"""`fleet canary`: features that are tried on a part of the fleet."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fleet.commands.exit_codes import EXIT_STEP_BACK, EXIT_WAIT
from fleet.commands.options import CONTEXT, FLEET, NAMESPACE, OUTPUT, RUNNING, print_json


@click.group(short_help="Features that are tried on a part of the fleet.")
def canary() -> None:
    """Features that are tried on a part of the fleet; see docs/rollout.md."""


@canary.command("status", short_help="Say whether the canary may grow.")
@RUNNING
@CONTEXT
@FLEET
@NAMESPACE
@OUTPUT
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
        print_json(found)
    else:
        canary_table.write(found, sys.stdout)
    return {Word.GO_ON: 0, Word.WAIT: EXIT_WAIT, Word.STEP_BACK: EXIT_STEP_BACK}[Word(found.verdict)]
