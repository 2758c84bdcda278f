"""What the fleet's config says about the layout, as its ConfigMap has it now (R16)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from fleet.configuration.config import FleetConfig
from fleet.configuration.config_file import parse_config
from fleet.records.record import Document
from fleet.rules.layout import Wanted
from fleet.rules.plan_settings import PlanSettings
from shards.errors import ConfigError

log = logging.getLogger(__name__)

_DEFAULTS = PlanSettings()

Check = Callable[[FleetConfig], None]
"""Raises ConfigError for what only this process knows to be wrong."""


def unchecked(config: FleetConfig) -> None:
    """Nothing is known to be wrong."""


class ConfigFollower:
    """Reads each version once.

    wanted: what the last version that was accepted asks for; None before the first. planning: its settings of plans,
    likewise, with the deadline for standbys, of which no config speaks. refused: "" or why the newest version is not
    followed, after its version; everything then stays as it is.
    """

    def __init__(
        self,
        fleet: str,
        check: Check = unchecked,
        *,
        standby_deadline_seconds: float = _DEFAULTS.standby_deadline_seconds,
    ) -> None:
        self.wanted: Wanted | None = None
        self.planning: PlanSettings | None = None
        self.refused = ""
        self._fleet = fleet
        self._check = check
        self._standby_deadline_seconds = standby_deadline_seconds
        self._version = ""

    def restored(self) -> None:
        """The store went back: versions of before say nothing about those that come, nor does what they asked for."""
        self.wanted = None
        self.refused = self._version = ""

    def look(self, found: Document | None) -> None:
        """found: as the view shows it; None where there is none, which changes nothing and is not refused."""
        if found is None:
            self._version = self.refused = ""
            return
        if found.version == self._version:
            return
        self._version = found.version
        try:
            config = parse_config(found.text)
            if config.fleet != self._fleet:
                raise ConfigError("fleet", f"it is the config of {config.fleet!r}; write fleet: {self._fleet}")
            self._check(config)
        except ConfigError as error:
            self.refused = f"version {found.version}: {error}"
            log.warning("the fleet's config is refused, and the layout stays as it is: %s", self.refused)
            return
        self.refused = ""
        self.planning = replace(config.plan_settings(), standby_deadline_seconds=self._standby_deadline_seconds)
        self.wanted = Wanted(config.shards.count, config.shards.partition_by, found.version)
