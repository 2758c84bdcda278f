"""`fleet sim --shrink`: a shorter history that fails in the same way, as a scenario file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from chaos.simulation.campaign.player import without
from chaos.simulation.command.history import quiet_logs
from chaos.simulation.depths import run
from chaos.simulation.plan import Plan
from chaos.simulation.scenario_file import text_of
from chaos.simulation.shrinking import shrink
from fleet.commands.exit_codes import EXIT_RUN_TIME


def shortened(plan: Plan, broken_rule: str, output: Path, say: Callable[[str], None]) -> int:
    """Returns the exit code: 1 as for every history that fails, 0 for one that does not and so cannot be shrunk."""

    def tell(smaller: Plan, runs: int) -> None:
        say(f"{len(smaller.strikes)} strikes, {smaller.shape.workers} workers, after {runs} histories")

    with without(broken_rule), quiet_logs():
        outcome = run(plan)
        if not outcome.breaches:
            say("nothing was broken: there is nothing to shrink")
            return 0
        first = outcome.breaches[0]
        say(f"{first.oracle} is broken at {first.at:.3f} s: {first.what}")
        found = shrink(
            plan, lambda other: [each.oracle for each in run(other).breaches[:1]] == [first.oracle], tell=tell
        )
    output.write_text(text_of(found))
    rule = f" --break {broken_rule}" if broken_rule else ""
    say(f"{len(plan.strikes)} strikes became {len(found.strikes)}, in {output}")
    say(f"  replay: fleet sim --scenario {output}{rule} --trace")
    return EXIT_RUN_TIME
