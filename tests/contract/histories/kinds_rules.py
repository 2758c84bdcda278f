"""The rules of storage of every kind: who may create with PUT, update without a version, and what a delete answers."""

from __future__ import annotations

from typing import Any

from fleet.devcluster.kinds.catalogue import Entry, entries
from tests.contract.transcripts import MERGE, Document, Stage

_TEMPLATE: Document = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
_JOB: Document = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}
_WORKLOAD: Document = {"selector": {"matchLabels": {"a": "b"}}, "template": _TEMPLATE}
_ROLE_REFERENCE: Document = {"kind": "ClusterRole", "name": "r", "apiGroup": "rbac.authorization.k8s.io"}
_ARCHIVE: Document = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}}
_CLAIM: Document = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_SCALER: Document = {"maxReplicas": 2, "scaleTargetRef": {"kind": "D", "name": "d", "apiVersion": "a/v1"}}

_BODIES: dict[str, Document] = {
    "configmaps": {},
    "controllerrevisions": {"revision": 1, "data": {}},
    "clusterrolebindings": {"roleRef": _ROLE_REFERENCE},
    "clusterroles": {},
    "cronjobs": {"spec": {"schedule": "@daily", "jobTemplate": {"spec": _JOB}}},
    "csidrivers": {},
    "csinodes": {"spec": {"drivers": []}},
    "csistoragecapacities": {"storageClassName": "x"},
    "daemonsets": {"spec": _WORKLOAD},
    "deployments": {"spec": _WORKLOAD},
    "deviceclasses": {"spec": {}},
    "endpointslices": {"addressType": "IPv4", "endpoints": []},
    "horizontalpodautoscalers": {"spec": _SCALER},
    "ingressclasses": {"spec": {"controller": "a.b/c"}},
    "ingresses": {"spec": {"defaultBackend": {"service": {"name": "x", "port": {"number": 80}}}}},
    "jobs": {"spec": _JOB},
    "leases": {"spec": {}},
    "limitranges": {"spec": {"limits": []}},
    "networkpolicies": {"spec": {"podSelector": {}}},
    "nodes": {},
    "persistentvolumeclaims": {"spec": _CLAIM},
    "persistentvolumes": {"spec": _ARCHIVE},
    "poddisruptionbudgets": {"spec": {"minAvailable": 1}},
    "podtemplates": {"template": _TEMPLATE},
    "priorityclasses": {"value": 3},
    "replicasets": {"spec": _WORKLOAD},
    "replicationcontrollers": {"spec": {"template": _TEMPLATE}},
    "resourcequotas": {"spec": {}},
    "rolebindings": {"roleRef": _ROLE_REFERENCE},
    "roles": {},
    "runtimeclasses": {"handler": "h"},
    "secrets": {},
    "serviceaccounts": {},
    "services": {"spec": {"type": "ExternalName", "externalName": "a.b"}},
    "statefulsets": {"spec": {**_WORKLOAD, "serviceName": "x"}},
    "storageclasses": {"provisioner": "x"},
    "validatingwebhookconfigurations": {"webhooks": []},
    "mutatingwebhookconfigurations": {"webhooks": []},
}
"""What a kind needs, by plural. Kinds that need more, such as keys and certificates, are left out."""

# The finalizers that the real server's admission adds, so that both servers have them.
_PROTECTED = {
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "persistentvolumes": "kubernetes.io/pv-protection",
}


async def rules_of_every_kind(stage: Stage) -> None:
    """Codes, reasons and counts; what the objects look like is told by the histories of their groups."""
    for entry in entries():
        if entry.name in _BODIES and entry.stored:
            await _rules(stage, entry)


async def _rules(stage: Stage, entry: Entry) -> None:
    name = stage.unique("ruled")
    resource = f"{entry.group}/{entry.version}/{entry.name}".lstrip("/")
    path_to = stage.path if entry.namespaced else stage.cluster_path
    one, found = path_to(resource, name), []

    async def ask(method: str, path: str, body: Document | None = None, **options: Any) -> Document:
        answer = await stage.ask(method, path, body, quiet=True, **options)
        failed = answer.get("kind") == "Status" and answer.get("status") == "Failure"
        kind, generation = answer.get("kind"), answer["metadata"].get("generation")
        found.append([method, answer["code"], answer["reason"]] if failed else [method, kind, generation])
        return answer

    body: Document = {"metadata": {"name": name}, **_BODIES[entry.name]}
    if entry.name in _PROTECTED:
        body["metadata"]["finalizers"] = [_PROTECTED[entry.name]]
    await ask("PUT", one, body)
    await ask("POST", path_to(resource), body)
    await ask("PUT", one, body)
    await ask("PATCH", one, {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
    await ask("PATCH", one, {"metadata": {"annotations": {"a": "b"}, "finalizers": []}}, content_type=MERGE)
    await ask("GET", f"{one}/status")
    await ask("DELETE", one, query={"propagationPolicy": "Background"})
    stage.note(resource, stage.normalise(found))


HISTORIES = (rules_of_every_kind,)
