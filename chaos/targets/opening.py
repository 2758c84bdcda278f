"""Which target an experiment gets: from what was asked, to a fleet that runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from chaos.documents.settings import TargetSettings
from chaos.targets import servers
from chaos.targets.bed import Bed, ServerContext
from chaos.targets.planes import Planes, Say
from chaos.targets.pod import RUN


def open_bed(
    name: str,
    settings: TargetSettings,
    *,
    kubeconfig: Path | None = None,
    planes: Planes | None = None,
    number: int = 0,
    say: Say = lambda text: None,
    keep: Path | None = None,
    command: Sequence[str] = RUN,
) -> Bed:
    """name: dev or real. kubeconfig: of a real server that may be broken; None: one of planes, or, without them and
    for an experiment that asks for it, one of its own. The rest as of Bed.

    A context manager; nothing is started before it is entered. Raises ConfigError.
    """
    server: ServerContext
    if name == "dev":
        server = partial(servers.embedded, front_ends=settings.front_ends, guarded=settings.token_file)
    elif kubeconfig is not None:
        server = partial(servers.real, kubeconfig=kubeconfig)
    elif planes is None or settings.own_server:
        server = partial(servers.real_of_its_own, say=say, front_ends=settings.front_ends)
    else:
        server = partial(servers.of_planes, planes=planes)
    return Bed(name, settings, server, number=number, say=say, keep=keep, command=command)
