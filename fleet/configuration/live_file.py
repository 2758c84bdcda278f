"""The config file, followed while a process runs: what of it applies at once, and what needs a restart."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from fleet.configuration.config import FleetConfig
from fleet.configuration.config_file import load_config
from shards.errors import ConfigError

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
"""Between two looks at the file. A ConfigMap takes up to a minute and a half to reach a pod."""

Stamp = tuple[int, int, int]
"""Of a file: inode, time of the last change in ns, size. A kubelet puts another file in its place."""

Check = Callable[[FleetConfig], None]
"""Raises ConfigError for what only the process knows to be wrong."""


def unchecked(config: FleetConfig) -> None:
    """Nothing is known to be wrong."""


class LiveFile:
    """One config file and what was last read of it. Whatever is wrong with it later, everything stays as it is."""

    def __init__(self, path: Path, config: FleetConfig, check: Check = unchecked) -> None:
        """config: what this process was started with."""
        self._path = path
        self._check = check
        self._config = config
        self._stamp: Stamp | None = None
        self._said = ""
        self._refused = False

    def look(self) -> FleetConfig | None:
        """What applies from now on, if that has changed since the last look: what this process began with, but for
        what it follows."""
        try:
            stat = self._path.stat()
        except OSError as error:
            self._say(f"cannot look at the config file {self._path}: {error.strerror}; everything stays as it is")
            return None
        stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        try:
            found = load_config(self._path)
            self._check(found)
        except ConfigError as error:
            self._say(f"the config file is refused, and everything stays as it is: {error}")
            self._refused = True
            return None
        config = _live_parts_of(found, self._config)
        rest = changes(config, found)
        self._say(f"the config file differs in {', '.join(rest)} too: that needs a restart" if rest else "")
        refused, self._refused = self._refused, False
        if config == self._config:
            if refused:
                log.info("the config file is accepted again; what it says applies already")
            return None
        log.info("the config file changed: %s", "; ".join(told(self._config, config)))
        self._config = config
        return config

    def _say(self, warning: str) -> None:
        """Once, until it is something else."""
        if warning and warning != self._said:
            log.warning("%s", warning)
        self._said = warning


def _live_parts_of(found: FleetConfig, running: FleetConfig) -> FleetConfig:
    """What runs, with that of the file which may change. The layout is the fleet's, as its map has it: whoever is in
    office follows the ConfigMap, and no pod its file."""
    return msgspec.structs.replace(
        running,
        shards=found.shards,
        rebalance=found.rebalance,
        client=found.client,
        gate=found.gate,
        feature_gates=found.feature_gates,
        canary=found.canary,
        log=msgspec.structs.replace(running.log, level=found.log.level),
    )


def changes(before: FleetConfig, after: FleetConfig) -> list[str]:
    """Paths of the fields that differ, in the order of the file's format."""
    old, new = _fields(before), _fields(after)
    return [path for path in new if new[path] != old[path]]


def told(before: FleetConfig, after: FleetConfig) -> list[str]:
    """The same with their values, in JSON."""
    new = _fields(after)
    return [f"{path} is {msgspec.json.encode(new[path]).decode()}" for path in changes(before, after)]


def _fields(config: FleetConfig) -> dict[str, Any]:
    """Values by dotted path, one level of sections deep: that is all the depth that most sections have."""
    found: dict[str, Any] = {}
    for name, value in msgspec.to_builtins(config).items():
        if isinstance(value, dict):
            found |= {f"{name}.{inner}": each for inner, each in value.items()}
        else:
            found[name] = value
    return found


async def follow(file: LiveFile, change: Callable[[FleetConfig], Awaitable[None]]) -> None:
    """Until cancelled: tells `change` of each new config."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        config = file.look()
        if config is not None:
            await change(config)
