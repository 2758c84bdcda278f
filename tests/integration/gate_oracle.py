"""A controller that looks nowhere but into its view, and the oracle that compares the view with the truth."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import islice

from chaos.simulation.stack.truth import labelled, unlike_spec
from fleet.devcluster.server import ApiServer
from fleet.devcluster.storage.storage import Table
from shards import Context, Controller, Request, Result
from shards.api.useragent import UserAgent
from shards.objects import Object, Resource
from tests.integration.gate_wire import now
from tests.unit.shards.world import CONFIGMAPS, WEBSITES

BAD, SLOW = "bad", "slow"
"""Names of primaries whose reconcile always fails, and takes three seconds."""


@dataclass
class Life:
    """One primary. started_at: of its last reconcile, of its creation before the first."""

    started_at: float
    runs: int = 0


@dataclass
class Oracle:
    """Compares what a reconcile sees with what the server has, and with what was written for the key before."""

    server: ApiServer
    log: list[str] = field(default_factory=list)
    lives: dict[str, Life] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    since: int = 0
    """Entries of the recorder that are of an earlier history. What a restore brought back, or undid, nobody can know
    before something of the new history arrives; what was written in that must be seen."""

    def say(self, what: str) -> None:
        self.log.append(f"{now():8.3f} {what}")

    def begins(self, member: str, ctx: Context, request: Request) -> None:
        life = self.lives.setdefault(request.uid, Life(now()))
        life.started_at = now()
        life.runs += 1
        assert self.server.recorder is not None
        written: dict[str, tuple[str, str, str, bool]] = {}
        for entry in islice(self.server.recorder.entries, self.since, None):
            agent = UserAgent.parse(entry.user_agent) if entry.write and entry.succeeded else None
            if agent is not None and agent.uid == request.uid:
                written[entry.uid] = (entry.resource, entry.name, entry.resource_version, entry.removed)
        for uid, (resource, name, version, removed) in written.items():
            self._compare(member, ctx, request, Resource.parse(resource), name, uid, int(version), removed)

    def _compare(
        self,
        member: str,
        ctx: Context,
        request: Request,
        resource: Resource,
        name: str,
        uid: str,
        version: int,
        removed: bool,
    ) -> None:
        seen = ctx.store.get(resource, name)
        same = seen is not None and seen["metadata"]["uid"] == uid
        truth = self.truth(resource, name)
        exists = truth is not None and truth["metadata"]["uid"] == uid
        if removed and same:
            self.fail(member, request, f"sees {resource} {name}, which it deleted")
        elif same and seen is not None and int(seen["metadata"]["resourceVersion"]) < version:
            self.fail(member, request, f"sees {resource} {name} at {seen['metadata']['resourceVersion']} < {version}")
        elif not removed and not same and truth is not None and exists and self.visible(resource, truth, request):
            self.fail(member, request, f"does not see {resource} {name}, which it wrote at {version}")

    def visible(self, resource: Resource, truth: Object, request: Request) -> bool:
        """Whether the view's filter passes the object: hands may have taken its label away."""
        return resource == WEBSITES or labelled(truth)

    def fail(self, member: str, request: Request, what: str) -> None:
        self.broken.append(f"{member} {request.name} {what}")
        self.say(f"BROKEN: {self.broken[-1]}")

    def truth(self, resource: Resource, name: str) -> Object | None:
        stored = self.table(resource).objects.get(f"default/{name}")
        return None if stored is None else stored.decode()

    def children(self, uid: str) -> list[Object]:
        found = (each.decode() for each in self.table(CONFIGMAPS).scan("default/"))
        return [each for each in found if any(o["uid"] == uid for o in each["metadata"].get("ownerReferences") or ())]

    def sites(self) -> list[Object]:
        return [each.decode() for each in self.table(WEBSITES).scan("default/")]

    def table(self, resource: Resource) -> Table:
        return next(each for each in self.server.storage.tables() if each.kind.resource == resource)

    def writes(self) -> list[str]:
        """All requests of the members that were to change something."""
        assert self.server.recorder is not None
        return [
            f"{each.verb} {each.resource} {each.name}" for each in self.server.recorder.entries
            if each.write and UserAgent.parse(each.user_agent)
        ]  # fmt: skip

    def undesired(self) -> str:
        """What is not as the specs say; "" when all is."""
        for site in self.sites():
            if site["metadata"]["name"] == BAD:
                continue
            if wrong := unlike_spec(site, self.children(site["metadata"]["uid"])):
                return wrong
        return ""


def site_controller(member: str, oracle: Oracle) -> Controller:
    """Pages as many as the spec says, with its text; the status says so. Never looks anywhere but into its view."""
    websites = Controller("websites", primary=str(WEBSITES)).owns(str(CONFIGMAPS))

    @websites.reconcile
    async def reconcile(ctx: Context, request: Request) -> Result | None:
        oracle.begins(member, ctx, request)
        site = ctx.store.get()
        if site is None:
            return None
        if request.name == BAD:
            raise RuntimeError("always")
        if request.name == SLOW:
            await asyncio.sleep(3.0)
        spec = site["spec"]
        if spec["mode"] == "generate":
            await generated(ctx, spec)
        else:
            await named(ctx, request, spec)
        await ctx.client.patch_status({"pages": spec["pages"], "text": spec["text"]})
        return Result(requeue_after_seconds=0.5)

    return websites


async def named(ctx: Context, request: Request, spec: Object) -> None:
    pages = {each["metadata"]["name"]: each for each in ctx.store.owned(CONFIGMAPS)}
    wanted = [f"{request.name}-{index}" for index in range(spec["pages"])]
    for name in wanted:
        body: Object = {"kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": spec["text"]}}
        if spec["mode"] == "ensure":
            await ctx.client.ensure(CONFIGMAPS, body)
        elif name not in pages:
            await ctx.client.create(CONFIGMAPS, body)
        elif pages[name].get("data") != body["data"]:
            await ctx.client.patch(CONFIGMAPS, name, {"data": body["data"]})
    for name in pages.keys() - set(wanted):
        await ctx.client.delete(CONFIGMAPS, name)


async def generated(ctx: Context, spec: Object) -> None:
    """As ReplicaSets do it: only the number counts."""
    pages = ctx.store.owned(CONFIGMAPS)
    for _ in range(len(pages), spec["pages"]):
        body = {"kind": "ConfigMap", "metadata": {"generateName": "page-"}, "data": {"text": spec["text"]}}
        await ctx.client.create(CONFIGMAPS, body, allow_generate_name=True)
    for page in pages[spec["pages"] :]:
        await ctx.client.delete(CONFIGMAPS, page["metadata"]["name"])
