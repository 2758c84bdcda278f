"""Defaults of pods and of templates of pods (kubernetes/pkg/apis/core/v1/defaults.go). Pure, in place."""

from __future__ import annotations

from typing import Any, Final

from fleet.devcluster.builtins.rulebook import rule
from shards.objects import Object

_SPEC: Final = (
    ("restartPolicy", "Always"),
    ("terminationGracePeriodSeconds", 30),
    ("dnsPolicy", "ClusterFirst"),
    ("schedulerName", "default-scheduler"),
)
_CONTAINER: Final = (("terminationMessagePath", "/dev/termination-log"), ("terminationMessagePolicy", "File"))
_PROBE: Final = (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3))
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_TOLERATIONS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_FILE_MODE: Final = 0o644
_TOKEN_SECONDS: Final = 3600


def default_template(template: Object | None) -> None:
    """A PodTemplateSpec."""
    if template is not None and isinstance(template.get("spec"), dict):
        default_pod_spec(template["spec"])


def default_pod_spec(spec: Object) -> None:
    """What pods and templates have in common."""
    for field, default in _SPEC:
        spec.setdefault(field, default)
    spec.setdefault("securityContext", {})
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for container in containers_of(spec):
        _default_container(container, host_network=bool(spec.get("hostNetwork")))
    for volume in spec.get("volumes") or ():
        _default_volume(volume)


def containers_of(spec: Object) -> list[Object]:
    """All of them, initial and ephemeral ones too."""
    return [
        each
        for name in ("initContainers", "containers", "ephemeralContainers")
        for each in spec.get(name) or ()
        if isinstance(each, dict)
    ]


def _default_container(container: Object, *, host_network: bool) -> None:
    for name, value in _CONTAINER:
        container.setdefault(name, value)
    container.setdefault("imagePullPolicy", _pull_policy(container.get("image") or ""))
    if host_network:
        for port in container.get("ports") or ():
            port.setdefault("hostPort", port.get("containerPort", 0))
    for variable in container.get("env") or ():
        _default_field_reference(variable.get("valueFrom"))
    for name in _PROBES:
        probe = container.get(name)
        if probe is not None:
            for field, number in _PROBE:
                probe.setdefault(field, number)
            _default_action(probe)
    for action in (container.get("lifecycle") or {}).values():
        if isinstance(action, dict):
            _default_action(action)


def _pull_policy(image: str) -> str:
    """A moving tag is pulled every time."""
    tail = image.rpartition("/")[2]
    if "@" in tail:
        return "IfNotPresent"
    return "Always" if tail.partition(":")[2] in ("", "latest") else "IfNotPresent"


def _default_action(action: Object) -> None:
    request = action.get("httpGet")
    if request is not None:
        request.setdefault("path", "/")
        request.setdefault("scheme", "HTTP")
    call = action.get("grpc")
    if call is not None:
        call.setdefault("service", "")


def _default_field_reference(source: Any) -> None:
    if isinstance(source, dict) and isinstance(source.get("fieldRef"), dict):
        source["fieldRef"].setdefault("apiVersion", "v1")


def _default_volume(volume: Object) -> None:
    if set(volume) <= {"name"}:
        volume["emptyDir"] = {}
    for name in ("configMap", "secret", "downwardAPI", "projected"):
        if isinstance(volume.get(name), dict):
            volume[name].setdefault("defaultMode", _FILE_MODE)
    if isinstance(volume.get("hostPath"), dict):
        volume["hostPath"].setdefault("type", "")
    for source in (volume.get("projected") or {}).get("sources") or ():
        if isinstance(source.get("serviceAccountToken"), dict):
            source["serviceAccountToken"].setdefault("expirationSeconds", _TOKEN_SECONDS)
        _default_items(source.get("downwardAPI"))
    _default_items(volume.get("downwardAPI"))
    claim = ((volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}).get("spec")
    if isinstance(claim, dict):
        claim.setdefault("volumeMode", "Filesystem")


def _default_items(source: Object | None) -> None:
    for item in (source or {}).get("items") or ():
        _default_field_reference(item)


# ---------------------------------------------------------------------- pods


@rule.defaults("", "pods")
def default_pod(body: Object) -> None:
    spec = body["spec"]
    default_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    _default_addresses(body["status"])
    for container in containers_of(spec):
        resources = container.get("resources") or {}
        limits = resources.get("limits")
        if limits:
            container["resources"] = {**resources, "requests": {**limits, **(resources.get("requests") or {})}}


def _default_addresses(status: Object) -> None:
    """The first of podIPs is podIP."""
    if status.get("podIP"):
        status.setdefault("podIPs", [{"ip": status["podIP"]}])
    elif status.get("podIPs"):
        status["podIP"] = status["podIPs"][0].get("ip", "")


@rule.creation("", "pods")
def prepare_pod(body: Object) -> None:
    """What the server's admission adds, and the first status."""
    spec = body["spec"]
    account = spec.get("serviceAccountName") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = account
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    tolerations = spec.get("tolerations") or []
    for key in _TOLERATIONS:
        if not any(_tolerates(each, key) for each in tolerations):
            added = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            tolerations = [*tolerations, added]
    spec["tolerations"] = tolerations
    body["status"] = {"phase": "Pending", "qosClass": _quality(spec)}


def _tolerates(toleration: Object, key: str) -> bool:
    return toleration.get("key") in (key, None, "") and toleration.get("effect") in ("NoExecute", None, "")


def _quality(spec: Object) -> str:
    """Quality of service (kubernetes/pkg/apis/core/helper/qos): how alike requests and limits are."""
    some, all_alike = False, True
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for name in ("cpu", "memory"):
            some = some or name in requests or name in limits
            all_alike = all_alike and name in limits and requests.get(name, limits[name]) == limits[name]
    return "BestEffort" if not some else "Guaranteed" if all_alike else "Burstable"
