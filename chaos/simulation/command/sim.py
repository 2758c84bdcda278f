"""`fleet sim`: many seeded histories of a fleet, or one of them.

Exit codes are those of `fleet`: 0 when no promise was broken, 1 when one was, or the simulation failed itself, 2 for
what is wrong in the command line or a scenario file, 130 when somebody stopped it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from fleet.commands.exit_codes import EXIT_INTERRUPTED, EXIT_RUN_TIME

if TYPE_CHECKING:
    from chaos.simulation.campaign.campaign import Campaign
    from chaos.simulation.plan import Plan

SEEDS = 1000
LARGEST_FRESH = 10**12
"""Fresh seeds are below it: short enough to be read out, and enough of them that no two runs meet."""
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(short_help="Play seeded histories of a simulated fleet, and judge them.")
@click.option("--seeds", metavar="N", type=click.IntRange(min=1), help=f"How many histories. Default: {SEEDS}.")
@click.option(
    "--first-seed",
    metavar="N",
    type=click.IntRange(min=0),
    help="Seeds count from here. Default: a fresh one; it is printed.",
)
@click.option("--jobs", metavar="N", type=click.IntRange(min=1), help="Processes. Default: one a core.")
@click.option(
    "--depth",
    type=click.Choice(["protocol", "stack"]),
    default="protocol",
    show_default=True,
    help="protocol: who owns what, with played shards. stack: informers, queues, gates and demo reconcilers as well.",
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
@click.option("--output", type=_FILE, help="With --shrink: the file to write. Default: seed-N.yaml.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object; the rest goes to stderr.")
def sim(
    seeds: int | None,
    first_seed: int | None,
    jobs: int | None,
    depth: Literal["protocol", "stack"],
    stop_at: int | None,
    keep_going: bool,
    broken_rule: str,
    seed: int | None,
    scenario: Path | None,
    trace: bool,
    shrink: bool,
    output: Path | None,
    as_json: bool,
) -> int:
    """Play histories of a simulated fleet in virtual time: real workers and coordinators, and everything that can go
    wrong around them. One seed is one history, byte for byte. Each is judged by the invariants I1 to I27.

    \b
    fleet sim --seeds 10000 --jobs 2     many fresh histories
    fleet sim --seed 4711 --trace        what happened in one of them
    fleet sim --seed 4711 --shrink       a shorter one that fails in the same way
    """
    many = {
        "--seeds": seeds,
        "--first-seed": first_seed,
        "--jobs": jobs,
        "--stop-at": stop_at,
        "--keep-going": keep_going,
    }
    one = {"--trace": trace, "--shrink": shrink, "--output": output}
    if broken_rule == "list":
        return _list_rules()
    _known(broken_rule, depth)
    if seed is None and scenario is None:
        _refuse(one, "needs --seed or --scenario: it is for one history")
        if keep_going and stop_at is not None:
            raise click.UsageError("--keep-going and --stop-at exclude each other")
        return _campaign(
            _drawn_up(seeds, first_seed, jobs, depth, broken_rule, None if keep_going else stop_at or 1), as_json
        )
    if seed is not None and scenario is not None:
        raise click.UsageError("--seed and --scenario exclude each other: each is one history")
    _refuse(many, "is for many histories; --seed and --scenario are for one")
    if output is not None and not shrink:
        raise click.UsageError("--output needs --shrink: it is the file that --shrink writes")
    if shrink and trace:
        raise click.UsageError(
            "--shrink and --trace exclude each other: shrink first, then trace the file that it writes"
        )
    from chaos.simulation.command.history import plan_of

    plan = plan_of(seed, scenario, depth)
    _known(broken_rule, plan.depth)
    if shrink:
        return _shrink(plan, broken_rule, output or Path(f"seed-{plan.seed}.yaml"))
    return _history(plan, broken_rule, trace, as_json)


def _refuse(given: Mapping[str, object], why: str) -> None:
    for option, value in given.items():
        if value is not None and value is not False:
            raise click.UsageError(f"{option} {why}")


def _known(broken_rule: str, depth: str) -> None:
    """Refuses a rule that nobody can take away, or not at this depth."""
    if not broken_rule:
        return
    from chaos.simulation.removals import REMOVALS

    if broken_rule not in REMOVALS:
        import difflib

        near = difflib.get_close_matches(broken_rule, REMOVALS, 1)
        hint = f"did you mean {near[0]}?" if near else "--break list names all"
        raise click.BadParameter(f"there is no rule {broken_rule}; {hint}", param_hint="--break")
    depths = REMOVALS[broken_rule].depths
    if depth not in depths:
        raise click.BadParameter(f"{broken_rule} is removed at {' and '.join(depths)} depth only", param_hint="--break")


def _list_rules() -> int:
    from chaos.simulation.removals import REMOVALS

    widest = max(map(len, REMOVALS), default=0)
    for name, removal in sorted(REMOVALS.items()):
        click.echo(f"{name:<{widest}}  {removal.rule:<4}  {'/'.join(removal.depths):<14}  {removal.sentence}")
    return 0


# -- many histories ----------------------------------------------------------------------------------------------------


def _drawn_up(
    seeds: int | None,
    first_seed: int | None,
    jobs: int | None,
    depth: Literal["protocol", "stack"],
    broken_rule: str,
    stop_at: int | None,
) -> Campaign:
    import os
    import secrets

    from chaos.simulation.campaign.campaign import Campaign

    return Campaign(
        first_seed=secrets.randbelow(LARGEST_FRESH) if first_seed is None else first_seed,
        seeds=seeds or SEEDS,
        jobs=min(jobs or len(os.sched_getaffinity(0)), seeds or SEEDS),
        depth=depth,
        broken_rule=broken_rule,
        stop_at=stop_at,
    )


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


# -- one history -------------------------------------------------------------------------------------------------------


def _history(plan: Plan, broken_rule: str, trace: bool, as_json: bool) -> int:
    import msgspec

    from chaos.simulation.command.history import Pages, ending_lines, play

    out = Pages(lambda text: click.echo(text, err=as_json))
    outcome = play(plan, broken_rule, out.put if trace else None)
    for text in ending_lines(outcome):
        out.put(text)
    out.close()
    if as_json:
        click.echo(msgspec.json.encode(outcome).decode())
    return EXIT_RUN_TIME if outcome.breaches else 0


def _shrink(plan: Plan, broken_rule: str, output: Path) -> int:
    from chaos.simulation.command.shorter import shortened

    return shortened(plan, broken_rule, output, click.echo)
