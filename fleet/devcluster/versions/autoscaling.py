"""HorizontalPodAutoscalers are stored as those of autoscaling/v2; v1 has annotations for what it does not know.

Pure. Source: kubernetes/pkg/apis/autoscaling/v1/conversion.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from fleet.devcluster.versions.conversion import Reshaping
from fleet.devcluster.versions.metrics import metric_of_v1, metric_of_v2, status_of_v1, status_of_v2

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS: Final = _PREFIX + "metrics"
_STATUSES: Final = _PREFIX + "current-metrics"
_CONDITIONS: Final = _PREFIX + "conditions"
_BEHAVIOUR: Final = _PREFIX + "behavior"
_TOLERANCES: Final = (_PREFIX + "scale-down-tolerance", _PREFIX + "scale-up-tolerance")
_CARRIERS: Final = frozenset({_METRICS, _STATUSES, _CONDITIONS, _BEHAVIOUR, *_TOLERANCES})
"""Annotations of v1 that carry what only v2 has; they are never stored."""
_CPU_PERCENT = 80
_SPEC = ("scaleTargetRef", "minReplicas", "maxReplicas")
_STATUS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
_CONDITION = ("type", "status", "lastTransitionTime", "reason", "message", "observedGeneration")
_RULES = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")
_POLICY = ("type", "value", "periodSeconds")

Fields = Mapping[str, Any]


def _show(body: Fields) -> dict[str, Any]:
    spec, status = body.get("spec") or {}, body.get("status") or {}
    carried: dict[str, str] = {}
    metrics, current = spec.get("metrics") or (), status.get("currentMetrics") or ()
    others = [metric_of_v2(each) for each in metrics if _cpu_percent(each) is None]
    for name, value in (
        (_METRICS, others),
        (_STATUSES, [status_of_v2(each) for each in current]),
        (_CONDITIONS, [_some(each, _CONDITION) for each in status.get("conditions") or ()]),
    ):
        if value:
            carried[name] = _text(value)
    if spec.get("behavior") is not None:
        carried[_BEHAVIOUR] = _text(_capitalised(spec["behavior"]))
    shown = {**body, "metadata": _with_annotations(body["metadata"], carried), "spec": _some(spec, _SPEC)}
    percents = [percent for each in metrics if (percent := _cpu_percent(each)) is not None]
    if percents:
        shown["spec"]["targetCPUUtilizationPercentage"] = percents[0]
    shown["status"] = {"currentReplicas": 0, "desiredReplicas": 0, **_some(status, _STATUS)}
    measured = [percent for each in current if (percent := _cpu_used(each)) is not None]
    if measured:
        shown["status"]["currentCPUUtilizationPercentage"] = measured[-1]
    return shown


def _store(body: Fields) -> dict[str, Any]:
    spec, status = body.get("spec") or {}, body.get("status") or {}
    carried = body["metadata"].get("annotations") or {}
    metrics = [metric_of_v1(each) for each in _list(carried.get(_METRICS))]
    percent = spec.get("targetCPUUtilizationPercentage")
    if percent is None and not metrics:
        percent = _CPU_PERCENT
    if percent is not None:
        target = {"type": "Utilization", "averageUtilization": percent}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    found = {**body, "metadata": _with_annotations(body["metadata"], {})}
    found["spec"] = {"minReplicas": 1, **_some(spec, _SPEC), "metrics": metrics}
    behaviour = _decoded(carried.get(_BEHAVIOUR))
    if isinstance(behaviour, dict) and any(behaviour.values()):
        found["spec"]["behavior"] = _lowered(behaviour)
    found["status"] = {"desiredReplicas": 0, **_some(status, _STATUS), "currentMetrics": None}
    if not found["status"].get("currentReplicas"):
        found["status"].pop("currentReplicas", None)
    current = [status_of_v1(each) for each in _list(carried.get(_STATUSES))]
    used = status.get("currentCPUUtilizationPercentage")
    if not current and used is not None:
        current = [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": used}}}]
    found["status"]["currentMetrics"] = current or None
    conditions = _list(carried.get(_CONDITIONS))
    if conditions:
        found["status"]["conditions"] = conditions
    return found


def _with_annotations(metadata: Fields, carried: Mapping[str, str]) -> dict[str, Any]:
    """The metadata with these carriers and no others."""
    kept = {name: value for name, value in (metadata.get("annotations") or {}).items() if name not in _CARRIERS}
    found = {name: value for name, value in metadata.items() if name != "annotations"}
    if kept or carried:
        found["annotations"] = {**kept, **carried}
    return found


def _cpu_percent(metric: Fields) -> int | None:
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    found: int | None = (resource.get("target") or {}).get("averageUtilization")
    return found


def _cpu_used(metric: Fields) -> int | None:
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    found: int | None = (resource.get("current") or {}).get("averageUtilization")
    return found


def _some(fields: Fields, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: fields[name] for name in names if fields.get(name) is not None}


def _capitalised(behaviour: Fields) -> dict[str, Any]:
    """As Go writes its internal type, which has no JSON names."""
    return {_upper(name): _rules(behaviour.get(name)) for name in ("scaleUp", "scaleDown")}


def _rules(rules: Fields | None) -> dict[str, Any] | None:
    if rules is None:
        return None
    found = {_upper(name): rules.get(name) for name in _RULES}
    policies = rules.get("policies")
    if policies is not None:
        found["Policies"] = [{_upper(name): each.get(name) for name in _POLICY} for each in policies]
    return found


def _lowered(value: Any) -> Any:
    if isinstance(value, list):
        return [_lowered(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {name[:1].lower() + name[1:]: _lowered(each) for name, each in value.items() if each is not None}


def _upper(name: str) -> str:
    return name[:1].upper() + name[1:]


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _decoded(text: str | None) -> Any:
    try:
        return msgspec.json.decode(text) if text else None
    except msgspec.DecodeError:
        return None


def _list(text: str | None) -> list[Any]:
    found = _decoded(text)
    return found if isinstance(found, list) and all(isinstance(each, dict) for each in found) else []


def reshaping() -> Reshaping:
    """Of autoscaling/v1."""
    return Reshaping("autoscaling/v1", _show, _store, {})
