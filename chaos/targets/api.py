"""The API of a server, called from plain functions."""

from __future__ import annotations

from pathlib import Path

import msgspec

from chaos.targets.background import Background
from fleet import __version__
from shards.api.client import JSON, Client
from shards.objects import Object, Resource
from shards.transport.kube import KubeTransport, connect

USER_AGENT = f"chaos/{__version__}"
"""No member's: the recorder must not take our requests for the fleet's."""


class BlockingApi:
    """What `chaos.targets.target.Api` asks. client: for what runs on the background's loop by itself."""

    def __init__(self, kubeconfig: Path | None, background: Background, *, context: str | None = None) -> None:
        """kubeconfig: None for the one that is configured. Raises ConfigError."""
        path = None if kubeconfig is None else str(kubeconfig)
        self._background = background
        self.transport: KubeTransport = background.wait(connect(kubeconfig=path, context=context))
        self.client = Client(self.transport, user_agent=USER_AGENT)

    def get(self, resource: Resource, namespace: str, name: str) -> Object:
        return self._background.wait(self.client.get(resource, namespace, name))

    def list(self, resource: Resource, namespace: str = "", *, labels: str = "") -> list[Object]:
        query = [("labelSelector", labels)] if labels else []
        found: list[Object] = self._background.wait(self.client.list(resource, namespace, query=query))["items"]
        return found

    def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        return self._background.wait(self.client.create(resource, namespace, body))

    def create_under(self, resource: Resource, namespace: str, name: str, subresource: str, body: Object) -> Object:
        """POST to a subresource of an object, which answers with what it has made."""
        client = self.client
        answer: Object = msgspec.json.decode(
            self._background.wait(
                self.transport.request(
                    "POST",
                    resource.path(namespace, name, subresource),
                    query=(),
                    body=msgspec.json.encode(body),
                    content_type=JSON,
                    user_agent=client.user_agent,
                    timeout_seconds=client.timeout_seconds,
                )
            )
        )
        return answer

    def patch(self, resource: Resource, namespace: str, name: str, patch: Object, *, subresource: str = "") -> Object:
        return self._background.wait(self.client.merge_patch(resource, namespace, name, patch, subresource=subresource))

    def replace(self, resource: Resource, namespace: str, name: str, body: Object) -> Object:
        return self._background.wait(self.client.update(resource, namespace, name, body))

    def delete(self, resource: Resource, namespace: str, name: str) -> None:
        self._background.wait(self.client.delete(resource, namespace, name))

    def delete_at_once(self, resource: Resource, namespace: str, name: str) -> None:
        """What `kubectl delete --force --grace-period=0` asks for."""
        body = msgspec.json.encode({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
        path = resource.path(namespace, name)
        self._background.wait(self.transport.request("DELETE", path, body=body, user_agent=USER_AGENT))

    def close(self) -> None:
        self._background.wait(self.transport.close())
