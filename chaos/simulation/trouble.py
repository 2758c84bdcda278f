"""Errors of simulated processes that nobody caught."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from chaos.simulation.lane import LANE
from chaos.simulation.task import SimulationTask

_ADDRESS = re.compile(r"0x[0-9a-f]+")


class Trouble(NamedTuple):
    """at: the true time at which it was noticed. process: its label, or "network". what: a sentence, always the same
    for the same history. error: None where asyncio had a complaint without one."""

    at: float
    process: str
    what: str
    error: BaseException | None


def trouble_of(context: Mapping[str, Any], now: float) -> Trouble | None:
    """Of what asyncio tells an exception handler. None: it is of a dead process, which has nothing to say."""
    error = context.get("exception")
    task = context.get("task") or context.get("future")
    lane = LANE.get()
    if isinstance(task, SimulationTask):
        lane = task.lane
        who = f"task {task.get_name()}"
    else:
        who = "callback" if "callback" in context else "future"
    if lane is not None and lane.dead:
        return None
    label = "network" if lane is None else lane.label
    return Trouble(now, label, sentence(who, label, error, str(context.get("message", ""))), error)


def sentence(who: str, label: str, error: BaseException | None, message: str = "") -> str:
    """Without addresses: they differ from run to run."""
    cause = message if error is None else f"died of {type(error).__name__}: {error}"
    return _ADDRESS.sub("0x...", f"a {who} of {label} {cause}")
