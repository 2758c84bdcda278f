"""What can be done to the API server, and to the way between it and the fleet."""

from __future__ import annotations

from typing import Any

from chaos.targets.running import RUNNING
from chaos.targets.target import Target

FLEET = "fleet/"
"""What the User-Agents of fleets begin with: what people send is let through."""


def inject(fault: dict[str, Any], target: Target = RUNNING) -> dict[str, Any]:
    """Puts a fault (docs/faults.md) in force, for requests of the fleet where it says nothing else."""
    match = {"user_agent": FLEET} | fault.get("match", {})
    (number,) = target.server.inject(fault | {"match": match})
    return {"number": number, "fault": fault["fault"]}


def heal(target: Target = RUNNING) -> dict[str, Any]:
    """Ends all faults. Says how often each of them has met something."""
    struck = target.server.struck()
    target.server.heal()
    return {"struck": struck}


def pause_server(seconds: float, target: Target = RUNNING) -> dict[str, Any]:
    """SIGSTOP to the API server for so long."""
    target.server.pause()
    try:
        target.sleep(seconds)
    finally:
        target.server.resume()
    return {"seconds": seconds}
