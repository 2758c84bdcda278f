"""What a cluster has once, however many front ends there are: what etcd and the controller manager are to real ones."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable

import msgspec

from fleet.devcluster.access.accounts import DefaultAccounts
from fleet.devcluster.access.bootstrap import default_roles
from fleet.devcluster.access.guard import Guard
from fleet.devcluster.access.rbac import GROUP as RBAC_GROUP
from fleet.devcluster.changes.strategy import read_body
from fleet.devcluster.changes.writes import Writer
from fleet.devcluster.controllers.compaction import compact_for_ever
from fleet.devcluster.controllers.definitions import Definitions
from fleet.devcluster.controllers.garbage import Garbage
from fleet.devcluster.defaultobjects import DEFAULT_NAMESPACES, default_objects
from fleet.devcluster.fields.manager import UNKNOWN, Manager
from fleet.devcluster.frontends import FrontEnds
from fleet.devcluster.kinds.resources import NAMESPACES, Registry
from fleet.devcluster.recording.recorder import Recorder
from fleet.devcluster.recording.requestlog import RequestLog
from fleet.devcluster.serversettings import ServerSettings
from fleet.devcluster.storage.storage import Storage
from shards.errors import ConfigError
from shards.objects import Object, Resource

_SELF = Manager("kube-apiserver")
"""Of what the server writes on its own."""


class Backend:
    """The storage of a cluster, its resources, users, identifiers and clock, and its controllers. Used on one loop.

    front_ends: those that stand on it. accounts: None where namespaces get no service account by themselves.
    """

    def __init__(
        self,
        settings: ServerSettings | None = None,
        *,
        rng: random.Random | None = None,
        wall_seconds: Callable[[], float] = time.time,
        recorder: Recorder | None = None,
    ) -> None:
        """rng: for UIDs, generated names, keys and the life of watches. wall_seconds: since 1970, for timestamps.

        recorder: is told what the controllers write; front ends tell it their requests, unless they have another one.
        """
        self.settings = settings or ServerSettings()
        self.rng = rng or random.Random()
        self.wall_seconds = wall_seconds
        self.recorder = recorder
        self.front_ends = FrontEnds()
        self.registry = Registry()
        self.storage = Storage(history_limit=self.settings.history_limit)
        self._namespaces = self.storage.table(NAMESPACES)
        self.writer = Writer(self.storage, self._namespaces, self.rng, wall_seconds, self.registry.get)
        self.definitions = Definitions(self.registry, self.storage, self.writer)
        self.garbage = Garbage(self.storage, self.registry, self.writer, RequestLog(recorder), self.settings)
        self.guard = Guard(self.storage, self.registry, self.rng, wall_seconds, self.settings.admin_token)
        self._active = asyncio.Lock()
        self._begin()
        self.accounts = DefaultAccounts(self.storage, self.seed) if self.settings.default_accounts else None
        self._begun_version = self.storage.version

    @property
    def watched_since(self) -> int:
        """How far back the watches of a front end that starts now can go: to 0 while the cluster is as it began."""
        return 0 if self.storage.version == self._begun_version else self.storage.version

    async def run_controllers(self) -> None:
        """What the control plane does on its own, garbage collection and compaction, until cancelled.

        Every front end may ask for it: one run is active, as with real controller managers, and others wait to
        take over.
        """
        async with self._active, asyncio.TaskGroup() as group:
            group.create_task(self.garbage.run(), name="garbage collection")
            group.create_task(compact_for_ever(self.storage, self.settings.compaction_seconds), name="compaction")

    def seed(self, resource: Resource, body: Object, *, manager: Manager = UNKNOWN) -> Object:
        """Stores an object without a request: not recorded as one. Raises StatusError, ConfigError."""
        kind = self.registry.get(resource)
        if kind is None:
            raise ConfigError("resource", f"{resource} is not served; create its CustomResourceDefinition first")
        table = self.storage.table(kind)
        parsed = read_body(kind, msgspec.json.encode({"kind": kind.kind, "apiVersion": resource.api_version, **body}))
        outcome = self.writer.create(table, parsed["metadata"].get("namespace", ""), parsed, manager=manager, kind=kind)
        self.definitions.follow(kind, outcome)
        return outcome.stored.decode()

    def _begin(self) -> None:
        """What is there before the first request."""
        for each in self.registry:  # before the first write, so that the history of every table begins at the start
            self.storage.table(each)
        for name in DEFAULT_NAMESPACES:
            self.writer.create(self._namespaces, "", {"metadata": {"name": name}})
        if self.guard.enabled:
            for role in default_roles():
                self.seed(Resource(RBAC_GROUP, "v1", f"{role['kind'].lower()}s"), role, manager=_SELF)
        if self.settings.default_objects:
            for resource, body in default_objects():
                self.seed(resource, body, manager=_SELF)
