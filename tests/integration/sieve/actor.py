"""Plays kube-controller-manager and the kubelets for StatefulSets, which the embedded server does not have.

Pods and claims of a StatefulSet appear and go, pods become ready, readyReplicas follows, and a claim that is deleted
stays until no pod uses it (the controller of the finalizer kubernetes.io/pvc-protection). Garbage is the server's.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from fleet.devcluster.doors.inprocess import InProcessTransport
from fleet.devcluster.server import ApiServer
from fleet.devcluster.storage.commits import Commit
from shards.api.client import JSON, Client
from shards.errors import ApiError
from shards.objects import Object, Resource
from shards.testing.virtual_time import loop_seconds
from tests.integration.sieve.parts import PODS, STATEFUL_SETS, VOLUMES, ordinal

REACTION_SECONDS = 0.1
ENDING_SECONDS = 1.0
"""From a pod's deletionTimestamp to its end."""

PROTECTION = "kubernetes.io/pvc-protection"
NAMESPACE = "default"


class Actor:
    """`run` it in a task."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._transport = InProcessTransport(server, clock=loop_seconds)
        self._client = Client(self._transport, user_agent="kube-controller-manager")
        self._moved = asyncio.Event()
        self._ending: dict[str, float] = {}
        """When pods end, by UID."""
        server.backend.storage.listeners.append(self._heard)

    def _heard(self, commit: Commit) -> None:
        if commit.kind.resource.plural in ("pods", "statefulsets", "persistentvolumeclaims"):
            self._moved.set()

    async def run(self) -> None:
        while True:
            due = min(self._ending.values(), default=float("inf"))
            try:
                async with asyncio.timeout(min(due - loop_seconds(), 3600.0)):
                    await self._moved.wait()
            except TimeoutError:
                pass
            await asyncio.sleep(REACTION_SECONDS)
            self._moved.clear()
            for step in (self._sets, self._end_pods, self._start_pods, self._release_volumes, self._statuses):
                try:
                    await step()
                except ApiError:
                    # Somebody was faster. It is looked at again, as everything is.
                    self._moved.set()

    def all(self, resource: str) -> list[Object]:
        kind = self._server.registry.get(Resource.parse(resource))
        assert kind is not None
        table = self._server.backend.storage.table(kind)
        return [each.decode() for _, each in sorted(table.objects.items())]

    async def _sets(self) -> None:
        pods = {each["metadata"]["name"]: each for each in self.all(PODS)}
        claims = {each["metadata"]["name"] for each in self.all(VOLUMES)}
        for each in self.all(STATEFUL_SETS):
            if each["metadata"].get("deletionTimestamp"):
                continue
            for index in range(each["spec"]["replicas"]):
                name = f"{each['metadata']['name']}-{index}"
                for template in each["spec"].get("volumeClaimTemplates", ()):
                    if f"data-{name}" not in claims:
                        await self._make(VOLUMES, _claim(f"data-{name}", each, template))
                if name not in pods:
                    await self._make(PODS, _pod(name, each))
            for pod in pods.values():
                if not pod["metadata"].get("ownerReferences") and _selects(each, pod):
                    await self._adopt(each, pod)
            own = [pod for pod in pods.values() if _controller(pod) == each["metadata"]["uid"]]
            for pod in own:
                meta = pod["metadata"]
                if ordinal(meta["name"]) >= each["spec"]["replicas"] and not meta.get("deletionTimestamp"):
                    await self._client.delete(Resource.parse(PODS), NAMESPACE, meta["name"], uid=meta["uid"])

    async def _adopt(self, owner: Object, pod: Object) -> None:
        """A pod that was orphaned."""
        meta = pod["metadata"]
        patch = {"metadata": {"ownerReferences": [_reference(owner)], "uid": meta["uid"]}}
        await self._client.merge_patch(Resource.parse(PODS), NAMESPACE, meta["name"], patch)

    async def _make(self, resource: str, body: Object) -> None:
        await self._client.create(Resource.parse(resource), NAMESPACE, body)

    async def _end_pods(self) -> None:
        doomed = {each["metadata"]["uid"]: each for each in self.all(PODS) if each["metadata"].get("deletionTimestamp")}
        self._ending = {uid: self._ending.get(uid, loop_seconds() + ENDING_SECONDS) for uid in doomed}
        for uid, pod in doomed.items():
            if loop_seconds() >= self._ending[uid]:
                del self._ending[uid]
                options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
                path = Resource.parse(PODS).path(NAMESPACE, pod["metadata"]["name"])
                body = msgspec.json.encode(options | {"preconditions": {"uid": uid}})
                await self._transport.request("DELETE", path, body=body, content_type=JSON, user_agent="kubelet")

    async def _start_pods(self) -> None:
        claims = {each["metadata"]["name"]: each for each in self.all(VOLUMES)}
        for pod in self.all(PODS):
            if pod["metadata"].get("deletionTimestamp") or (pod.get("status") or {}).get("phase") == "Running":
                continue
            wanted = [claims.get(name) for name in _claims_of(pod)]
            if all(each is not None and not each["metadata"].get("deletionTimestamp") for each in wanted):
                ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
                await self._status(PODS, pod, ready)

    async def _release_volumes(self) -> None:
        used = {name for pod in self.all(PODS) for name in _claims_of(pod)}
        for claim in self.all(VOLUMES):
            meta = claim["metadata"]
            if meta.get("deletionTimestamp") and meta["name"] not in used and meta.get("finalizers"):
                patch = {"metadata": {"finalizers": None, "uid": meta["uid"]}}
                await self._client.merge_patch(Resource.parse(VOLUMES), NAMESPACE, meta["name"], patch)

    async def _statuses(self) -> None:
        pods = self.all(PODS)
        for each in self.all(STATEFUL_SETS):
            own = [pod for pod in pods if _controller(pod) == each["metadata"]["uid"]]
            ready = [pod for pod in own if is_ready(pod)]
            wanted = {"replicas": len(own), "readyReplicas": len(ready)}
            status = each.get("status") or {}
            if {name: status.get(name, 0) for name in wanted} != wanted:
                await self._status(STATEFUL_SETS, each, wanted)

    async def _status(self, resource: str, body: Object, status: Object) -> None:
        patch = {"status": status, "metadata": {"uid": body["metadata"]["uid"]}}
        await self._client.merge_patch(Resource.parse(resource), NAMESPACE, body["metadata"]["name"], patch, "status")


def is_ready(pod: Object) -> bool:
    running = (pod.get("status") or {}).get("phase") == "Running"
    return running and not pod["metadata"].get("deletionTimestamp")


def _controller(body: Object) -> str:
    owners = body["metadata"].get("ownerReferences") or ()
    return next((each["uid"] for each in owners if each.get("controller")), "")


def _claims_of(pod: Object) -> list[str]:
    volumes = pod["spec"].get("volumes") or ()
    return [each["persistentVolumeClaim"]["claimName"] for each in volumes if "persistentVolumeClaim" in each]


def _claim(name: str, owner: Object, template: Object) -> Object:
    metadata = {"name": name, "labels": owner["spec"]["selector"]["matchLabels"], "finalizers": [PROTECTION]}
    return {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": metadata, "spec": template["spec"]}


def _pod(name: str, owner: Object) -> Object:
    template: dict[str, Any] = owner["spec"]["template"]
    spec = {**template["spec"], "nodeName": "node-1"}
    if owner["spec"].get("volumeClaimTemplates"):
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}]
    meta = template["metadata"]
    metadata = {"name": name, "labels": meta["labels"], "ownerReferences": [_reference(owner)]}
    if meta.get("annotations"):
        metadata["annotations"] = meta["annotations"]
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}


def _selects(owner: Object, pod: Object) -> bool:
    wanted: dict[str, str] = owner["spec"]["selector"]["matchLabels"]
    meta = pod["metadata"]
    name: str = meta["name"]
    return wanted.items() <= (meta.get("labels") or {}).items() and name.startswith(f"{owner['metadata']['name']}-")


def _reference(owner: Object) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
