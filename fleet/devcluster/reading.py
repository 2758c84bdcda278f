"""GET: objects, lists and watches."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from fleet.devcluster import statuses
from fleet.devcluster.answers import Answer
from fleet.devcluster.listoptions import check_list_options, filter_of, version_of
from fleet.devcluster.lists import list_answer
from fleet.devcluster.requestlog import RequestLog
from fleet.devcluster.requests import Request, Target
from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.storage import Storage, Table, object_key
from fleet.devcluster.watching import Watching

FRESHNESS_SECONDS = 3.0
"""How long a read waits for a resourceVersion that the server has not reached (the real server's figure)."""


@dataclass(slots=True)
class Reading:
    """Answers reads."""

    settings: ServerSettings
    _storage: Storage
    _watching: Watching
    _log: RequestLog

    async def reach(self, request: Request) -> None:
        """Waits for the version that a read asks for. Raises StatusError 504."""
        if request.method != "GET" or not request.query:
            return
        if request.flag("watch") and not request.flag("sendInitialEvents"):
            return
        wanted = version_of(request)
        if wanted <= self._storage.version:
            return
        deadline = asyncio.get_running_loop().time() + FRESHNESS_SECONDS
        while wanted > self._storage.version:
            if asyncio.get_running_loop().time() >= deadline:
                if request.flag("watch"):
                    return
                raise statuses.too_large(wanted, self._storage.version)
            await asyncio.sleep(0.05)

    def get(self, request: Request, target: Target, table: Table) -> Answer:
        stored = table.objects.get(object_key(target.namespace, target.name))
        if stored is None:
            raise statuses.not_found(table.kind, target.name)
        self._log.answered("get", request, target, 200, stored)
        return Answer(200, stored.raw)

    def list(self, request: Request, target: Target, table: Table) -> Answer:
        check_list_options(request)
        wanted = filter_of(table.kind, target.namespace, request, sharded=self.settings.sharded_list_and_watch)
        body = list_answer(table, self._storage, wanted, request)
        self._log.answered("list", request, target, 200)
        return Answer(200, body)

    def watch(self, request: Request, target: Target, table: Table) -> Answer:
        wanted = filter_of(table.kind, target.namespace, request, sharded=self.settings.sharded_list_and_watch)
        if target.name:
            wanted = wanted.named(target.name)
        stream = self._watching.open(request, table, wanted)
        self._log.answered("watch", request, target, 200)
        return Answer(200, stream=stream)
