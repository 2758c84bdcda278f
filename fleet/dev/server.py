"""The embedded API server of `fleet dev`: a process that serves HTTP on loopback and records every request."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path

from fleet.dev.options import NAMESPACE
from fleet.dev.process import Say
from fleet.devcluster.defaultobjects import DEFAULT_NAMESPACES
from fleet.devcluster.doors.http import serve
from fleet.devcluster.doors.kubeconfig import kubeconfig_text
from fleet.devcluster.kinds.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from fleet.devcluster.recording.journal import Level
from fleet.devcluster.recording.journalfile import JournalFile
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from fleet.devcluster.wire.statuses import StatusError
from shards.errors import ConfigError
from shards.objects import Object

HOST = "127.0.0.1"
CONTEXT = "dev"
"""Name of the context in kubeconfigs; further front ends are numbered."""


def run_server(
    say: Say, *, port: int, crds: Sequence[Object], namespaces: Iterable[str], journal: Path | None = None
) -> int:
    """Serves until SIGTERM; says its URL once CRDs and namespaces are there. Raises ConfigError.

    journal: the file for a line of every request; with one, watch events and lists have lines as well.
    """
    recorder = Recorder(level=Level.REQUESTS if journal is None else Level.DELIVERIES)
    file = None if journal is None else JournalFile(recorder, journal)
    try:
        asyncio.run(_serve(say, port, crds, namespaces, recorder))
    finally:
        if file is not None:
            file.close()
    return 0


async def _serve(say: Say, port: int, crds: Sequence[Object], namespaces: Iterable[str], recorder: Recorder) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    server = ApiServer(recorder=recorder)
    for crd in crds:
        try:
            server.seed(CUSTOM_RESOURCE_DEFINITIONS.resource, crd)
        except StatusError as error:
            raise ConfigError("--crd", f"the definition {crd['metadata'].get('name')!r} is refused: {error}") from error
    for name in sorted(set(namespaces).difference(DEFAULT_NAMESPACES)):
        server.seed(NAMESPACES.resource, {"metadata": {"name": name}})
    door = await serve(server, HOST, port)
    say(door.url)
    await stop.wait()
    await door.close()


def kubeconfig_of(url: str) -> str:
    """The text of one that leads to the server."""
    return kubeconfig_text(url, name=CONTEXT, namespace=NAMESPACE)
