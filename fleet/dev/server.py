"""The embedded API server of `fleet dev`: a process that serves HTTP on loopback and records every request."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path

import yaml

from fleet.dev.options import NAMESPACE
from fleet.dev.process import Say
from fleet.devcluster.http import serve
from fleet.devcluster.recorder import Recorder
from fleet.devcluster.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from fleet.devcluster.server import ApiServer
from fleet.devcluster.statuses import StatusError
from shards.errors import ConfigError
from shards.objects import Object

HOST = "127.0.0.1"


def run_server(say: Say, *, port: int, crds: Sequence[Object], namespaces: Iterable[str]) -> int:
    """Serves until SIGTERM; says its URL once CRDs and namespaces are there. Raises ConfigError."""
    asyncio.run(_serve(say, port, crds, namespaces))
    return 0


async def _serve(say: Say, port: int, crds: Sequence[Object], namespaces: Iterable[str]) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    server = ApiServer(recorder=Recorder())
    for crd in crds:
        try:
            server.seed(CUSTOM_RESOURCE_DEFINITIONS.resource, crd)
        except StatusError as error:
            raise ConfigError("--crd", f"the definition {crd['metadata'].get('name')!r} is refused: {error}") from error
    there = {"default", "kube-system", "kube-public", "kube-node-lease"}
    for name in sorted(set(namespaces) - there):
        server.seed(NAMESPACES.resource, {"metadata": {"name": name}})
    door = await serve(server, HOST, port)
    say(door.url)
    await stop.wait()
    await door.close()


def write_kubeconfig(file: Path, url: str) -> None:
    """A kubeconfig for the server, which kubectl reads too."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "dev",
        "clusters": [{"name": "dev", "cluster": {"server": url}}],
        "users": [{"name": "dev", "user": {}}],
        "contexts": [{"name": "dev", "context": {"cluster": "dev", "user": "dev", "namespace": NAMESPACE}}],
    }
    file.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
