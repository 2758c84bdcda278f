"""What people do to the objects of the operator while a history goes on."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

from chaos.simulation.stack.demo import MODES, NAMESPACE, PAGES, SITES
from chaos.simulation.stack.truth import Truth
from shards.api.client import Client
from shards.errors import ApiError, Unreachable
from shards.objects import SLOT_LABEL, Object

PAUSE_SECONDS = 0.6
"""The longest between two acts."""
MOST_PAGES = 3
SLOW_SECONDS = 0.5
"""That a reconcile of some sites takes."""


class People:
    """client: with which they ask. hidden: pages whose label they took away."""

    def __init__(
        self, client: Client, truth: Truth, rng: random.Random, say: Callable[[str], None], objects: int
    ) -> None:
        self.hidden: set[str] = set()
        self._client = client
        self._truth = truth
        self._rng = rng
        self._say = say
        self._names = [f"site-{index}" for index in range(objects)]

    async def begin(self) -> None:
        for name in self._names:
            await self._create(name)

    async def act_until(self, over: Callable[[], bool]) -> None:
        acts = [self._change, self._change, self._change, self._recreate, self._meddle, self._meddle, self._remove]
        while not over():
            await asyncio.sleep(PAUSE_SECONDS * self._rng.random())
            if over():
                return
            await self._rng.choice(acts)()

    # -- acts ----------------------------------------------------------------------------------------------------------

    def _spec(self) -> Object:
        return {"pages": self._rng.randrange(MOST_PAGES + 1), "text": str(self._rng.randrange(1000))}

    async def _create(self, name: str) -> None:
        spec = {**self._spec(), "mode": self._rng.choice(MODES)}
        if self._rng.random() < 0.2:
            spec["seconds"] = round(SLOW_SECONDS * self._rng.random(), 3)
        self._say(f"{name} is created: {spec}")
        metadata = {"name": name, "namespace": NAMESPACE}
        body = {"apiVersion": SITES.api_version, "kind": "Website", "metadata": metadata, "spec": spec}
        await self._ask(self._client.create(SITES, NAMESPACE, body))

    async def _change(self) -> None:
        name, spec = self._rng.choice(self._names), self._spec()
        if self._truth.get(SITES, name) is None:
            await self._create(name)
            return
        self._say(f"{name} shall be {spec}")
        await self._ask(self._client.merge_patch(SITES, NAMESPACE, name, {"spec": spec}))

    async def _remove(self) -> None:
        name = self._rng.choice(self._names)
        self._say(f"{name} is deleted")
        await self._ask(self._client.delete(SITES, NAMESPACE, name))

    async def _recreate(self) -> None:
        """One that has a finalizer may be there still: then the create is refused."""
        name = self._rng.choice(self._names)
        self._say(f"{name} is deleted, and created again")
        await self._ask(self._client.delete(SITES, NAMESPACE, name))
        await asyncio.sleep(self._rng.choice([0.0, 0.0, 0.2]))
        await self._create(name)

    async def _meddle(self) -> None:
        """With a page: deletes it, changes it, or hides it from the views, which are filtered by its label."""
        owners = {site["metadata"]["uid"] for site in self._truth.sites()}
        pages = [page for page in self._truth.of(PAGES) if _owner(page) in owners]
        if not pages:
            return
        page = self._rng.choice(pages)["metadata"]["name"]
        act = self._rng.choice(["delete", "delete", "deface", "hide"])
        self._say(f"somebody's hands {act} {page}")
        if act == "delete":
            await self._ask(self._client.delete(PAGES, NAMESPACE, page))
        elif act == "deface":
            await self._ask(self._client.merge_patch(PAGES, NAMESPACE, page, {"data": {"text": "!"}}))
        elif not page.startswith("page-"):
            self.hidden.add(page)
            patch = {"metadata": {"labels": {SLOT_LABEL: None}}}
            await self._ask(self._client.merge_patch(PAGES, NAMESPACE, page, patch))

    async def _ask(self, request: Awaitable[Any]) -> None:
        """A person's request may meet what others did meanwhile."""
        try:
            await request
        except (ApiError, Unreachable) as error:
            self._say(f"somebody was told: {error}")


def _owner(page: Object) -> str:
    return next((str(each["uid"]) for each in page["metadata"].get("ownerReferences") or ()), "")
