"""The command `fleet` of a build without one of its rules, for experiments that have to notice.

    python -m chaos.command.broken_fleet RULE run --config fleet.yaml ...

The workers of a pod are forked from its first process, so that what is taken out there is taken out of all of them.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

from chaos.command.broken_rules import RULES
from fleet.cli import main as fleet
from fleet.configuration.config_errors import suggestion
from fleet.processes.prctl import set_parent_death_signal
from shards.errors import ConfigError

_MODULE = "chaos.command.broken_fleet"


def without(rule: str) -> tuple[str, ...]:
    """The command of a pod that runs without it. Raises ConfigError."""
    if rule not in RULES:
        raise ConfigError("--break", f"there is no rule {rule!r}{suggestion(rule, sorted(RULES), 'there are')}")
    return (sys.executable, "-m", _MODULE, rule, "run")


def main(arguments: Sequence[str]) -> int:
    """Exit code of the command."""
    rule, *command = arguments
    set_parent_death_signal(signal.SIGKILL)  # SIGTERM would wait until a stopped one goes on
    with RULES[rule].remove():
        return fleet(command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
