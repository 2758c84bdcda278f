"""Services and what else networks need, claims and classes of storage."""

from __future__ import annotations

from typing import Any

from tests.contract.transcripts import MERGE, Document, Stage

SERVICES = "v1/services"
ENDPOINTS = "v1/endpoints"
ENDPOINT_SLICES = "discovery.k8s.io/v1/endpointslices"
INGRESSES = "networking.k8s.io/v1/ingresses"
NETWORK_POLICIES = "networking.k8s.io/v1/networkpolicies"
CLAIMS = "v1/persistentvolumeclaims"
STORAGE_CLASSES = "storage.k8s.io/v1/storageclasses"


def named(name: str, spec: Document) -> Document:
    return {"metadata": {"name": name}, "spec": spec}


def _unallocated(answer: Any) -> Any:
    """Without the addresses and ports that each server takes from its own pool."""
    if isinstance(answer, list):
        return [_unallocated(each) for each in answer]
    if not isinstance(answer, dict):
        return answer
    made = {name: _unallocated(each) for name, each in answer.items()}
    for name in ("clusterIP", "nodePort"):
        if made.get(name) not in (None, "None"):
            made[name] = "<allocated>"
    if made.get("clusterIPs") not in (None, ["None"]):
        made["clusterIPs"] = ["<allocated>"]
    return made


async def services(stage: Stage) -> None:
    collection, one = stage.path(SERVICES), stage.path(SERVICES, "one")

    async def ask(method: str, path: str, body: Document | None = None, **options: Any) -> None:
        answer = await stage.ask(method, path, body, quiet=True, **options)
        stage.note(f"{method} service", stage.normalise(_unallocated(answer)))

    web: Document = {"ports": [{"port": 80}], "selector": {"app": "web"}}
    await ask("POST", collection, named("one", web))
    await ask("PATCH", one, {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
    await ask("PUT", one, named("one", {**web, "ports": [{"port": 81, "targetPort": "http"}]}))
    await ask("PATCH", one, {"spec": {"type": "NodePort"}}, content_type=MERGE)
    await ask("PATCH", one, {"spec": {"selector": None}}, content_type=MERGE)
    await ask("PATCH", one, {"spec": {"type": "ClusterIP"}}, content_type=MERGE)
    await ask("PATCH", one, {"spec": {"sessionAffinity": "ClientIP"}}, content_type=MERGE)
    await ask("POST", collection, named("none", {**web, "clusterIP": "None"}))
    await ask("POST", collection, named("lb", {**web, "type": "LoadBalancer"}))
    status = {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}
    await ask("PATCH", stage.path(SERVICES, "lb", "status"), status, content_type=MERGE)
    await ask("POST", collection, named("out", {"type": "ExternalName", "externalName": "example.com"}))
    await ask("GET", collection, query={"fieldSelector": "spec.type=ExternalName"})
    await stage.ask("PATCH", one, {"spec": {"ports": None}}, content_type=MERGE)
    await stage.ask("PATCH", stage.path(SERVICES, "none"), {"spec": {"clusterIP": "10.0.0.9"}}, content_type=MERGE)
    await stage.ask("POST", collection, named("bad", {}))
    await stage.ask("POST", collection, named("bad", {"type": "Odd", "ports": [{"port": 0}, {"port": 70000}]}))
    await stage.ask("POST", collection, named("bad", {"type": "ExternalName"}))
    await stage.ask("POST", collection, named("Bad.name", web))
    await ask("PUT", stage.path(SERVICES, "made"), named("made", {"clusterIP": "None"}))
    for name in ("one", "none", "lb", "out", "made"):
        await ask("DELETE", stage.path(SERVICES, name))


async def endpoints(stage: Stage) -> None:
    collection, one = stage.path(ENDPOINT_SLICES), stage.path(ENDPOINT_SLICES, "one")
    address = {"addresses": ["10.1.2.3"]}
    slice_ = {"metadata": {"name": "one"}, "addressType": "IPv4", "endpoints": [address], "ports": [{"port": 80}]}
    await stage.ask("POST", collection, slice_)
    ready = [{**address, "conditions": {"ready": True}}]
    await stage.ask("PATCH", one, {"endpoints": ready}, content_type=MERGE)
    await stage.ask("PATCH", one, {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"endpoints": []}, content_type=MERGE)
    await stage.ask("POST", collection, {"metadata": {"name": "bad"}, "endpoints": []})
    await stage.ask("DELETE", one)


async def ingresses(stage: Stage) -> None:
    collection, one = stage.path(INGRESSES), stage.path(INGRESSES, "one")
    backend = {"service": {"name": "x", "port": {"number": 80}}}
    rule = {"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    await stage.ask("POST", collection, named("one", {"rules": [rule]}))
    await stage.ask("PATCH", one, {"spec": {"ingressClassName": "x"}}, content_type=MERGE)
    status = {"status": {"loadBalancer": {"ingress": [{"hostname": "a.b", "ip": ""}]}}}
    await stage.ask("PATCH", stage.path(INGRESSES, "one", "status"), status, content_type=MERGE)
    await stage.ask("POST", collection, named("bad", {}))
    await stage.ask(
        "POST", collection, named("bad", {"rules": [{"http": {"paths": [{"path": "/", "backend": backend}]}}]})
    )
    await stage.ask("DELETE", one)
    policies = stage.path(NETWORK_POLICIES)
    await stage.ask("POST", policies, named("one", {"podSelector": {}, "ingress": [{"ports": [{"port": 80}]}]}))
    await stage.ask("POST", policies, named("two", {"podSelector": {"matchLabels": {"a": "b"}}, "egress": [{}]}))
    await stage.ask("PATCH", stage.path(NETWORK_POLICIES, "one"), {"spec": {"ingress": []}}, content_type=MERGE)
    await stage.ask("DELETE", stage.path(NETWORK_POLICIES, "one"))


async def claims(stage: Stage) -> None:
    """With the finalizer that the real server's admission adds; no controller would take it off again."""
    collection, one = stage.path(CLAIMS), stage.path(CLAIMS, "one")
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"metadata": {"name": "one", "finalizers": ["kubernetes.io/pvc-protection"]}, "spec": spec}
    await stage.ask("POST", collection, claim)
    await stage.ask("PATCH", one, {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
    refused = await stage.ask("PATCH", one, {"spec": {"accessModes": ["ReadOnlyMany"]}}, content_type=MERGE, quiet=True)
    # The message shows the difference as Go prints it.
    stage.note("another spec", (refused["code"], refused["details"]["causes"][0]["field"]))
    await stage.ask("PATCH", one, {"spec": {"volumeName": "v"}}, content_type=MERGE)
    status = {"status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}}
    await stage.ask("PATCH", stage.path(CLAIMS, "one", "status"), status, content_type=MERGE)
    bad = {"metadata": {"name": "bad", "finalizers": ["kubernetes.io/pvc-protection"]}, "spec": {}}
    await stage.ask("POST", collection, bad)
    await stage.ask("DELETE", one)
    await stage.ask("PATCH", one, {"metadata": {"finalizers": None}}, content_type=MERGE)
    name = stage.unique("slow")
    classes, slow = stage.cluster_path(STORAGE_CLASSES), stage.cluster_path(STORAGE_CLASSES, name)
    await stage.ask("POST", classes, {"metadata": {"name": name}, "provisioner": "x.y"})
    await stage.ask("PATCH", slow, {"parameters": {"a": "b"}}, content_type=MERGE)
    await stage.ask("PATCH", slow, {"provisioner": "z"}, content_type=MERGE)
    await stage.ask("PATCH", slow, {"allowVolumeExpansion": True}, content_type=MERGE)
    await stage.ask("POST", classes, {"metadata": {"name": stage.unique("bad")}})
    await stage.ask("DELETE", slow)


HISTORIES = (services, endpoints, ingresses, claims)
