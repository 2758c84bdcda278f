"""Roles, budgets, autoscalers, limits, priorities, webhooks, Secrets and Events."""

from __future__ import annotations

from typing import Any

from tests.contract.transcripts import MERGE, Document, Stage

ROLES = "rbac.authorization.k8s.io/v1/roles"
ROLE_BINDINGS = "rbac.authorization.k8s.io/v1/rolebindings"
CLUSTER_ROLES = "rbac.authorization.k8s.io/v1/clusterroles"
BUDGETS = "policy/v1/poddisruptionbudgets"
AUTOSCALERS = "autoscaling/v2/horizontalpodautoscalers"
LIMIT_RANGES = "v1/limitranges"
QUOTAS = "v1/resourcequotas"
PRIORITY_CLASSES = "scheduling.k8s.io/v1/priorityclasses"
WEBHOOKS = "admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
SECRETS = "v1/secrets"
EVENTS = "v1/events"
SERVICE_ACCOUNTS = "v1/serviceaccounts"


async def roles(stage: Stage) -> None:
    collection = stage.path(ROLES)
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    await stage.ask("POST", collection, {"metadata": {"name": "system:odd"}, "rules": [rule]})
    await stage.ask("POST", collection, {"metadata": {"name": "empty"}, "rules": []})
    await stage.ask("PUT", stage.path(ROLES, "made"), {"metadata": {"name": "made"}})
    await stage.ask("PATCH", stage.path(ROLES, "made"), {"rules": [rule]}, content_type=MERGE)
    await stage.ask("POST", collection, {"metadata": {"name": "bad"}, "rules": [{"apiGroups": [""]}]})
    await stage.ask("POST", collection, {"metadata": {"name": "bad/name"}, "rules": [rule]})
    bindings, one = stage.path(ROLE_BINDINGS), stage.path(ROLE_BINDINGS, "one")
    subjects = [{"kind": "ServiceAccount", "name": "x", "namespace": "y"}, {"kind": "User", "name": "u"}]
    reference = {"kind": "Role", "name": "made"}
    await stage.ask("POST", bindings, {"metadata": {"name": "one"}, "roleRef": reference, "subjects": subjects})
    await stage.ask("PATCH", one, {"subjects": None}, content_type=MERGE)
    await stage.ask("PATCH", one, {"roleRef": {"name": "other"}}, content_type=MERGE)
    await stage.ask("POST", bindings, {"metadata": {"name": "bad"}})
    for path in (one, stage.path(ROLES, "made"), stage.path(ROLES, "system:odd")):
        await stage.ask("DELETE", path)
    name = stage.unique("history:reader")
    await stage.ask("POST", stage.cluster_path(CLUSTER_ROLES), {"metadata": {"name": name}, "rules": [rule]})
    await stage.ask("DELETE", stage.cluster_path(CLUSTER_ROLES, name))


async def budgets_and_autoscalers(stage: Stage) -> None:
    collection, one = stage.path(BUDGETS), stage.path(BUDGETS, "one")
    selector = {"matchLabels": {"a": "b"}}
    made = await stage.ask("POST", collection, _named("one", {"selector": selector, "minAvailable": "50%"}))
    await stage.ask("PUT", one, _named("one", {"selector": selector, "maxUnavailable": 1}))
    body = {"name": "one", "resourceVersion": made["metadata"]["resourceVersion"]}
    await stage.ask("PUT", one, {"metadata": body, "spec": {"selector": selector, "maxUnavailable": 1}})
    status = {"status": {"currentHealthy": 2, "disruptionsAllowed": 1}}
    await stage.ask("PATCH", stage.path(BUDGETS, "one", "status"), status, content_type=MERGE)
    await stage.ask("POST", collection, _named("bad", {"minAvailable": 1, "maxUnavailable": 1}))
    await stage.ask("DELETE", one)
    scalers, scaler = stage.path(AUTOSCALERS), stage.path(AUTOSCALERS, "one")
    target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
    await stage.ask("POST", scalers, _named("one", {"scaleTargetRef": target, "maxReplicas": 3}))
    await stage.ask("PATCH", scaler, {"spec": {"maxReplicas": 5}}, content_type=MERGE)
    status = {"status": {"currentReplicas": 1, "desiredReplicas": 2}}
    await stage.ask("PATCH", stage.path(AUTOSCALERS, "one", "status"), status, content_type=MERGE)
    await stage.ask("DELETE", scaler)


async def limits_and_priorities(stage: Stage) -> None:
    limit = {"type": "Container", "max": {"cpu": "1"}, "min": {"memory": "1Mi"}}
    await stage.ask("PUT", stage.path(LIMIT_RANGES, "one"), _named("one", {"limits": [limit]}))
    await stage.ask("DELETE", stage.path(LIMIT_RANGES, "one"))
    await stage.ask("POST", stage.path(QUOTAS), _named("one", {"hard": {"configmaps": "100"}}))
    await stage.ask("DELETE", stage.path(QUOTAS, "one"))
    name = stage.unique("high")
    classes, one = stage.cluster_path(PRIORITY_CLASSES), stage.cluster_path(PRIORITY_CLASSES, name)
    await stage.ask("POST", classes, {"metadata": {"name": name}, "value": 10, "description": ""})
    await stage.ask("PATCH", one, {"value": 11}, content_type=MERGE)
    await stage.ask("PATCH", one, {"description": "high"}, content_type=MERGE)
    await stage.ask("POST", classes, {"metadata": {"name": "system-own"}, "value": 1})
    await stage.ask("DELETE", one)


async def webhooks(stage: Stage) -> None:
    """Stored; no server of a history has a group that they are asked for."""
    rule = {"operations": ["CREATE"], "apiGroups": ["nobody.dev"], "apiVersions": ["v1"], "resources": ["x"]}
    client = {"service": {"name": "a", "namespace": "b"}}
    hook = {"name": "a.b.c", "clientConfig": client, "sideEffects": "None", "admissionReviewVersions": ["v1"]}
    name = stage.unique("hook")
    collection, one = stage.cluster_path(WEBHOOKS), stage.cluster_path(WEBHOOKS, name)
    made = await stage.ask("POST", collection, {"metadata": {"name": name}, "webhooks": [{**hook, "rules": [rule]}]})
    await stage.ask("PATCH", one, {"webhooks": []}, content_type=MERGE)
    await stage.ask("PUT", one, {"metadata": {"name": name}})
    await stage.ask("DELETE", one)
    stage.note("counted", made["metadata"]["generation"])


async def secrets(stage: Stage) -> None:
    collection, one = stage.path(SECRETS), stage.path(SECRETS, "one")

    def secret(name: str, **fields: Any) -> Document:
        return {"metadata": {"name": name}, **fields}

    await stage.ask("POST", collection, secret("one", stringData={"a": "b"}, data={"c": "ZA=="}))
    await stage.ask("PATCH", one, {"type": "own/type"}, content_type=MERGE)
    await stage.ask("PUT", one, secret("one", data={}))
    await stage.ask("PATCH", one, {"stringData": {"x": "y"}}, content_type=MERGE)
    for kind in ("tls", "dockerconfigjson", "basic-auth", "ssh-auth", "service-account-token"):
        await stage.ask("POST", collection, secret("bad", type=f"kubernetes.io/{kind}"))
    await stage.ask("POST", collection, secret("ssh", type="kubernetes.io/ssh-auth", data={"ssh-privatekey": "eA=="}))
    await stage.ask("PUT", stage.path(SECRETS, "ssh"), secret("ssh", data={"ssh-privatekey": "eA=="}))
    await stage.ask("GET", collection, query={"fieldSelector": "type=kubernetes.io/ssh-auth"})
    await stage.ask("POST", stage.path(SERVICE_ACCOUNTS), secret("own", secrets=[{"name": "x"}], imagePullSecrets=[]))
    await stage.ask("DELETE", stage.path(SERVICE_ACCOUNTS, "own"))


async def events(stage: Stage) -> None:
    collection, one = stage.path(EVENTS), stage.path(EVENTS, "one")
    about = {"kind": "Pod", "namespace": stage.namespace, "name": "p"}
    await stage.ask(
        "POST", collection, {"metadata": {"name": "one"}, "involvedObject": about, "reason": "R", "count": 0}
    )
    await stage.ask("PATCH", one, {"count": 2, "type": "Normal"}, content_type=MERGE)
    await stage.ask("GET", collection, query={"fieldSelector": "involvedObject.name=p,reason=R"})
    await stage.ask("GET", collection, query={"fieldSelector": "source=x"})
    await stage.ask("POST", collection, {"metadata": {"name": "bad"}, "involvedObject": {"name": "p"}})
    await stage.ask("PUT", stage.path(EVENTS, "made"), {"metadata": {"name": "made"}, "involvedObject": about})
    await stage.ask("DELETE", one)


def _named(name: str, spec: Document) -> Document:
    return {"metadata": {"name": name}, "spec": spec}


HISTORIES = (roles, budgets_and_autoscalers, limits_and_priorities, webhooks, secrets, events)
