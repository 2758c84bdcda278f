"""The agent's HTTP door: /metrics, /healthz, /readyz and /status of one pod.

Each answer is made on request from what the pod's processes say over their sockets (`fleet.health.health`).
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from fleet.health.health import Unanswered, ask_metrics, ask_status
from fleet.health.metrics import PodMetrics
from shards.errors import ConfigError

_SHUTDOWN_SECONDS = 1.0


class AgentServer:
    """Serves the pod. Liveness is the agent's own loop; readiness is every worker's (503 with the reasons otherwise).

    A worker that is dead or blocked does not make the pod unhealthy: its watchdog and its supervisor see to that, and
    the kubelet's restart would take down its healthy neighbours.
    """

    def __init__(
        self,
        *,
        host: str,
        port: int,
        run_dir: Path,
        workers: Sequence[str],
        status: Callable[[], Mapping[str, object]] = dict,
        metrics: Callable[[], bytes] | None = None,
        name: str = "agent",
        incarnation: int = 1,
        config_path: str = "agent.port",
    ) -> None:
        """port: 0 takes a free one (see `port`). workers: their names, as in the supervisor's ChildSpecs.

        status, metrics: the agent's own part, the latter as `fleet.health.metrics.snapshot` writes it. config_path: the
        setting that the error about a port in use names.
        """
        self._host = host
        self._port = port
        self._run_dir = run_dir
        self._workers = tuple(workers)
        self._status = status
        self._own_metrics = metrics
        self._name = name
        self._incarnation = incarnation
        self._config_path = config_path
        self._pod_metrics = PodMetrics()
        self._runner: web.AppRunner | None = None

    @property
    def port(self) -> int:
        """The port that is served; the configured one before `start`."""
        if self._runner is not None and self._runner.addresses:
            return int(self._runner.addresses[0][1])
        return self._port

    async def start(self) -> None:
        """Raises ConfigError when the address cannot be listened on."""
        app = web.Application()
        app.add_routes(
            [
                web.get("/metrics", self._serve_metrics),
                web.get("/healthz", self._serve_health),
                web.get("/readyz", self._serve_readiness),
                web.get("/status", self._serve_status),
            ]
        )
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_SECONDS)
        await runner.setup()
        try:
            await web.TCPSite(runner, self._host, self._port).start()
        except OSError as error:
            await runner.cleanup()
            raise ConfigError(self._config_path, self._cannot_listen(error)) from error
        self._runner = runner

    def _cannot_listen(self, error: OSError) -> str:
        if error.errno == errno.EADDRINUSE:
            return f"port {self._port} on {self._host} is in use by another process; choose another one, or 0 for any"
        return f"cannot listen on {self._host} port {self._port}: {error.strerror or error}"

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def statuses(self) -> dict[str, dict[str, Any]]:
        """What every worker says; {"ready": False, "reason": …} in the name of one that says nothing."""
        answers = await asyncio.gather(*(self._status_of(name) for name in self._workers))
        return dict(zip(self._workers, answers, strict=True))

    async def _status_of(self, name: str) -> dict[str, Any]:
        try:
            return await ask_status(self._run_dir, name)
        except Unanswered as silence:
            return {"ready": False, "reason": str(silence)}

    async def _read_metrics(self, name: str) -> None:
        try:
            answer = await ask_metrics(self._run_dir, name)
        except Unanswered:
            self._pod_metrics.lost(name)
        else:
            self._pod_metrics.update(name, answer.incarnation, bytes(answer.families))

    async def _serve_metrics(self, request: web.Request) -> web.Response:
        await asyncio.gather(*(self._read_metrics(name) for name in self._workers))
        if self._own_metrics is not None:
            self._pod_metrics.update(self._name, self._incarnation, self._own_metrics())
        body, content_type = self._pod_metrics.render(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def _serve_health(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _serve_readiness(self, _: web.Request) -> web.Response:
        unready = [
            f"{name}: {answer.get('reason') or 'not ready'}"
            for name, answer in (await self.statuses()).items()
            if answer.get("ready") is not True
        ]
        return web.Response(status=503 if unready else 200, text="\n".join(unready or ["ok"]) + "\n")

    async def _serve_status(self, _: web.Request) -> web.Response:
        answer = {"agent": self._status(), "workers": await self.statuses()}
        return web.Response(body=msgspec.json.encode(answer), content_type="application/json")
