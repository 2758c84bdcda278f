"""Runs requests against any API server and writes down the answers so that two servers can be compared."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import yaml

JSON = "application/json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
WAIT_SECONDS = 20.0
POLL_SECONDS = 0.05

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
_MICRO_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
_VERSIONS_IN_TEXT = re.compile(
    r"(?P<lead>ResourceVersion in (?:the precondition|record) \(|resource version: |current: |resource version: \d+ \()"
    r"\d+"
)

Document = dict[str, Any]


@dataclass(slots=True)
class Normaliser:
    """Replaces what differs from run to run by stable placeholders, in the order of first appearance."""

    words: dict[str, str]
    """Literal text and its placeholder, such as the namespace of this run."""
    uids: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def __call__(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return [self(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def text(self, text: str) -> str:
        if _TIME.match(text):
            return "<time>"
        if _MICRO_TIME.match(text):
            return "<micro time>"
        text = _UID.sub(lambda match: self.uids.setdefault(match[0], f"<uid {len(self.uids)}>"), text)
        text = _VERSIONS_IN_TEXT.sub(r"\g<lead><version>", text)
        text = re.sub(r"(resource version: <version> \()\d+", r"\1<version>", text)
        for word, placeholder in self.words.items():
            text = text.replace(word, placeholder)
        return text

    def _object(self, value: Document) -> Document:
        is_list = str(value.get("kind", "")).endswith("List") and "items" in value
        result = {}
        for name, item in sorted(value.items()):
            if name == "managedFields":
                continue
            if name == "metadata" and isinstance(item, dict):
                result[name] = self._metadata(item, is_list=is_list)
            else:
                result[name] = self(item)
        return result

    def _metadata(self, metadata: Document, *, is_list: bool) -> Document:
        result: Document = self(metadata)
        version = metadata.get("resourceVersion")
        if version is not None:
            known = "<list version>" if is_list else f"<version {len(self.versions)}>"
            # A list and a bookmark carry the server's version, which moves with writes that are none of ours.
            listed = is_list or "name" not in metadata
            result["resourceVersion"] = "<list version>" if listed else self.versions.setdefault(version, known)
        if metadata.get("continue"):
            result["continue"] = "<continue>"
        return result


class Stage:
    """One history on one server: requests go out, normalised answers are added to `transcript`."""

    def __init__(self, session: aiohttp.ClientSession, url: str, namespace: str) -> None:
        self.session = session
        self.url = url
        self.namespace = namespace
        self.transcript: list[Document] = []
        self.normalise = Normaliser({namespace: "<namespace>"})

    def path(self, resource: str, name: str = "", subresource: str = "") -> str:
        """resource: "v1/configmaps" or "apps/v1/deployments", in the history's namespace."""
        version, _, plural = resource.rpartition("/")
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}/namespaces/{self.namespace}/{plural}{tail}"

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
        quiet: bool = False,
    ) -> Document:
        """The decoded answer. body: encoded unless it is text. quiet: not written down."""
        data = body if isinstance(body, str) else None if body is None else json.dumps(body)
        headers = {"Content-Type": content_type} if data is not None else {}
        async with self.session.request(method, self.url + path, data=data, params=query, headers=headers) as response:
            text = await response.text()
            kind = response.headers.get("Content-Type", "").partition(";")[0]
        answer: Document = json.loads(text) if kind == JSON else {"text": text}
        if not quiet:
            shown = self.normalise.text(f"{method} {path}")
            self.transcript.append(
                {
                    "request": f"{shown} {_shown(query)}" if query else shown,
                    "status": response.status,
                    "answer": self.normalise(answer),
                }
            )
        return answer

    async def until(self, path: str, holds: Callable[[Document], bool]) -> None:
        """Reads until the answer satisfies `holds`. Raises TimeoutError; nothing is written down."""
        async with asyncio.timeout(WAIT_SECONDS):
            answer = await self.ask("GET", path, quiet=True)
            while not holds(answer):
                await asyncio.sleep(POLL_SECONDS)
                answer = await self.ask("GET", path, quiet=True)

    @asynccontextmanager
    async def watch(self, path: str, query: Mapping[str, str]) -> AsyncIterator[Callable[[int], Any]]:
        """Yields a function that reads so many events and writes them down."""
        params = {"watch": "true", **query}
        async with self.session.get(self.url + path, params=params) as response:

            async def read(count: int) -> list[Document]:
                events: list[Document] = []
                async with asyncio.timeout(WAIT_SECONDS):
                    while len(events) < count:
                        line = await response.content.readline()
                        if not line:
                            break
                        events.append(json.loads(line))
                self.transcript.append(
                    {"watch": self.normalise.text(path), "status": response.status, "events": self.normalise(events)}
                )
                return events

            yield read

    def note(self, what: str, value: Any) -> None:
        """Adds an observation that is no answer."""
        self.transcript.append({"note": what, "value": value})


def _shown(query: Mapping[str, str]) -> dict[str, str]:
    return {name: "<continue>" if name == "continue" else value for name, value in query.items()}


@asynccontextmanager
async def stage(kubeconfig: Path, namespace: str) -> AsyncIterator[Stage]:
    """A stage in a namespace of its own, which exists afterwards as well."""
    config = yaml.safe_load(await asyncio.to_thread(kubeconfig.read_text))
    cluster, user = config["clusters"][0]["cluster"], config["users"][0].get("user") or {}
    authority = cluster.get("certificate-authority")
    context: ssl.SSLContext | bool = ssl.create_default_context(cafile=authority) if authority else True
    headers = {"Authorization": f"Bearer {user['token']}"} if user.get("token") else {}
    connector = aiohttp.TCPConnector(ssl=context, force_close=False)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        made = Stage(session, cluster["server"], namespace)
        body = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": namespace}}
        await made.ask("POST", "/api/v1/namespaces", body, quiet=True)
        yield made
