"""The embedded API server behind HTTP, on a loop and thread of its own, for tests that need a server by address."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from fleet.devcluster.doors.http import HttpDoor, serve
from fleet.devcluster.doors.kubeconfig import kubeconfig_text, write_kubeconfig
from fleet.devcluster.recording.journal import Entry
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.server import ApiServer
from fleet.devcluster.serversettings import ServerSettings

Result = TypeVar("Result")


class EmbeddedServer:
    """Serves while the context is open. The server itself may be touched through `run` only, on its own loop."""

    def __init__(self, directory: Path, settings: ServerSettings | None = None) -> None:
        """directory: of the kubeconfig, which carries the administrator token of the settings, if there is one."""
        self.settings = settings or ServerSettings()
        self.kubeconfig = directory / "kubeconfig"
        self.recorder = Recorder()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="embedded API server")
        self._door: HttpDoor | None = None

    @property
    def url(self) -> str:
        return self._open_door.url

    @property
    def server(self) -> ApiServer:
        return self._open_door.server

    @property
    def _open_door(self) -> HttpDoor:
        if self._door is None:
            raise ValueError("the embedded server is not started")
        return self._door

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._door = self.run(self._serve())
            text = kubeconfig_text(self._door.url, name="embedded", token=self.settings.admin_token)
            write_kubeconfig(self.kubeconfig, text)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        """A thread that went on would keep the whole test run from ending."""
        try:
            if self._door is not None:
                self.run(self._door.close())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def run(self, work: Coroutine[Any, Any, Result], *, seconds: float = 30.0) -> Result:
        """Runs a coroutine on the server's loop and waits for it. Raises TimeoutError, and whatever it raises."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(seconds)

    def journal(self) -> list[Entry]:
        """Every request so far, in commit order."""
        return self.run(self._journal())

    async def _journal(self) -> list[Entry]:
        return list(self.recorder.entries)

    async def _serve(self) -> HttpDoor:
        return await serve(ApiServer(self.settings, recorder=self.recorder))
