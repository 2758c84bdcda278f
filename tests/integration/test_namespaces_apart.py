"""An account that may see two namespaces and nothing else, on both servers: one view, and one permission that goes."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

import shards.watching.watch
from shards.api.client import Client
from shards.authoring.context import Context, Request
from shards.authoring.controller import Controller
from shards.errors import AlreadyExists, Forbidden
from shards.informers.namespaced_informer import NamespacedInformer
from shards.keyrange import WHOLE
from shards.metrics import ShardMetrics
from shards.objects import Object, Resource
from shards.ownership.tenure import Tenure
from shards.queue.slots import Slots
from shards.runtime import WorkerRuntime
from shards.settings import ScopeSettings, ShardSettings
from shards.shard import Shard
from shards.transport.kube import connect
from tests.integration.live_informer import Seen, both_servers, kubeconfig_of, seen

CONFIG_MAPS = Resource("", "v1", "configmaps")
ACCOUNTS = Resource("", "v1", "serviceaccounts")
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles")
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings")
MINE = {"labels": {"test": "namespaces-apart"}}


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards.watching.watch, "BACKOFF_SECONDS", (0.1, 0.5))
    monkeypatch.setattr("shards.reconciling.parked_keys.BLIND_SECONDS", 0.2)


@dataclass
class Account:
    """kubeconfig: of its own. blue, green: where it may see config maps."""

    admin: Client
    kubeconfig: Path
    blue: str
    green: str
    texts: list[tuple[str, str]] = field(default_factory=list)

    async def grant(self, namespace: str) -> None:
        name = "sees-config-maps"
        rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]
        await self.admin.create(ROLES, namespace, {"metadata": {"name": name}, "rules": rules})
        body = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": ROLES.group, "kind": "Role", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": "seer", "namespace": self.blue}],
        }
        await self.admin.create(BINDINGS, namespace, body)

    async def revoke(self, namespace: str) -> None:
        await self.admin.delete(BINDINGS, namespace, "sees-config-maps")
        await self.admin.delete(ROLES, namespace, "sees-config-maps")

    async def write(self, namespace: str, text: str) -> Object:
        body = {"metadata": {"name": "a", **MINE}, "data": {"text": text}}
        try:
            return await self.admin.create(CONFIG_MAPS, namespace, body)
        except AlreadyExists:
            return await self.admin.merge_patch(CONFIG_MAPS, namespace, "a", body)

    def controller(self) -> Controller:
        controller = Controller("seer", primary=str(CONFIG_MAPS), label_selector="test=namespaces-apart")

        @controller.reconcile
        async def reconcile(ctx: Context, request: Request) -> None:
            found = ctx.store.get()
            self.texts.append((request.namespace, found["data"]["text"] if found else ""))

        return controller


def as_account(admin: Path, file: Path, token: str) -> None:
    config = yaml.safe_load(admin.read_text())
    for user in config["users"]:
        user["user"] = {"token": token}
    file.write_text(yaml.safe_dump(config))


@asynccontextmanager
async def account(kubeconfig: Path, directory: Path) -> AsyncIterator[tuple[Account, Seen]]:
    async with seen(kubeconfig) as blue, seen(kubeconfig) as green:
        made = Account(blue.client, directory / "kubeconfig", blue.namespace, green.namespace)
        await made.admin.create(ACCOUNTS, made.blue, {"metadata": {"name": "seer"}})
        path = ACCOUNTS.path(made.blue, "seer", "token")
        asked = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {"expirationSeconds": 3600}}
        answer = await made.admin.transport.request("POST", path, body=msgspec.json.encode(asked))
        as_account(kubeconfig, made.kubeconfig, msgspec.json.decode(answer)["status"]["token"])
        for namespace in (made.blue, made.green):
            await made.grant(namespace)
        yield made, blue


@asynccontextmanager
async def shard_of(made: Account) -> AsyncIterator[Shard]:
    transport = await connect(kubeconfig=str(made.kubeconfig))
    scope = ScopeSettings(namespaces=(made.blue, made.green), watch_each=True)
    runtime = WorkerRuntime(
        transport=transport,
        clock=time.monotonic,
        rng=random.Random(1),
        settings=ShardSettings(scope=scope),
        metrics=ShardMetrics(),
        slots=Slots(4),
    )
    shard = Shard(WHOLE, [made.controller()], runtime, "worker-0")
    try:
        until = time.monotonic() + 3600
        await shard.activate(Tenure("worker-0", 1, WHOLE, 1, until=lambda: until), None, previous_epoch=0)
        yield shard
    finally:
        await shard.stop()
        await transport.close()


@both_servers
async def test_two_namespaces_are_one_view_and_one_that_is_lost_stops_nothing_else(
    server: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    async with account(kubeconfig_of(request, server), tmp_path) as (made, wait):
        until: Callable[..., Any] = wait.until
        for namespace in (made.blue, made.green):
            await made.write(namespace, "old")
        alone = await connect(kubeconfig=str(made.kubeconfig))
        with pytest.raises(Forbidden):
            await Client(alone).list(CONFIG_MAPS)
        await alone.close()
        async with shard_of(made) as shard:
            both = sorted([(made.blue, "old"), (made.green, "old")])
            await until(lambda: sorted(made.texts) == both, "both are seen")
            [view] = shard.views.values()
            assert isinstance(view.informer, NamespacedInformer)
            await made.revoke(made.blue)
            while not view.informer.blind:  # open watches go on without their permission; a list does not
                await view.informer.relist()
                await asyncio.sleep(0.05)
            await made.write(made.blue, "unseen")
            await made.write(made.green, "new")
            await until(lambda: made.texts[-1] == (made.green, "new"), "green is seen")
            assert "403" in shard.trouble
            assert made.blue in shard.trouble
            assert len(view.store) == 2
            assert (made.blue, "unseen") not in made.texts
            await made.grant(made.blue)
            await until(lambda: (made.blue, "unseen") in made.texts, "blue is seen again")
            await until(lambda: shard.trouble == "", "no trouble")
