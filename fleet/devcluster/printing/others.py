"""Rows of kinds that few controllers read. Pure. Source: the real server's printers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet.devcluster.printing.durations import Ages, human_duration
from fleet.devcluster.printing.phrases import NONE, UNSET, created, name_of
from fleet.devcluster.printing.pods import Cells
from fleet.devcluster.versions.autoscaling import reshaping
from shards.objects import Object

_SHOWN_METRICS = 2
_UNKNOWN = "<unknown>"
_V1 = reshaping()


def autoscaler(obj: Object, ages: Ages) -> Cells:
    """Of a HorizontalPodAutoscaler in autoscaling/v2."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    target = spec.get("scaleTargetRef") or {}
    current = status.get("currentMetrics") or []
    metrics = [_metric(each, current[index : index + 1]) for index, each in enumerate(spec.get("metrics") or [])]
    shown = ", ".join(metrics[:_SHOWN_METRICS]) or NONE
    if len(metrics) > _SHOWN_METRICS:
        shown += f" + {len(metrics) - _SHOWN_METRICS} more..."
    least = spec.get("minReplicas")
    return [
        name_of(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        shown,
        UNSET if least is None else str(least),
        spec.get("maxReplicas") or 0,
        status.get("currentReplicas") or 0,
        ages.since(created(obj)),
    ]


def autoscaler_of_v1(obj: Object, ages: Ages) -> Cells:
    return autoscaler(_V1.store(obj), ages)


def _metric(metric: Mapping[str, Any], statuses: list[Mapping[str, Any]]) -> str:
    kind = metric.get("type", "")
    part = f"{kind[:1].lower()}{kind[1:]}"
    wanted = metric.get(part) or {}
    target = wanted.get("target") or {}
    current = ((statuses[0].get(part) or {}) if statuses else {}).get("current") or {}
    average = target.get("averageValue")
    if kind in ("Resource", "ContainerResource"):
        if average is not None:
            return f"{wanted.get('name', '')}: {current.get('averageValue', _UNKNOWN)}/{average}"
        used, aimed = current.get("averageUtilization"), target.get("averageUtilization")
        shown = (_UNKNOWN if used is None else f"{used}%", "<auto>" if aimed is None else f"{aimed}%")
        return f"{wanted.get('name', '')}: {shown[0]}/{shown[1]}"
    if kind == "Pods":
        return f"{current.get('averageValue', _UNKNOWN)}/{average}"
    if kind in ("External", "Object"):
        if average is not None:
            return f"{current.get('averageValue', _UNKNOWN)}/{average} (avg)"
        return f"{current.get('value', _UNKNOWN)}/{target.get('value', '0')}"
    return "<unknown type>"


def signing_request(obj: Object, ages: Ages) -> Cells:
    """Of a CertificateSigningRequest."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    found = {each.get("type") for each in status.get("conditions") or []}
    state = "Denied" if "Denied" in found else "Approved" if "Approved" in found else "Pending"
    state += (",Failed" if "Failed" in found else "") + (",Issued" if status.get("certificate") else "")
    seconds = spec.get("expirationSeconds")
    wanted = NONE if seconds is None else human_duration(seconds)
    return [
        name_of(obj),
        ages.since(created(obj)),
        spec.get("signerName") or NONE,
        spec.get("username", ""),
        wanted,
        state,
    ]


def service_cidr(obj: Object, ages: Ages) -> Cells:
    return [name_of(obj), ",".join((obj.get("spec") or {}).get("cidrs") or []), ages.since(created(obj))]


def storage_node(obj: Object, ages: Ages) -> Cells:
    """Of a CSINode."""
    return [name_of(obj), len((obj.get("spec") or {}).get("drivers") or []), ages.since(created(obj))]


def attributes_class(obj: Object, ages: Ages) -> Cells:
    """Of a VolumeAttributesClass."""
    return [name_of(obj), obj.get("driverName", ""), ages.since(created(obj))]


def attachment(obj: Object, ages: Ages) -> Cells:
    """Of a VolumeAttachment."""
    spec = obj.get("spec") or {}
    volume = (spec.get("source") or {}).get("persistentVolumeName") or ""
    attached = bool((obj.get("status") or {}).get("attached"))
    return [
        name_of(obj),
        spec.get("attacher", ""),
        volume,
        spec.get("nodeName", ""),
        attached,
        ages.since(created(obj)),
    ]


def admission_policy(obj: Object, ages: Ages) -> Cells:
    """Of a Validating- or MutatingAdmissionPolicy."""
    spec = obj.get("spec") or {}
    rules = spec.get("validations") if "validations" in spec else spec.get("mutations")
    kind = spec.get("paramKind")
    shown = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET
    return [name_of(obj), len(rules or []), shown, ages.since(created(obj))]
