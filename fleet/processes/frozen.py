"""The second line behind the watchdog in a child: who has not moved for long, and may not act (any more), is killed."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable

from fleet.processes.child import Child

STALE_SECONDS = 1.0
"""A heartbeat comes every 0.1 s; ten missing ones are a frozen process, not a slow one."""
SECOND_LOOK_SECONDS = 0.2
"""A frozen child is killed only when it is still frozen a moment later: after a pause of the whole machine the
supervisor may run first, and a child that then comes to itself deals with its deadline on its own."""


def kill_frozen(running: Iterable[Child], now: float, log: logging.Logger) -> None:
    """To be called at every look at the children. now: boot-clock reading."""
    for child in running:
        if not child.heartbeat.frozen(now, STALE_SECONDS):
            child.stale_since = None
        elif child.stale_since is None:
            child.stale_since = now
        elif now >= child.stale_since + SECOND_LOOK_SECONDS:
            stood = now - child.heartbeat.last
            where = "no member" if child.heartbeat.of_no_member else "past its deadline"
            log.error("%s has not moved for %.1f s and is %s: killed", child.name, stood, where)
            if not child.heartbeat.words:
                child.heartbeat.say(f"it had not moved for {stood:.1f} s, {where}: its supervisor killed it")
            child.kill_group()
            child.stale_since = math.inf  # killed once; it is reaped when the kernel lets go of it
