"""`fleet sim --shrink`: a shorter history that fails in the same way, as a scenario file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from chaos.running.interrupts import signals_as_ctrl_c
from chaos.simulation.campaign.player import without
from chaos.simulation.command.history import quiet_logs
from chaos.simulation.depths import run
from chaos.simulation.outcome import Breach
from chaos.simulation.plan import Plan
from chaos.simulation.scenario_file import text_of
from chaos.simulation.shrinking import shrink
from fleet.commands.exit_codes import EXIT_INTERRUPTED, EXIT_RUN_TIME
from shards.errors import ConfigError

Say = Callable[[str], None]


def shortened(plan: Plan, broken_rule: str, output: Path, say: Say) -> int:
    """Returns the exit code: 1 as for every history that fails, 0 for one that does not and so cannot be shrunk.

    Ctrl-C ends the search: the shortest that was found until then is written. Raises ConfigError where the file cannot
    be written, before anything is played.
    """
    if not output.parent.is_dir() or output.is_dir():
        raise ConfigError("--output", f"{output} cannot be written: name a file in a directory that there is")
    shrinking, code = _Shrinking(plan, say), EXIT_RUN_TIME
    try:
        with signals_as_ctrl_c(), without(broken_rule), quiet_logs():
            shrinking.search()
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    if shrinking.breach is None:
        if code == EXIT_INTERRUPTED:
            return code
        say("nothing was broken: there is nothing to shrink")
        return 0
    found, breach = shrinking.best, shrinking.breach
    rule = f" without the rule {broken_rule}" if broken_rule else ""
    what = " ".join(breach.what.split())
    output.write_text(f"# {breach.oracle} is broken at {breach.at:.3f} s{rule}: {what}\n{text_of(found)}")
    say(f"{_count(len(plan.strikes), 'strike')} became {len(found.strikes)}, in {output}")
    say(f"  replay: fleet sim --scenario {output}{f' --break {broken_rule}' if broken_rule else ''} --trace")
    return code


class _Shrinking:
    """best: the shortest so far that fails; breach: what it breaks, None where nothing was broken."""

    def __init__(self, plan: Plan, say: Say) -> None:
        self.best = plan
        self.breach: Breach | None = None
        self._found: Breach | None = None
        self._say = say

    def search(self) -> None:
        outcome = run(self.best)
        if not outcome.breaches:
            return
        self.breach = outcome.breaches[0]
        self._say(f"{self.breach.oracle} is broken at {self.breach.at:.3f} s: {self.breach.what}")
        shrink(self.best, self._fails, tell=self._tell)

    def _fails(self, plan: Plan) -> bool:
        self._found = next(iter(run(plan).breaches), None)
        return self._found is not None and self.breach is not None and self._found.oracle == self.breach.oracle

    def _tell(self, plan: Plan, runs: int) -> None:
        """Of a plan that `_fails` was asked about just now."""
        self.best, self.breach = plan, self._found
        shape = plan.shape
        parts = (
            (len(plan.strikes), "strike"),
            (shape.workers, "worker"),
            (shape.agents, "agent"),
            (shape.shards, "shard"),
            (shape.objects, "object"),
        )
        left = ", ".join(_count(number, what) for number, what in parts)
        self._say(f"{left}, {plan.chaos_seconds:g} s: after {runs:,} {'history' if runs == 1 else 'histories'}")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
