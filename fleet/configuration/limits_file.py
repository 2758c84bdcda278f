"""The limits of requests in the config file, followed while a worker runs: `client` is the section that may change."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import msgspec

from fleet.configuration.config import ClientConfig, FleetConfig
from fleet.configuration.config_file import load_config
from shards.errors import ConfigError

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
"""Between two looks at the file. A ConfigMap takes up to a minute and a half to reach a pod."""

Stamp = tuple[int, int, int]
"""Of a file: inode, time of the last change in ns, size. A kubelet puts another file in its place."""


class LimitsFile:
    """One config file and what was last read of it. Whatever is wrong with it later, the limits stay as they are."""

    def __init__(self, path: Path, config: FleetConfig) -> None:
        """config: what this process was started with."""
        self._path = path
        self._config = config
        self._client = config.client
        self._stamp: Stamp | None = None
        self._said = ""

    def look(self) -> ClientConfig | None:
        """The limits, if they have changed since the last look."""
        try:
            stat = self._path.stat()
        except OSError as error:
            self._say(f"cannot look at the config file {self._path}: {error.strerror}; the limits of requests stay")
            return None
        stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        try:
            found = load_config(self._path)
        except ConfigError as error:
            self._say(f"the config file is refused, and the limits of requests stay: {error}")
            return None
        rest = msgspec.structs.replace(found, client=self._config.client) != self._config
        self._say("the config file differs in more than its limits: that needs a restart" if rest else "")
        if found.client == self._client:
            return None
        self._client = found.client
        return found.client

    def _say(self, warning: str) -> None:
        """Once, until it is something else."""
        if warning and warning != self._said:
            log.warning("%s", warning)
        self._said = warning


async def follow_limits(file: LimitsFile, change: Callable[[ClientConfig], None]) -> None:
    """Until cancelled: tells `change` of each new set of limits."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        client = file.look()
        if client is not None:
            log.info("limits of requests: %s", msgspec.json.encode(client).decode())
            change(client)
