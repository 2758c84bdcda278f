"""The config file of a pod, followed by each of its processes."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from fleet.configuration.config import FleetConfig
from fleet.configuration.live_file import LiveFile, follow
from fleet.configuration.rollout_checks import check_controllers
from fleet.pod.plan import RunPlan


async def _nothing_else(config: FleetConfig) -> None: ...


def as_of_now(plan: RunPlan) -> tuple[RunPlan, LiveFile | None]:
    """The plan with what its config file says by now, and the file to follow; None where there is none.

    A child that is started again inherits the config that its pod began with, which may be long past.
    """
    if plan.config_file is None:
        return plan, None
    names = [each.name for each in plan.controllers]

    def check(config: FleetConfig) -> None:
        check_controllers(config.canary, names)

    file = LiveFile(plan.config_file, plan.config, check)
    config = file.look() or plan.config
    logging.getLogger().setLevel(config.log.level.upper())
    return replace(plan, config=config), file


async def follow_config(
    file: LiveFile | None, change: Callable[[FleetConfig], Awaitable[None]] = _nothing_else
) -> None:
    """Until cancelled. change: what a process does besides following the level of the log."""

    async def changed(config: FleetConfig) -> None:
        logging.getLogger().setLevel(config.log.level.upper())
        await change(config)

    if file is not None:
        await follow(file, changed)
