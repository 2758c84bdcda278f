"""The control through which chaostoolkit's own `chaos run` carries our experiments out.

    controls:
      - name: fleet
        provider: {type: python, module: chaos.toolkit, arguments: {target: dev}}

It starts the fleet that the experiment's extension describes before anything is asked, and ends it at the end.
Actions and probes find it by themselves (`chaos.targets.running`). See https://chaostoolkit.org/reference/api/control/.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from chaos.documents.experiment import parse_document
from chaos.targets.opening import open_bed
from chaos.targets.running import NOW
from shards.errors import ConfigError

log = logging.getLogger("chaostoolkit")

_open = ExitStack()
"""What is to be ended: chaostoolkit carries out one experiment a process."""


def configure_control(experiment: dict[str, Any], target: str = "", kubeconfig: str = "") -> None:
    """Called by chaostoolkit before the experiment. target: dev or real; left out, the first that the file names.
    kubeconfig: with real, of a server that may be broken. Raises ConfigError, TargetFailed."""
    wanted = parse_document(experiment)
    name = target or wanted.settings.targets[0]
    if name not in ("dev", "real") or name not in wanted.settings.targets:
        raise ConfigError("controls", f"{name} is no target of this experiment; write dev or real")
    file = Path(kubeconfig) if kubeconfig else None
    _open.enter_context(NOW.on(_open.enter_context(open_bed(name, wanted.settings, kubeconfig=file, say=log.info))))


def cleanup_control() -> None:
    """Called by chaostoolkit at the end, whatever became of the experiment."""
    _open.close()
