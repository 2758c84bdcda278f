"""Rules that `fleet sim --break` can take out of the product."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

import click

from chaos.simulation.removals import REMOVALS


def check(rule: str, depth: str) -> None:
    """Refuses a rule that nobody can take away, or not at this depth. rule: "" for none."""
    if not rule:
        return
    if rule not in REMOVALS:
        near = difflib.get_close_matches(rule, REMOVALS, 1)
        hint = f"did you mean {near[0]}?" if near else "--break list names all"
        raise click.BadParameter(f"there is no rule {rule}; {hint}", param_hint="--break")
    depths = REMOVALS[rule].depths
    if depth not in depths:
        raise click.BadParameter(f"{rule} can be missed at {' and '.join(depths)} depth only", param_hint="--break")


def lines() -> Iterator[str]:
    """One a rule, below a headline: its name, which it is, where it can be missed, and what it says."""
    widest = max(map(len, REMOVALS), default=0)
    numbers = max((len(removal.rule) for removal in REMOVALS.values()), default=0)
    yield f"{'--break':<{widest}}  {'rule':<{numbers}}  {'depth':<8}  what the rule says"
    for name, removal in sorted(REMOVALS.items()):
        yield f"{name:<{widest}}  {removal.rule:<{numbers}}  {'/'.join(removal.depths):<8}  {removal.sentence}"
