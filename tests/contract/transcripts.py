"""Runs requests against any API server and writes down the answers so that two servers can be compared."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from tests.contract.normaliser import Document, Normaliser

JSON = "application/json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
YAML = "application/yaml"
WAIT_SECONDS = 20.0
POLL_SECONDS = 0.05
COMPARED_HEADERS = ("Warning", "Retry-After", "Allow")
"""Written down where they are there; the content type always is."""
USER_AGENT = "history/1"

__all__ = ["APPLY", "JSON", "JSON_PATCH", "MERGE", "STRATEGIC", "TABLE", "Document", "Stage", "stage"]


@dataclass(slots=True)
class Stage:
    """One history on one server: requests go out, normalised answers are added to `transcript`."""

    session: aiohttp.ClientSession
    url: str
    namespace: str
    run: str
    """Part of the namespace's name and of `unique` ones: other runs have another."""
    token: str = ""
    transcript: list[Document] = field(default_factory=list)
    normalise: Normaliser = field(init=False)

    def __post_init__(self) -> None:
        self.normalise = Normaliser({self.namespace: "<namespace>", self.run: "<run>"})

    def path(self, resource: str, name: str = "", subresource: str = "") -> str:
        """resource: "v1/configmaps" or "apps/v1/deployments", in the history's namespace."""
        return self._path(resource, f"namespaces/{self.namespace}", name, subresource)

    def cluster_path(self, resource: str, name: str = "", subresource: str = "") -> str:
        """resource: "v1/nodes" for one without a namespace; "v1/configmaps" for those of all namespaces."""
        return self._path(resource, "", name, subresource)

    def unique(self, name: str) -> str:
        """The name of a cluster-scoped object that belongs to this run; `name-<run>` in the transcript."""
        return f"{name}-{self.run}"

    def as_user(self, token: str) -> Stage:
        """The same history, asked with another bearer token from here on; "" sends none."""
        other = Stage(self.session, self.url, self.namespace, self.run, token, self.transcript)
        other.normalise = self.normalise
        return other

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
        accept: str = JSON,
        headers: Mapping[str, str] | None = None,
        before: Callable[[Document], None] | None = None,
        quiet: bool = False,
    ) -> Document:
        """The decoded answer; `{"text": ...}` of one that is not JSON or YAML.

        body: encoded unless it is text or bytes. headers: further ones.
        before: told the answer before it is written down. quiet: not written down.
        """
        data = body if isinstance(body, (str, bytes)) or body is None else json.dumps(body)
        sent = {
            **self._headers(accept),
            **({"Content-Type": content_type} if data is not None else {}),
            **(headers or {}),
        }
        async with self.session.request(method, self.url + path, data=data, params=query, headers=sent) as response:
            answer = _decoded(await response.read(), response.headers.get("Content-Type", ""))
        if before is not None:
            before(answer)
        if not quiet:
            step: Document = {"request": self._shown(f"{method} {path}", query, accept), "status": response.status}
            self.transcript.append(step | self._compared(response) | {"answer": self.normalise(answer)})
        return answer

    async def until(self, path: str, holds: Callable[[Document], bool]) -> Document:
        """Reads until the answer satisfies `holds`, and returns it. Raises TimeoutError; nothing is written down."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not holds(answer := await self.ask("GET", path, quiet=True)):
                await asyncio.sleep(POLL_SECONDS)
            return answer

    async def seen(self, path: str, answer: Document) -> None:
        """Waits until the server's cache shows what a write answered.

        A real server begins an update from its cache, and again from the storage where that was behind: what it
        remarks on in the first attempt is told as well.
        """
        version = (answer.get("metadata") or {}).get("resourceVersion")
        if version:
            await self.ask("GET", path, query={"resourceVersion": version}, quiet=True)

    @asynccontextmanager
    async def watch(self, path: str, query: Mapping[str, str], *, accept: str = JSON) -> AsyncIterator[Events]:
        """Yields its events; each call that reads of them is one step."""
        params = {"watch": "true", **query}
        async with self.session.get(self.url + path, params=params, headers=self._headers(accept)) as response:
            step: Document = {"watch": self._shown(path, query, accept), "status": response.status}
            yield Events(self, response, step | self._compared(response))

    def note(self, what: str, value: Any) -> None:
        """Adds an observation that is no answer."""
        self.transcript.append({"note": what, "value": value})

    @property
    def steps(self) -> int:
        """How many requests and reads of watches have been written down."""
        return sum("note" not in step for step in self.transcript)

    def _path(self, resource: str, namespace: str, name: str, subresource: str) -> str:
        version, _, plural = resource.rpartition("/")
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        return root + "".join(f"/{part}" for part in (namespace, plural, name, subresource) if part)

    def _headers(self, accept: str) -> dict[str, str]:
        token = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return {"Accept": accept, "User-Agent": USER_AGENT, **token}

    def _shown(self, text: str, query: Mapping[str, str] | None, accept: str) -> str:
        parts = [self.normalise.text(text)]
        if query:
            parts.append(str(self.normalise.query(query)))
        if accept != JSON:
            parts.append(f"Accept: {accept}")
        return " ".join(parts)

    def _compared(self, response: aiohttp.ClientResponse) -> Document:
        found: Document = {"content type": response.headers.get("Content-Type", "")}
        for name in COMPARED_HEADERS:
            if name in response.headers:
                found[name] = [self.normalise.text(value) for value in response.headers.getall(name)]
        return found


@dataclass(frozen=True, slots=True)
class Events:
    """Of one watch. Both ways to read raise TimeoutError, and end early where the watch ends."""

    stage: Stage
    response: aiohttp.ClientResponse
    step: Document

    async def __call__(self, count: int) -> list[Document]:
        """Reads so many events and writes them down."""
        return await self._read(lambda events: len(events) >= count)

    async def until(self, holds: Callable[[Document], bool]) -> list[Document]:
        """Reads up to the first event that satisfies `holds`, and writes all of them down but bookmarks.

        When one of those comes is a matter of the server's clock, unless it ends the initial events.
        """
        return await self._read(lambda events: bool(events) and holds(events[-1]), without=_comes_by_the_clock)

    async def _read(
        self, enough: Callable[[list[Document]], bool], *, without: Callable[[Document], bool] = lambda event: False
    ) -> list[Document]:
        events: list[Document] = []
        async with asyncio.timeout(WAIT_SECONDS):
            while not enough(events) and (line := await self.response.content.readline()):
                event = json.loads(line)
                if not without(event):
                    events.append(event)
        self.stage.transcript.append(self.step | {"events": self.stage.normalise(events)})
        return events


def _comes_by_the_clock(event: Document) -> bool:
    return event["type"] == "BOOKMARK" and "annotations" not in event["object"]["metadata"]


def _decoded(body: bytes, content_type: str) -> Document:
    kind = content_type.partition(";")[0]
    try:
        if kind == JSON or kind.endswith("+json"):
            found = json.loads(body)
        elif kind == YAML:
            found = yaml.safe_load(body)
        else:
            return {"text": body.decode(errors="replace")}
    except ValueError:
        return {"text": body.decode(errors="replace")}
    return found if isinstance(found, dict) else {"value": found}


@asynccontextmanager
async def stage(kubeconfig: Path, run: str) -> AsyncIterator[Stage]:
    """A stage in a namespace of its own, which exists afterwards as well. run: unique on that server."""
    config = yaml.safe_load(await asyncio.to_thread(kubeconfig.read_text))
    cluster, user = config["clusters"][0]["cluster"], config["users"][0].get("user") or {}
    authority = cluster.get("certificate-authority")
    context: ssl.SSLContext | bool = ssl.create_default_context(cafile=authority) if authority else True
    connector = aiohttp.TCPConnector(ssl=context, force_close=False)
    async with aiohttp.ClientSession(connector=connector) as session:
        made = Stage(session, cluster["server"], f"history-{run}", run, user.get("token", ""))
        body = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": made.namespace}}
        await made.ask("POST", "/api/v1/namespaces", body, quiet=True)
        yield made
