"""Defaults and refusals of roles, budgets, limits, autoscalers and registrations. Pure, in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fleet.devcluster.builtins.findings import forbidden, immutable, invalid, required, unsupported
from fleet.devcluster.builtins.rulebook import rule
from fleet.devcluster.causes import Cause
from shards.objects import Object

_RBAC: Final = "rbac.authorization.k8s.io"
_CPU_PERCENT: Final = 80
_WEBHOOK: Final = (("failurePolicy", "Fail"), ("matchPolicy", "Equivalent"), ("timeoutSeconds", 10))
_HTTPS_PORT: Final = 443


@rule.defaults(_RBAC, "rolebindings", "clusterrolebindings")
def default_binding(body: Object) -> None:
    body["roleRef"]["apiGroup"] = body["roleRef"].get("apiGroup") or _RBAC
    for subject in body.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", _RBAC)


@rule.checks(_RBAC, "rolebindings", "clusterrolebindings")
def binding_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    reference = body["roleRef"]
    if reference.get("kind") not in ("Role", "ClusterRole"):
        yield unsupported("roleRef.kind", reference.get("kind"), ("Role", "ClusterRole"))
    if not reference.get("name"):
        yield required("roleRef.name")
    if old is not None and reference != old["roleRef"]:
        value = {"APIGroup": reference["apiGroup"], "Kind": reference["kind"], "Name": reference["name"]}
        yield immutable("roleRef", value)


@rule.checks(_RBAC, "roles", "clusterroles")
def role_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    for index, each in enumerate(body.get("rules") or ()):
        path = f"rules[{index}]"
        if not each.get("nonResourceURLs"):
            if not each.get("apiGroups"):
                yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
            if not each.get("resources"):
                yield required(f"{path}.resources", "resource rules must supply at least one resource")
        if not each.get("verbs"):
            yield required(f"{path}.verbs")


@rule.checks("policy", "poddisruptionbudgets")
def budget_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    spec = body["spec"]
    if "minAvailable" in spec and "maxUnavailable" in spec:
        names = ("minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy")
        value = {name[0].upper() + name[1:]: spec.get(name) for name in names}
        yield invalid("spec", value, "minAvailable and maxUnavailable cannot be both set")


_SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


@rule.checks("scheduling.k8s.io", "priorityclasses")
def priority_causes(body: Object, old: Object | None) -> Iterator[Cause]:
    name = body["metadata"].get("name", "")
    if old is None and name.startswith("system-") and _SYSTEM_PRIORITIES.get(name) != body["value"]:
        why = (
            "priority class names with 'system-' prefix are reserved for system use only. error: "
            f"{name} is not a known system priority class"
        )
        yield forbidden("metadata.name", why)
    if old is not None and body["value"] != old["value"]:
        yield forbidden("value", "may not be changed in an update.")


@rule.defaults("autoscaling", "horizontalpodautoscalers")
def default_autoscaler(body: Object) -> None:
    spec = body["spec"]
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": _CPU_PERCENT}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


@rule.defaults("", "limitranges")
def default_limits(body: Object) -> None:
    for item in body["spec"].get("limits") or ():
        if item.get("type") != "Container":
            continue
        default = {**(item.get("max") or {}), **(item.get("default") or {})}
        request = {**(item.get("min") or {}), **default, **(item.get("defaultRequest") or {})}
        for name, value in (("default", default), ("defaultRequest", request)):
            if value:
                item[name] = value


@rule.defaults("scheduling.k8s.io", "priorityclasses")
def default_priority(body: Object) -> None:
    body.setdefault("preemptionPolicy", "PreemptLowerPriority")


@rule.defaults("admissionregistration.k8s.io", "mutatingwebhookconfigurations")
def default_mutating_webhooks(body: Object) -> None:
    default_webhooks(body)
    for webhook in body.get("webhooks") or ():
        webhook.setdefault("reinvocationPolicy", "Never")


@rule.defaults("admissionregistration.k8s.io", "validatingwebhookconfigurations")
def default_webhooks(body: Object) -> None:
    for webhook in body.get("webhooks") or ():
        for name, value in _WEBHOOK:
            webhook.setdefault(name, value)
        for name in ("namespaceSelector", "objectSelector"):
            webhook.setdefault(name, {})
        for each in webhook.get("rules") or ():
            each.setdefault("scope", "*")
        service = (webhook.get("clientConfig") or {}).get("service")
        if service is not None:
            service.setdefault("port", _HTTPS_PORT)


@rule.defaults("apiregistration.k8s.io", "apiservices")
def default_api_service(body: Object) -> None:
    if body["spec"].get("service") is not None:
        body["spec"]["service"].setdefault("port", _HTTPS_PORT)


@rule.creation("", "nodes")
def taint_new_node(body: Object) -> None:
    """A node is not ready before something says so."""
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    taints = body["spec"].get("taints") or []
    if not any(each.get("key") == taint["key"] and each.get("effect") == taint["effect"] for each in taints):
        body["spec"]["taints"] = [*taints, taint]
