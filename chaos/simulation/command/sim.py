"""`fleet sim`: many seeded histories of a fleet, or one of them.

Exit codes are those of `fleet`: 0 when no promise was broken, 1 when one was, or the simulation failed itself, 2 for
what is wrong in the command line or a scenario file, 130 when somebody stopped it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fleet.commands.exit_codes import EXIT_INTERRUPTED, EXIT_RUN_TIME

if TYPE_CHECKING:
    from chaos.simulation.campaign.campaign import Campaign
    from chaos.simulation.plan import Plan

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(short_help="Play seeded histories of a simulated fleet, and judge them.")
@click.option("--seeds", metavar="N", type=click.IntRange(min=1), help="How many histories. Default: 1000.")
@click.option(
    "--first-seed",
    metavar="N",
    type=click.IntRange(min=0),
    help="Seeds count from here. Default: a fresh one; it is printed.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="As many histories as are begun within so many seconds, and no more than --seeds where it is given.",
)
@click.option("--jobs", metavar="N", type=click.IntRange(min=1), help="Processes. Default: one a core.")
@click.option(
    "--depth",
    type=click.Choice(["protocol", "stack"]),
    help="protocol: who owns what, with played shards. stack: informers, queues, gates and demo reconcilers as well. "
    "Default: protocol.",
)
@click.option("--stop-at", type=click.IntRange(min=1), metavar="FAILURES", help="End after so many. Default: 1.")
@click.option("--keep-going", is_flag=True, help="Play all seeds, whatever fails.")
@click.option(
    "--break", "broken_rule", metavar="RULE", default="", help="Play without a rule of the product; `list` names them."
)
@click.option("--seed", metavar="N", type=click.IntRange(min=0), help="Play one history.")
@click.option("--scenario", type=_FILE, help="Play the history of this file.")
@click.option("--trace", is_flag=True, help="With --seed or --scenario: show the history as text.")
@click.option(
    "--shrink", is_flag=True, help="With --seed or --scenario: find a shorter history that fails in the same way."
)
@click.option(
    "--output", type=_FILE, help="With --shrink: the file to write. Default: seed-N.yaml, or FILE-shorter.yaml."
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object; the rest goes to stderr.")
def sim(**options: Any) -> int:
    """Play histories of a simulated fleet in virtual time: real workers and coordinators, and everything that can go
    wrong around them. One seed is one history, byte for byte. Each is judged by the invariants I1 to I27.

    \b
    fleet sim --seeds 10000 --jobs 2     many fresh histories
    fleet sim --seed 4711 --trace        what happened in one of them
    fleet sim --seed 4711 --shrink       a shorter one that fails in the same way
    """
    from chaos.simulation.command import rules
    from chaos.simulation.command.asked import Asked

    asked = Asked(**options)
    if asked.broken_rule == "list":
        for text in rules.lines():
            click.echo(text)
        return 0
    asked.check()
    if not asked.is_one:
        rules.check(asked.broken_rule, asked.depth_of_seeds)
        return _campaign(asked.campaign(), asked.as_json)
    from chaos.simulation.command.history import plan_of

    plan = plan_of(asked.seed, asked.scenario, asked.depth_of_seeds)
    rules.check(asked.broken_rule, plan.depth)
    if asked.shrink:
        from chaos.simulation.command.shorter import shortened

        return shortened(plan, asked.broken_rule, asked.output_file(plan.seed), click.echo)
    return _history(plan, asked.broken_rule, asked.trace, asked.as_json)


def _campaign(campaign: Campaign, as_json: bool) -> int:
    import msgspec

    from chaos.simulation.command.many import played
    from chaos.simulation.command.report import closing_lines

    told = played(campaign, lambda text: click.echo(text, err=as_json))
    for text in closing_lines(told):
        click.echo(text, err=as_json)
    if as_json:
        click.echo(msgspec.json.encode(told).decode())
    if told.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_RUN_TIME if told.failures else 0


def _history(plan: Plan, broken_rule: str, trace: bool, as_json: bool) -> int:
    import msgspec

    from chaos.simulation.command.history import Pages, ending_lines, play

    out = Pages(lambda text: click.echo(text, err=as_json))
    outcome = play(plan, broken_rule, out.put if trace else None)
    for text in ending_lines(outcome):
        out.put(text)
    if as_json:
        click.echo(msgspec.json.encode(outcome).decode())
    return EXIT_RUN_TIME if outcome.breaches else 0
