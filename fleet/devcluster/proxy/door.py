"""The proxy's own side: it listens, applies the faults, and forwards (aiohttp)."""

from __future__ import annotations

import random
from pathlib import Path
from urllib.parse import unquote

from aiohttp import web

from fleet.devcluster.doors import browsers
from fleet.devcluster.doors.control import PREFIX, Control
from fleet.devcluster.doors.http import abort, answer_control, send
from fleet.devcluster.doors.kubeconfig import kubeconfig_text, write_kubeconfig
from fleet.devcluster.doors.listener import Listener
from fleet.devcluster.faults import Faults
from fleet.devcluster.faults.witness import witness_for
from fleet.devcluster.proxy.upstream import Upstream
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.recording.tap import exchange, tap
from fleet.devcluster.wire import statuses
from fleet.devcluster.wire.answers import Answer, ConnectionLost
from fleet.devcluster.wire.requests import BODY_LIMIT, Request, parse_query
from fleet.devcluster.wire.statuses import StatusError
from shards.errors import ConfigError


class FaultProxy:
    """Stands between clients and an API server, on loopback, over plain HTTP. Used on one event loop.

    A client's own Authorization is passed on; where it sends none, that of the kubeconfig is added. The control
    endpoint is under /-/. Connections that change their protocol (exec, attach, port-forward) are not carried, and
    requests of pages in a browser are refused: they would act with the kubeconfig's credentials.
    """

    def __init__(self, upstream: Upstream, recorder: Recorder | None, rng: random.Random) -> None:
        self.upstream = upstream
        self.recorder = recorder
        self.faults = Faults(rng, witness_for(recorder))
        self.control = Control(recorder, self.faults)
        self._listener: Listener | None = None

    @classmethod
    async def start(
        cls,
        upstream: Upstream,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        recorder: Recorder | None = None,
        rng: random.Random | None = None,
    ) -> FaultProxy:
        """Listens. host: of loopback. port 0: any free one. upstream: closed with the proxy.

        recorder: hears what the server answered and what clients were given. rng: for faults with a probability.
        Raises ConfigError.
        """
        if not browsers.is_loopback(host):
            raise ConfigError("host", f"{host!r} is not loopback; whoever reaches the proxy acts with its credentials")
        made = cls(upstream, recorder, rng or random.Random())
        made._listener = await Listener.start(made._handle, made.faults, host, port)
        return made

    @property
    def url(self) -> str:
        if self._listener is None:
            raise ValueError("the proxy is not started")
        host = self._listener.host
        return f"http://[{host}]:{self._listener.port}" if ":" in host else f"http://{host}:{self._listener.port}"

    def write_kubeconfig(self, file: Path, namespace: str = "default") -> None:
        """One that leads through the proxy, private to this user: whoever follows it has the proxy's credentials."""
        write_kubeconfig(file, kubeconfig_text(self.url, name="faults", namespace=namespace))

    async def close(self) -> None:
        """Heals everything, ends connections, and closes the upstream."""
        self.faults.clear()
        if self._listener is not None:
            await self._listener.close()
        self.control.close()
        await self.upstream.close()

    async def _handle(self, asked: web.BaseRequest) -> web.StreamResponse:
        if asked.path.startswith(PREFIX):
            return await answer_control(self.control, asked)
        if why := browsers.refusal(asked.headers):
            return await send(asked, Answer.failed(StatusError(403, "Forbidden", why)))
        try:
            body = await asked.read() if asked.can_read_body else None
        except web.HTTPRequestEntityTooLarge:
            return await send(asked, Answer.failed(statuses.too_big(BODY_LIMIT)))
        path, _, raw_query = asked.raw_path.partition("?")
        headers: dict[str, str] = {}
        for name, value in asked.headers.items():
            headers.setdefault(name.lower(), value)
        request = Request(asked.method, unquote(path), parse_query(raw_query), body, headers)

        async def forward(request: Request) -> Answer:
            answer = await self.upstream.send(request, asked.raw_path, asked.headers)
            exchange(self.recorder, request, answer)
            return answer

        try:
            answer = await self.faults.carry(request, forward)
        except ConnectionLost:
            return abort(asked)
        return await send(asked, tap(self.recorder, request, answer))
