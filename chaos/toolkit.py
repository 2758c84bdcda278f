"""The control through which chaostoolkit's own `chaos run` carries our experiments out.

    controls:
      - name: fleet
        provider: {type: python, module: chaos.toolkit, arguments: {target: dev}}

It starts the fleet that the experiment's extension describes before anything is asked, and ends it at the end.
Actions and probes find it by themselves (`chaos.targets.running`). See https://chaostoolkit.org/reference/api/control/.
"""

from __future__ import annotations

import importlib
import logging
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from chaos.documents.experiment import FIELDS, parse_document
from chaos.targets.opening import open_bed
from chaos.targets.running import NOW
from shards.errors import ConfigError, ShardError

log = logging.getLogger("chaostoolkit")

_open = ExitStack()
"""What is to be ended: chaostoolkit carries out one experiment a process."""


def before_experiment_control(context: dict[str, Any], target: str = "", kubeconfig: str = "", **_: Any) -> None:
    """Called by chaostoolkit. context: the experiment. target: dev or real; left out, the first that the file names.
    kubeconfig: with real, of a server that may be broken. Interrupts an experiment whose fleet does not start."""
    document = {name: value for name, value in context.items() if name in FIELDS}  # it adds some of its own
    try:
        wanted = parse_document(document)
        name = target or wanted.settings.targets[0]
        if name not in ("dev", "real") or name not in wanted.settings.targets:
            raise ConfigError("controls", f"{name} is no target of this experiment; write dev or real")
        file = Path(kubeconfig) if kubeconfig else None
        bed = _open.enter_context(open_bed(name, wanted.settings, kubeconfig=file, say=log.info))
        _open.enter_context(NOW.on(bed))
    except ShardError as error:
        # Of everything else that a control raises chaostoolkit makes a line in its log, and goes on without a fleet.
        raise importlib.import_module("chaoslib.exceptions").InterruptExecution(str(error)) from error


def after_experiment_control(**_: Any) -> None:
    """Called by chaostoolkit at the end, whatever became of the experiment."""
    _open.close()
