"""What `fleet dev` was asked to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fleet.configuration.config import FleetConfig
from fleet.configuration.config_file import config_from
from fleet.dev.kills import Kill, parse_kill
from shards.errors import ConfigError

FLEET = "dev"
POD = "dev"
NAMESPACE = "default"
SERVER_JOURNAL = "server.jsonl"


@dataclass(frozen=True, slots=True)
class DevOptions:
    """objects: None for the default. for_seconds: None for no limit; counts from the start."""

    reference: str
    workers: int
    shards: int
    objects: int | None
    until_settled: bool
    for_seconds: float | None
    kills: tuple[Kill, ...]
    as_json: bool
    port: int
    crds: tuple[Path, ...]
    log_file: Path | None
    timeout_seconds: float
    journal: Path | None = None
    """Directory for the journals of the server (`server.jsonl`) and of each worker."""

    @classmethod
    def of(
        cls,
        reference: str,
        *,
        workers: int = 2,
        shards: int = 8,
        objects: int | None = None,
        until_settled: bool = False,
        for_seconds: float | None = None,
        kills: Sequence[str] = (),
        as_json: bool = False,
        port: int = 0,
        crds: Sequence[Path] = (),
        log_file: Path | None = None,
        timeout: float = 300.0,
        journal: Path | None = None,
    ) -> DevOptions:
        """From the command line. Raises ConfigError."""
        if until_settled and for_seconds is not None:
            raise ConfigError("--for", "give --until-settled or --for, not both; --timeout bounds --until-settled")
        schedule = sorted((parse_kill(text, workers=workers) for text in kills), key=lambda kill: kill.after_seconds)
        return cls(
            reference=reference,
            workers=workers,
            shards=shards,
            objects=objects,
            until_settled=until_settled,
            for_seconds=for_seconds,
            kills=tuple(schedule),
            as_json=as_json,
            port=port,
            crds=tuple(crds),
            log_file=log_file,
            timeout_seconds=timeout,
            journal=journal,
        )

    def config(self) -> FleetConfig:
        """The config of the fleet that is run: defaults but for what the command line says, loopback only, and no
        waiting for other pods at the end, since there are none."""
        return config_from(self._document())

    def config_text(self) -> str:
        """The same as the text of a config file, for the fleet's ConfigMap."""
        text: str = yaml.safe_dump(self._document(), sort_keys=False)
        return f"# The config of `fleet dev`.\n{text}"

    def _document(self) -> dict[str, Any]:
        return {
            "fleet": FLEET,
            "controller": self.reference,
            "shards": {"count": self.shards},
            "workers": {"perPod": self.workers, "leaveSeconds": 0},
            "agent": {"address": "127.0.0.1", "metricsPort": 0},
        }
