"""Pods and templates of pods: what the server fills in, what it keeps, what it refuses."""

from __future__ import annotations

from typing import Any

from tests.contract.transcripts import JSON_PATCH, MERGE, STRATEGIC, Document, Stage

PODS = "v1/pods"
POD_TEMPLATES = "v1/podtemplates"


def pod(name: str, **spec: Any) -> Document:
    """Without a token: the real server's admission would mount one."""
    containers = spec.pop("containers", [{"name": "c", "image": "nginx"}])
    body = {"automountServiceAccountToken": False, "containers": containers, **spec}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": body}


def rich_template() -> Document:
    """A template that makes use of most defaults."""
    container = {
        "name": "c",
        "image": "nginx:1",
        "ports": [{"containerPort": 80, "name": "", "hostPort": 0}],
        "resources": {"requests": {"cpu": "100m"}, "limits": {}},
        "readinessProbe": {"httpGet": {"port": 80}},
        "livenessProbe": {"tcpSocket": {"port": "http"}, "initialDelaySeconds": 0, "periodSeconds": 3},
        "env": [{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, {"name": "E", "value": ""}],
        "securityContext": {},
        "stdin": False,
        "args": [],
    }
    volumes: list[Document] = [
        {"name": "cm", "configMap": {"name": "x"}},
        {"name": "s", "secret": {"secretName": "y"}},
        {"name": "h", "hostPath": {"path": "/x"}},
        {
            "name": "p",
            "projected": {"sources": [{"configMap": {"name": "z"}}, {"serviceAccountToken": {"path": "t"}}]},
        },
        {"name": "d", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {"name": "e", "emptyDir": {}},
        {"name": "none"},
    ]
    spec = {
        "containers": [container, {"name": "latest", "image": "registry:5000/a/b"}],
        "initContainers": [{"name": "i", "image": "busybox:latest"}],
        "volumes": volumes,
        "nodeSelector": {},
        "tolerations": [],
        "affinity": {},
        "hostNetwork": False,
        "nodeName": "",
    }
    return {"metadata": {"labels": {"app": "web"}, "annotations": {}}, "spec": spec}


async def pods(stage: Stage) -> None:
    collection = stage.path(PODS)
    await stage.ask("POST", stage.path("v1/serviceaccounts"), {"metadata": {"name": "default"}}, quiet=True)
    await stage.ask("POST", collection, pod("plain"))
    template = rich_template()
    await stage.ask("POST", collection, pod("rich", **template["spec"]))
    await stage.ask("POST", collection, pod("quick", terminationGracePeriodSeconds=0, restartPolicy="Never"))
    alike = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
    await stage.ask("POST", collection, pod("guaranteed", containers=[alike]))
    tolerant = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}, {"key": "x", "operator": "Exists"}]
    await stage.ask("POST", collection, pod("tolerant", tolerations=tolerant, priority=None))
    await stage.ask(
        "POST", collection, pod("networked", hostNetwork=True, containers=[{**alike, "ports": [{"containerPort": 81}]}])
    )
    one = stage.path(PODS, "plain")
    await stage.ask("PATCH", one, {"spec": {"containers": [{"name": "c", "image": "nginx:2"}]}}, content_type=STRATEGIC)
    await stage.ask("PATCH", one, {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
    status = {"status": {"phase": "Running", "podIP": "10.1.2.3", "conditions": [{"type": "Ready", "status": "True"}]}}
    await stage.ask("PATCH", stage.path(PODS, "plain", "status"), status, content_type=STRATEGIC)
    await stage.ask("PATCH", one, {"status": {"phase": "Failed"}}, content_type=MERGE)
    await stage.ask("GET", collection, query={"fieldSelector": "status.phase=Running"})
    await stage.ask("GET", collection, query={"fieldSelector": "spec.restartPolicy=Never,spec.nodeName="})
    await stage.ask("GET", collection, query={"fieldSelector": "spec.hostNetwork=true"})
    await stage.ask("PATCH", one, [{"op": "remove", "path": "/spec/containers"}], content_type=JSON_PATCH, quiet=True)
    refused = await stage.ask("PATCH", one, {"spec": {"restartPolicy": "Never"}}, content_type=MERGE, quiet=True)
    # The message shows the difference as Go prints it.
    stage.note("another spec", (refused["code"], refused["reason"], refused["details"]["causes"][0]["field"]))
    await stage.ask("POST", collection, pod("none", containers=[]))
    await stage.ask("POST", collection, pod("nameless", containers=[{"image": "x"}]))
    await stage.ask("POST", collection, pod("twice", containers=[alike, alike]))
    await stage.ask("POST", collection, pod("Upper"))
    await stage.ask("POST", collection, pod("odd", restartPolicy="Sometimes"))
    await stage.ask(
        "POST", collection, pod("mount", containers=[{**alike, "volumeMounts": [{"name": "v", "mountPath": "/"}]}])
    )
    for name in ("plain", "rich", "quick", "guaranteed", "tolerant", "networked"):
        await stage.ask("DELETE", stage.path(PODS, name))


async def pod_templates(stage: Stage) -> None:
    collection, one = stage.path(POD_TEMPLATES), stage.path(POD_TEMPLATES, "one")
    await stage.ask("POST", collection, {"metadata": {"name": "one"}, "template": rich_template()})
    await stage.ask("PATCH", one, {"template": {"spec": {"hostname": "h"}}}, content_type=MERGE)
    await stage.ask("PATCH", one, {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE)
    await stage.ask("DELETE", one)


HISTORIES = (pods, pod_templates)
