"""Which target an experiment gets: from what was asked, to a fleet that runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from chaos.documents.settings import TargetSettings
from chaos.targets import servers
from chaos.targets.bed import Bed, ServerContext
from chaos.targets.pod import RUN
from chaos.targets.servers import Say


def open_bed(
    name: str,
    settings: TargetSettings,
    *,
    kubeconfig: Path | None = None,
    number: int = 0,
    say: Say = lambda text: None,
    keep: Path | None = None,
    command: Sequence[str] = RUN,
) -> Bed:
    """name: dev or real. kubeconfig: of a real server that may be broken; None starts one. The rest as of Bed.

    A context manager; nothing is started before it is entered. Raises ConfigError.
    """
    server: ServerContext
    if name == "dev":
        server = partial(servers.embedded, front_ends=settings.front_ends)
    else:
        server = partial(servers.real, say=say, kubeconfig=kubeconfig)
    return Bed(name, settings, server, number=number, say=say, keep=keep, command=command)
